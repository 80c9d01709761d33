"""Files, read whole, all of them before the first is corrected, and written over themselves."""

import argparse
import contextlib
import io
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING

from lev_runtime.errors import UserError
from lev_runtime.io.lines import is_stream, progress, raw_lines
from lev_runtime.io.output import rewrite_file
from lev_runtime.io.text_files import read_lines, require_files

from ..document import groups
from ..files.names import Names
from ..repository.checked_files import kind_left_out
from ..repository.ignore import IgnoreComments
from ..repository.kinds import BINARY, encoding_of
from ..repository.repository import NAMED, Repository

if TYPE_CHECKING:
    from .. import Correction, Corrector
    from ..document import Document
    from ..text.protection import Protection

#: Lines of a file that are corrected at once.
LINES_AT_ONCE = 500
#: Parts of the files that each process gets, one after the other, as some take longer.
SHARES = 4


@dataclass(frozen=True)
class FileText:
    """A file: its lines, their ends, which of them stay as they are, the number of the line where a
    comment says so of all that follow, and its encoding, if that is UTF-16 or UTF-32."""

    path: str
    lines: Sequence[str]
    ends: Sequence[bytes]
    ignored: Sequence[bool]
    ignored_since: int | None
    encoding: str | None

    def with_lines(self, lines: Iterable[str]) -> bytes:
        """Returns the bytes of the file with other lines for its own."""
        pairs = zip(lines, self.ends, strict=True)
        text = b"".join(line.encode("utf-8", "surrogateescape") + end for line, end in pairs)
        if self.encoding is None:
            return text
        return text.decode("utf-8", "surrogatepass").encode(self.encoding, "surrogatepass")


@dataclass(frozen=True)
class CorrectedFile:
    """A file, a correction of each of its lines, whether it is in another language, its kind where
    that is left out, and the words of which the files of the run were asked whether they name them,
    and how often they have them."""

    text: FileText
    corrections: Sequence["Correction"]
    foreign: bool
    left_out: str = ""
    sought: Iterable[str] = ()
    asked: Iterable[str] = ()

    @property
    def corrected(self) -> bytes:
        """Returns the bytes of the file with its corrections."""
        return self.text.with_lines(correction.text for correction in self.corrections)

    def rewrite(self) -> None:
        """Writes the corrections into the file, if any; errors of :func:`.rewrite_file`."""
        before, after = self.text.with_lines(self.text.lines), self.corrected
        if after != before:
            rewrite_file(self.text.path, before, after)


def protection_of(args: argparse.Namespace, repository: Repository) -> "Protection":
    """Returns what is protected; takes what the options leave open from a repository's settings."""
    from ..text.protection import Protection

    if args.min_confidence is None:
        args.min_confidence = repository.threshold
    if args.protect is None:
        args.protect = list(repository.protect)
    patterns = [pattern for pattern in args.protect if pattern not in NAMED]
    words = read_lines(args.protect_words) if args.protect_words else repository.words
    accepting = args.command == "check" and args.accept
    return Protection(patterns, [*words, *repository.listed_words(accepting)])


def require_text(paths: Sequence[str]) -> None:
    """Raises :class:`UserError` for what is no file, and for one that is no text."""
    folders = [path for path in paths if os.path.isdir(path)]
    require_files(paths, f"lev-correct check {' '.join(folders)} reads folders" if folders else "")
    for path in paths:
        if os.path.isfile(path) and kind_left_out(path) == BINARY:
            raise UserError(f"{path} contains zero bytes, so it is not text")


def read_file(path: str, name: str | None = None) -> FileText:
    """A file or standard input (``-``), with the name that it has elsewhere; raises UserError where
    it cannot be read."""
    return file_text(name or path, *_lines_of(path))


def file_text(path: str, raw_lines: Iterable[bytes], encoding: str | None = None) -> FileText:
    """Returns a file of some lines in UTF-8, each with its end."""
    raw = list(raw_lines)
    ends = [b"\n" if line.endswith(b"\n") else b"" for line in raw]
    lines, comments = list(map(_body, raw)), IgnoreComments()
    ignored = comments.ignored(lines)
    return FileText(path, lines, ends, ignored, comments.open_since, encoding)


def read_lines_of(paths: Iterable[str]) -> Iterator[str]:
    """Yields the lines of files without their ends; of one that cannot be read none."""
    for path in paths:
        with contextlib.suppress(UserError):
            yield from map(_body, _lines_of(path)[0])


def _body(line: bytes) -> str:
    return line.removesuffix(b"\n").decode("utf-8", "surrogateescape")


