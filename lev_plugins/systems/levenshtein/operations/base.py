"""What an edit operation is: a policy's head, and the expert's labels for it; what it does in
decoding is :mod:`lev_runtime.operations`'.

Shapes: B sentences, T tokens of the sequence being edited, C channels, P places that a head decides
about.
"""

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from torch import Tensor, nn

from lev_runtime.operations import Operation

from ....nn.arrays import TORCH
from ....ops.alignment import lcs_masks

if TYPE_CHECKING:
    from ..config import LevenshteinEditorConfig
    from ..expert import Expert
    from ..model import LevenshteinEditorModel


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


class EditOperation(Operation):
    """One kind of edit. An object without parameters: those of its head are the model's.

    Attributes:
        name: in logs and in histories. Where the criterion has an option ``NAME_weight``, that is
            the weight of its loss, else 1.
        short: in the names of metrics, ``del_nll``.
        blocks: the stack of decoder blocks that it runs through, as ``--weight-sharing`` names and
            shares them: deletion, placeholder or token; another name is a stack of its own.
        smoothing: the criterion's option of label smoothing, "" for none.
        exits_early: whether it has a number in ``--early-exit``; else it reads all blocks.
        reads_deleted: whether it reads what was just deleted, where the model has a trace.
        reads_placeholders: whether placeholders stand in what it reads.
        reuses_features: whether it reads what an operation, itself included, has read of equal
            sentences before.
        align: drafts (B × N), targets (B × M) and padding → what stands of both once the expert
            has revised, bool, as many tokens of either side. Of the first revision it makes
            ℰ(y⁰, d*), the target's tokens that stand, where insertion is learnt (Eq. 7).
    """

    short: ClassVar[str]
    blocks: ClassVar[str]
    arrays = TORCH
    smoothing: ClassVar[str] = ""
    exits_early: ClassVar[bool] = True
    reads_deleted: ClassVar[bool] = False
    reads_placeholders: ClassVar[bool] = False
    reuses_features: ClassVar[bool] = False
    align = staticmethod(lcs_masks)

    # the head ---------------------------------------------------------------------------------

    def heads(self, cfg: "LevenshteinEditorConfig", vocabulary: int) -> dict[str, nn.Module | None]:
        """Its parameters, by the names that they get as attributes of the model, unlike all others;
        ``vocabulary``: symbols of the target."""
        raise NotImplementedError

    def logits(
        self, model: "LevenshteinEditorModel", features: Tensor, view: View, memory: Any
    ) -> Tensor:
        """Of B × T × C features of the view: P × classes at its places, B × T × classes of all.

        Training and decoding read the same: the loss is −log softmax at the labels, and ``decide``
        chooses by them. memory: of :meth:`~.LevenshteinEditorModel.encode`.
        """
        raise NotImplementedError

    def dense(self, logits: Tensor, tokens: Tensor, pad: int) -> Tensor:
        """Logits by sentence, as :meth:`decide` reads them; ``tokens``: B × T, those that stand."""
        return logits

    # labels -----------------------------------------------------------------------------------

    def lesson(self, expert: "Expert") -> Lesson:
        """What is learnt from a batch: a revision's view is that of ``expert.before_deletion()``
        or of ``expert.draft``. Classes that no label is to name have to be masked in the logits."""
        raise NotImplementedError


def undecided(head: nn.Embedding) -> nn.Embedding:
    """Zero at first: errors of heads that know nothing would only stir up the blocks."""
    nn.init.zeros_(head.weight)
    return head
