"""Filling: of every placeholder, which token takes its place (paper, Eq. 5)."""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from ....nn.backends import chunk_rows
from ....nn.embedding import token_table
from ....ops.edits import true_places
from ..decoding.processors import Noise, OrderedTokens, Places, Processor
from .base import Decision, EditOperation, Lesson, View

if TYPE_CHECKING:
    from ..config import LevenshteinEditorConfig
    from ..decoding.loop import Decoding
    from ..decoding.state import RefinementState
    from ..expert import Expert
    from ..model import LevenshteinEditorModel


class Fill(EditOperation):
    """π_tok: a symbol for each placeholder."""

    name, short, blocks, stage = "token", "tok", "token", "write"
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
        head = model.int8_head
        logits = model.kernels.linear(rows, model.output_weight()) if head is None else head(rows)
        if model.pointer is not None:
            logits = model.pointer(logits, features, view.places, memory)
        return logits

    def lesson(self, expert: "Expert") -> Lesson:
        """t*: the tokens of y* where the placeholders are."""
        trace, where = expert.before_filling()
        count = expert.sizes.written
        places = targets = true_places(where, count)
        if where is not expert.where:  # beside deleted tokens they stand elsewhere
            targets = true_places(expert.where, count)
        labels = expert.target.flatten().index_select(0, targets)
        return Lesson(View(trace.tokens, places, trace.deleted), labels)

    def processors(self, decoding: "Decoding") -> list[Processor]:
        """Noise before orders: what is forbidden stays so."""
        processors: list[Processor] = []
        if decoding.noise is not None:
            processors.append(Noise(decoding.noise, phase=1))
        if decoding.orders is not None:
            processors.append(OrderedTokens(decoding.orders))
        return processors

    def decide(self, decoding: "Decoding", step: int) -> Decision:
        """The likeliest token for each blank, P; a few rows at a time, while the cache holds
        them."""
        state = decoding.state
        where, count, writing = decoding.blanks()
        places = true_places(where, count) if count else where.new_zeros(0, dtype=torch.long)
        decision = Decision(places, state.lengths, where=where, places=places, sizes=state.sizes)
        if not count:
            return decision
        logits = decoding.logits(self, where, places, writing)
        size = len(logits) if decoding.looks_at_all(self) else chunk_rows(logits)
        tokens, scores = [], []
        for rows, part in zip(logits.split(size), places.split(size)):
            at = Places(where, part)
            allowed = decoding.allowed(rows)
            preferred = decoding.processed(self, allowed, step, at)
            best = preferred.max(1).indices  # sooner than argmax
            best = decoding.revised(self, best, preferred, at)
            tokens.append(best)
            likelihood = allowed.gather(1, best.unsqueeze(1)).squeeze(1)
            scores.append(likelihood - allowed.logsumexp(1))
        decision.action, decision.scores = torch.cat(tokens), torch.cat(scores)
        return decision

    def act(self, decoding: "Decoding", decision: Decision) -> None:
        """Writes the tokens."""
        if len(decision.action):
            decoding.state.fill(decision)

    def noted(self, state: "RefinementState", decision: Decision) -> tuple[Tensor | None, Tensor]:
        """Which tokens are new, and of each that stands log p of what put or kept it."""
        return decision.where, state.scores
