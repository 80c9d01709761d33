"""``lev-correct check``: what would change in files of a repository, and a status that says so."""

import argparse
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lev_runtime.errors import UserError, counted, printable
from lev_runtime.io.lines import STANDARD_STREAM, is_stream
from lev_runtime.io.options import say
from lev_runtime.io.output import standard_output
from lev_runtime.io.text_files import few

from ..files.markup import Listed
from ..lines import Correction
from ..report import Report, diff, in_colour
from ..repository.checked_files import CheckedFiles, checked_files
from ..repository.findings import Finding, findings
from ..repository.formats import FORMATS
from ..repository.git import ChangedLines, changed_lines, is_committed, lines_that_count
from ..repository.identifiers import Identifier, identifiers
from ..repository.repository import Repository, common_folder, find_repository
from .files import (
    CorrectedFile,
    FileText,
    corrected_files,
    protection_of,
    read_file,
)
from .options import Load, check_overwriting

if TYPE_CHECKING:
    from .. import Corrector

#: Status of a check that found something, and of one that could not read or understand something.
FINDINGS, FAILED = 1, 2
HINT = (
    "Correct as written? Run with --accept to add these words to the repository's word list, or "
    "put `lev-correct: ignore` in the line."
)
#: Options with which nothing is kept: models and lists of one's own, and what an editor has.
UNCACHED = "no_cache stdin_filename path data device settings lexicon lookup bigrams confusions"


def check_files(args: argparse.Namespace, load: Load) -> int:
    """Checks files, prints what it finds; returns the status."""
    named = [args.stdin_filename] if args.stdin_filename else args.files
    repository = find_repository([path for path in named if not is_stream(path)])
    protection = protection_of(args, repository)
    if args.exclude:
        repository = replace(repository, exclude=tuple(args.exclude), root=os.curdir)
    changed: ChangedLines = {}
    if args.since:
        changed = _changed(args)
    chosen = _chosen(args, repository, changed)
    check_overwriting(args, chosen.files)
    with ExitStack() as stack:
        check = Check(args, Report.opened(args.edits, bool(named), stack), changed)
        check.report.left_out.update(chosen.left_out)
        texts = list(_readable(chosen, args.stdin_filename))
        if texts:
            corrector = load(args)
            corrector.protections.append(protection)
            read = {*map(os.path.realpath, chosen.files)}
            others = [path for path in changed if os.path.isfile(path) and path not in read]
            around = checked_files(others, repository.excludes).files
            from .cache import cached_files  # slow to import

            together = corrected_files(corrector, texts, args, around)
            if corrector.settings.known and not any(map(vars(args).get, UNCACHED.split())):
                together = cached_files(corrector, texts, args, around, repository.root)
            for file in _corrected(corrector, texts, args, together, chosen.problems):
                check.note(file, corrector.backend.misspelt, chosen.problems)
            if args.identifiers:
                check.note_identifiers(corrector)
        for problem in chosen.problems:
            say(f"error: {problem}")
        if args.accept:
            check.accept(repository)
        check.print()
        if not args.quiet:
            check.summarize(len(texts))
    return FAILED if chosen.problems else FINDINGS if check.errors else 0


def _changed(args: argparse.Namespace) -> ChangedLines:
    """Returns the lines that count for ``--since``."""
    folder = common_folder(args.files)
    if args.since == "HEAD":  # pre-commit run --from-ref, a push
        args.since = os.environ.get("PRE_COMMIT_FROM_REF", "HEAD")
    if args.since == "HEAD" and "PRE_COMMIT" in os.environ and is_committed(folder):
        args.since = None  # pre-commit run --all-files
        return {}
    return changed_lines(args.since, folder)


def _chosen(
    args: argparse.Namespace, repository: Repository, changed: ChangedLines
) -> CheckedFiles:
    """Returns the files that are to be read: of a revision's changes those that have some."""
    if name := args.stdin_filename:
        return CheckedFiles([] if repository.excludes(name) else [STANDARD_STREAM])
    paths = args.files or [os.curdir if args.since else STANDARD_STREAM]
    return checked_files(
        paths, lambda path: repository.excludes(path) or not lines_that_count(changed, path)
    )


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
    together: Iterable[CorrectedFile],
    problems: list[str],
) -> Iterator[CorrectedFile]:
    """Yields files ``together``; where one of them is too odd for that, each of the rest alone."""
    done = 0
    try:
        for file in together:
            done += 1
            yield file
    except Exception:
        for text in texts[done:]:
            try:
                yield from corrected_files(corrector, [text], args)
            except Exception as error:
                kind = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
                problems.append(f"{text.path}: not checked: {kind}{printable(str(error))}")


