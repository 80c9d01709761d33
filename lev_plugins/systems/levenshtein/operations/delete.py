"""Deletion: of every token, whether it goes (paper, Eq. 3)."""

from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from lev_runtime import operations

from ....nn.embedding import token_table
from ....ops.edits import true_places
from .base import EditOperation, Lesson, View, undecided

if TYPE_CHECKING:
    from ..config import LevenshteinEditorConfig
    from ..expert import Expert
    from ..model import LevenshteinEditorModel


class Delete(operations.Delete, EditOperation):
    """π_del: a binary decision for each token but ``<s>`` and ``</s>``."""

    short, blocks = "del", "deletion"
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
        places = true_places(expert.inner(tokens), expert.sizes.revised)
        keep, _ = self.align(tokens, expert.target, expert.pad)
        kept = keep.flatten().index_select(0, places)
        return Lesson(View(tokens, places), (~kept).long())
