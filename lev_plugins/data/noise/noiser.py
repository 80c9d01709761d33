"""Noise on plain text: what is asked for, and what it makes of a line.

The defaults are those of the library that the gated-Trans paper used (section 4.1.1, appendix
A.2): 30 % of the words, at most 10 a text, of 4 letters or more; in each 30 % of the letters, 1 to
10.
"""

import math
import random
from dataclasses import dataclass
from itertools import chain

from lev_runtime.errors import UserError, parse_names, require_share

from .confusions import Confusions
from .kinds import EDITS, WORD_EDITS
from .letters import clusters, is_letter, split_words
from .rng import budget, choose, sample

#: Kinds of noise in the paper.
PAPER = ("random", "keyboard", "swap", "delete")
KINDS = tuple(dict.fromkeys((*PAPER, *WORD_EDITS, *EDITS)))


def parse_kinds(flag: str, text: str) -> tuple[str, ...]:
    """``keyboard,swap`` → the kinds, each once; ``none`` → none, ``all`` → the paper's four.

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
        confusions: of the kind ``ocr``, which without them is by :mod:`.shapes`. With them every
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
        require_share(f"{self.flag}word-rate", self.word_rate, "the words")
        require_share(f"{self.flag}char-rate", self.char_rate, "the letters")
        if not 0 <= self.confusion_scale < math.inf:
            raise UserError(f"{self.flag}confusion-scale {self.confusion_scale}: give 0 or more")

    def __call__(self, line: str, rng: random.Random) -> str:
        """A noisy version of a line without its end; ``rng``: of :func:`.rng.sentence_random`."""
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

    @staticmethod
    def _starts_alphanumeric(cluster: str) -> bool:
        return cluster[0].isalnum()

    def _change_words(self, kind: str, words: list[str], rng: random.Random) -> None:
        """Changes some of the words, in place."""
        ocr = kind == "ocr"
        find, edit = EDITS[kind]
        cut = [clusters(word) for word in words]
        # digits are confused as well
        counts_as_letter = self._starts_alphanumeric if ocr else is_letter
        letters = [sum(map(counts_as_letter, word)) for word in cut]
        able = [i for i, word in enumerate(cut) if letters[i] >= self.min_length and find(word)]
        chosen = sample(rng, able, budget(len(words), self.word_rate))
        for i in sorted(chosen):
            size = len(cut[i]) if ocr else letters[i]
            edited = edit(cut[i], budget(size, self.char_rate), rng)
            words[i] = "".join(edited)
