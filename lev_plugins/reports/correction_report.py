"""What ``correct`` says of its work: edits to files, progress and counts to standard error."""

import argparse
import csv
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TextIO

from ..errors import counted
from ..io.lines import STANDARD_STREAM, is_terminal, json_line
from ..io.output import refuse_overwriting
from ..io.text_files import LineNumbers

if TYPE_CHECKING:
    from ..inference.correction import Correction
    from ..inference.correction.documents import Plan

#: Gets every line: its file, its number and what became of it.
Sink = Callable[[str, int, "Correction"], None]
REPORTS = ("csv", "edits", "html")
# Seconds before progress is shown, and between two lines of it where no terminal reads them.
PATIENCE, INTERVAL = 5.0, 60.0
# Characters that an edit takes away where a model may have lost the rest of a line.
_LOST = 20
_UNTERMINATED = "left as it was, in whole or in part, because the model's answer had no end"
_SHORTENED = (
    f"{_LOST} characters or more are gone at one place, as from models that learnt from shorter "
    "lines; --edits FILE shows them, --window N reads N words at once"
)


def json_sink(stream: TextIO, named: bool) -> Sink:
    """Writes every edit as a line of JSON; ``named``: with the name of its file."""

    def write(file: str, number: int, correction: "Correction") -> None:
        place = {"file": file} if named else {}
        for edit in correction.edits:
            stream.write(json_line({**place, "line": number, **edit.to_dict()}))

    return write


def csv_sink(stream: TextIO) -> Sink:
    """Writes the words that every edit changes as a row, below a row of names."""
    from ..inference.correction.review import whole_words

    table = csv.writer(stream, lineterminator="\n")
    table.writerow(("file", "line", "before", "after", "probability", "applied"))

    def write(file: str, number: int, correction: "Correction") -> None:
        for edit in whole_words(correction):
            applied = "true" if edit.applied else "false"
            row = (file, number, edit.before, edit.after, f"{edit.probability:.6g}", applied)
            table.writerow(row)

    return write


class Progress:
    """Share done of so many bytes, and time left; ``clock`` counts seconds."""

    def __init__(self, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.total, self.done, self.clock = total, 0, clock
        self.begun = clock()
        self.shown: float | None = None

    def line(self, terminal: bool) -> str | None:
        """What to show now; None for nothing: it has not taken long, or was shown just now."""
        now = self.clock()
        gap = 1.0 if terminal else INTERVAL
        took = now - self.begun
        if took < (PATIENCE if self.shown is None else self.shown + gap) or not self.done:
            return None
        self.shown = took
        left = round(took * (self.total - self.done) / self.done)
        hours, minutes = left // 3600, left // 60 % 60
        return f"{self.done / self.total:4.0%}, {hours}:{minutes:02}:{left % 60:02} left"


class Report:
    """What was done: every line to the sinks, counts to a terminal, what was left to any.

    Args:
        files: names of the inputs; none for standard input.
        progress: of a run over many files; None for one to standard output.
    """

    #: Is shown all lines, and says if they are not cut as the model's were.
    look_at: Callable[[Sequence[str]], None] | None = None

    def __init__(
        self, sinks: Sequence[Sink], files: Sequence[str], progress: Progress | None = None
    ) -> None:
        self.sinks, self.progress = sinks, progress
        self.named = bool(files)
        self.file = STANDARD_STREAM
        self.line = self.lines = self.wanted = self.applied = 0
        self.told: dict[tuple[str, str], LineNumbers] = {}
        typed = is_terminal(sys.stdin) and (not files or STANDARD_STREAM in files)
        self.watched = is_terminal(sys.stderr) and (
            progress is not None or not (typed or is_terminal(sys.stdout))
        )

    def begin(self, file: str) -> None:
        """What comes next are the lines of this file."""
        self.file, self.line = file, 0

    def add(self, done: Sequence["Correction"]) -> None:
        """Note the next lines; counts so far to a terminal that nobody types or reads text on."""
        for correction in done:
            self._add(correction)
        if self.progress is not None:
            self._show(self.progress, done)
        elif self.watched:
            sys.stderr.write(f"\r{self}")
            sys.stderr.flush()

    def _show(self, progress: Progress, done: Sequence["Correction"]) -> None:
        for correction in done:
            progress.done += len(correction.source.encode("utf-8", "surrogateescape")) + 1
        progress.done = min(progress.done, progress.total)  # a last line may have no end
        if line := progress.line(self.watched):
            start, end = ("\r", "") if self.watched else ("", "\n")
            sys.stderr.write(f"{start}{line}; {self}{end}")
            sys.stderr.flush()

    def _add(self, correction: "Correction") -> None:
        self.line += 1
        self.lines += 1
        self.wanted += len(correction.edits)
        self.applied += sum(edit.applied for edit in correction.edits)
        lost = (len(one.before) - len(one.after) for one in correction.edits if one.applied)
        if correction.unterminated:
            self._tell(_UNTERMINATED)
        if max(lost, default=0) >= _LOST:
            self._tell(_SHORTENED)
        for sink in self.sinks:
            sink(self.file, self.line, correction)

    def _tell(self, what: str) -> None:
        self.told.setdefault((self.file, what), LineNumbers()).add(self.line)

    def close(self) -> None:
        """The end of the progress line; lines that had to be left alone or lost much."""
        if self.progress is not None:
            if self.watched and self.progress.shown is not None:
                sys.stderr.write("\n")
        elif self.watched:
            sys.stderr.write(f"\r{self}\n")
        for (file, what), lines in self.told.items():
            place = f"{file}: " if self.named else ""
            print(f"{place}{what}: {counted(lines.count, 'line')} ({lines})", file=sys.stderr)

    def __str__(self) -> str:
        made = f"{self.applied:,} of {counted(self.wanted, 'edit')} made"
        return f"{counted(self.lines, 'line')}, {made}"


def summarize(todo: "Plan", report: Report | None) -> None:
    """What was left out, what is done and what was finished before."""
    for wrong in todo.invalid:
        print(f"left out: {wrong}", file=sys.stderr)
    for file in todo.binary:
        print(f"left out: {file} is no text", file=sys.stderr)
    for document in todo.outdated:
        print(
            f"skipped: {document.target} is older than {document.source}; remove it to have it "
            "written anew",
            file=sys.stderr,
        )
    counts = f": {report}" if report else ""
    print(
        f"{counted(len(todo.documents), 'file')} corrected{counts}; {len(todo.finished):,} "
        f"skipped, finished before; {len(todo.invalid) + len(todo.binary):,} left out",
        file=sys.stderr,
    )


def check_reports(args: argparse.Namespace, others: Mapping[str, Sequence[str]]) -> None:
    """Refuse a report that would write over another file."""
    read = [(what, path) for what, paths in others.items() for path in paths]
    refuse_overwriting({f"--{flag}": getattr(args, flag) or None for flag in REPORTS}, read)
