"""Insertion of placeholders: of every slot, how many tokens are missing in it (paper, Eq. 4)."""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from lev_runtime import operations

from ....nn.embedding import token_table
from ....ops.edits import true_places
from ..trace import Trace, slot_ends
from .base import EditOperation, Lesson, View, undecided

if TYPE_CHECKING:
    from ..config import LevenshteinEditorConfig
    from ..expert import Expert
    from ..model import LevenshteinEditorModel


class Insert(operations.Insert, EditOperation):
    """π_plh: a count from 0 to K_max for each slot. Slot k lies between tokens k and k + 1."""

    short, blocks = "plh", "placeholder"
    smoothing = "placeholder_label_smoothing"
    reads_deleted = reuses_features = True

    def heads(self, cfg: "LevenshteinEditorConfig", vocabulary: int) -> dict[str, nn.Module | None]:
        """A row for each count, which reads the tokens on both sides of a slot."""
        counts = token_table(cfg.max_insertions + 1, 2 * cfg.encoder_embed_dim)
        return {"placeholder_head": undecided(counts)}

    def logits(
        self, model: "LevenshteinEditorModel", features: Tensor, view: View, memory: Any
    ) -> Tensor:
        """B × (T − 1) × (K + 1); beside deleted tokens of the slots between those that stand, row
        by row: P × (K + 1)."""
        if view.deleted is None:
            return self._between(model, features[:, :-1], features[:, 1:])
        standing = Trace(view.tokens, view.deleted).standing(model.pad)
        left, right = slot_ends(standing, view.slot_count)
        rows = features.flatten(0, 1)
        logits = self._between(model, rows.index_select(0, left), rows.index_select(0, right))
        if model.deleted is None:
            return logits
        places = true_places(view.deleted, view.deleted_count)
        slots = torch.searchsorted(left, places) - 1
        return logits + model.deleted(rows, places, slots, len(left))

    def _between(self, model: "LevenshteinEditorModel", left: Tensor, right: Tensor) -> Tensor:
        # concat(h_i, h_i+1) · Bᵀ without making the concatenation
        first, second = model.placeholder_head.weight.chunk(2, dim=1)
        return model.kernels.linear(left, first) + model.kernels.linear(right, second)

    def dense(self, logits: Tensor, tokens: Tensor, pad: int) -> Tensor:
        """B × (T − 1) × (K + 1); zero behind a sentence's end."""
        if logits.dim() == 3:
            return logits
        slots = tokens[:, 1:].ne(pad)
        laid_out = logits.new_zeros(slots.numel(), logits.size(1))
        laid_out.index_copy_(0, true_places(slots, len(logits)), logits)
        return laid_out.unflatten(0, slots.shape)

    def lesson(self, expert: "Expert") -> Lesson:
        """p*: how many tokens of y* are missing in each slot of y_ins (Eq. 7)."""
        trace = expert.before_insertion()
        sizes = expert.sizes
        places = true_places(expert.insertion.slots, sizes.slots)
        counts = expert.insertion.counts.flatten().index_select(0, places)
        deleted_count = sizes.deleted if expert.traced else None
        view = View(trace.tokens, None, trace.deleted, sizes.slots, deleted_count)
        return Lesson(view, counts.clamp(max=expert.max_insertions))
