"""Text files, one sentence a line, read the way fairseq's binarizer reads them, but strictly.

What fairseq would swallow without a word (bytes that are no UTF-8, a carriage return that cuts a
line in two, a special symbol typed as a word) is refused with the file and the line named.
Everything streams. Line numbers count from 1.
"""

import lzma
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from typing import IO

from lev_runtime.errors import UserError

#: Words that the dictionary maps to control symbols. ``</s>`` inside a line would end the
#: sentence there, ``<pad>`` would be masked, ``<s>`` and ``<plh>`` have a meaning of their own.
SPECIAL_TOKENS = frozenset({"<s>", "<pad>", "</s>", "<plh>"})

#: the first bytes of an xz file
XZ = b"\xfd7zXZ\x00"
_BYTE_ORDER_MARK = "\ufeff"


def few(items: Sequence[object], most: int = 20) -> str:
    """Returns the first of many, and a sign that there are more."""
    return ", ".join(map(str, items[:most])) + (" …" if len(items) > most else "")


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Turns errors of opening and reading ``path`` into a UserError that names it."""
    try:
        yield
    except FileNotFoundError:
        raise UserError(f"{path} does not exist; check the path") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None


def lacking(path: str | os.PathLike[str]) -> str | None:
    """Returns why there is no file to read at a path; None where there is one."""
    if os.path.isdir(path):
        return "is a folder, not a file"
    if not os.path.exists(path):
        return "does not exist"
    return None if os.access(path, os.R_OK) else "cannot be read"


def require_files(paths: Iterable[str], hint: str = "") -> None:
    """Raises one :class:`.UserError` that names all files that cannot be read, and the way out."""
    lost = []
    for path in paths:
        why = lacking(path)
        if why and path != "-":
            lost.append(f"{path} {why}")
    if lost:
        raise UserError(f"{', '.join(lost)}; {hint or 'check the path'}")


def open_text(path: str) -> IO[bytes]:
    """Opens a text to read; of an xz file a copy without a name, decompressed by the block.

    Raises:
        UserError: it cannot be read, decompressed, or copied.
    """
    with reading(path):
        file = open(path, "rb")
        if file.peek(len(XZ))[: len(XZ)] != XZ:
            return file
    import shutil  # slow to import
    import tempfile

    with file, lzma.open(file) as text:
        copy = tempfile.TemporaryFile()
        try:
            shutil.copyfileobj(text, copy)
            copy.seek(0)
        except (lzma.LZMAError, EOFError) as error:
            raise UserError(f"{path}: cannot be decompressed ({error})") from None
        except OSError as error:
            folder = tempfile.gettempdir()
            raise UserError(f"{path}: cannot be decompressed into {folder}: {error}") from None
        return copy


def read_bytes(path: str) -> bytes:
    """Reads a file, which xz compressed or not; raises UserError where it cannot be read."""
    with reading(path), open_text(path) as file:
        return file.read()


def decode(name: str, number: int, body: bytes, way: str = "") -> str:
    """Decodes line ``number`` of ``name``; a UserError with the ``way`` out if not UTF-8."""
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{name}: line {number}: byte {error.start + 1} of the line is not valid UTF-8; "
            f"{way or 'convert the text: iconv -f ITS_ENCODING -t UTF-8'}"
        ) from None


def read_lines(path: str, ends: bool = False) -> Iterator[str]:
    r"""Yields the lines of a UTF-8 file, with their ends only where ``ends`` asks for them.

    An end is ``\n``, ``\r\n``, or ``\r`` at the file's end. U+2028, vertical tabs, form feeds and
    the like stay inside a line. A file that xz compressed is read as what it holds.

    Raises:
        UserError: the file cannot be opened, a byte is not UTF-8, a carriage return stands
            inside a line, or the file begins with a byte order mark.
    """
    with reading(path), open_text(path) as file:
        yield from _checked_lines(path, file, ends)


def _checked_lines(path: str, file: IO[bytes], ends: bool = False) -> Iterator[str]:
    way = f"fix it or convert the file: iconv -f ITS_ENCODING -t UTF-8 {path} > NEW"
    for number, raw in enumerate(file, start=1):
        body = raw.removesuffix(b"\n").removesuffix(b"\r")
        line = decode(path, number, body, way)
        if "\r" in line:
            message = f"{path}: line {number}: a carriage return inside the line would cut it"
            raise UserError(f"{message} in two; replace it: tr '\\r' ' ' < {path} > NEW")
        if number == 1 and line.startswith(_BYTE_ORDER_MARK):
            raise UserError(
                f"{path}: line 1 begins with a byte order mark; remove it: tail -c +4 {path} > NEW"
            )
        yield line + raw[len(body) :].decode() if ends else line


def count_lines(path: str) -> int:
    """Counts lines as the binarizer counts them; raises what :func:`read_lines` raises."""
    return sum(1 for _ in read_lines(path))


def read_parallel(paths: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yields one tuple a line number, with that line of every file in the order of ``paths``.

    Raises:
        UserError: as :func:`read_lines`; a file has more lines than another.
    """
    for lines in zip_longest(*(read_lines(path) for path in paths)):
        if None in lines:
            counts = ", ".join(f"{path} has {count_lines(path)}" for path in paths)
            raise UserError(f"line counts differ: {counts}; files must be line-aligned")
        yield lines


def refuse_special_tokens(path: str, number: int, words: Sequence[str]) -> None:
    """Raises :class:`.UserError` where a word of line ``number`` is a control symbol."""
    for position, word in enumerate(words, start=1):
        if word in SPECIAL_TOKENS:
            place = f"{path}: line {number}, word {position}"
            raise UserError(
                f"{place}: {word} is a control symbol of the dictionary and cannot be text; write "
                f"it differently, such as &lt;{word[1:-1]}&gt;"
            )
