"""Lists of words: all that there are, misspellings, neighbours, and what is written for another.

``read`` and :func:`read_confusions` raise :class:`UserError` for a file that is not there, no UTF-8
or of another form. Lexicons and bigrams may be prepared (:mod:`.prepared`).
"""

import importlib.util
import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from hashlib import sha256
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import OSA

from lev_runtime.beam.search import WordTree, code_points
from lev_runtime.errors import UserError
from lev_runtime.io.text_files import decode, read_bytes

from .ngrams import LetterModel
from .prepared import (
    COUNTS,
    ENCODING,
    Arrays,
    SortedLines,
    counts_as_arrays,
    counts_of,
    keep,
    number_of,
    numbers,
    packed,
    parsed,
    read_arrays,
    unpacked,
    user_cache,
)

#: What stands for it in :attr:`Lexicon.tree`.
END_OF_WORD = ord("\n")
MOST_KEPT = 100_000  # words whose place in the list is remembered
SPELLED = 9  # level of a spelling of its own, also where a table has it as a misspelling
#: Level of a rare word (*collet*, *precess*) that a table has as a misspelling: a person is asked.
RARE_OR_WRONG = 2
_LINE = re.compile(rb"[^\t\n]+\t0*\d(?:\n|\Z)")
TEXT = "known"  # the array of a prepared list
#: Letters inserted, deleted or substituted, and neighbours exchanged, at least.
distance = OSA.distance
#: Two words within this many edits are near each other.
DISTANCE = 2
#: Sorts of letters that are told apart: 64 bits have each twice.
_SORTS = 32
_SORT_BITS = np.uint64(1) << np.arange(_SORTS, dtype=np.uint64)


