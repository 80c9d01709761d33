"""Orders of a person, followed through decoding; their text is read by :mod:`lev_runtime.markup`.

Shapes: R sentences, N tokens of the draft, T tokens of what stands now, P tokens to be written,
V symbols.
"""

import functools
import itertools
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from lev_runtime.markup import BEGINS as BEGINS
from lev_runtime.markup import DROP as DROP
from lev_runtime.markup import ENDS as ENDS
from lev_runtime.markup import JOINED as JOINED
from lev_runtime.markup import KEEP as KEEP
from lev_runtime.markup import SPACES as SPACES
from lev_runtime.markup import Joining as Joining
from lev_runtime.markup import Mark as Mark
from lev_runtime.markup import escape_markup as escape_markup
from lev_runtime.markup import parse_markup as parse_markup
from lev_runtime.markup import removed_runs
from lev_runtime.markup import token_marks as token_marks
from lev_runtime.markup import whole_words as whole_words
from lev_runtime.markup import write_mark as write_mark

from ...ops.transfer import to_device


class EditConstraints:
    """Orders on draft positions, followed through decoding by the origin of each token.

    draft, marks: R × N, long, its tokens and their bits. edges: V × 2, of :func:`symbol_edges`.
    """

    def __init__(self, draft: Tensor, marks: Tensor, edges: Tensor) -> None:
        self.marks = marks
        self.continues, self.continued = edges.to(marks.device).unbind(1)
        self.whole_words = bool(marks.bitwise_and(BEGINS | ENDS).any())
        self.removed = [removed_runs(*row) for row in zip(draft.tolist(), marks.tolist())]
        self.removes = any(self.removed)

    def standing(self, bit: int, origin: Tensor, rows: Tensor) -> Tensor:
        """R' × T, bool: tokens that stand since the draft and carry the mark; ``rows``: R' of R."""
        marks = self.marks.index_select(0, rows).gather(1, origin.clamp(min=0))
        return (origin >= 0) & marks.bitwise_and(bit).ne(0)

    def grown_together(self, tokens: Tensor, origin: Tensor, rows: Tensor) -> Tensor:
        """R' × (T − 1), bool: slots where a word that stays continues in its neighbour."""
        left, right = tokens[:, :-1], tokens[:, 1:]
        ends = self.standing(ENDS, origin, rows)[:, :-1]
        begins = self.standing(BEGINS, origin, rows)[:, 1:]
        return (ends & self.continues[right]) | (begins & self.continued[left])

    def growing(self, places: Tensor, origin: Tensor, rows: Tensor) -> Tensor:
        """P × V, bool: what would grow onto a word that stays, at ``places`` (P) of R' × T laid
        flat."""
        ends = self.standing(ENDS, origin, rows)
        begins = self.standing(BEGINS, origin, rows)
        # whether such a word stands left, or right, of each token
        left = F.pad(ends, (1, -1)).flatten().index_select(0, places)
        right = F.pad(begins, (-1, 1)).flatten().index_select(0, places)
        onto_left = left.unsqueeze(1) & self.continues
        onto_right = right.unsqueeze(1) & self.continued
        return onto_left | onto_right

    def mask_forbidden(
        self, logits: Tensor, where: Tensor, tokens: Tensor, numbers: Sequence[int]
    ) -> Tensor:
        """The likeliest tokens that do not write again what was removed: P, long.

        logits: P × V, at ``where`` (R' × T, bool, P true); changed. tokens: R' × T, what stands,
        the likeliest tokens filled in. numbers: R' of R.
        """
        sentences, new = torch.stack([tokens, where.to(tokens.dtype)]).tolist()
        index = list(itertools.accumulate(map(sum, new), initial=0))  # of a row's first answer
        while again := self._all_rewritten(numbers, sentences, new):
            answers = to_device(
                [index[row] + sum(new[row][:place]) for row, place in again], logits.device
            )
            written = to_device([sentences[row][place] for row, place in again], logits.device)
            logits[answers, written] = float("-inf")
            best = logits.index_select(0, answers).argmax(1).tolist()
            for (row, place), token in zip(again, best, strict=True):
                sentences[row][place] = token
        sides = zip(itertools.chain(*sentences), itertools.chain(*new), strict=True)
        return to_device([token for token, written in sides if written], logits.device)

    def _all_rewritten(
        self, numbers: Sequence[int], sentences: list[list[int]], new: list[list[int]]
    ) -> list[tuple[int, int]]:
        """Rows and places of :meth:`_rewritten`, one of each row that has any."""
        places = map(self._rewritten, numbers, sentences, new)
        return [(row, place) for row, place in enumerate(places) if place is not None]

    def _rewritten(self, row: int, tokens: list[int], new: list[int]) -> int | None:
        """The first ``new`` token of a sequence that was removed and is being written again."""
        for run in self.removed[row]:
            for start in range(len(tokens) - len(run) + 1):
                if tokens[start : start + len(run)] == run and any(new[start : start + len(run)]):
                    return new.index(1, start)
        return None


@functools.lru_cache(maxsize=4)
def symbol_edges(symbols: tuple[str, ...], spaces: bool = False) -> Tensor:
    """V × 2, bool: :meth:`Joining.edges`, or ``spaces``, of every symbol."""
    joining = Joining(symbols)
    return torch.tensor([*map(joining.spaces if spaces else joining.edges, symbols)])
