"""What changes an operation's choice in decoding: penalties, noise, whole words, orders, limits.

As through Hugging Face's ``LogitsProcessor``, scores go through a list; here actions do too.

Shapes: R candidates, T tokens each, P tokens to be written, V symbols.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from ..markup import DROP, JOINED, KEEP, EditConstraints, symbol_edges

if TYPE_CHECKING:
    from .candidates import CandidateNoise
    from .loop import Decoding


class Places(NamedTuple):
    """Where tokens are written: R × T, bool, of all; and some of these places (P) laid flat."""

    where: Tensor
    flat: Tensor


class Processor:
    """One rule of decoding. ``places``: None where scores and actions are of all tokens or slots.

    Attributes:
        looks_at_all: it has to see all tokens that are written at once, not some rows at a time.
    """

    looks_at_all = False

    def scores(
        self, decoding: "Decoding", scores: Tensor, step: int, places: Places | None
    ) -> Tensor:
        """What the likeliest action is taken of, in iteration ``step``."""
        return scores

    def action(
        self, decoding: "Decoding", action: Tensor, scores: Tensor | None, places: Places | None
    ) -> Tensor:
        """What is done; ``scores``: of tokens that are written, those that they were taken of."""
        return action


class WholeWords(Processor):
    """Deletion: what stands between two spaces goes or stays as a whole."""

    def __init__(self, symbols: Sequence[str], device: torch.device) -> None:
        self.spaces = symbol_edges(tuple(symbols), spaces=True).to(device)

    def scores(
        self, decoding: "Decoding", scores: Tensor, step: int, places: Places | None
    ) -> Tensor:
        """R × T probabilities → those of whole words."""
        return word_means(scores, self.spaces[decoding.state.tokens])


class EmptyPenalty(Processor):
    """Insertion: γ less for inserting nothing (§3.3)."""

    def __init__(self, penalty: float) -> None:
        self.penalty = penalty

    def scores(
        self, decoding: "Decoding", scores: Tensor, step: int, places: Places | None
    ) -> Tensor:
        """R × (T − 1) × (K + 1) logits."""
        scores = scores.clone()
        scores[..., 0] -= self.penalty
        return scores


class Noise(Processor):
    """Insertion and filling: what the candidates of a sentence differ by.

    noise: of the batch. phase: 0 or 1, of insertion and filling; another operation's noise needs
    numbers of its own.
    """

    def __init__(self, noise: "CandidateNoise", phase: int) -> None:
        self.noise, self.phase = noise, phase

    def scores(
        self, decoding: "Decoding", scores: Tensor, step: int, places: Places | None
    ) -> Tensor:
        """Logits of all slots, R × (T − 1) × (K + 1), or of tokens, P × V."""
        if places is None:
            width = scores.size(1)
            flat = torch.arange(scores[..., 0].numel(), device=scores.device)
        else:
            width, flat = places.where.size(1), places.flat
        stream, classes = 2 * step + self.phase, scores.size(-1)
        noise = self.noise(decoding.state.rows, flat, width, stream, classes)
        return scores + noise.view_as(scores)


class LengthLimit(Processor):
    """Insertion: what the length limit leaves."""

    def action(
        self, decoding: "Decoding", action: Tensor, scores: Tensor | None, places: Places | None
    ) -> Tensor:
        """R × (T − 1) counts."""
        return decoding.limited(action)


class OrderedDeletions(Processor):
    """Deletion: marked tokens stay, or go."""

    def __init__(self, orders: EditConstraints) -> None:
        self.orders = orders

    def action(
        self, decoding: "Decoding", action: Tensor, scores: Tensor | None, places: Places | None
    ) -> Tensor:
        """R × T, bool: deleted tokens."""
        state = decoding.state
        action = action & ~self.orders.standing(KEEP, state.origin, state.rows)
        return action | self.orders.standing(DROP, state.origin, state.rows)


class OrderedSlots(Processor):
    """Insertion: nothing inside a term; what would grow onto a word that stays is set apart."""

    def __init__(self, orders: EditConstraints) -> None:
        self.orders = orders

    def action(
        self, decoding: "Decoding", action: Tensor, scores: Tensor | None, places: Places | None
    ) -> Tensor:
        """R × (T − 1) counts."""
        state, orders = decoding.state, self.orders
        joined = orders.standing(JOINED, state.origin, state.rows)[:, :-1]
        counts = action.masked_fill(joined, 0)
        if not orders.whole_words:
            return counts
        slots = state.tokens[:, 1:].ne(decoding.pad) & ~joined
        grown = orders.grown_together(state.tokens, state.origin, state.rows)
        return torch.maximum(counts, (grown & slots).long())


class OrderedTokens(Processor):
    """Filling: nothing that grows onto a word that stays; what was removed is not written again."""

    def __init__(self, orders: EditConstraints) -> None:
        self.orders = orders
        self.looks_at_all = orders.removes

    def scores(
        self, decoding: "Decoding", scores: Tensor, step: int, places: Places | None
    ) -> Tensor:
        """P × V logits."""
        if places is None or not self.orders.whole_words:
            return scores
        state = decoding.state
        growing = self.orders.growing(places.flat, state.origin, state.rows)
        return scores.masked_fill(growing, float("-inf"))

    def action(
        self, decoding: "Decoding", action: Tensor, scores: Tensor | None, places: Places | None
    ) -> Tensor:
        """P tokens."""
        if places is None or scores is None or not self.orders.removes:
            return action
        state = decoding.state
        filled = state.tokens.flatten().index_copy(0, places.flat, action)
        filled = filled.view_as(places.where)
        return self.orders.mask_forbidden(scores.clone(), places.where, filled, state.numbers)


def word_means(values: Tensor, spaces: Tensor) -> Tensor:
    """R × T: of every token the mean of those between the same ``spaces`` (R × T × 2, of which 0 is
    before a token and 1 behind it)."""
    before, behind = spaces.unbind(2)
    begins = before | F.pad(behind[:, :-1], (1, 0))
    word = begins.long().cumsum(1)
    zeros = values.new_zeros(len(values), values.size(1) + 1)
    sums = zeros.scatter_add(1, word, values)
    sizes = zeros.scatter_add(1, word, torch.ones_like(values))
    return (sums / sizes.clamp(min=1)).gather(1, word)
