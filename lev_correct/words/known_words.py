"""Lists that load in milliseconds, whatever their length: sorted lines, and of these the words
that exist, though the lexicon of candidates has not got them."""

import re
from bisect import bisect_left
from functools import cached_property, lru_cache

import numpy as np

from lev_runtime.errors import UserError
from lev_runtime.io.text_files import read_bytes

from .prepared import read_arrays

ENCODING = ("utf-8", "surrogatepass")
#: Lines that are asked for before the text is cut: that takes as long as finding so many in it.
FEW = 1000
MOST_KEPT = 100_000  # words whose place in the list is remembered
SPELLED = 9  # level of a spelling of its own, also where a table has it as a misspelling
_LINE = re.compile(rb"[^\t\n]+\t0*\d(?:\n|\Z)")
TEXT = "known"  # the array of a prepared list


class SortedLines:
    """Finds lines by halving the text.

    Args:
        text: UTF-8; lines that are sorted by bytes.
    """

    def __init__(self, text: bytes) -> None:
        self.text = text if text.endswith(b"\n") else text + b"\n"
        self._asked = 0

    @cached_property
    def _lines(self) -> list[bytes]:
        return [*self.text.split(b"\n")[:-1], b"\xff"]  # which no UTF-8 has

    def after(self, beginning: str) -> str:
        """Returns the rest of the first line that begins so; nothing where none does."""
        start = beginning.encode(*ENCODING)
        self._asked += 1
        lines = self._lines if self._asked > FEW else ()
        line = lines[bisect_left(lines, start)] if lines else self._found(start)
        return line[len(start) :].decode(*ENCODING) if line.startswith(start) else ""

    def _found(self, start: bytes) -> bytes:
        text = self.text

        def head(place: int) -> bytes:
            begin = text.rfind(b"\n", 0, place) + 1
            return text[begin : begin + len(start)]

        place = bisect_left(range(len(text)), start, key=head)
        return text[place : text.find(b"\n", place)]


class KnownWords:
    """Terms, names, rare and foreign words, each with a level from 1 (met somewhere) to 9 (sure).

    A level is evidence, in nats, that the word is meant as it is written.

    Args:
        text: UTF-8; on each line a word in small letters, a tab and its level; sorted by bytes.
    """

    def __init__(self, text: bytes) -> None:
        self._lines = SortedLines(text)
        self.level = lru_cache(MOST_KEPT)(self._level)

    @classmethod
    def read(cls, path: str) -> "KnownWords":
        """Reads a file, prepared, compressed by xz or neither; raises UserError where it cannot be
        read, or its first line is of another form."""
        arrays = read_arrays(path, [TEXT])
        text = arrays[TEXT].tobytes() if arrays else read_bytes(path)
        if not _LINE.match(text):
            raise UserError(f"{path}, line 1: expected a word, a tab and a level from 1 to 9")
        return cls(text)

    def arrays(self) -> dict[str, np.ndarray]:
        """Returns what it is prepared as."""
        return {TEXT: np.frombuffer(self._lines.text, dtype=np.uint8)}

    def _level(self, word: str) -> int:
        """Returns 0 for a word that is not there."""
        return int(self._lines.after(f"{word}\t") or 0)
