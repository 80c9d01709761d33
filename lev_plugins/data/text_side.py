"""The lines of a text file as tokens, cut when they are asked for.

A data set needs the lengths of all lines at its start. Of a large text they are counted once and
kept next to it, with the places of the lines, in ``TEXT.lines.npy``.
"""

import fcntl
import logging
import os
from array import array
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from fairseq.data import Dictionary, FairseqDataset
from torch import Tensor

from lev_runtime.errors import UserError
from lev_runtime.io.output import atomic_replace
from lev_runtime.io.text_files import open_text, read_lines

logger = logging.getLogger(__name__)
#: of a text whose index is kept in a file
LARGE_BYTES = 1 << 24
#: lines that are cut again to see whether a kept index belongs to the present --bpe
COMPARED_LINES = 1000
#: lines that unknown tokens are counted in
SAMPLE_LINES = 10_000


class TextDataset(FairseqDataset):
    r"""The lines of a UTF-8 text as tokens with </s> at the end; the text is not held in memory.

    A line has neither ``\n`` nor ``\r\n``. Forked processes share the open file; a pickled data
    set opens it again.

    Attributes:
        starts: where each line begins, in bytes, and at the end the size of the text.
        sizes: lengths in tokens, </s> counted, int32.

    Args:
        path: of the text.
        encode: cuts a line into subwords with spaces between them (``--tokenizer``, ``--bpe``).
        dictionary: numbers the subwords; a control symbol typed as text becomes <unk>.

    Raises:
        UserError: the text is no plain UTF-8; later, that it was changed.
    """

    def __init__(self, path: str, encode: Callable[[str], str], dictionary: Dictionary) -> None:
        self.path = path
        self.encode = encode
        self.dictionary = dictionary
        self._file = open_text(path)
        index = self._kept_index() if os.path.getsize(path) >= LARGE_BYTES else self._counted()
        self.starts = index[0]
        self.sizes = index[1, :-1].astype(np.int32)

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in vars(self).items() if name != "_file"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._file = open_text(self.path)
        if os.fstat(self._file.fileno()).st_size != self.starts[-1]:
            raise self._changed()

    # lengths ----------------------------------------------------------------------------------

    def _kept_index(self) -> np.ndarray:
        """Returns the index in its file, made first if missing; in memory if it cannot be kept.

        Processes that want the same index wait for the first.
        """
        kept = f"{self.path}.lines.npy"
        with open(self.path, "rb") as text:
            with suppress(OSError):  # some file systems cannot lock
                fcntl.flock(text, fcntl.LOCK_EX)
            with suppress(OSError, ValueError, EOFError, UserError):
                index: np.ndarray = np.load(kept, mmap_mode="r")
                if self._fits(index):
                    return index
            logger.info("counting the tokens of all lines of %s, once", self.path)
            index = self._counted()
            try:
                with atomic_replace(kept, f"{kept}.{os.getpid()}.npy") as written:
                    np.save(written, index)
                return np.load(kept, mmap_mode="r")  # type: ignore[no-any-return]
            except UserError as error:
                logger.warning("%s; lines are counted again at the next start", error)
                return index

    def _fits(self, index: np.ndarray) -> bool:
        """Returns whether an index was made of this text and with the present ``encode``."""
        if index.ndim != 2 or index[:, -1].tolist() != self._state():
            return False
        self.starts = index[0]
        last = index.shape[1] - 2
        numbers = np.linspace(0, last, COMPARED_LINES).astype(int)
        return all(self._length(self.line(number)) == index[1, number] for number in numbers)

    def _state(self) -> list[int]:
        size = os.fstat(self._file.fileno()).st_size
        return [size, os.stat(self.path).st_mtime_ns]

    def _counted(self) -> np.ndarray:
        """Returns places and lengths, 2 × lines + 1; at the end the text's size and time."""
        state = self._state()
        starts, sizes = array("q", [0]), array("q")
        for line in read_lines(self.path, ends=True):
            starts.append(starts[-1] + len(line.encode()))
            sizes.append(self._length(line.rstrip("\r\n")))
        sizes.append(state[1])
        return np.stack([np.frombuffer(starts, np.int64), np.frombuffer(sizes, np.int64)])

    def _length(self, line: str) -> int:
        return len(self.encode(line).split()) + 1

    def unknown(self) -> tuple[int, int]:
        """Counts the unknown and all tokens of some lines."""
        step = -(-len(self) // SAMPLE_LINES) or 1
        lines = [self[number] for number in range(0, len(self), step)]
        unknown = sum(int(tokens.eq(self.dictionary.unk()).sum()) for tokens in lines)
        return unknown, sum(map(len, lines))

    # sentences --------------------------------------------------------------------------------

    def line(self, number: int) -> str:
        """Reads a line, with the ends of the one before it and of itself: they have to be there."""
        start, end = self.starts[number : number + 2].tolist()
        before = min(start, 1)
        size = end - start + before
        read = os.pread(self._file.fileno(), size, start - before)
        line, *rest = read[before:].split(b"\n")
        is_ended = rest == [b""] or not rest and end == self.starts[-1]
        if len(read) < size or read[:before].strip(b"\n") or not is_ended:
            raise self._changed()
        return line.removesuffix(b"\r").decode("utf-8")

    def _changed(self) -> UserError:
        return UserError(f"{self.path} changed while being read; start again")

    def tokens(self, line: str) -> Tensor:
        """Cuts a line into tokens, long."""
        subwords = self.encode(line)
        tokens = self.dictionary.encode_line(subwords, add_if_not_exist=False).long()
        words = tokens[:-1]
        words.masked_fill_(words < self.dictionary.nspecial, self.dictionary.unk())
        return tokens

    def __getitem__(self, number: int) -> Tensor:
        return self.tokens(self.line(range(len(self))[number]))

    def __len__(self) -> int:
        return len(self.sizes)
