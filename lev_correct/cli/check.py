"""``lev-correct check``: what would change in files of a repository, and a status that says so."""

import argparse
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lev_runtime.errors import UserError, counted, printable
from lev_runtime.io.lines import STANDARD_STREAM, is_stream
from lev_runtime.io.options import say
from lev_runtime.io.output import standard_output
from lev_runtime.io.text_files import few

from ..lines import Correction
from ..report import Report, diff
from ..repository.checked_files import CheckedFiles, checked_files
from ..repository.findings import FORMATS, Finding, findings
from ..repository.git import ALL_LINES, Changes, changes_since
from ..repository.identifiers import Identifier, identifiers
from ..repository.repository import Repository, common_folder, find_repository
from .files import (
    CorrectedFile,
    FileText,
    corrected_files,
    protection_of,
    read_file,
    read_lines_of,
)
from .options import check_overwriting
from .signature import signed

if TYPE_CHECKING:
    from .. import Corrector

#: Status of a check that found something, and of one that could not read or understand something.
FINDINGS, FAILED = 1, 2
HINT = (
    "Correct as written? Run with --accept to add these words to the repository's word list, or "
    "put `lev-correct: ignore` in the line."
)


def check_files(args: argparse.Namespace, load: Callable[[argparse.Namespace], "Corrector"]) -> int:
    """Checks files, prints what it finds; returns the status."""
    named = [args.stdin_filename] if args.stdin_filename else args.files
    repository = find_repository([path for path in named if not is_stream(path)])
    protection = protection_of(args, repository)
    if args.exclude:
        repository = replace(repository, exclude=tuple(args.exclude), root=os.curdir)
    scope = Scope.of(args, repository)
    problems = scope.chosen.problems
    check_overwriting(args, scope.chosen.files)
    with ExitStack() as stack:
        check = Check(args, Report.opened(args.edits, bool(named), stack), scope.changes)
        check.report.left_out.update(scope.chosen.left_out)
        texts = list(_readable(scope.chosen, args.stdin_filename))
        if texts:
            corrector = load(args)
            corrector.protections.append(protection)
            if args.signature:
                check.report.signature = signed(corrector, args)
            for file in _corrected(corrector, texts, args, scope):
                check.note(file)
            if args.identifiers:
                check.note_identifiers(corrector, texts)
        for problem in problems:
            say(f"error: {problem}")
        if args.accept:
            check.accept(repository)
        check.print()
        check.summarize(len(texts))
    return FAILED if problems else FINDINGS if check.findings else 0


@dataclass(frozen=True)
class Scope:
    """The files that are checked, their lines that count, and the other files of the repository:
    their words tell what is a term."""

    chosen: CheckedFiles
    changes: Changes = ALL_LINES
    around: Sequence[str] = ()

    @classmethod
    def of(cls, args: argparse.Namespace, repository: Repository) -> "Scope":
        """Returns what the options ask for."""
        if args.stdin_filename:
            is_excluded = repository.excludes(args.stdin_filename)
            return cls(CheckedFiles([] if is_excluded else [STANDARD_STREAM]))
        if not args.since:
            return cls(checked_files(args.files or [STANDARD_STREAM], repository.excludes))
        paths = args.files or [os.curdir]
        changes = changes_since(args.since, common_folder(paths))
        chosen = checked_files(
            paths, lambda path: repository.excludes(path) or not changes.of(path)
        )
        if not chosen.files:
            return cls(chosen, changes)
        read = set(map(os.path.realpath, chosen.files))
        files = checked_files([changes.root], repository.excludes).files
        return cls(chosen, changes, [path for path in files if os.path.realpath(path) not in read])


def _readable(chosen: CheckedFiles, name: str | None) -> Iterator[FileText]:
    for path in chosen.files:
        try:
            yield read_file(path, name)
        except UserError as error:
            chosen.problems.append(str(error))


def _corrected(
    corrector: "Corrector",
    texts: Sequence[FileText],
    args: argparse.Namespace,
    scope: Scope,
) -> Iterator[CorrectedFile]:
    """Yields all files together; where one of them is too odd for that, each of the rest alone."""
    done = 0
    try:
        for file in corrected_files(corrector, texts, args, read_lines_of(scope.around)):
            done += 1
            yield file
    except Exception:
        for text in texts[done:]:
            try:
                yield from corrected_files(corrector, [text], args)
            except Exception as error:
                kind = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
                scope.chosen.problems.append(
                    f"{text.path}: not checked: {kind}{printable(str(error))}"
                )


