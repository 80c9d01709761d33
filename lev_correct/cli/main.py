"""Correct text: noisy lines in, clean lines out, everything else kept byte for byte.

Lines end at ``\\n`` alone. Bytes that are not UTF-8 pass through.

``--edits FILE`` gets one JSON object for each edit that the model wants: ``file`` (where files were
given), ``line`` (of the file, from 1) and the fields of
:class:`lev_correct.Edit`.
"""

import argparse
import shutil
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn

from lev_runtime.io.commands import run_cli
from lev_runtime.io.lines import (
    STANDARD_STREAM,
    is_stream,
    progress,
    with_pauses,
)
from lev_runtime.io.options import as_flags, say, text_processing
from lev_runtime.io.output import standard_output, whole_file
from lev_runtime.io.text_files import few

from ..report import Report, diff
from ..repository.ignore import IgnoreComments
from ..repository.repository import NAMED, find_repository
from ..text.file_kinds import PROSE, kind_of
from .check import FAILED, check_files, diff_header
from .files import (
    corrected_files,
    encoding_at,
    joined,
    protection_of,
    read_file,
    require_text,
    source_lines,
)
from .options import build_parser as build_parser
from .options import check, parse
from .tune import tune

if TYPE_CHECKING:
    from .. import Correction, Corrector


def run_script() -> NoReturn:
    """Runs the command of this process and exits."""
    run_cli(main)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; returns 0, or the status of a check, or raises UserError."""
    command, args = parse(argv)
    run = {"": correct, "check": check_files, "tune": tune}[command]
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
    options["eager"] = args.command != "tune" and args.eager
    corrector = Corrector.from_pretrained(**options | text_processing(args))
    if named := [name for name in args.protect or () if name in NAMED]:
        code = named[-1] == "code"
        corrector.settings = replace(corrector.settings, protect_code=code)
    return corrector


def correct(
    args: argparse.Namespace, load: Callable[[argparse.Namespace], "Corrector"] = load_corrector
) -> int:
    """Corrects files in place, or prints their text or what would change; returns 0."""
    require_text(args.files)
    paths = [path for path in args.files if not is_stream(path)]
    protection = protection_of(args, find_repository(paths))
    with ExitStack() as stack:
        # First: a folder that cannot be written is told before the model loads.
        report = Report.opened(args.edits, bool(args.files), stack)
        corrector = load(args)
        corrector.protections.append(protection)
        if args.signature:
            report.sign(corrector, args)
        run = Run(corrector, args, report)
        run.say_settings()
        if args.in_place:
            run.in_place()
        else:
            run.to_standard_output()
    if run.foreign:
        say(f"note: {few(run.foreign, 5)}: {FOREIGN}")
    say(*report.notes())
    return 0


#: seconds; longer than others wait, as lines that are read together tell more of their text
PAUSE = 0.2
FOREIGN = (
    "most words are unknown, as in another language, so its lines stay, or edits below 0.9 "
    "(--protect none makes them)"
)


@dataclass
class Run:
    """A model, what it is to do, and what it did."""

    corrector: "Corrector"
    args: argparse.Namespace
    report: Report
    foreign: list[str] = field(default_factory=list)  # files

    def say_settings(self) -> None:
        """Prints which settings are in use, where they were tuned."""
        file, use = self.corrector.settings_file, self.corrector.settings
        if file and self.args.path:
            sure = self.args.min_confidence
            sure = use.min_confidence if sure is None else sure
            words = ", protected words" if use.protect_words else ""
            flags = f"--unit {self.corrector.unit} --min-confidence {sure:.3g}{words}"
            say(f"settings of {file}: {flags} ({use.tuned})")

    def to_standard_output(self) -> None:
        """Writes the text of all files, or what would change in them."""
        out = standard_output().buffer
        open_end = False
        for path in self.args.files or [STANDARD_STREAM]:
            names, encoding = diff_header(path), encoding_at(path)
            for done, end in self.corrected(path):
                if self.args.diff:
                    hunks = diff(self.report.line + 1, [done], [end])
                    out.write(names + hunks if hunks else b"")
                    names = b"" if hunks else names
                else:
                    out.write(b"\n" * open_end)  # the last line of the file before had none
                    open_end = not end
                    out.write(joined([done], [end], encoding))
                out.flush()
                self.report.add([done])

    def in_place(self) -> None:
        """Writes each file over itself, whole or not at all, with its permissions."""
        texts = list(map(read_file, self.args.files))
        for file in corrected_files(self.corrector, texts, self.args):
            path = file.text.path
            self.report.begin(path, file.left_out)
            if file.foreign:
                self._note_foreign(path)
            with whole_file(path) as out:
                shutil.copymode(path, out.name)
                out.buffer.write(joined(file.corrections, file.text.ends, encoding_at(path)))
            self.report.add(file.corrections)

    def corrected(self, path: str) -> Iterator[tuple["Correction", bytes]]:
        """Yields the lines of a file, corrected, and their line ends."""
        text = read_file(path).lines if not is_stream(path) and kind_of(path, ()) != PROSE else ()
        document, noted = self.corrector.document(path=path, text=text), False
        self.report.begin(path, document.left_out if document else "")
        ends: deque[bytes] = deque()  # of the lines that are not answered yet

        def bodies() -> Iterator[str]:
            for line in progress(source_lines(path), "lines", STANDARD_STREAM, path):
                body = line.removesuffix(b"\n")
                ends.append(line[len(body) :])
                yield body.decode("utf-8", "surrogateescape")

        corrections = self.corrector.stream(
            with_pauses(bodies(), path, PAUSE),
            buffer=self.args.buffer,
            ignored=IgnoreComments().read,
            min_confidence=self.args.min_confidence,
            document=document,
            batch_size=self.args.batch_size,
        )
        for correction in corrections:
            if document and document.judge.foreign and not noted:
                noted = True
                self._note_foreign(path)
            yield correction, ends.popleft()

    def _note_foreign(self, path: str) -> None:
        if self.args.files:
            self.foreign.append(path)
        else:  # a stream may have no end
            say(f"note: {FOREIGN}")
