"""Filling: of every placeholder, which token takes its place (paper, Eq. 5)."""

from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from lev_runtime import operations

from ....nn.embedding import token_table
from ....ops.edits import true_places
from .base import EditOperation, Lesson, View

if TYPE_CHECKING:
    from ..config import LevenshteinEditorConfig
    from ..expert import Expert
    from ..model import LevenshteinEditorModel


class Fill(operations.Fill, EditOperation):
    """π_tok: a symbol for each placeholder."""

    short, blocks = "tok", "token"
    smoothing = "label_smoothing"
    exits_early = False
    reads_deleted = reads_placeholders = True

    def heads(self, cfg: "LevenshteinEditorConfig", vocabulary: int) -> dict[str, nn.Module | None]:
        """A table of its own, or none: the decoder's embeddings."""
        own = cfg.separate_output_embed
        return {"token_head": token_table(vocabulary, cfg.encoder_embed_dim) if own else None}

    def logits(
        self, model: "LevenshteinEditorModel", features: Tensor, view: View, memory: Any
    ) -> Tensor:
        """P × V at the places of the view."""
        assert view.places is not None, "of all tokens there would be too many"
        rows = features.flatten(0, 1).index_select(0, view.places)
        logits = model.kernels.linear(rows, model.output_weight())
        if model.pointer is not None:
            logits = model.pointer(logits, features, view.places, memory)
        return logits

    def lesson(self, expert: "Expert") -> Lesson:
        """t*: the tokens of y* where the placeholders are."""
        trace, where = expert.before_filling()
        count = expert.sizes.written
        places = targets = true_places(where, count)
        if where is not expert.predicted:  # beside deleted tokens they stand elsewhere
            targets = true_places(expert.predicted, count)
        labels = expert.target.flatten().index_select(0, targets)
        return Lesson(View(trace.tokens, places, trace.deleted), labels)
