"""Guesses of what a text goes on with, from a draft of it.

What is written so far is aligned with the draft by edit distance, and is expected to go on as the
draft does after the place where it stands then. Where the two have agreed for a while the place is
certain, and what came before is not looked at again.
"""

from collections.abc import Sequence

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