@dataclass
class Check:
    """Collects what a run of the command found; ``report`` gets every line."""

    args: argparse.Namespace
    report: Report
    changed: ChangedLines
    findings: list[Finding] = field(default_factory=list)
    lines: list[tuple[str, int, str]] = field(default_factory=list)  # file, number, text
    identifiers: list[Identifier] = field(default_factory=list)
    diffs: list[bytes] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    unended: list[str] = field(default_factory=list)  # comments that ignore all that follows

    @property
    def errors(self) -> int:
        """Returns how many findings fail the check: no questions, and not what is written."""
        return sum(finding.level == "warning" for finding in self.findings)

    def note(self, file: CorrectedFile, listed: Listed, problems: list[str]) -> None:
        """Notes the findings of a file in its lines that count; writes those that are sure into it,
        if that is asked for; ``listed``: as of :func:`.findings`."""
        path, corrections = file.text.path, list[Correction]()
        found = list[Finding]()
        changed = lines_that_count(self.changed, path)
        lines = zip(file.corrections, file.text.ignored, strict=True)
        for number, (correction, ignored) in enumerate(lines, start=1):
            if number not in changed:
                correction = Correction(correction.source, correction.source, ())
            elif self.args.identifiers and not ignored:
                self.lines.append((path, number, correction.source))
            corrections.append(correction)
            if correction.edits:
                found += findings(path, number, correction, listed=listed)
        if self.args.write:
            found = self._write(replace(file, corrections=corrections), found, problems)
        self.findings += found
        self.report.begin(path, file.left_out)
        self.report.add(corrections)
        if self.args.diff:
            hunks = diff(1, corrections, file.text.ends)
            self.diffs += [diff_header(path), hunks] if hunks else []
        if file.foreign:
            self.foreign.append(path)
        if file.text.ignored_since:
            self.unended.append(f"{path}:{file.text.ignored_since}")

    def _write(
        self, file: CorrectedFile, found: list[Finding], problems: list[str]
    ) -> list[Finding]:
        """Corrects a file; returns the findings, and which of them are written."""
        try:
            file.rewrite()
        except UserError as error:
            problems.append(str(error))
            return found
        return [replace(finding, written=finding.edit.applied) for finding in found]

    def note_identifiers(self, corrector: "Corrector") -> None:
        """Notes the identifiers of these lines that have misspelt parts."""
        self.identifiers = [
            name
            for name in identifiers(self.lines, corrector.backend.misspelt)
            if not any(
                stay.spans(f"{name.identifier} {name.before}") for stay in corrector.protections
            )
        ]

    def accept(self, repository: Repository) -> None:
        """Puts the words that were found into the repository's list; what has no word stays."""
        words = [finding.before for finding in self.findings if finding.before and finding.after]
        self.findings = [each for each in self.findings if not (each.before and each.after)]
        new = repository.accept(words)
        shown = f" ({few(new)})" if new else ""
        say(f"{counted(len(new), 'word')} accepted: {repository.word_list}{shown}")

    def print(self) -> None:
        """Prints the findings, or a diff."""
        output = standard_output().buffer
        shown = b"".join(self.diffs)
        if not self.args.diff and self.args.edits != STANDARD_STREAM:  # else these are there
            show = FORMATS[self.args.format or "text"]
            shown = show([*self.findings, *self.identifiers]).encode("utf-8", "surrogateescape")
        output.write(in_colour(shown, self.args.color))
        output.flush()

    def summarize(self, files: int) -> None:
        """Tells how much was read, found and left out."""
        say(*self.report.unfinished())
        if self.foreign:
            say(f"note: mostly of unknown words, as in another language: {few(self.foreign, 5)}")
        if self.unended:
            say(f"note: no lev-correct: ignore-end follows: {few(self.unended, 5)}")
        code = f", {self.report.code:,} left alone as code" if self.report.code else ""
        lines = f"{counted(self.report.lines, 'line')}{code}"
        since = f" since {self.args.since}" if self.args.since else ""
        if self.args.write:
            written = [finding.file for finding in self.findings if finding.written]
            files_written = counted(len({*written}), "file")
            say(f"{counted(len(written), 'finding')} corrected in {files_written}")
        number = counted(self.errors, "finding") + " left" * self.args.write
        if questions := sum(bool(finding.offers) for finding in self.findings):
            number += f" and {counted(questions, 'question')}"
        say(f"{number}{since} in {counted(files, 'file')} ({lines})")
        if self.args.identifiers:
            say(f"{counted(len(self.identifiers), 'identifier')} to look at; they do not fail")
        say(*self.report.kinds())
        if self.errors and not (self.args.accept or self.args.diff):
            say(HINT)


def diff_header(path: str) -> bytes:
    """The lines of a unified diff that name a file."""
    named = path + "\t" * (" " in path)  # after which patch reads no more of a name
    return f"--- {named}\n+++ {named}\n".encode("utf-8", "surrogateescape")