def _lines_of(path: str) -> tuple[Iterable[bytes], str | None]:
    """Returns the lines of a file, each with its end, in UTF-8, and its encoding, where a byte
    order mark says that this is another one."""
    raw = b"".join(raw_lines(path))
    encoding = None if is_stream(path) else encoding_of(raw)
    try:
        text = raw.decode(encoding, "surrogatepass") if encoding else ""
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not valid {encoding}: {error.reason}") from None
    return io.BytesIO(text.encode("utf-8", "surrogatepass") or raw), encoding


def corrected_files(
    corrector: "Corrector",
    texts: Sequence[FileText],
    args: argparse.Namespace,
    around: Sequence[str] = (),
    others: "Document | None" = None,
) -> Iterator[CorrectedFile]:
    """All files, in order; words that return in any of them count for all. Progress is shown.

    Args:
        around: as of :func:`surveyed`.
        others: what that returned for these files and others.
    """
    others = others or surveyed(corrector, texts, around)
    done = 0
    if len(texts) > 1 and args.jobs > 1:
        with contextlib.suppress(Exception):  # one process tells it, and what came before
            for file in _in_processes(corrector, texts, args, others):
                done += 1
                yield file
    if done < len(texts):
        yield from islice(_together(corrector, texts, args, others), done, None)


def surveyed(
    corrector: "Corrector", texts: Sequence[FileText], around: Sequence[str]
) -> "Document":
    """Returns a text of a run, whose judge has counted the words of all files and which has what
    these name.

    Args:
        around: files that are not corrected, whose words and names count too.
    """
    others = corrector.document()
    others.judge.survey(chain(read_lines_of(around), *(text.lines for text in texts)))
    files = [(text.path, text.lines) for text in texts]
    others.names = Names(chain(files, ((path, read_lines_of([path])) for path in around)))
    return others


def _together(
    corrector: "Corrector",
    texts: Sequence[FileText],
    args: argparse.Namespace,
    others: "Document",
) -> Iterator[CorrectedFile]:
    """Files in one process, some at a time; ``others``: a text of the run, whose judge has counted
    its words."""
    for group in groups(progress(texts, "files", total=len(texts))):
        documents = [corrector.document(others, text.path, text.lines) for text in group]
        parts = (
            (text.lines[part], document, text.ignored[part])
            for text, document in zip(group, documents, strict=True)
            for start in range(0, len(text.lines), LINES_AT_ONCE)
            for part in [slice(start, start + LINES_AT_ONCE)]
        )
        corrected = corrector.correct_documents(
            parts, min_confidence=args.min_confidence, batch_size=args.batch_size
        )
        total = sum(len(text.lines) for text in group)
        lines = progress(chain.from_iterable(corrected), "lines", total=total)
        for text, document in zip(group, documents, strict=True):
            done = list(islice(lines, len(text.lines)))
            judge = document.judge
            found = judge.foreign, document.left_out, document.sought, judge.asked
            yield CorrectedFile(text, done, *found)


#: What a :class:`CorrectedFile` has besides its text.
_Outcome = tuple[Sequence["Correction"], bool, str, Iterable[str], Iterable[str]]
#: What a process does with the files of some numbers; it has them since it was forked.
_Work = Callable[[range], list[_Outcome]]
_work: _Work


def _in_processes(
    corrector: "Corrector",
    texts: Sequence[FileText],
    args: argparse.Namespace,
    others: "Document",
) -> Iterator[CorrectedFile]:
    """The same in several processes, which share what is loaded."""
    from concurrent.futures import ProcessPoolExecutor  # slow to import
    from multiprocessing import get_context

    def work(numbers: range) -> list[_Outcome]:
        done = _together(corrector, [texts[number] for number in numbers], args, others)
        return [tuple(vars(file).values())[1:] for file in done]  # without its text

    size = math.ceil(len(texts) / (SHARES * args.jobs))
    shares = [range(len(texts))[first : first + size] for first in range(0, len(texts), size)]
    with ProcessPoolExecutor(args.jobs, get_context("fork"), _begin_work, (work,)) as pool:
        done = chain.from_iterable(pool.map(_do_work, shares))
        for text, outcome in zip(texts, progress(done, "files", total=len(texts)), strict=True):
            yield CorrectedFile(text, *outcome)


def _begin_work(work: _Work) -> None:
    global _work
    _work = work
    sys.stderr = open(os.devnull, "w")  # progress is the other process's


def _do_work(numbers: range) -> list[_Outcome]:
    return _work(numbers)
