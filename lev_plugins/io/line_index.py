r"""Where the lines of a text begin: checked and counted by the block, kept in a file for a while.

A text of ten million lines is neither decoded line by line nor held in memory. The index of a large
one, 12 bytes a line, lies in ``$TMPDIR/lev_plugins-UID`` and is mapped: processes of one machine
share it. It belongs to one state of the text (file, size, time of the last change), and goes when a
later one takes its place.
"""

import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import numpy as np

from lev_runtime.errors import UserError
from lev_runtime.io.text_files import read_lines, reading

#: a line: where it begins in the file, and how many characters it has
LINE = np.dtype([("start", "<i8"), ("characters", "<i4")])
BLOCK_BYTES = 1 << 18
#: of a text whose index is kept in a file
LARGE_BYTES = 1 << 24
_VERSION = 1
_NEWLINE = 10
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def checked_blocks(path: str, file: IO[bytes]) -> Iterator[bytes]:
    """:func:`blocks_of_lines` of a text, as :func:`.open_text` gives it.

    Raises:
        UserError: what :func:`.read_lines` refuses, in its words, for the first such line.
    """
    with reading(path):
        for number, block in enumerate(blocks_of_lines(file)):
            if not _is_clean(block, first=number == 0):
                for _ in read_lines(path):
                    pass  # it names the line
                raise UserError(f"{path} changed while being read; start again")
            yield block


def blocks_of_lines(file: IO[bytes]) -> Iterator[bytes]:
    """Yield about :data:`BLOCK_BYTES` of whole lines at a time, with their ends."""
    file.seek(0)
    parts: list[bytes] = []
    while block := file.read(BLOCK_BYTES):
        end = block.rfind(b"\n") + 1
        if not end:
            parts.append(block)
            continue
        yield b"".join([*parts, block[:end]])
        parts = [block[end:]] if end < len(block) else []
    if parts:
        yield b"".join(parts)


def _is_clean(block: bytes, first: bool) -> bool:
    """Whether no line of a block would be refused."""
    if first and block.startswith(_BYTE_ORDER_MARK):
        return False
    returns = block.count(b"\r")
    if returns and returns != block.count(b"\r\n") + block.endswith(b"\r"):
        return False
    try:
        return block.isascii() or bool(block.decode("utf-8"))
    except UnicodeDecodeError:
        return False


def index_block(block: bytes, offset: int) -> np.ndarray:
    """The :data:`LINE` of each line of a block that stands at ``offset`` in its file."""
    text = np.frombuffer(block, np.uint8)
    ends = line_ends(text)
    starts = np.concatenate([[0], ends[:-1]])
    lines = np.empty(len(starts), LINE)
    lines["start"] = starts + offset
    lines["characters"] = ends - starts
    # bytes that begin no character, and ends of lines
    no_character = (text & 0xC0) == 0x80
    no_character |= (text == _NEWLINE) | (text == ord("\r"))
    places = np.flatnonzero(no_character)
    lines["characters"] -= np.diff(np.searchsorted(places, ends), prepend=0).astype(np.int32)
    return lines


def line_ends(text: np.ndarray) -> np.ndarray:
    """Where the lines of a block (uint8) end, behind their newline; the last may have none."""
    ends = np.flatnonzero(text == _NEWLINE) + 1
    if len(ends) and ends[-1] == len(text):
        return ends
    return np.append(ends, len(text))


def _index_blocks(path: str, file: IO[bytes]) -> Iterator[np.ndarray]:
    offset = 0
    for block in checked_blocks(path, file):
        yield index_block(block, offset)
        offset += len(block)


# kept in files ------------------------------------------------------------------------------------


def cache_folder() -> Path | None:
    """This user's folder for indexes, which nobody else may write to; None where there is none."""
    folder = Path(tempfile.gettempdir()) / f"lev_plugins-{os.getuid()}"
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
        if status.st_uid == os.getuid() and status.st_mode & 0o40077 == 0o40000:
            return folder
    return None


def _names(path: str) -> tuple[str, str]:
    """What the files of a text's index begin with: of any state of it, and of the present one."""
    real = os.path.realpath(path)
    status = os.stat(real)
    state = f"{_VERSION} {status.st_dev} {status.st_ino} {status.st_size} {status.st_mtime_ns}"
    text, present = _digest(real), _digest(state)
    return text, f"{text}-{present}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Processes that want the same file wait for the first, where the file system can lock."""
    with open(path, "a") as lock:
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def line_index(path: str, file: IO[bytes]) -> np.ndarray:
    """The :data:`LINE` of every line of a text, of a large one mapped from a file.

    Where that cannot be written (the disk is full) it is in memory.

    Raises:
        UserError: what :func:`.read_lines` refuses.
    """
    folder = cache_folder() if os.path.getsize(path) >= LARGE_BYTES else None
    if folder is not None:
        text, present = _names(path)
        with suppress(OSError), _locked(folder / f"{text}.lock"):
            kept = folder / f"{present}.lines"
            if not kept.exists():
                for old in folder.glob(f"{text}-*.lines"):
                    old.unlink()
                _write(kept, _index_blocks(path, file))
            return np.memmap(kept, LINE, "r")
    blocks = list(_index_blocks(path, file))
    return np.concatenate(blocks) if blocks else np.empty(0, LINE)


def _write(kept: Path, blocks: Iterator[np.ndarray]) -> None:
    """Writes blocks to a file that is there whole or not at all."""
    written = kept.with_suffix(f".{os.getpid()}")
    try:
        with open(written, "wb") as file:
            for block in blocks:
                block.tofile(file)
        os.replace(written, kept)
    finally:
        written.unlink(missing_ok=True)
