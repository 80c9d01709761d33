"""Makes noise of the kinds that are asked for on lines of plain text.

The defaults are those of the library that the gated-Trans paper used (section 4.1.1, appendix
A.2): 30 % of the words, at most 10 a text, of 4 letters or more; in each 30 % of the letters, 1 to
10. Words are lists of grapheme clusters, none is torn, and a word keeps at least one letter.
"""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

from lev_runtime.errors import UserError, parse_names, require_share

from .confusions import SHAPES, SOUNDS, Confusions, SegmentEdit
from .letters import (
    NEIGHBOURS,
    clusters,
    exchanged,
    is_letter,
    other_letter,
    split_words,
    without_marks,
)
from .rng import budget, choose, sample

Places = Callable[[Sequence[str]], Sequence[object]]
Edit = Callable[[Sequence[str], int, random.Random], list[str]]

# characters of words ------------------------------------------------------------------------------


def letters(word: Sequence[str]) -> list[int]:
    """Returns the places of letters."""
    return [i for i, letter in enumerate(word) if is_letter(letter)]


def pairs(word: Sequence[str]) -> list[int]:
    """Returns the places of letters that differ from the next letter, whatever their case."""
    return [
        i
        for i, (letter, following) in enumerate(zip(word, word[1:]))
        if is_letter(letter)
        and is_letter(following)
        and exchanged(letter, following) != (letter, following)
    ]


def _apart(places: Sequence[int], count: int, rng: random.Random) -> list[int]:
    """Samples up to ``count`` places of pairs that do not overlap."""
    chosen: list[int] = []
    for place in sample(rng, places, len(places)):
        if len(chosen) < count and not {place - 1, place + 1}.intersection(chosen):
            chosen.append(place)
    return chosen


def delete(word: Sequence[str], count: int, rng: random.Random) -> list[str]:
    """Leaves out ``count`` letters, but never all."""
    able = letters(word)
    most = max(len(able) - 1, 0)
    gone = sample(rng, able, min(count, most))
    return [letter for i, letter in enumerate(word) if i not in gone]


def swap(word: Sequence[str], count: int, rng: random.Random) -> list[str]:
    """Exchanges ``count`` pairs of neighbours, or as many as do not overlap."""
    noisy = list(word)
    for i in _apart(pairs(word), count, rng):
        noisy[i : i + 2] = exchanged(*noisy[i : i + 2])
    return noisy


def random_edits(word: Sequence[str], count: int, rng: random.Random) -> list[str]:
    """Inserts another letter before or after ``count`` letters, deletes or substitutes them.

    Which of it happens is sampled for each; the word's last letter is not deleted but substituted.
    """
    able = letters(word)
    chosen = sample(rng, able, count)
    noisy = []
    left = len(able)
    for place, letter in enumerate(word):
        act = choose(rng, ("insert", "delete", "substitute")) if place in chosen else "keep"
        if act == "keep":
            noisy.append(letter)
        elif act == "insert":
            new = other_letter(rng, letter)
            noisy += [new, letter] if rng.random() < 0.5 else [letter, new]
        elif act == "delete" and left > 1:
            left -= 1
        else:
            noisy.append(other_letter(rng, letter))
    return noisy


def _replacing(ways: Callable[[str], Sequence[str] | None]) -> tuple[Places, Edit]:
    """Makes a kind that replaces letters by one of ``ways(letter)``, where there are any."""

    def places(word: Sequence[str]) -> list[int]:
        return [i for i, letter in enumerate(word) if ways(letter)]

    def edit(word: Sequence[str], count: int, rng: random.Random) -> list[str]:
        noisy = list(word)
        for i in sorted(sample(rng, places(word), count)):
            noisy[i] = choose(rng, ways(noisy[i]) or ())
        return noisy

    return places, edit


_shapes, _sounds = SegmentEdit(SHAPES), SegmentEdit(SOUNDS)
#: Kind → what gives the characters of a word that it can change, and what changes some of them.
EDITS: dict[str, tuple[Places, Edit]] = {
    "random": (letters, random_edits),
    "swap": (pairs, swap),
    "delete": (letters, delete),
    "ocr": (_shapes.places, _shapes.edit),
    "phonetic": (_sounds.places, _sounds.edit),
    "diacritics": _replacing(without_marks),
    **{name: _replacing(near.get) for name, near in NEIGHBOURS.items()},
}

# words --------------------------------------------------------------------------------------------


def swap_words(words: list[str], count: int, rng: random.Random) -> None:
    """Exchanges neighbours among ``words``, in place, until ``count`` of them (or 2) have moved.

    No word moves twice; equal neighbours stay.
    """
    neighbours = zip(words, words[1:])
    differing = [i for i, (word, following) in enumerate(neighbours) if word != following]
    swaps = (count + 1) // 2
    for i in _apart(differing, swaps, rng):
        words[i : i + 2] = words[i + 1], words[i]


