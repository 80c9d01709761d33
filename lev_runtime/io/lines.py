"""Lines in and JSON lines out, for commands: files, pipes and what is typed."""

import json
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, TypeVar

from lev_runtime.errors import UserError

from .. import batching
from ..batching import Pause
from ..text.codec import UNREADABLE as UNREADABLE
from .pipes import PipeLines
from .text_files import decode as decode
from .text_files import read_lines, reading

T = TypeVar("T")
STANDARD_STREAM = "-"
# A model may sort what it is given by length: several batches at once waste less padding.
BATCHES_PER_CHUNK = 8
# U+0085, U+2028 and U+2029 may stand bare in JSON, but many readers take them for line ends.
_LINE_ENDS = str.maketrans({"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})
#: seconds without a new line after which the lines that a pipe has given are answered
PAUSE = 0.02
_streams: dict[str, PipeLines] = {}  # those that are being read, by path
PATIENCE = 5.0  # seconds before progress is shown


def json_line(value: Mapping[str, object]) -> str:
    """Returns one object as a line of JSON, its end included."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).translate(_LINE_ENDS) + "\n"


def raw_lines(path: str) -> Iterator[bytes]:
    """Yields the lines of a file or of standard input (``-``), each with its end."""
    with reading(_name(path)):
        if path == STANDARD_STREAM:
            yield from _streamed(path, sys.stdin.buffer)
            return
        with open(path, "rb") as file:
            yield from _streamed(path, file) if is_stream(path) else file


def _streamed(path: str, file: IO[bytes]) -> Iterator[bytes]:
    """Yields the lines of a stream, so that :func:`with_pauses` knows whether more are there."""
    _streams[path] = lines = PipeLines(file)
    try:
        yield from lines
    finally:
        _streams.pop(path, None)


def _name(path: str) -> str:
    return "standard input" if path == STANDARD_STREAM else path


def typed_lines(path: str, ends: bool = False) -> Iterator[str]:
    """Yields the lines of a stream, with their ends or not, without a byte order mark."""
    for number, raw in enumerate(raw_lines(path), start=1):
        body = raw.removesuffix(b"\n").removesuffix(b"\r")
        line = decode(_name(path), number, raw if ends else body)
        yield line.removeprefix("\ufeff") if number == 1 else line


def input_lines(path: str, ends: bool = False) -> Iterator[str]:
    """Yields :func:`typed_lines` of a stream, or the strict :func:`.read_lines` of a file."""
    return (typed_lines if is_stream(path) else read_lines)(path, ends)


def input_fields(path: str, counts: Collection[int], form: str) -> Iterator[list[str]]:
    """Yields the fields between the tabs of each line of :func:`input_lines`.

    Raises:
        UserError: another number of fields than ``counts`` has: ``form`` says which.
    """
    for number, line in enumerate(input_lines(path), start=1):
        fields = line.split("\t")
        if len(fields) not in counts:
            raise UserError(f"{_name(path)}: line {number}: {len(fields) - 1} tabs; {form}")
        yield fields


def is_stream(path: str) -> bool:
    """Returns whether a path can be read once only: standard input (``-``), a pipe or a device."""
    file = Path(path)
    return path == STANDARD_STREAM or file.is_fifo() or file.is_char_device()


def with_pauses(items: Iterable[T], path: str, seconds: float = PAUSE) -> Iterator[T | Pause]:
    """Yields items made of the lines of ``path``, and a pause where a stream has no more.

    After ``seconds`` without a line, what was written is answered before the writer goes on.
    """
    for item in items:
        yield item
        if path in _streams and not _streams[path].ready(seconds):
            yield Pause()


def chunks(items: Iterable[T], path: str, size: int, pause: float = PAUSE) -> Iterator[list[T]]:
    """Yields what was made of the lines of ``path``, ``size`` at a time, fewer before a pause."""
    return batching.chunks(with_pauses(items, path, pause), size)


def progress(
    items: Iterable[T], unit: str, output: str | None = None, total: int | str | None = None
) -> Iterator[T]:
    """Yields the items, and counts those that are done on a terminal's standard error.

    Nothing is shown between lines that are written to a terminal, where ``output`` is ``-``.
    ``total``: how many there are, or the file whose lines they are.
    """
    shares_terminal = output == STANDARD_STREAM and sys.stdout.isatty()
    if shares_terminal or not sys.stderr.isatty():
        yield from items
        return
    from tqdm import tqdm  # slow to import

    if isinstance(total, str):
        total = None if is_stream(total) else sum(1 for _ in raw_lines(total))
    yield from tqdm(items, unit=f" {unit}", total=total, delay=PATIENCE, leave=False)


def say_no_draft(what: str, draft_lang: str, way: str) -> None:
    """Prints a note that ``what`` has no draft although the model was trained with drafts."""
    message = f"{what}, and the model, trained with --draft-lang {draft_lang}, writes from nothing"
    print(f"note: {message}. {way}", file=sys.stderr)
