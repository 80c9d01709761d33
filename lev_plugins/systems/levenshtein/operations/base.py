"""What an edit operation is: a policy's head, the expert's labels for it, and its action ℰ(y, a)
(paper, §2.2).

Shapes: B sentences, T tokens of the sequence being edited, C channels, P places that a head decides
about, R candidates (rows) in decoding.
"""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import torch
from torch import Tensor, nn

from ....ops.alignment import lcs_masks

if TYPE_CHECKING:
    from ..config import LevenshteinEditorConfig
    from ..decoding.loop import Decoding
    from ..decoding.processors import Processor
    from ..decoding.state import RefinementState
    from ..expert import Expert
    from ..model import LevenshteinEditorModel

#: what an operation does to a sentence: it changes what stands, opens slots, or fills them
Stage = Literal["revise", "open", "write"]


class View(NamedTuple):
    """What a head reads.

    tokens: B × T. places: P, long, those that it decides about, in B × T laid flat; None: all.
    deleted: B × T, bool, tokens that have just been deleted; None: none are there. slot_count,
    deleted_count: slots and deleted tokens in all, None where nobody has counted them.
    """

    tokens: Tensor
    places: Tensor | None = None
    deleted: Tensor | None = None
    slot_count: int | None = None
    deleted_count: int | None = None


class Lesson(NamedTuple):
    """A view in training, and the expert's actions at its places (P, long)."""

    view: View
    labels: Tensor


@dataclass
class Decision:
    """What an operation is going to do to R sentences.

    Attributes:
        action: of the operation's own kind: which tokens are kept (R × T), how many are inserted
            (R × (T − 1)); or what is written (P).
        lengths: R, long, the tokens that each sentence has afterwards.
        moves: R, bool, sentences that change although they stay as long; None: none.
        scores: log-probabilities (nats), R × T of taking each token away, or P of those written.
        where, places: R × T, bool, and P, the same laid flat: where tokens are written.
        sizes, changed: R numbers on the host, ``lengths`` and whether each sentence changes.
    """

    action: Tensor
    lengths: Tensor
    moves: Tensor | None = None
    scores: Tensor | None = None
    where: Tensor | None = None
    places: Tensor | None = None
    sizes: list[int] = field(default_factory=list)
    changed: list[bool] = field(default_factory=list)

    def select(self, rows: Tensor, stay: list[int]) -> "Decision":
        """The decisions about the sentences at ``rows``, which are ``stay`` on the host.

        Tokens that are written (P) belong to no row: nobody leaves before they are.
        """
        chosen: dict[str, Any] = {
            "sizes": [self.sizes[row] for row in stay],
            "changed": [self.changed[row] for row in stay],
        }
        for name in ("action", "lengths", "moves", "scores"):
            values = getattr(self, name)
            if values is not None:
                chosen[name] = values.index_select(0, rows)
        return replace(self, **chosen)


class EditOperation:
    """One kind of edit. An object without parameters: those of its head are the model's.

    Attributes:
        name: in parameters, in options (``--NAME-weight``), in logs and in histories.
        short: in the names of metrics, ``del_nll``.
        blocks: the head whose decoder blocks and exit it has (``--weight-sharing``).
        stage: an iteration revises, opens, writes. Before the last revision acts, sentences are
            compared with their earlier states; before slots are opened, those at rest leave.
        smoothing: the criterion's option of label smoothing, "" for none.
        exits_early: whether it has a number in ``--early-exit``; else it reads all blocks.
        reads_deleted: whether it reads what was just deleted, where the model has a trace.
        reads_placeholders: whether placeholders stand in what it reads.
        reuses_features: whether it reads what an operation, itself included, has read of equal
            sentences before.
        align: drafts (B × N), targets (B × M) and padding → what the expert keeps of both, bool. Of
            the first revision it makes ℰ(y⁰, d*), where insertion is learnt (Eq. 7).
    """

    name: ClassVar[str]
    short: ClassVar[str]
    blocks: ClassVar[str]
    stage: ClassVar[Stage]
    smoothing: ClassVar[str] = ""
    exits_early: ClassVar[bool] = True
    reads_deleted: ClassVar[bool] = False
    reads_placeholders: ClassVar[bool] = False
    reuses_features: ClassVar[bool] = False
    align = staticmethod(lcs_masks)

    # the head ---------------------------------------------------------------------------------

    def heads(self, cfg: "LevenshteinEditorConfig", vocabulary: int) -> dict[str, nn.Module | None]:
        """Its parameters, by their names in the model; ``vocabulary``: symbols of the target."""
        raise NotImplementedError

    def logits(
        self, model: "LevenshteinEditorModel", features: Tensor, view: View, memory: Any
    ) -> Tensor:
        """Of B × T × C features of the view: P × classes at its places, B × T × classes of all."""
        raise NotImplementedError

    def dense(self, logits: Tensor, tokens: Tensor, pad: int) -> Tensor:
        """Logits by sentence, as :meth:`decide` reads them; ``tokens``: B × T, those that stand."""
        return logits

    # labels -----------------------------------------------------------------------------------

    def lesson(self, expert: "Expert") -> Lesson:
        """What is learnt from a batch."""
        raise NotImplementedError

    # the action -------------------------------------------------------------------------------

    def processors(self, decoding: "Decoding") -> list["Processor"]:
        """What changes its choice in decoding, in the order in which they are asked."""
        return []

    def decide(self, decoding: "Decoding", step: int) -> Decision:
        """The likeliest action that the processors leave, in iteration ``step``."""
        raise NotImplementedError

    def outcome(self, state: "RefinementState", decision: Decision) -> Tensor:
        """R × T: the tokens that a revision would leave, as wide as they are."""
        raise NotImplementedError

    def act(self, decoding: "Decoding", decision: Decision) -> None:
        """ℰ(y, a): changes ``decoding.state``."""
        raise NotImplementedError

    def noted(
        self, state: "RefinementState", decision: Decision
    ) -> tuple[Tensor | None, Tensor | None]:
        """For histories, once it has acted: the mask and the scores of a step, R × T.

        A revision's are of the tokens before it, another's of those that stand now.
        """
        return None, None

    # candidates -------------------------------------------------------------------------------

    def rest(self, logits: Tensor, inner: Tensor, real: Tensor) -> Tensor:
        """B: log-probability (nats) of leaving sentences as they are; of revisions, and of what
        opens slots.

        logits: those that :meth:`decide` reads. real: B × T, bool, tokens; inner: without the ends.
        """
        raise NotImplementedError


def undecided(head: nn.Embedding) -> nn.Embedding:
    """Zero at first: errors of heads that know nothing would only stir up the blocks."""
    nn.init.zeros_(head.weight)
    return head


def unchanged(state: "RefinementState", action: Tensor) -> Decision:
    """The decision to leave all sentences as they are, which the host knows."""
    return Decision(
        action,
        state.lengths,
        scores=torch.zeros_like(state.scores),
        sizes=list(state.sizes),
        changed=[False] * len(state.sizes),
    )
