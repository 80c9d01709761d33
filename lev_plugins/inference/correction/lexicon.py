"""Words that there are, how often each is met, and which of them are near a misspelling."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import combinations, groupby

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import OSA

from ...errors import UserError
from ...io.text_files import read_lines

#: Two words within this many edits are near each other.
DISTANCE = 2
#: So many words are compared with all others; for more, an index pays.
UNINDEXED = 30
#: Of a longer word only the beginning is indexed.
PREFIX = 7
_FACTOR, _MASK = 0x9E3779B97F4A7C15, 2**64 - 1


class Lexicon:
    """Words with counts.

    Near words are found by symmetric deletion: two words within ``d`` edits have a common text that
    is left of both when at most ``d`` letters are deleted. Texts are kept as numbers, in 8 bytes
    each, and are made when more than :data:`UNINDEXED` words were asked for.

    Args:
        counts: how often each word is met; 0 where that is not known.
    """

    def __init__(self, counts: Mapping[str, float]) -> None:
        self.counts = dict(counts)
        self.words = sorted(self.counts)
        self._keys = np.empty(0, dtype=np.uint32)
        self._places = np.empty(0, dtype=np.int32)
        self._asked = 0

    @classmethod
    def read(cls, path: str) -> "Lexicon":
        """A file of words, one a line, each with its count behind it or without.

        Raises:
            UserError: no such file, no UTF-8, a line with more than a word and a count.
        """
        counts: dict[str, float] = {}
        for number, line in enumerate(read_lines(path), start=1):
            parts = line.split()
            if not parts:
                continue
            try:
                count = float(parts[1]) if len(parts) > 1 else 0.0
            except ValueError:
                count = -1.0
            if len(parts) > 2 or not 0 <= count < math.inf:
                raise UserError(
                    f"{path}, line {number}: {line.strip()!r} is not a word and its count; give "
                    "one word a line, with its count behind it or without"
                )
            counts[parts[0]] = counts.get(parts[0], 0.0) + count
        if not counts:
            raise UserError(f"{path} holds no words")
        return cls(counts)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self.counts

    def near(self, word: str, most: int) -> list[str]:
        """Words within :data:`DISTANCE` edits, the nearest first, of these the most frequent.

        Args:
            most: words at most.
        """
        self._asked += 1
        some = self.words if self._asked <= UNINDEXED else self._indexed(word)
        near = process.extract_iter(word, some, scorer=OSA.distance, score_cutoff=DISTANCE)
        found = sorted((edits, -self.counts[one], one) for one, edits, _ in near)
        return [one for _, _, one in found[:most]]

    def _indexed(self, word: str) -> Iterator[str]:
        """Words that may be near."""
        if not len(self._keys):
            self._index()
        keys = np.array([_checksum(text) for text in _left(word[:PREFIX])], dtype=np.uint32)
        first = np.searchsorted(self._keys, keys, "left")
        last = np.searchsorted(self._keys, keys, "right")
        places = {int(p) for a, b in zip(first, last) for p in self._places[a:b]}
        return map(self.words.__getitem__, places)

    def _index(self) -> None:
        begins = [word[:PREFIX] for word in self.words]
        order = sorted(range(len(begins)), key=lambda place: len(begins[place]))
        found = []
        for size, some in groupby(order, key=lambda place: len(begins[place])):
            chosen = list(some)
            letters = code_points([begins[place] for place in chosen]).reshape(len(chosen), size)
            places = np.array(chosen, dtype=np.uint64)
            for kept in _kept(size):
                keys = np.zeros(len(places), dtype=np.uint64)
                for column in kept:
                    keys = keys * np.uint64(_FACTOR) + letters[:, column] + np.uint64(1)
                found.append(keys & np.uint64(0xFFFFFFFF << 32) | places)
        both = np.sort(np.concatenate(found)) if found else np.zeros(0, dtype=np.uint64)
        self._keys = (both >> np.uint64(32)).astype(np.uint32)
        self._places = both.astype(np.uint32).astype(np.int32)


def code_points(texts: Sequence[str]) -> NDArray[np.uint64]:
    """The letters of all texts, one after the other, as numbers."""
    joined = "".join(texts).encode("utf-32-le", "surrogatepass")
    return np.frombuffer(joined, dtype=np.uint32).astype(np.uint64)


def _kept(size: int) -> Iterator[tuple[int, ...]]:
    """Which letters are left of so many when up to :data:`DISTANCE` are deleted."""
    for count in range(max(size - DISTANCE, 0), size + 1):
        yield from combinations(range(size), count)


def _checksum(text: str) -> int:
    """As in the index; texts that share one by chance are told apart by their edits."""
    return reduce(lambda key, letter: (key * _FACTOR + ord(letter) + 1) & _MASK, text, 0) >> 32


def _left(word: str) -> set[str]:
    """What is left of a word when up to :data:`DISTANCE` letters are deleted."""
    return {"".join(word[place] for place in kept) for kept in _kept(len(word))}


def distance(one: str, other: str, most: int | None = None) -> int:
    """Letters inserted, deleted or substituted, and neighbours exchanged, at least.

    Args:
        most: where there are more, the answer is ``most + 1``.
    """
    return OSA.distance(one, other, score_cutoff=most)


class Lookup:
    """Misspellings and their corrections, as met in training.

    Args:
        pairs: (misspelling, correction); a misspelling may have several.
    """

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self.corrections: dict[str, tuple[str, ...]] = {}
        self.misspellings: dict[str, int] = {}
        for wrong, right in pairs:
            known = self.corrections.get(wrong, ())
            if wrong != right and right not in known:
                self.corrections[wrong] = (*known, right)
                self.misspellings[right] = self.misspellings.get(right, 0) + 1

    @classmethod
    def read(cls, path: str) -> "Lookup":
        """A file with a misspelling, a tab and its correction on each line.

        Raises:
            UserError: no such file, no UTF-8, a line without a tab or with an empty side.
        """
        return cls(_pairs(path))

    def __len__(self) -> int:
        return len(self.corrections)


def _pairs(path: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(read_lines(path), start=1):
        wrong, _, right = line.partition("\t")
        if not (wrong and right) or "\t" in right:
            raise UserError(
                f"{path}, line {number}: {line!r} is not a misspelling, a tab and its correction"
            )
        yield wrong, right
