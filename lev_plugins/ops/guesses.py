"""Guesses of what a text goes on with, from a draft of it and from its source.

What is written so far is aligned with the draft by edit distance, and is expected to go on as the
draft does behind the place where it stands then. Where the two have agreed for a while the place is
certain, and what came before is not looked at again.
"""

from collections.abc import Sequence

#: tokens in a row that are as in the draft, from which on the place is certain
CERTAIN = 4
#: tokens of the draft that may be passed over at once
FARTHEST = 32
#: alignments with more edits than the best and so many are given up
SLACK = 8
#: of what was written last, tokens that tell a place in a source
LONGEST_SUFFIX = 3


class DraftGuide:
    """A draft, and how far in it the text has come that is being written.

    place: tokens of the draft that lie behind; the draft's length at its end.
    """

    def __init__(self, draft: Sequence[int]) -> None:
        self.draft = list(draft)
        self.place = 0
        self._last: int | None = None  # of what is written
        self._edits = {0: 0}  # place → edits between the text and the draft up to there

    def is_certain(self) -> bool:
        """Returns whether the last token is the draft's, too."""
        return self._last is None or (self.place > 0 and self.draft[self.place - 1] == self._last)

    def guess(self, most: int) -> list[int]:
        """The next tokens, at most so many; none at the end of the draft."""
        return self.draft[self.place : self.place + most]

    def follow(self, written: Sequence[int], accepted: int) -> None:
        """Goes on behind what was written since the last guess: as many tokens of it as were
        ``accepted``, and one."""
        expected = self.place + accepted
        if accepted >= CERTAIN:
            self._edits = {expected: 0}
            written = written[accepted:]
        for token in written:
            self._edits = self._with(token)
        self._last = last = written[-1]

        def rank(place: int) -> tuple[int, bool, int, int]:
            behind = place > 0 and self.draft[place - 1] == last
            return self._edits[place], not behind, abs(place - expected - 1), place

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


class SourceGuide:
    """Guesses for what is copied from a text: what follows there on the last tokens."""

    def __init__(self, text: Sequence[int]) -> None:
        self.text = list(text)
        self._places: dict[int, list[int]] = {}  # token → where it has just been passed
        for place, token in enumerate(self.text, start=1):
            self._places.setdefault(token, []).append(place)

    def guess(self, written: Sequence[int], most: int) -> list[int]:
        """At most so many tokens; none unless the last tokens stand in the text just once."""
        places = self._places.get(written[-1], [])
        for back in range(2, min(LONGEST_SUFFIX, len(written)) + 1):
            if len(places) > 1:
                before = written[-back]
                places = [p for p in places if p >= back and self.text[p - back] == before]
        if len(places) != 1:
            return []
        (place,) = places
        return self.text[place : place + most]
