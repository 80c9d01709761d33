"""Large texts: read and checked by the block, not line by line."""

from collections.abc import Iterator
from typing import IO

from lev_runtime.errors import UserError
from lev_runtime.io.text_files import read_lines, reading

BLOCK_BYTES = 1 << 18
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def checked_blocks(path: str, file: IO[bytes]) -> Iterator[bytes]:
    """Yields the blocks of a text, whole lines with their ends, as :func:`.open_text` gives it.

    Raises:
        UserError: what :func:`.read_lines` refuses, in its words, for the first such line.
    """
    with reading(path):
        for number, block in enumerate(_blocks_of_lines(file)):
            if not _is_clean(block, first=number == 0):
                for _ in read_lines(path):
                    pass  # it names the line
                raise UserError(f"{path} changed while being read; start again")
            yield block


def _blocks_of_lines(file: IO[bytes]) -> Iterator[bytes]:
    """Yields about :data:`BLOCK_BYTES` of whole lines at a time, with their ends."""
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
    """Returns whether no line of a block would be refused."""
    if first and block.startswith(_BYTE_ORDER_MARK):
        return False
    returns = block.count(b"\r")
    if returns and returns != block.count(b"\r\n") + block.endswith(b"\r"):
        return False
    try:
        return block.isascii() or bool(block.decode("utf-8"))
    except UnicodeDecodeError:
        return False
