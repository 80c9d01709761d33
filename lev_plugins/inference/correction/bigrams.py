"""How well words stand beside each other, by counts of neighbouring words."""

import math
from collections import Counter
from collections.abc import Mapping

from ...errors import UserError
from ...io.text_files import read_lines


class Bigrams:
    """Pairs of neighbouring words.

    Args:
        counts: two words with a space between them → how often they are met, above 0.
    """

    def __init__(self, counts: Mapping[str, float]) -> None:
        self.counts = dict(counts)
        self.first: Counter[str] = Counter()
        self.second: Counter[str] = Counter()
        for pair, count in self.counts.items():
            left, _, right = pair.partition(" ")
            self.first[left] += count  # type: ignore[assignment]
            self.second[right] += count  # type: ignore[assignment]
        self.total = math.fsum(self.counts.values())
        self.least = min(self.counts.values())

    @classmethod
    def read(cls, path: str) -> "Bigrams":
        """A file of two words and a count on each line, with a space between them.

        Raises:
            UserError: no such file, no UTF-8, a line of another form.
        """
        counts: dict[str, float] = {}
        for number, line in enumerate(read_lines(path), start=1):
            pair, _, written = line.rpartition(" ")
            try:
                count = float(written)
            except ValueError:
                count = 0.0
            if len(pair.split()) != 2 or pair.count(" ") != 1 or not 0 < count < math.inf:
                raise UserError(
                    f"{path}, line {number}: {line!r} is not two words and their count, above 0, "
                    "with single spaces between them"
                )
            counts[pair] = counts.get(pair, 0.0) + count
        if not counts:
            raise UserError(f"{path} holds no pairs of words")
        return cls(counts)

    def association(self, left: str, right: str) -> float:
        """Their pointwise mutual information, in nats: how much more often than by chance they are
        met together.

        To both counts the smallest of the list is added, since a pair that is not listed was met
        less often. 0 where one of the words is in no pair.
        """
        chance = self.first[left] * self.second[right] / self.total
        met = self.counts.get(f"{left} {right}", 0.0)
        return math.log((met + self.least) / (chance + self.least))

    def score(self, text: str, left: str, right: str) -> float:
        """Of a text of one word or more between two others, ``""`` where there is none."""
        words = [word for word in (left, *text.split(), right) if word]
        return sum(self.association(*pair) for pair in zip(words, words[1:]))
