"""Correct text: noisy lines in, clean lines out, everything else kept byte for byte.

Lines end at ``\\n`` alone. Bytes that are not UTF-8 pass through.

``--edits FILE`` gets one JSON object for each edit that the model wants: ``file`` (where files were
given), ``line`` (of the file, from 1) and the fields of
:class:`lev_correct.Edit`.
"""

import argparse
import gc
import os
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from lev_runtime.errors import UserError, require_extra
from lev_runtime.io.commands import run_cli
from lev_runtime.io.lines import (
    STANDARD_STREAM,
    is_stream,
    progress,
    raw_lines,
    with_pauses,
)
from lev_runtime.io.options import as_flags, say, text_processing
from lev_runtime.io.output import standard_output
from lev_runtime.io.text_files import few

from ..lines import Correction
from ..report import Report, diff, in_colour
from ..repository.ignore import IgnoreComments
from ..repository.repository import NAMED, Repository, find_repository
from .check import FAILED, check_files, diff_header
from .files import (
    CorrectedFile,
    corrected_files,
    protection_of,
    read_file,
    require_text,
)
from .options import Load, check, parse
from .options import build_parser as build_parser
from .tune import tune

if TYPE_CHECKING:
    from .. import Corrector


#: Objects that are made before those without a use are sought. Nearly all of a run's stay until
#: its end, so that seeking took 15 % of the time of a tree (653 files, as many MB either way).
MADE = 50_000


