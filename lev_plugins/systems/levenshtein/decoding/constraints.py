"""What a person has ordered for a draft: tokens that stay, tokens that go, terms that stay whole.

Shapes: R sentences, N tokens of the draft, T tokens of what stands now, P tokens to be written,
V symbols.
"""

import functools

import torch
from torch import Tensor

from ....errors import UserError
from ..joining import Joining
from ..markup import BEGINS, DROP, ENDS, JOINED, KEEP, REPLACE


class EditConstraints:
    """Orders on draft positions, followed through decoding by the origin of each token.

    Args:
        draft: R × N, with <s> and </s>.
        marks: R × N, long, the bits of :mod:`~..markup` for every token.
        edges: V × 2, bool: whether a symbol can continue with what stands before it, and with what
            stands behind it (:class:`~lev_plugins.systems.levenshtein.joining.Joining`).
    """

    def __init__(self, draft: Tensor, marks: Tensor, edges: Tensor) -> None:
        self.marks = marks
        self.continues, self.continued = edges.to(marks.device).unbind(1)
        self.whole_words = bool(marks.bitwise_and(BEGINS | ENDS).any())
        self.removed = [_runs(*row) for row in zip(draft.tolist(), marks.tolist())]
        self.removes = any(self.removed)
        self.replaces = bool(marks.bitwise_and(REPLACE).any())

    def _standing(self, bit: int, origin: Tensor, rows: Tensor) -> Tensor:
        """R' × T, bool: tokens that stand since the draft and carry the mark."""
        marks = self.marks.index_select(0, rows).gather(1, origin.clamp(min=0))
        return (origin >= 0) & marks.bitwise_and(bit).ne(0)

    def must_keep(self, origin: Tensor, rows: Tensor) -> Tensor:
        """Which of the tokens with ``origin`` (R' × T), of the sentences ``rows``, must stay."""
        return self._standing(KEEP, origin, rows)

    def dropped(self, origin: Tensor, rows: Tensor) -> Tensor:
        """Which of the tokens have to go."""
        return self._standing(DROP, origin, rows)

    def no_insert(self, origin: Tensor, rows: Tensor) -> Tensor:
        """R' × (T − 1), bool: slots in which nothing may be inserted."""
        return self._standing(JOINED, origin, rows)[:, :-1]

    def emptied(self, origin: Tensor, rows: Tensor) -> Tensor:
        """R' × (T − 1), bool: slots in which something was to be replaced and nothing stands."""
        marked = self.marks.index_select(0, rows).bitwise_and(REPLACE).ne(0).cumsum(1)
        before = marked.gather(1, origin.clamp(min=0))
        drafted = origin >= 0
        return drafted[:, :-1] & drafted[:, 1:] & (before[:, 1:] > before[:, :-1])

    def grown_together(self, tokens: Tensor, origin: Tensor, rows: Tensor) -> Tensor:
        """R' × (T − 1), bool: slots where a word that stays would continue in what stands beside
        it.

        Args:
            tokens: R' × T, what stands, without placeholders.
        """
        behind = self._standing(ENDS, origin, rows)[:, :-1] & self.continues[tokens[:, 1:]]
        before = self._standing(BEGINS, origin, rows)[:, 1:] & self.continued[tokens[:, :-1]]
        return behind | before

    def growing(self, where: Tensor, origin: Tensor, rows: Tensor) -> Tensor:
        """P × V, bool: symbols that would be written onto a word that stays.

        Args:
            where: R' × T, bool, the places to write at, P true.
        """
        ends, begins = (self._standing(bit, origin, rows) for bit in (ENDS, BEGINS))
        behind = torch.nn.functional.pad(ends, (1, -1))[where]
        before = torch.nn.functional.pad(begins, (-1, 1))[where]
        return (behind.unsqueeze(1) & self.continues) | (before.unsqueeze(1) & self.continued)

    def check_room(self, cap: Tensor) -> None:
        """Refuses what cannot be kept.

        Args:
            cap: R, the length limit of every sentence, <s> and </s> included.

        Raises:
            UserError: more tokens have to stay than a sentence may have.
        """
        wanted = self.marks.bitwise_and(KEEP).ne(0).sum(1) + 2
        for number, limit in zip(wanted.tolist(), cap.tolist()):
            if number > limit:
                raise UserError(
                    f"{number - 2} tokens of a draft are marked to stay where the length limit is "
                    f"{limit - 2}; leave out --stock-decoding, which sets it, or mark fewer"
                )

    def rewritten(self, row: int, tokens: list[int], new: list[bool]) -> int | None:
        """Where something that was removed is being written again.

        Args:
            row: the sentence. tokens: what stands, without padding. new: which tokens were
                written just now.

        Returns:
            the first new token of a sequence that was marked to go; None where there is none.
        """
        for run in self.removed[row]:
            size = len(run)
            for start in range(len(tokens) - size + 1):
                if tokens[start : start + size] != run:
                    continue
                for position in range(start, start + size):
                    if new[position]:
                        return position
        return None


@functools.lru_cache(maxsize=4)
def symbol_edges(symbols: tuple[str, ...]) -> Tensor:
    """V × 2, bool: whether a symbol can continue with what stands before it, and behind it."""
    return torch.tensor([*map(Joining(symbols).edges, symbols)])


def _runs(tokens: list[int], marks: list[int]) -> list[list[int]]:
    """The sequences of tokens that have to go, one for each mark, without repetition."""
    runs: list[list[int]] = []
    run: list[int] = []
    for token, mark in zip(tokens + [0], marks + [0]):
        if mark & DROP:
            run.append(token)
        if run and not (mark & DROP and mark & JOINED):
            if run not in runs:
                runs.append(run)
            run = []
    return runs


def mask_forbidden(
    logits: Tensor, where: Tensor, tokens: Tensor, constraints: EditConstraints, rows: Tensor
) -> Tensor:
    """The likeliest tokens that do not write again what was removed.

    Args:
        logits: P × V, of the tokens at ``where`` (R' × T, bool, P true), row-major; changed.
        tokens: R' × T, what stands, the likeliest tokens filled in; changed.
        rows: R', the sentences' numbers.

    Returns:
        P, long.
    """
    index = where.flatten().cumsum(0).view_as(where) - 1
    for i, row in enumerate(rows.tolist()):
        if not constraints.removed[row]:
            continue
        new = where[i].tolist()
        while True:
            position = constraints.rewritten(row, tokens[i].tolist(), new)
            if position is None:
                break
            answer = int(index[i, position])
            logits[answer, int(tokens[i, position])] = float("-inf")
            tokens[i, position] = logits[answer].argmax()
    return torch.masked_select(tokens, where)