@dataclass
class Check:
    """Collects what a run of the command found; ``report`` gets every line."""

    args: argparse.Namespace
    report: Report
    changes: Changes
    findings: list[Finding] = field(default_factory=list)
    identifiers: list[Identifier] = field(default_factory=list)
    diffs: list[bytes] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    unended: list[str] = field(default_factory=list)  # comments that ignore all that follows
    changed: int = 0  # lines

    def note(self, file: CorrectedFile) -> None:
        """Notes the findings of a file in its lines that count."""
        path, lines = file.text.path, self.changes.of(file.text.path)
        corrections = [
            correction if number in lines else Correction(correction.source, correction.source, ())
            for number, correction in enumerate(file.corrections, start=1)
        ]
        self.changed += sum(number + 1 in lines for number in range(len(corrections)))
        self.report.begin(path, file.left_out)
        self.report.add(corrections)
        for number, correction in enumerate(corrections, start=1):
            self.findings += findings(path, number, correction)
        if self.args.diff:
            hunks = diff(1, corrections, file.text.ends)
            self.diffs += [diff_header(path), hunks] if hunks else []
        if file.foreign:
            self.foreign.append(path)
        if file.text.ignored_since:
            self.unended.append(f"{path}:{file.text.ignored_since}")

    def note_identifiers(self, corrector: "Corrector", texts: Iterable[FileText]) -> None:
        """Notes the identifiers with misspelt parts in the lines that count."""

        def lines() -> Iterator[tuple[str, int, str]]:
            for text in texts:
                counting = self.changes.of(text.path)
                pairs = zip(text.lines, text.ignored, strict=True)
                for number, (line, ignored) in enumerate(pairs, start=1):
                    if not ignored and number in counting:
                        yield text.path, number, line

        def is_right(name: str) -> bool:
            return any(protection.spans(name) for protection in corrector.protections)

        self.identifiers = identifiers(lines(), corrector.backend.misspelt, is_right)

    def accept(self, repository: Repository) -> None:
        """Puts the words that were found into the repository's list; what has no word stays."""
        words = [finding.before for finding in self.findings if finding.before and finding.after]
        self.findings = [it for it in self.findings if not (it.before and it.after)]
        new = repository.accept(words)
        shown = f" ({few(new)})" if new else ""
        say(f"{counted(len(new), 'word')} accepted: {repository.word_list}{shown}")

    def print(self) -> None:
        """Prints the findings, or a diff."""
        output = standard_output().buffer
        if self.args.diff:
            output.writelines(self.diffs)
        elif self.args.edits != STANDARD_STREAM:  # else these are there
            text = FORMATS[self.args.format or "text"]([*self.findings, *self.identifiers])
            output.write(text.encode("utf-8", "surrogateescape"))
        output.flush()

    def summarize(self, files: int) -> None:
        """Tells how much was read, found and left out."""
        say(*self.report.unfinished())
        if self.foreign:
            say(f"note: mostly of unknown words, as in another language: {few(self.foreign, 5)}")
        if self.unended:
            say(f"note: no lev-correct: ignore-end follows: {few(self.unended, 5)}")
        code = f", {self.report.code:,} left alone as code" if self.report.code else ""
        lines = counted(self.report.lines, "line")
        if self.args.since:
            lines = f"{counted(self.changed, 'changed line')} of {self.report.lines:,}"
        say(f"{counted(len(self.findings), 'finding')} in {counted(files, 'file')} ({lines}{code})")
        if self.args.identifiers:
            say(f"{counted(len(self.identifiers), 'identifier')} to look at; they do not fail")
        say(*self.report.kinds())
        if self.findings and not (self.args.accept or self.args.diff):
            say(HINT)


def diff_header(path: str) -> bytes:
    """The lines of a unified diff that name a file."""
    named = path + "\t" * (" " in path)  # after which patch reads no more of a name
    return f"--- {named}\n+++ {named}\n".encode("utf-8", "surrogateescape")