class NearWords:
    """Finds the near ones of many words.

    A word has 64 bits: which of 32 sorts of letters it has, and which of them twice or more. An
    edit changes two of them at most, so that nearly all words are known to be far by their bits.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._by_size: dict[int, list[str]] = defaultdict(list)
        for word in words:
            self._by_size[len(word)].append(word)
        self._bits: dict[int, NDArray[np.uint64]] = {}  # by size; made when first asked for

    def find(self, word: str) -> Iterator[tuple[str, int]]:
        """Words within :data:`DISTANCE` edits (:data:`distance`), and these, in no order."""
        candidates, bits = list[str](), _bits([word])
        for size in range(len(word) - DISTANCE, len(word) + DISTANCE + 1):
            if words := self._by_size.get(size):
                if size not in self._bits:
                    self._bits[size] = _bits(words)
                other = self._bits[size] ^ bits
                places = np.flatnonzero(np.bitwise_count(other) <= 2 * DISTANCE)
                candidates += [words[place] for place in places.tolist()]
        (edits,) = process.cdist([word], candidates, scorer=distance, score_cutoff=DISTANCE)
        for place in np.flatnonzero(edits <= DISTANCE).tolist():
            yield candidates[place], int(edits[place])


def _bits(words: Sequence[str]) -> NDArray[np.uint64]:
    """Returns those of words of one length."""
    letters = _SORT_BITS[code_points(words) % _SORTS].reshape(len(words), -1)
    once, twice = np.zeros((2, len(words)), dtype=np.uint64)
    for letter in letters.T:
        twice |= once & letter
        once |= letter
    return once | twice << np.uint64(_SORTS)


class Lexicon:
    """Words, each with how often it is met; 0 where that is not known."""

    OF_TREE = ("tree_letters", "tree_sizes")  #: of :meth:`arrays`

    def __init__(self, counts: Mapping[str, float], path: str | None = None) -> None:
        self.counts = counts
        self._path = path  # of what it was prepared as: right text needs the words alone
        #: ``most`` words within two edits, the nearest first, of these the most frequent.
        self.near = lru_cache(MOST_KEPT)(self._near_of)

    @cached_property
    def words(self) -> list[str]:
        """Returns the words in order."""
        return sorted(self.counts)

    @cached_property
    def is_small(self) -> bool:
        """Returns whether no word has a capital."""
        text = "\n".join(self.counts)
        return text == text.lower()

    @cached_property
    def mean_log(self) -> float:
        """Returns the mean of log(1 + count)."""
        counts = np.fromiter(self.counts.values(), np.float64, len(self.counts))
        return float(np.log1p(counts).mean()) if self.counts else 0.0

    @cached_property
    def _near(self) -> NearWords:
        return NearWords(self.words)

    @cached_property
    def letters(self) -> LetterModel:
        """Returns the letter model of the words."""
        arrays = self._path and read_arrays(self._path, LetterModel.NAMES)
        return LetterModel.from_arrays(arrays) if arrays else LetterModel(self.words)

    def per_letter(self, word: str) -> float:
        """See :class:`.LetterModel`."""
        return self.letters.per_letter(word)

    @property
    def tree(self) -> WordTree:
        """The words by their letters, :data:`END_OF_WORD` after each."""
        if arrays := self._path and read_arrays(self._path, self.OF_TREE):
            return WordTree(*arrays.values())
        return WordTree.of("\n".join([*self.words, ""]), END_OF_WORD)

    def arrays(self) -> Arrays:
        """Returns what it is prepared as."""
        words = packed(self.words)
        counts = counts_as_arrays([self.counts[word] for word in self.words])
        letters, sizes = self.OF_TREE
        tree = {letters: numbers(self.tree.symbols), sizes: numbers(np.diff(self.tree.starts))}
        return {"words": words, **counts, **self.letters.arrays(), **tree}

    @classmethod
    def read(cls, path: str) -> "Lexicon":
        """A file of words, one a line, each with its count after it or without."""
        # its first array tells a lexicon from other lists
        if arrays := read_arrays(path, ("words", *COUNTS, LetterModel.NAMES[0])):
            words = unpacked(arrays["words"])
            return cls(dict(zip(words, counts_of(arrays).tolist(), strict=True)), path)

        def parse(line: str) -> tuple[str, float]:
            word, count, *_ = [*line.split(maxsplit=1), "0"]
            return word, number_of(count)

        counts: dict[str, float] = defaultdict(float)
        for word, count in parsed(path, parse, "a word, with its count behind it or without"):
            counts[word] += count
        return cls(counts)

    def __contains__(self, word: str) -> bool:
        return word in self.counts

    def in_small_letters(self) -> tuple["Lexicon", dict[str, str]]:
        """The same words, to be asked in small letters, and how those are spelled that stand here
        with capitals alone (*london*: *London*): none where every word has capitals.
        """
        if self.is_small:
            return self, {}
        counts: dict[str, float] = defaultdict(float)
        spelled: dict[str, str] = {}
        for word, count in sorted(self.counts.items(), key=lambda entry: entry[1]):
            counts[word.lower()] += count
            spelled[word.lower()] = word  # the most frequent of several
        shouted = all(word != word.lower() for word in self.counts)
        if shouted:
            return Lexicon(counts), {}
        alone = {small: word for small, word in spelled.items() if small not in self.counts}
        return Lexicon(counts), alone

    def _near_of(self, word: str, most: int) -> list[str]:
        edits = dict(self._near.find(word))
        nearest = sorted(edits, key=lambda other: (edits[other], -self.counts[other], other))
        return nearest[:most]


class Lookup:
    """Pairs of a misspelling and a correction, as met in training; there may be several of one."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._rights: dict[str, tuple[str, ...]] = {}
        for wrong, right in pairs:
            known = self.corrections(wrong)
            if right not in (wrong, *known):
                self._rights[wrong] = (*known, right)

    def corrections(self, wrong: str) -> tuple[str, ...]:
        """Returns those of a misspelling; none of another word."""
        return self._rights.get(wrong, ())

    def times(self, right: str) -> int:
        """Returns how many misspellings of a correction are listed."""
        return self._times[right]

    @cached_property
    def _times(self) -> Counter[str]:
        return Counter(chain.from_iterable(self._rights.values()))

    def in_small_letters(self, known: Lexicon) -> "Lookup":
        """Returns the same, to be asked in small letters; corrections keep their capitals.

        What is listed with capitals alone does not touch ``known`` words (*May*, *may*), nor does
        what has several corrections in codespell's list.
        """
        return Lookup(
            (wrong.lower(), right)
            for wrong, rights in self._rights.items()
            if wrong == wrong.lower() or wrong.lower() not in known
            for right in rights
        )

    @classmethod
    def read(cls, path: str) -> "Lookup":
        """Reads a file with a misspelling, a tab and its correction on each line, or codespell's
        own list (``teh->the``), in small letters; words with several corrections there are
        ambiguous.
        """

        text = read_bytes(path)
        if b"->" in text.partition(b"\n")[0]:
            return Codespell.of(path, text)

        def parse(line: str) -> tuple[str, str]:
            wrong, right = line.split("\t")
            if not (wrong and right):
                raise ValueError
            return wrong, right

        return cls(parsed(path, parse, "a misspelling, a tab and its correction", True))


def installed_misspellings() -> str | None:
    """codespell's list of misspellings, None where it is not installed.

    Its licence (CC BY-SA 3.0) asks for more than attribution, so that the package depends on it
    and does not carry it.
    """
    spec = importlib.util.find_spec("codespell_lib")
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).with_name("data") / "dictionary.txt"
    return str(path) if path.is_file() else None


