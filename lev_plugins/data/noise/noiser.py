"""Noise on plain text: what is asked for, and what it makes of a line.

The defaults are those of the library that the gated-Trans paper used (section 4.1.1, appendix
A.2): 30 % of the words, at most 10 a text, of 4 letters or more; in each 30 % of the letters, 1 to
10.
"""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

from rapidfuzz.distance import Levenshtein

from ...errors import UserError, parse_names, require_share
from . import kinds
from .confusions import BUILT_IN, Confusions
from .letters import NEIGHBOURS, clusters, is_letter, split_words
from .rng import budget, choose, sample

#: Kinds of noise in the paper.
PAPER = ("random", "keyboard", "swap", "delete")
KINDS = (*PAPER, "swap-words", "ocr", "qwertz", "azerty", "jcuken", "diacritics")

Places = Callable[[Sequence[str]], Sequence[object]]
Edit = Callable[[Sequence[str], int, random.Random], list[str]]


@dataclass(frozen=True)
class NoiseOptions:
    """What noise there is to be.

    Args:
        kinds: of :data:`KINDS`; one of them is sampled for each line. None: no noise.
        word_rate: share of the words that are changed, rounded down, at least one word.
        char_rate: share of a changed word's letters that are, rounded down, at least one.
        max_words: changed words in a line, at most.
        max_chars: changed letters in a word, at most.
        min_length: words of fewer letters are never changed (but may be moved by swap-words).
        confusions: of the kind ``ocr``; None is the built-in table. With a measured table every
            word is read with the table's rates, and none of the numbers above holds.
        confusion_scale: the table's rates are multiplied by it.
        flag: what the options' names begin with in messages.

    Raises:
        UserError: a value that cannot be.
    """

    kinds: tuple[str, ...] = ()
    word_rate: float = 0.3
    char_rate: float = 0.3
    max_words: int = 10
    max_chars: int = 10
    min_length: int = 4
    confusions: Confusions | None = None
    confusion_scale: float = 1.0
    flag: str = "--noise-"

    def __post_init__(self) -> None:
        require_share(f"{self.flag}word-rate", self.word_rate, "the words")
        require_share(f"{self.flag}char-rate", self.char_rate, "the letters")
        for name in ("max_words", "max_chars", "min_length"):
            if getattr(self, name) < 1:
                flag = self.flag + name.replace("_", "-")
                raise UserError(f"{flag} {getattr(self, name)}: give a number of 1 or more")
        if not 0 <= self.confusion_scale < float("inf"):
            flag = f"{self.flag}confusion-scale"
            raise UserError(f"{flag} {self.confusion_scale}: give a number of 0 or more")


def parse_kinds(flag: str, text: str) -> tuple[str, ...]:
    """``keyboard,swap`` → the kinds, each once; ``none`` → none, ``all`` → the paper's four.

    Raises:
        UserError: a name that there is not.
    """
    if text.strip() == "none":
        return ()
    names = parse_names(flag, text, "noise", (*KINDS, "all"))
    found = (PAPER if name == "all" else (name,) for name in names)
    return tuple(dict.fromkeys(chain.from_iterable(found)))


class Noise:
    """Makes noisy lines out of clean ones; see :class:`NoiseOptions`.

    Spaces stay what and where they are, words are neither cut nor joined, and what is no letter
    stays as it is but for ``ocr``.
    """

    def __init__(self, options: NoiseOptions) -> None:
        self.options = options
        self.confusions = options.confusions or BUILT_IN
        self._kinds: dict[str, tuple[Places, Edit]] = {
            "random": (kinds.letters, kinds.random_edits),
            "swap": (kinds.pairs, kinds.swap),
            "delete": (kinds.letters, kinds.delete),
            "ocr": (self.confusions.places, self.confusions.edit),
            "diacritics": (kinds.marked, kinds.diacritics),
        }
        for name, near in NEIGHBOURS.items():
            self._kinds[name] = partial(kinds.keys, near), partial(kinds.keyboard, near)

    def __call__(self, line: str, rng: random.Random) -> str:
        """A noisy version of a line without its end; ``rng``: of :func:`.rng.sentence_random`."""
        if not self.options.kinds:
            return line
        kind = choose(rng, self.options.kinds)
        parts = split_words(line)
        places = [i for i in range(0, len(parts), 2) if parts[i]]
        words = [parts[i] for i in places]
        if kind == "swap-words":
            count = budget(len(words), self.options.word_rate, self.options.max_words)
            kinds.swap_words(words, count, rng)
        elif kind == "ocr" and self.confusions.measured:
            scale = self.options.confusion_scale
            words = ["".join(self.confusions.read(clusters(word), scale, rng)) for word in words]
        else:
            self._change_words(kind, words, rng)
        for i, word in zip(places, words, strict=True):
            parts[i] = word
        return "".join(parts)

    def _change_words(self, kind: str, words: list[str], rng: random.Random) -> None:
        """Changes some of the words, in place."""
        options, (find, edit) = self.options, self._kinds[kind]
        cut = [clusters(word) for word in words]
        able = [i for i, word in enumerate(cut) if self._long_enough(kind, word) and find(word)]
        count = budget(len(words), options.word_rate, options.max_words)
        for i in sorted(sample(rng, able, count)):
            size = len(cut[i]) if kind == "ocr" else sum(map(is_letter, cut[i]))
            changed = budget(size, options.char_rate, options.max_chars)
            words[i] = "".join(edit(cut[i], changed, rng))

    def _long_enough(self, kind: str, word: Sequence[str]) -> bool:
        # digits are confused as well
        letters = (one[0].isalnum() if kind == "ocr" else is_letter(one) for one in word)
        return sum(letters) >= self.options.min_length


class Counts:
    """What was done to a text: of words and characters (without spaces) by edit distance."""

    def __init__(self) -> None:
        self.all, self.changed = Counter[str](), Counter[str]()

    def add(self, clean: str, noisy: str) -> None:
        """Counts a line."""
        before, after = clean.split(), noisy.split()
        sides = (("words", before, after), ("characters", "".join(before), "".join(after)))
        self.all.update(lines=1, **{what: len(one) for what, one, _ in sides})
        if clean != noisy:  # the hint makes long lines quick, such as a text without spaces
            edits = {what: Levenshtein.distance(*pair, score_hint=64) for what, *pair in sides}
            self.changed.update(lines=1, **edits)

    def __str__(self) -> str:
        shares = (
            f"{what} {self.changed[what]:,} of {whole:,} "
            f"({100 * self.changed[what] / max(whole, 1):.2f} %)"
            for what, whole in self.all.items()
        )
        return f"changed: {', '.join(shares)}"
