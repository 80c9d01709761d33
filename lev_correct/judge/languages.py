"""Parts of a line that are in another language than its text."""

import contextlib
import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from ..text.units import Span
from ..words.prepared import keep, user_cache

#: Languages of Latin letters that are told from each other, by py3langid's names.
LANGUAGES = (
    "af ca cs cy da de en eo es et eu fi fr ga gl hr hu id is it la lt lv ms mt nl no oc pl pt ro "
    "sk sl sq sv sw tl tr vi"
).split()
#: Words that no list has which make a part look foreign: so many of a line or a part of it, at
#: least, and such a share. Listed misspellings count in a line that has other such words.
STRANGE, SHARE_OF_LINE, SHARE_OF_PART = 2, 0.15, 0.4
#: Words of a part, at least.
WORDS = 3

_PART = re.compile(r"[^\"“”„«»‹›()\[\];:!?—–…]+")


class Word(NamedTuple):
    """A word of a line, from character ``start`` to ``end``; strange: whether it is in no list, and
    no acronym; misspelt: whether it is listed as misspelt."""

    start: int
    end: int
    strange: bool
    misspelt: bool = False


class Languages:
    """Asks py3langid, which is loaded for the first text that looks foreign.

    Args:
        own: language of the text; of one that is not told from others no part is foreign.
    """

    def __init__(self, own: str = "en") -> None:
        self._own = own
        self.is_own = lru_cache(10_000)(self._is_own)

    @cached_property
    def _identifier(self) -> Any:
        return load_identifier()

    def _is_own(self, text: str) -> bool:
        if self._own not in LANGUAGES:
            return True
        language, _ = self._identifier.classify(text)
        return bool(language == self._own)

    def foreign(self, line: str, words: Sequence[Word]) -> list[Span]:
        """Returns where a line is in another language: all of it, or quotations and clauses."""
        if not any(word.strange for word in words):
            return []
        if self._differs(line, words, SHARE_OF_LINE):
            return [(0, len(line))]
        if sum(word.strange for word in words) < STRANGE:
            return []
        starts = [word.start for word in words]
        foreign = []
        for match in _PART.finditer(line):
            first, last = (bisect_left(starts, place) for place in match.span())
            part = words[first:last]
            if self._differs(line, part, SHARE_OF_PART):
                foreign.append((part[0].start, part[-1].end))
        return foreign

    def _differs(self, line: str, words: Sequence[Word], least: float) -> bool:
        strange = sum(word.strange for word in words)
        strange += strange and sum(word.misspelt for word in words)
        if len(words) < WORDS or strange < max(STRANGE, least * len(words)):
            return False
        return not self.is_own(line[words[0].start : words[-1].end])


# py3langid's own file takes most of a second and 170 MB to load: what is needed of it for these
# languages is kept as arrays in the user's cache, of which only the parts are read that a text
# leads to.
_ARRAYS = ("scores", "priors", "moves", "rows", "features", "classes")


def load_identifier() -> Any:
    """Returns a ``LanguageIdentifier`` of :data:`LANGUAGES`; from the library's own file where none
    is kept."""
    from py3langid import __version__ as version
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    names = [f"py3langid-{version}-{name}.npy" for name in _ARRAYS]
    with contextlib.suppress(OSError, ValueError, RuntimeError):
        return _kept(LanguageIdentifier, names)
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
    identifier.set_languages(LANGUAGES)
    parts = (
        identifier.nb_ptc,
        identifier.nb_pc,
        identifier.tk_nextmove,
        identifier.tk_row,
        identifier.tk_output,
        identifier.nb_classes,
    )
    for name, part in zip(names, parts, strict=True):
        keep(name, partial(np.save, arr=np.ascontiguousarray(part)))
    return identifier


def _kept(identifier_class: Any, names: Sequence[str]) -> Any:
    """Reads what was kept, or raises OSError, ValueError or RuntimeError."""
    arrays = [np.load(user_cache() / name, mmap_mode="r") for name in names]
    scores, priors, moves, rows, features, classes = arrays
    if {*classes.tolist()} != {*LANGUAGES}:
        raise ValueError("of other languages")
    moves = memoryview(moves)
    return identifier_class(
        scores, priors, classes.tolist(), moves, features.tolist(), tk_row=rows.tolist()
    )
