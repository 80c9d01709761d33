"""Obeys marks on the tokens of drafts through decoding (:mod:`.markup` reads their text).

Shapes: R sentences, N tokens of the draft, T tokens of what stands now, P tokens to be written,
V symbols.
"""

import functools
import itertools
from collections.abc import Sequence

import numpy as np

from ..text.markup import BEGINS, DROP, ENDS, JOINED, KEEP, joining_of, removed_runs
from .arrays import Array, Arrays
from .state import RefinementState


class EditConstraints:
    """Marks on draft positions, followed through decoding by the origin of each token.

    draft, marks: R × N, its tokens and their bits. symbols: of the dictionary.
    """

    def __init__(
        self, draft: Array, marks: Array, symbols: tuple[str, ...], pad: int, arrays: Arrays
    ) -> None:
        self.marks = marks
        self.pad = pad
        self.arrays = arrays
        edges = arrays.as_tensor(symbol_edges(symbols), marks)
        self.continues = edges[:, 0]
        self.continued = edges[:, 1]
        self.whole_words = bool((marks & (BEGINS | ENDS)).any())
        self.removed = [removed_runs(*row) for row in zip(draft.tolist(), marks.tolist())]
        self.removes = any(self.removed)

    # what Decoding asks -------------------------------------------------------------------------

    def deletions(self, deleted: Array, state: RefinementState) -> Array:
        """Returns the deleted tokens, R × T, bool: marked ones are kept, or go."""
        deleted = deleted & ~self.standing(KEEP, state.origin, state.rows)
        deleted = deleted | self.standing(DROP, state.origin, state.rows)
        return self._without_joined(deleted, state) if self.removes else deleted

    def _without_joined(self, deleted: Array, state: RefinementState) -> Array:
        """Deletes new tokens too that would write a removed sequence once others are deleted."""
        asked = self.arrays.int64(deleted), state.tokens, state.origin
        going, sentences, origins = self.arrays.tolist(asked)
        for number, gone, tokens, origin in zip(state.numbers, going, sentences, origins):
            again: int | None = 0
            while again is not None:
                left = [place for place, is_gone in enumerate(gone) if not is_gone]
                new = [int(origin[place] < 0) for place in left]
                again = self._rewritten(number, [tokens[place] for place in left], new)
                if again is not None:
                    gone[left[again]] = 1
        return self.arrays.as_tensor(going, deleted) > 0

    def insertions(self, counts: Array, state: RefinementState) -> Array:
        """Forbids insertions inside a term; forces one between a kept word and what would merge.

        counts: R × (T − 1).
        """
        arrays = self.arrays
        joined = self.standing(JOINED, state.origin, state.rows)[:, :-1]
        counts = arrays.masked_fill(counts, joined, 0)
        if not self.whole_words:
            return counts
        slots = (state.tokens[:, 1:] != self.pad) & ~joined
        # a word that stays continues in its neighbour
        ends = self.standing(ENDS, state.origin, state.rows)[:, :-1]
        begins = self.standing(BEGINS, state.origin, state.rows)[:, 1:]
        onto_left = ends & self.continues[state.tokens[:, 1:]]
        onto_right = begins & self.continued[state.tokens[:, :-1]]
        grown = onto_left | onto_right
        return arrays.xp.maximum(counts, arrays.int64(grown & slots))

    def tokens(self, logits: Array, places: Array, where: Array, state: RefinementState) -> Array:
        """Returns the likeliest tokens, P, except what a mark forbids.

        They neither merge with a kept word nor write again what was removed.

        Args:
            logits: P × V, all of them where something was removed. places: P, of ``where`` (R × T,
                bool) flattened.
        """
        arrays = self.arrays
        if self.whole_words:
            growing = self.growing(places, state.origin, state.rows)
            logits = arrays.masked_fill(logits, growing, float("-inf"))
        best = arrays.argmax(logits)
        if not self.removes:
            return best
        filled = arrays.put(state.tokens, places, best)
        return self.mask_forbidden(arrays.copy(logits), where, filled, state.numbers)

    # how it finds out ---------------------------------------------------------------------------

    def standing(self, bit: int, origin: Array, rows: Array) -> Array:
        """Returns which tokens of the draft are left and carry the mark: R' × T, bool.

        ``rows``: R', of R.
        """
        marks = self.arrays.gather(self.marks[rows], self.arrays.xp.clip(origin, 0, None))
        return (origin >= 0) & ((marks & bit) != 0)

    def growing(self, places: Array, origin: Array, rows: Array) -> Array:
        """Returns which symbols would merge with a kept word at ``places`` (P): P × V, bool.

        places: of R' × T flattened.
        """
        arrays = self.arrays
        ends = self.standing(ENDS, origin, rows)
        begins = self.standing(BEGINS, origin, rows)
        # whether such a word stands left, or right, of each token
        left = arrays.pad(ends[:, :-1], 1, 0, False).reshape(-1)
        right = arrays.pad(begins[:, 1:], 0, 1, False).reshape(-1)
        onto_left = left[places][:, None] & self.continues
        onto_right = right[places][:, None] & self.continued
        return onto_left | onto_right

    def mask_forbidden(
        self, logits: Array, where: Array, tokens: Array, numbers: Sequence[int]
    ) -> Array:
        """Returns the likeliest tokens, P, that do not write again what was removed.

        logits: P × V, at ``where`` (R' × T, bool, P true); changed. tokens: R' × T, what stands,
        the likeliest tokens filled in. numbers: R' of R.
        """
        arrays = self.arrays
        sentences, new = arrays.tolist([tokens, arrays.int64(where)])
        answer = 0  # of the row's first new token
        for number, sentence, is_new in zip(numbers, sentences, new):
            while (again := self._rewritten(number, sentence, is_new)) is not None:
                place = answer + sum(is_new[:again])
                logits[place, sentence[again]] = float("-inf")
                (sentence[again],) = arrays.argmax(logits[place : place + 1]).tolist()
            answer += sum(is_new)
        likeliest = itertools.compress(itertools.chain(*sentences), itertools.chain(*new))
        return arrays.as_tensor(list(likeliest), logits)

    def _rewritten(self, row: int, tokens: list[int], new: list[int]) -> int | None:
        """Returns the first ``new`` token of a removed sequence that is being written again."""
        for run in self.removed[row]:
            size = len(run)
            for start in range(len(tokens) - size + 1):
                end = start + size
                if tokens[start:end] == run and any(new[start:end]):
                    return new.index(1, start)
        return None


@functools.lru_cache(maxsize=4)
def symbol_edges(symbols: tuple[str, ...]) -> np.ndarray:
    """Returns :meth:`Joining.edges` of every symbol: V × 2, bool."""
    joining = joining_of(symbols)
    return np.array([joining.edges(symbol) for symbol in symbols])