def run_script() -> NoReturn:
    """Runs the command of this process and exits."""
    gc.set_threshold(MADE)
    run_cli(main)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; returns 0, or the status of a check, or raises UserError."""
    command, args = parse(argv)
    run = {"": correct, "check": check_files, "lsp": serve_editor, "tune": tune}[command]
    try:
        with as_flags(args):
            check(args)
            return run(args, load_corrector)
    except Exception as error:
        if command == "check":  # 1 is kept for findings
            error.exit_status = FAILED  # type: ignore[attr-defined]
        raise


def load_corrector(args: argparse.Namespace) -> "Corrector":
    """Returns the corrector of a checkpoint; imported only here, to keep ``--help`` quick."""
    from .. import Corrector

    names = "path data device unit window beam precision settings lexicon lookup bigrams confusions"
    options: dict[str, Any] = {name: getattr(args, name) for name in names.split()}
    if args.command != "tune":
        options["grammar"] = args.grammar
    if named := [name for name in args.protect or () if name in NAMED]:
        options["protect_code"] = named[-1] == "code"
    if args.command == "tune":
        options["protect_words"] = args.protect_words
    return Corrector.from_pretrained(**options | text_processing(args))


def serve_editor(args: argparse.Namespace, load: Load) -> int:
    """Runs the language server until the editor ends it; returns 0."""
    require_extra("lsp")
    from .lsp import make_server

    # pygls closes what it writes to
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as stream:
        make_server(args, load).start_io(stdout=stream)
    return 0


def correct(args: argparse.Namespace, load: Load = load_corrector) -> int:
    """Corrects files in place, or prints their text or what would change; returns the status."""
    require_text(args.files)
    repository = find_repository([path for path in args.files if not is_stream(path)])
    protection = protection_of(args, repository)
    with ExitStack() as stack:
        # First: a folder that cannot be written is told before the model loads.
        report = Report.opened(args.edits, bool(args.files), stack)
        corrector = load(args)
        corrector.protections.append(protection)
        run = Correcting(corrector, args, report, repository)
        run.say_settings()
        run.correct()
    if run.foreign and not args.quiet:
        say(f"note: {few(run.foreign, 5)}: {FOREIGN}")
    say(*(() if args.quiet else report.notes()))
    return int(run.failed)


#: seconds; longer than others wait, as lines that are read together tell more of their text
PAUSE = 0.2
FOREIGN = "most words are unknown, as in another language, so its lines stay"


@dataclass
class Correcting:
    """A model, what it is to do, and what it did."""

    corrector: "Corrector"
    args: argparse.Namespace
    report: Report
    repository: Repository
    foreign: list[str] = field(default_factory=list)  # files
    failed = False  # whether a file could not be written
    open_end = False  # whether the last line that was printed has no end
    header = b""  # of a file's diff, before its first change is printed

    def say_settings(self) -> None:
        """Prints which settings are in use, where they were tuned."""
        file, use = self.corrector.settings_file, self.corrector.settings
        if file and self.args.path and not self.args.quiet:
            sure = self.args.min_confidence
            sure = self.corrector.min_confidence if sure is None else sure
            words = ", protected words" if use.protect_words else ""
            flags = f"--unit {self.corrector.unit} --min-confidence {sure:.3g}{words}"
            say(f"settings of {file}: {flags} ({use.tuned})")

    def correct(self) -> None:
        """Corrects files, read together so that the words of each tell of the others, and streams,
        whose lines are answered as they come."""
        files = [path for path in self.args.files if not is_stream(path)]
        left_out = {path for path in files if self.repository.excludes(path)}
        texts = [read_file(path) for path in files if path not in left_out]
        together = corrected_files(self.corrector, texts, self.args)
        for path in self.args.files or [STANDARD_STREAM]:
            if path in left_out:
                text = read_file(path)
                same = [Correction(line, line, ()) for line in text.lines]
                self.write(CorrectedFile(text, same, False, "excluded files"))
            elif is_stream(path):
                self.answer(path)
            else:
                self.write(next(together))

    def begin(self, path: str, left_out: str = "") -> None:
        """Begins a file; ``left_out``: its kind, where that is."""
        self.report.begin(path, left_out)
        self.header = diff_header(path)

    def write(self, file: CorrectedFile) -> None:
        """Writes a file over itself, or prints it or what would change in it."""
        path = file.text.path
        self.begin(path, file.left_out)
        if file.foreign:
            self._note_foreign(path)
        if not self.args.in_place:
            self.show(file.corrections, file.text.ends, file.corrected)
            return
        try:
            file.rewrite()
            self.report.add(file.corrections)
        except UserError as error:
            self.failed = True
            say(f"error: {error}")

    def show(self, done: Sequence[Correction], ends: Sequence[bytes], text: bytes) -> None:
        """Prints the next lines of a text, or what would change in them."""
        out = standard_output().buffer
        if self.args.diff:
            hunks = diff(self.report.line + 1, done, ends)
            out.write(in_colour(self.header + hunks if hunks else b"", self.args.color))
            self.header = b"" if hunks else self.header
        elif ends:
            out.write(b"\n" * self.open_end + text)  # the last line of the file before had none
            self.open_end = not ends[-1]
        out.flush()
        self.report.add(done)

    def answer(self, path: str) -> None:
        """Corrects the lines of a stream, each as soon as it is there."""
        document, noted = self.corrector.document(path=path), False
        self.begin(path)
        ends: deque[bytes] = deque()  # of the lines that are not answered yet

        def bodies() -> Iterator[str]:
            for line in progress(raw_lines(path), "lines", STANDARD_STREAM, path):
                body = line.removesuffix(b"\n")
                ends.append(line[len(body) :])
                yield body.decode("utf-8", "surrogateescape")

        corrections = self.corrector.stream(
            with_pauses(bodies(), path, PAUSE),
            buffer=self.args.buffer,
            ignored=IgnoreComments().ignored,
            min_confidence=self.args.min_confidence,
            document=document,
            batch_size=self.args.batch_size,
        )
        for correction in corrections:
            if document.judge.foreign and not noted:
                noted = True
                self._note_foreign(path)
            end = ends.popleft()
            text = correction.text.encode("utf-8", "surrogateescape") + end
            self.show([correction], [end], text)

    def _note_foreign(self, path: str) -> None:
        if self.args.files:
            self.foreign.append(path)
        elif not self.args.quiet:  # a stream may have no end
            say(f"note: {FOREIGN}")