def drop_words(words: list[str], count: int, rng: random.Random) -> None:
    """Leaves out ``count`` words, but never all."""
    most = len(words) - 1
    for i in sample(rng, range(len(words)), min(count, most)):
        words[i] = ""


def replace_words(words: list[str], count: int, rng: random.Random) -> None:
    """Replaces ``count`` words by others of the line."""
    before = list(words)
    for i in sample(rng, range(len(words)), count):
        others = [word for word in before if word != words[i]]
        words[i] = choose(rng, others or before)


#: Kind → what changes some of a line's words, in place.
WORD_EDITS = {
    "swap-words": swap_words,
    "drop-words": drop_words,
    "replace-words": replace_words,
}

# lines --------------------------------------------------------------------------------------------

#: Kinds of noise in the paper.
PAPER = ("random", "keyboard", "swap", "delete")
KINDS = tuple(dict.fromkeys((*PAPER, *WORD_EDITS, *EDITS)))


def parse_kinds(flag: str, text: str) -> tuple[str, ...]:
    """Reads ``keyboard,swap`` as kinds, each once; ``none``: none, ``all``: the paper's four.

    Raises:
        UserError: a name that there is not.
    """
    if text.strip() == "none":
        return ()
    names = parse_names(flag, text, "noise", (*KINDS, "all"))
    kinds = (PAPER if name == "all" else (name,) for name in names)
    return tuple(dict.fromkeys(chain.from_iterable(kinds)))


@dataclass(frozen=True)
class Noise:
    """Makes noisy lines out of clean ones.

    Spaces stay what and where they are, words are neither cut nor joined, and what is no letter
    stays as it is but for ``ocr``. Words come, go and move by the kinds of :data:`.WORD_EDITS`.

    Args:
        kinds: of :data:`KINDS`; one of them is sampled for each line. None: no noise.
        word_rate: share of the words that are changed, rounded down, one to ten words.
        char_rate: share of a changed word's letters that are, rounded down, one to ten.
        min_length: words of fewer letters are never changed (but moved, dropped and the like).
        confusions: of the kind ``ocr``, which without them is by :data:`.SHAPES`. With them every
            word is read with the table's rates, and none of the numbers above holds.
        confusion_scale: the table's rates are multiplied by it.
        flag: what the options' names begin with in messages.

    Raises:
        UserError: a rate that is no share.
    """

    kinds: tuple[str, ...] = ()
    word_rate: float = 0.3
    char_rate: float = 0.3
    min_length: int = 4
    confusions: Confusions | None = None
    confusion_scale: float = 1.0
    flag: str = "--noise-"

    def __post_init__(self) -> None:
        require_share(f"{self.flag}word-rate", self.word_rate)
        require_share(f"{self.flag}char-rate", self.char_rate)
        if not 0 <= self.confusion_scale < math.inf:
            raise UserError(f"{self.flag}confusion-scale {self.confusion_scale}: give 0 or more")

    def __call__(self, line: str, rng: random.Random) -> str:
        """Returns a noisy version of a line without its end; ``rng``: of ``sentence_random``."""
        if not self.kinds:
            return line
        kind = choose(rng, self.kinds)
        parts = split_words(line)
        places = [i for i in range(0, len(parts), 2) if parts[i]]
        words = [parts[i] for i in places]
        if kind in WORD_EDITS:
            edit = WORD_EDITS[kind]
            edit(words, budget(len(words), self.word_rate), rng)
        elif kind == "ocr" and self.confusions is not None:
            scale = self.confusion_scale
            words = ["".join(self.confusions.read(clusters(word), scale, rng)) for word in words]
        else:
            self._change_words(kind, words, rng)
        kept = False
        for i, word in zip(places, words, strict=True):
            parts[i] = word
            if not word:  # it went, and the space between it and what stays
                parts[i - 1 if kept else i + 1] = ""
            kept = kept or bool(word)
        return "".join(parts)

    def _change_words(self, kind: str, words: list[str], rng: random.Random) -> None:
        """Changes some of the words, in place."""
        ocr = kind == "ocr"
        find, edit = EDITS[kind]
        cut = [clusters(word) for word in words]
        able = []
        for i, word in enumerate(cut):
            # digits are confused as well
            length = sum(cluster[0].isalnum() if ocr else is_letter(cluster) for cluster in word)
            if length >= self.min_length and find(word):
                able.append(i)
        chosen = sample(rng, able, budget(len(words), self.word_rate))
        for i in sorted(chosen):
            size = len(cut[i]) if ocr else len(letters(cut[i]))
            edited = edit(cut[i], budget(size, self.char_rate), rng)
            words[i] = "".join(edited)