class Codespell(Lookup):
    """codespell's list, in small letters.

    Args:
        text: sorted lines of a misspelling, a tab and its correction; a zero, and lines of those
            with several, which are candidates where no lexicon has the word; a zero, and lines of
            a correction and how many misspellings it has.
        known: the words of the lexicon.
    """

    def __init__(self, text: bytes, known: Container[str] | None = None) -> None:
        self._text, self._known = text, known
        self._single, self._several, self._counts = map(SortedLines, text.split(b"\0"))

    def corrections(self, wrong: str) -> tuple[str, ...]:
        """See :class:`Lookup`."""
        rights = self._single.after(f"{wrong}\t")
        if not rights and self._known is not None and wrong not in self._known:
            rights = self._several.after(f"{wrong}\t")
        return tuple(rights.split("\t")) if rights else ()

    def times(self, right: str) -> int:
        """See :class:`Lookup`; of all lines."""
        return int(self._counts.after(f"{right}\t") or 0)

    def in_small_letters(self, known: Lexicon) -> Lookup:
        """See :class:`Lookup`."""
        words = known.counts if known.is_small else {word.lower() for word in known.counts}
        return Codespell(self._text, words)

    @classmethod
    def of(cls, path: str, text: bytes) -> "Codespell":
        """Returns the list that a file holds, of which a sorted copy is kept in the user's cache:
        sorting takes longer than much else that a first line needs."""
        # another form of the copy gets another name, or older ones would be read for it
        name = f"codespell-3-{sha256(text).hexdigest()}"
        with suppress(OSError, ValueError, RuntimeError):
            return cls((user_cache() / name).read_bytes())
        lines = decode(path, 1, text).lower().split("\n")
        single, several = list[str](), list[str]()
        for wrong, right in dict(line.partition("->")[::2] for line in lines if line).items():
            if not (wrong and right):
                raise UserError(f"{path}: each line needs a misspelling, -> and its correction")
            *rights, remark = map(str.strip, right.split(","))
            if rights and not remark:
                several.append("\t".join([wrong, *rights]))
            elif not rights and wrong != right:
                single.append(f"{wrong}\t{right}")
        met = Counter(right for line in (*single, *several) for right in line.split("\t")[1:])
        counts = [f"{right}\t{count}" for right, count in met.items()]
        parts = ("\n".join(sorted(rows)) for rows in (single, several, counts))
        table = "\0".join(parts).encode(*ENCODING)
        keep(name, lambda file: file.write(table))
        return cls(table)


class KnownWords:
    """Terms, names, rare and foreign words, each with a level from 1 (met somewhere) to 9 (sure).

    A level is evidence, in nats, that the word is meant as it is written.

    Args:
        text: UTF-8; on each line a word in small letters, a tab and its level; sorted by bytes. Or
            the path of a file, read when it is asked for, as right text has no need of it.
    """

    def __init__(self, text: bytes | str) -> None:
        self._text = text
        self.level = lru_cache(MOST_KEPT)(self._level)

    @cached_property
    def _lines(self) -> SortedLines:
        return SortedLines(self._text if isinstance(self._text, bytes) else _levels(self._text))

    @classmethod
    def read(cls, path: str) -> "KnownWords":
        """Reads a file, prepared, compressed by xz or neither; raises UserError where it cannot be
        read, or its first line is of another form."""
        return cls(_levels(path))

    def arrays(self) -> Arrays:
        """Returns what it is prepared as."""
        return {TEXT: np.frombuffer(self._lines.text, dtype=np.uint8)}

    def _level(self, word: str) -> int:
        """Returns 0 for a word that is not there."""
        return int(self._lines.after(f"{word}\t") or 0)


def _levels(path: str) -> bytes:
    """Returns the lines of :meth:`KnownWords.read`."""
    arrays = read_arrays(path, [TEXT])
    text = arrays[TEXT].tobytes() if arrays else read_bytes(path)
    if not _LINE.match(text):
        raise UserError(f"{path}, line 1: expected a word, a tab and a level from 1 to 9")
    return text


Confusions = Mapping[str, tuple[str, ...]]


def confusions(sets: Iterable[Sequence[str]]) -> Confusions:
    """For each word the others of its sets, in order: words in small letters that are written for
    one another (*then*, *than*).

    Both are equally likely to be slips for each other. Bayes' rule asks which is more probable
    here: by how often it is met, and by what stands next to it.
    """
    alternatives: dict[str, tuple[str, ...]] = {}
    for words in sets:
        for word in words:
            alternatives[word] = tuple(sorted({*alternatives.get(word, ()), *words} - {word}))
    return alternatives


def read_confusions(path: str) -> Confusions:
    """A file of two words or more on each line (``then than``); capitals do not matter."""

    def parse(line: str) -> list[str]:
        words = line.lower().split()
        if len({*words}) < 2:
            raise ValueError
        return words

    return confusions(parsed(path, parse, "two or more words that are written for one another"))
