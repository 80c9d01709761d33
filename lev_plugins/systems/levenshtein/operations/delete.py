"""Deletion: of every token, whether it goes (paper, Eq. 3)."""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from ....nn.embedding import token_table
from ....ops.edits import Compaction, true_places
from ..decoding.processors import OrderedDeletions, Processor, WholeWords
from .base import Decision, EditOperation, Lesson, View, unchanged, undecided

if TYPE_CHECKING:
    from ..config import LevenshteinEditorConfig
    from ..decoding.loop import Decoding
    from ..decoding.state import RefinementState
    from ..expert import Expert
    from ..model import LevenshteinEditorModel

KEEP, DELETE = 0, 1  # the head's classes


class Delete(EditOperation):
    """π_del: a binary decision for each token but ``<s>`` and ``</s>``."""

    name, short, blocks, stage = "deletion", "del", "deletion", "revise"
    reuses_features = True

    def heads(self, cfg: "LevenshteinEditorConfig", vocabulary: int) -> dict[str, nn.Module | None]:
        """A row for each class."""
        return {"deletion_head": undecided(token_table(2, cfg.encoder_embed_dim))}

    def logits(
        self, model: "LevenshteinEditorModel", features: Tensor, view: View, memory: Any
    ) -> Tensor:
        """Logits of keeping (0) and deleting (1): P × 2, or B × T × 2."""
        if view.places is not None:
            features = features.flatten(0, 1).index_select(0, view.places)
        return model.kernels.linear(features, model.deletion_head.weight)

    def lesson(self, expert: "Expert") -> Lesson:
        """d*: what the longest common subsequence of y_del and y* leaves out (Eq. 6 and 8)."""
        tokens = expert.before_deletion()
        places = true_places(expert.inner(tokens), expert.sizes.asked)
        keep, _ = self.align(tokens, expert.target, expert.pad)
        kept = keep.flatten().index_select(0, places)
        return Lesson(View(tokens, places), (~kept).long())

    def processors(self, decoding: "Decoding") -> list[Processor]:
        """Whole words first: an order on one token does not move its neighbours."""
        processors: list[Processor] = []
        if decoding.options.delete_words:
            processors.append(WholeWords(decoding.symbols, decoding.device))
        if decoding.orders is not None:
            processors.append(OrderedDeletions(decoding.orders))
        return processors

    def decide(self, decoding: "Decoding", step: int) -> Decision:
        """Which tokens are kept, R × T. Notes log p(keep) as the score of each draft token."""
        state = decoding.state
        real = state.tokens.ne(decoding.pad)
        if state.tokens.size(1) == 2:  # <s> and </s> alone
            return unchanged(state, real)
        log_probs = torch.log_softmax(decoding.logits(self).float(), dim=-1)
        probability = decoding.processed(self, log_probs[..., DELETE].exp(), step)
        deleted = probability > decoding.options.delete_threshold
        deleted = decoding.revised(self, deleted)
        inner = decoding.inner(state.tokens)
        keep = real & ~(inner & deleted)
        of_draft = inner & (state.origin >= 0)
        state.scores = torch.where(of_draft, log_probs[..., KEEP], state.scores)
        return Decision(keep, keep.sum(1), scores=log_probs[..., DELETE])

    def outcome(self, state: "RefinementState", decision: Decision) -> Tensor:
        """R × T: what is kept, at the left."""
        keep = decision.action
        return Compaction(keep, keep.size(1))(state.tokens, state.pad)

    def act(self, decoding: "Decoding", decision: Decision) -> None:
        """Removes what is not kept; where the policy reads traces, it leaves one."""
        decoding.state.keep(decision, decoding.policy.traces)

    def noted(self, state: "RefinementState", decision: Decision) -> tuple[Tensor, Tensor | None]:
        """Which tokens were kept, and log p(delete) of each."""
        return decision.action, decision.scores

    def rest(self, logits: Tensor, inner: Tensor, real: Tensor) -> Tensor:
        """B: of keeping every token."""
        keep = logits.float().log_softmax(-1)[..., KEEP]
        return keep.masked_fill(~inner, 0.0).sum(1)
