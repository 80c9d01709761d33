"""What ``correct`` says of its work: edits to files, progress and counts to standard error."""

import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TextIO

from ..data.text_files import LineNumbers
from .lines import STANDARD_STREAM, is_terminal, json_line

if TYPE_CHECKING:
    from ..correction import Correction

# Seconds before progress is shown, and between two lines of it where no terminal reads them.
PATIENCE, INTERVAL = 5.0, 60.0


class Progress:
    """Share done and time left.

    Args:
        total: bytes to correct.
        clock: seconds.
    """

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
    """What was done: every edit to a file, counts to a terminal, what was left to any.

    Args:
        edits: gets every edit as a line of JSON; None for none.
        files: names of the inputs; none for standard input.
        progress: of a run over many files, which counts are shown with; None for one to standard
            output.
    """

    def __init__(
        self, edits: TextIO | None, files: Sequence[str], progress: Progress | None = None
    ) -> None:
        self.edits, self.progress = edits, progress
        self.named = bool(files)
        self.file = STANDARD_STREAM
        self.line = self.lines = self.wanted = self.made = 0
        self.endless: dict[str, LineNumbers] = {}
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
        self.made += sum(edit.made for edit in correction.edits)
        if correction.endless:
            self.endless.setdefault(self.file, LineNumbers()).add(self.line)
        if self.edits is not None:
            place = {"file": self.file} if self.named else {}
            for edit in correction.edits:
                self.edits.write(json_line({**place, "line": self.line, **edit.to_dict()}))

    def close(self) -> None:
        """The end of the progress line; lines whose units had to be left alone."""
        if self.progress is not None:
            if self.watched and self.progress.shown is not None:
                sys.stderr.write("\n")
        elif self.watched:
            sys.stderr.write(f"\r{self}\n")
        for file, lines in self.endless.items():
            place = f"{file}: " if self.named else ""
            print(
                f"{place}left as it was, in whole or in part, because the model's answer had no "
                f"end: {lines.count} lines ({lines})",
                file=sys.stderr,
            )

    def __str__(self) -> str:
        return f"{self.lines:,} lines, {self.made:,} of {self.wanted:,} edits made"
