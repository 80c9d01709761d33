"""What changes an operation's choice in decoding: penalties, noise, orders, limits.

As through Hugging Face's ``LogitsProcessor``, scores go through a list; here actions do too.

Shapes: R candidates, T tokens each, P tokens to be written, V symbols.
"""

from typing import TYPE_CHECKING, NamedTuple

from .arrays import Array, Arrays
from .constraints import EditConstraints, symbol_edges
from .markup import DROP, JOINED, KEEP

if TYPE_CHECKING:
    from .candidates import CandidateNoise
    from .decoding import Decoding


class Places(NamedTuple):
    """Where tokens are written: R × T, bool, of all; and some of these places (P) laid flat."""

    where: Array
    flat: Array


class Processor:
    """One rule of decoding. ``places``: None where scores and actions are of all tokens or slots.

    Attributes:
        looks_at_all: it has to see all tokens that are written at once, not some rows at a time.
    """

    looks_at_all = False

    def scores(
        self, decoding: "Decoding", scores: Array, step: int, places: Places | None
    ) -> Array:
        """What the likeliest action is taken of, in iteration ``step``."""
        return scores

    def action(
        self, decoding: "Decoding", action: Array, scores: Array | None, places: Places | None
    ) -> Array:
        """What is done; ``scores``: of tokens that are written, those that they were taken of."""
        return action


class EmptyPenalty(Processor):
    """Insertion: γ less for inserting nothing (§3.3)."""

    def __init__(self, penalty: float) -> None:
        self.penalty = penalty

    def scores(
        self, decoding: "Decoding", scores: Array, step: int, places: Places | None
    ) -> Array:
        """R × (T − 1) × (K + 1) logits."""
        scores = decoding.arrays.copy(scores)
        scores[..., 0] -= self.penalty
        return scores


class Noise(Processor):
    """Insertion and filling: what the candidates of a sentence differ by.

    noise: of the batch. phase: 0 or 1, of insertion and filling; another operation's noise needs
    numbers of its own.
    """

    def __init__(self, noise: "CandidateNoise", phase: int) -> None:
        self.noise = noise
        self.phase = phase

    def scores(
        self, decoding: "Decoding", scores: Array, step: int, places: Places | None
    ) -> Array:
        """Logits of all slots, R × (T − 1) × (K + 1), or of tokens, P × V."""
        classes = scores.shape[-1]
        if places is None:
            rows, width = scores.shape[:2]
            flat = decoding.arrays.positions(rows * width, scores)
        else:
            width = places.where.shape[1]
            flat = places.flat
        stream = 2 * step + self.phase
        noise = self.noise(decoding.state.rows, flat, width, stream, classes)
        return scores + noise.reshape(scores.shape)


class LengthLimit(Processor):
    """Insertion: what the length limit leaves."""

    def action(
        self, decoding: "Decoding", action: Array, scores: Array | None, places: Places | None
    ) -> Array:
        """R × (T − 1) counts."""
        return decoding.limited(action)


class WholeWords(Processor):
    """Deletion: what stands between two spaces goes or stays as a whole."""

    def __init__(self, decoding: "Decoding") -> None:
        arrays = decoding.arrays
        spaces = symbol_edges(decoding.symbols.names, spaces=True)
        sent = arrays.send(spaces, decoding.state.tokens)
        self.before, self.behind = sent[:, 0], sent[:, 1]

    def scores(
        self, decoding: "Decoding", scores: Array, step: int, places: Places | None
    ) -> Array:
        """R × T probabilities → those of whole words."""
        tokens, arrays = decoding.state.tokens, decoding.arrays
        ended = arrays.pad(self.behind[tokens[:, :-1]], 1, 0, False)
        words = arrays.whole(self.before[tokens] | ended).cumsum(1)
        return arrays.group_means(scores, words)


class OrderedDeletions(Processor):
    """Deletion: marked tokens stay, or go."""

    def __init__(self, orders: EditConstraints) -> None:
        self.orders = orders

    def action(
        self, decoding: "Decoding", action: Array, scores: Array | None, places: Places | None
    ) -> Array:
        """R × T, bool: deleted tokens."""
        state = decoding.state
        action = action & ~self.orders.standing(KEEP, state.origin, state.rows)
        return action | self.orders.standing(DROP, state.origin, state.rows)


class OrderedSlots(Processor):
    """Insertion: nothing inside a term; what would grow onto a word that stays is set apart."""

    def __init__(self, orders: EditConstraints) -> None:
        self.orders = orders

    def action(
        self, decoding: "Decoding", action: Array, scores: Array | None, places: Places | None
    ) -> Array:
        """R × (T − 1) counts."""
        state, orders = decoding.state, self.orders
        arrays = decoding.arrays
        joined = orders.standing(JOINED, state.origin, state.rows)[:, :-1]
        counts = arrays.fill(action, joined, 0)
        if not orders.whole_words:
            return counts
        slots = (state.tokens[:, 1:] != decoding.pad) & ~joined
        grown = orders.grown_together(state.tokens, state.origin, state.rows)
        return arrays.maximum(counts, arrays.whole(grown & slots))


class OrderedTokens(Processor):
    """Filling: nothing that grows onto a word that stays; what was removed is not written again."""

    def __init__(self, orders: EditConstraints) -> None:
        self.orders = orders
        self.looks_at_all = orders.removes

    def scores(
        self, decoding: "Decoding", scores: Array, step: int, places: Places | None
    ) -> Array:
        """P × V logits."""
        if places is None or not self.orders.whole_words:
            return scores
        state = decoding.state
        growing = self.orders.growing(places.flat, state.origin, state.rows)
        return decoding.arrays.fill(scores, growing, float("-inf"))

    def action(
        self, decoding: "Decoding", action: Array, scores: Array | None, places: Places | None
    ) -> Array:
        """P tokens."""
        if places is None or scores is None or not self.orders.removes:
            return action
        state, arrays = decoding.state, decoding.arrays
        filled = arrays.put(state.tokens, places.flat, action)
        scores = arrays.copy(scores)
        return self.orders.mask_forbidden(scores, places.where, filled, state.numbers)


def limit_insertions(counts: Array, room: Array, arrays: Arrays) -> Array:
    """Cuts insertion counts, from the left, so that a sentence gets at most ``room`` new tokens.

    Args:
        counts: R × (T − 1), placeholders wanted in every slot.
        room: R, how many tokens may be added (negative counts as 0).
    """
    if not arrays.waits and (counts.sum(1) <= room).all():
        return counts
    before = counts.cumsum(1) - counts
    return arrays.minimum(counts, arrays.at_least(room[:, None] - before, 0))
