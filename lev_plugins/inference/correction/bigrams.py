"""How well words stand beside each other, by counts of neighbouring words."""

import math
from collections.abc import Mapping

from ...errors import UserError
from ...io.text_files import read_lines


class Bigrams:
    """Pairs of neighbouring words: a word → each that is met behind it → how often, above 0."""

    def __init__(self, counts: Mapping[str, Mapping[str, float]]) -> None:
        self.counts = counts
        self.first = {left: sum(some.values()) for left, some in counts.items()}
        self.second: dict[str, float] = {}
        for some in counts.values():
            for right, count in some.items():
                self.second[right] = self.second.get(right, 0.0) + count
        self.total = math.fsum(self.first.values())
        self.least = min(min(some.values()) for some in counts.values())

    @classmethod
    def read(cls, path: str) -> "Bigrams":
        """A file of two words and their count on each line, with spaces or tabs between them.

        Capitals do not matter.

        Raises:
            UserError: no such file, no UTF-8, a line of another form.
        """
        counts: dict[str, dict[str, float]] = {}
        for number, line in enumerate(read_lines(path), start=1):
            try:
                left, right, written = line.lower().split()
                count = float(written)
            except ValueError:
                count = 0.0
            if not 0 < count < math.inf:
                raise UserError(
                    f"{path}, line {number}: {line!r} is not two words and their count, above 0"
                )
            some = counts.setdefault(left, {})
            some[right] = some.get(right, 0.0) + count
        if not counts:
            raise UserError(f"{path} holds no pairs of words")
        return cls(counts)

    def __contains__(self, word: str) -> bool:
        return word in self.first or word in self.second

    def association(self, left: str, right: str) -> float:
        """Their pointwise mutual information, in nats: how much more often than by chance they are
        met together.

        To both counts the smallest of the list is added, since a pair that is not listed was met
        less often. 0 where one of the words is in no pair.
        """
        chance = self.first.get(left, 0.0) * self.second.get(right, 0.0) / self.total
        met = self.counts.get(left, {}).get(right, 0.0)
        return math.log((met + self.least) / (chance + self.least))

    def score(self, text: str, left: str, right: str) -> float:
        """Of a text of one word or more between two others, ``""`` where there is none."""
        words = [word for word in (left, *text.split(), right) if word]
        return sum(self.association(*pair) for pair in zip(words, words[1:]))
