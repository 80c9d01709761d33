"""``lev-correct check``: what would change in files of a repository, and a status that says so."""

import argparse
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lev_runtime.errors import UserError, counted, printable
from lev_runtime.io.lines import STANDARD_STREAM, is_stream
from lev_runtime.io.options import say
from lev_runtime.io.output import standard_output
from lev_runtime.io.text_files import few

from ..report import Report, diff
from ..repository.checked_files import CheckedFiles, checked_files
from ..repository.findings import FORMATS, Finding, findings
from ..repository.repository import Repository, find_repository
from .files import (
    CorrectedFile,
    FileText,
    corrected_files,
    protection_of,
    read_file,
)
from .options import check_overwriting

if TYPE_CHECKING:
    from .. import Corrector

#: Status of a check that found something, and of one that could not read or understand something.
FINDINGS, FAILED = 1, 2
HINT = (
    "right as they are? --accept puts their words into a list of the repository; a line with "
    "lev-correct: ignore stays"
)


@contextmanager
def failing_checks() -> Iterator[None]:
    """Errors inside end the command with :data:`FAILED`: 1 is kept for findings."""
    try:
        yield
    except Exception as error:
        error.exit_status = FAILED  # type: ignore[attr-defined]
        raise


def check_files(args: argparse.Namespace, load: Callable[[argparse.Namespace], "Corrector"]) -> int:
    """Runs the command; returns its status."""
    repository = find_repository([path for path in args.files if not is_stream(path)])
    protection = protection_of(args, repository)
    if args.exclude:
        repository = replace(repository, exclude=tuple(args.exclude), root=os.curdir)
    chosen = checked_files(args.files or [STANDARD_STREAM], repository.excludes)
    check_overwriting(args, chosen.files)

    def loaded() -> "Corrector":
        corrector = load(args)
        corrector.protections.append(protection)
        return corrector

    with ExitStack() as stack:
        report = Report.opened(args.edits, bool(args.files), stack)
        return Check(args, repository, loaded, report).run(chosen)


@dataclass
class Check:
    """A run of the command.

    load: makes the corrector. report: gets every line.
    """

    args: argparse.Namespace
    repository: Repository
    load: Callable[[], "Corrector"]
    report: Report
    findings: list[Finding] = field(default_factory=list)
    diffs: list[bytes] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def run(self, chosen: CheckedFiles) -> int:
        """Checks files, prints what it finds; returns the status."""
        texts = list(self._readable(chosen))
        if texts:
            for file in self._corrected(texts, chosen.problems):
                self._note(file)
        for problem in chosen.problems:
            say(f"error: {problem}")
        if self.args.accept:
            self._accept()
        self._print()
        self._summarize(len(texts), chosen.left_out)
        return FAILED if chosen.problems else FINDINGS if self.findings else 0

    def _readable(self, chosen: CheckedFiles) -> Iterator[FileText]:
        for path in chosen.files:
            try:
                yield read_file(path)
            except UserError as error:
                chosen.problems.append(str(error))

    def _corrected(self, texts: Sequence[FileText], problems: list[str]) -> Iterator[CorrectedFile]:
        """All files together; where one of them is too odd for that, each of the rest alone."""
        corrector = self.load()
        done = 0
        try:
            for file in corrected_files(corrector, texts, self.args):
                done += 1
                yield file
        except Exception:
            for text in texts[done:]:
                try:
                    yield from corrected_files(corrector, [text], self.args)
                except Exception as error:
                    kind = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
                    problems.append(f"{text.path}: not checked: {kind}{printable(str(error))}")

    def _note(self, file: CorrectedFile) -> None:
        path = file.text.path
        self.report.begin(path)
        self.report.add(file.corrections)
        for number, correction in enumerate(file.corrections, start=1):
            self.findings += findings(path, number, correction)
        if self.args.diff:
            hunks = diff(1, file.corrections, file.text.ends)
            self.diffs += [diff_header(path), hunks] if hunks else []
        if file.foreign:
            self.foreign.append(path)
        if file.text.ignored_since:
            say(f"note: {path}: line {file.text.ignored_since}: no lev-correct: ignore-end follows")

    def _accept(self) -> None:
        """Puts the words that were found into the repository's list; what has no word stays."""
        words, left = [], []
        for finding in self.findings:
            if finding.before and finding.after:
                words.append(finding.before)
            else:
                left.append(finding)
        self.findings = left
        new = self.repository.accept(words)
        shown = f" ({few(new)})" if new else ""
        say(f"{counted(len(new), 'word')} accepted: {self.repository.word_list}{shown}")

    def _print(self) -> None:
        output = standard_output().buffer
        if self.args.diff:
            output.writelines(self.diffs)
        elif self.args.edits != STANDARD_STREAM:  # else these are there
            shown = FORMATS[self.args.format or "text"]
            lines = map(shown, self.findings)
            output.writelines(line.encode("utf-8", "surrogateescape") for line in lines)
        output.flush()

    def _summarize(self, files: int, left_out: Mapping[str, int]) -> None:
        say(*self.report.unfinished())
        if self.foreign:
            say(f"note: mostly of unknown words, as in another language: {few(self.foreign, 5)}")
        code = f", {self.report.code:,} left alone as code" if self.report.code else ""
        lines = f"{counted(self.report.lines, 'line')}{code}"
        say(f"{counted(len(self.findings), 'finding')} in {counted(files, 'file')} ({lines})")
        if left_out:
            kinds = (f"{kind} ({number:,})" for kind, number in sorted(left_out.items()))
            say(f"left out: {', '.join(kinds)}")
        if self.findings and not (self.args.accept or self.args.diff):
            say(HINT)


def diff_header(path: str) -> bytes:
    """The lines of a unified diff that name a file."""
    named = path + "\t" * (" " in path)  # behind which patch reads no more of a name
    return f"--- {named}\n+++ {named}\n".encode("utf-8", "surrogateescape")
