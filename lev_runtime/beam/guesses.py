"""Guesses of what a text goes on with, from a draft of it, and how much of them was right.

Greedy decoding that reads ahead in a draft writes the same text in fewer passes: a decoder reads
what its text is expected to go on with, a stretch of the draft, in one pass. Up to the first token
that it would not have written itself, this is what greedy decoding writes; there its own token is
taken, and the draft is read on from where the text then stands in it (aggressive decoding: Sun et
al., 2021; Ge et al., 2022). The draft decides how many passes there are, never what is written.

What is written so far is aligned with the draft by edit distance, and is expected to go on as the
draft does after the place where it stands then. Where the two have agreed for a while the place is
certain, and what came before is not looked at again.
"""

import math
from collections.abc import Sequence

import numpy as np

from ..errors import UserError

#: tokens that are guessed at once, at most
MAX_GUESSED_TOKENS = 64
#: what a pass costs besides its guesses, in columns of them: of a batch, and of each sentence
#: (measured on a CPU with characters; with more it guesses further)
FIXED_COLUMNS, OWN_COLUMNS = 26, 8
#: and of each sentence where the output layer is most of the work, with so many symbols and more
LARGE_VOCABULARY, OWN_COLUMNS_OF_LARGE = 1000, 1.5
#: what a pass without a guess adds to the right ones: after a while guessing is tried again
FORGIVENESS = 0.05
IMPOSSIBLE = (
    "draft-guided: no symbol can follow what is written: the model's output is not a number "
    "(NaN), or all that may follow, such as </s>, is suppressed"
)
#: tokens in a row that are as in the draft, from which on the place is certain
CERTAIN = 4
#: tokens of the draft that may be passed over at once
FARTHEST = 32
#: alignments with more edits than the best and so many are given up
SLACK = 8


class DraftGuide:
    """A draft, and how far in it the text has come that is being written.

    place: tokens of the draft that have been passed; the draft's length at its end.
    """

    def __init__(self, draft: Sequence[int]) -> None:
        self.draft = list(draft)
        self.place = 0
        self._edits = {0: 0}  # place → edits between the text and the draft up to there

    def guess(self, most: int) -> list[int]:
        """The next tokens, at most so many; none at the end of the draft."""
        return self.draft[self.place : self.place + most]

    def follow(self, written: Sequence[int]) -> None:
        """Goes on after what was written since the last guess: what was accepted of it, and one
        token."""
        *accepted, last = written
        expected = self.place + len(accepted)
        if len(accepted) >= CERTAIN:
            self._edits = {expected: 0}
            written = [last]
        for token in written:
            self._edits = self._with(token)

        def rank(place: int) -> tuple[int, bool, int, int]:
            agrees = place > 0 and self.draft[place - 1] == last
            return self._edits[place], not agrees, abs(place - expected - 1), place

        self.place = min(self._edits, key=rank)

    def _with(self, token: int) -> dict[int, int]:
        """The edits once the text has a token more (Wagner and Fischer, 1974)."""
        fewest: dict[int, int] = {}
        draft = self.draft
        for place, edits in self._edits.items():
            ways = [(place, edits + 1)]  # it is inserted
            if place < len(draft):
                ways.append((place + 1, edits + (draft[place] != token)))
            ahead = draft[place + 1 : place + FARTHEST]
            if token in ahead:  # those before it are deleted
                passed = ahead.index(token) + 1
                ways.append((place + passed + 1, edits + passed))
            for to, total in ways:
                if total < fewest.get(to, total + 1):
                    fewest[to] = total
        most = min(fewest.values()) + SLACK
        return {place: edits for place, edits in fewest.items() if edits <= most}


class Reach:
    """Chooses how far to guess, by how often guesses were right; symbols: of the dictionary."""

    def __init__(self, symbols: int = 0) -> None:
        self.right, self.wrong = 18.0, 2.0
        self.own = OWN_COLUMNS if symbols < LARGE_VOCABULARY else OWN_COLUMNS_OF_LARGE

    def best(self, size: int) -> int:
        """The number of tokens by which a batch of ``size`` writes most for what it computes; 0
        where guesses cost more than they bring."""
        chance = self.right / (self.right + self.wrong)
        counts = np.arange(MAX_GUESSED_TOKENS + 1)
        written = (1 - chance ** (counts + 1)) / (1 - chance)
        cost = 1 + counts / (FIXED_COLUMNS / size + self.own)
        return int(counts[(written / cost).argmax()])

    def saw(self, accepted: int, guessed: int) -> None:
        """Notes how much of a guess was right."""
        self.right += accepted if guessed else FORGIVENESS
        self.wrong += accepted < guessed
        if self.right + self.wrong > 400:  # what was long ago counts less
            self.right, self.wrong = self.right / 2, self.wrong / 2


class GuidedText:
    """A text that is being written.

    row: of the batch. longest: tokens at most, without </s>. tokens: what was written, after the
    token that it begins with; scores: the log-probability of each but that. passes: of the decoder,
    so far.
    """

    def __init__(self, row: int, begin: int, draft: Sequence[int], longest: int) -> None:
        self.row = row
        self.longest = longest
        self.passes = 0
        self.guide = DraftGuide(draft)
        self.tokens = [begin]
        self.scores: list[float] = []

    def guess(self, reach: int) -> list[int]:
        """The tokens that are expected next, ``reach`` at most."""
        room = self.longest + 1 - len(self.tokens)
        return self.guide.guess(min(reach, room))

    def write(self, guess: Sequence[int], tokens: list[int], scores: list[float]) -> int:
        """Goes on by what is right of a guess and one token more; returns how many those are.

        Args:
            tokens, scores: what the model writes after each token that it has read, and the
                log-probabilities.

        Raises:
            UserError: there is no such token.
        """
        count = 1
        while count <= len(guess) and guess[count - 1] == tokens[count - 1]:
            count += 1
        if not all(map(math.isfinite, scores[:count])):  # else it would be written without end
            raise UserError(IMPOSSIBLE)
        self.tokens += tokens[:count]
        self.scores += scores[:count]
        self.passes += 1
        self.guide.follow(tokens[:count])
        return count


def accept(
    writing: Sequence[GuidedText],
    guesses: Sequence[Sequence[int]],
    tokens: Sequence[list[int]],
    scores: Sequence[list[float]],
    reach: Reach,
    eos: int,
) -> tuple[list[int], list[int]]:
    """Goes on with all texts after a pass; arguments as of :meth:`GuidedText.write`.

    Returns:
        which of them have not ended; and of each, how many of the tokens read are right.
    """
    going, counts = [], []
    for number, (text, guess) in enumerate(zip(writing, guesses, strict=True)):
        count = text.write(guess, tokens[number], scores[number])
        reach.saw(count - 1, len(guess))
        counts.append(count)
        if text.tokens[-1] != eos:
            going.append(number)
    return going, counts
