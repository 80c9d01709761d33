"""Correct text: noisy lines in, clean lines out, everything else kept byte for byte.

    python -m lev_plugins correct --path CHECKPOINT noisy.txt more.txt > clean.txt
    python -m lev_plugins correct --path CHECKPOINT < noisy > clean
    python -m lev_plugins correct --path CHECKPOINT folder more.txt --output-dir clean

Serves every corrector of the package: edit models, and any model of fairseq's that writes from left
to right. Lines end at ``\\n`` alone. Bytes that are not UTF-8 pass through.

``--edits FILE`` gets one JSON object for each edit that the model wants: ``file`` (where files were
given), ``line`` (of the file, from 1) and the fields of
:class:`lev_plugins.inference.correction.Edit`.
"""

import argparse
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import UserError
from ..fairseq_patches import run_cli
from ..io.lines import STANDARD_STREAM, chunks, is_terminal, raw_lines
from ..io.output import report_file, standard_output, whole_file
from ..io.text_files import read_lines
from ..models import ENGLISH_SPELLING
from ..reports.correction_page import html_sink
from ..reports.correction_report import Report, Sink, check_reports, diff, json_sink, summarize
from .correct_options import NAMED, build_parser, check, weights
from .correct_tune import tune
from .options import text_processing

if TYPE_CHECKING:
    from ..inference.correction import Correction, Corrector
    from ..inference.correction.protection import Protection


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns 0, 1 where ``--check`` finds changes, or raises UserError."""
    args = build_parser().parse_args(argv)
    check(args)
    from ..inference.correction.documents import plan
    from ..inference.correction.protection import Protection

    words = read_lines(args.protect_words) if args.protect_words else ()
    patterns = [one for one in args.protect or () if one not in NAMED]
    protection = Protection(patterns, words)
    todo = plan(args.files, args.output_dir) if args.output_dir else None
    if todo:
        check_reports(args, {"what is written": todo.targets, "the input": todo.sources})
        if not todo.documents:
            summarize(todo, None)
            return 0
    elif not args.in_place:
        standard_output()
    with ExitStack() as stack:
        # First: a folder that cannot be written is told before the model loads.
        sinks = list(_sinks(args, stack))
        corrector = load_corrector(args)
        if args.tune:
            if args.protect_words:
                corrector.protection = protection
            return tune(corrector, args)
        if corrector.settings and args.path:
            print(_used(corrector, args), file=sys.stderr)
        typed = is_terminal(sys.stdin) and (not args.files or STANDARD_STREAM in args.files)
        shown = is_terminal(sys.stdout) and not (todo or args.in_place)
        size = todo.size if todo else None
        report = Report(sinks, bool(args.files), size, not (typed or shown))
        run = Run(corrector, args, protection, report)
        if todo:
            run.to_files([(one.source, one.target) for one in todo.documents])
        elif args.in_place:
            run.to_files([(path, path) for path in args.files])
        else:
            run.to_standard_output()
    report.close()
    if todo:
        summarize(todo, report)
    return int(args.check and report.changed > 0)


def _sinks(args: argparse.Namespace, stack: ExitStack) -> Iterator[Sink]:
    """The reports that were asked for, each opened."""
    if args.edits:
        yield json_sink(stack.enter_context(report_file(args.edits)), bool(args.files))
    if args.html:
        title = f"Corrections by {os.path.basename(args.path or ENGLISH_SPELLING)}"
        yield stack.enter_context(html_sink(args.html, title))


def _used(corrector: "Corrector", args: argparse.Namespace) -> str:
    """One line on the settings in use."""
    sure = corrector.min_confidence if args.min_confidence is None else args.min_confidence
    return (
        f"settings of {corrector.settings}: --unit {corrector.unit} --min-confidence {sure:.3g}"
        f"{', protected words' if corrector.protection else ''} ({corrector.tuned})"
    )


FOREIGN = (
    "most words are in no list, as in another language; no edit below 0.9 is made (--protect none: "
    "as usual)"
)


@dataclass
class Run:
    """A model, what it is to do, and what it did."""

    corrector: "Corrector"
    args: argparse.Namespace
    protection: "Protection"
    report: Report

    def to_standard_output(self) -> None:
        """The text of all files, what would change in them, or nothing."""
        out, colour = standard_output().buffer, is_terminal(sys.stdout)
        open_end = False
        for path in self.args.files or [STANDARD_STREAM]:
            names = f"--- {path}\n+++ {path}\n".encode("utf-8", "surrogateescape")
            for done, ends in self.corrected(path):
                if self.args.diff:
                    hunks = diff(self.report.line + 1, done, ends, colour)
                    out.write(names + hunks if hunks else b"")
                    names = b"" if hunks else names
                elif not self.args.check:
                    out.write(b"\n" * open_end)  # the last line of the file before had none
                    open_end = not ends[-1]
                    out.write(_joined(done, ends))
                out.flush()
                self.report.add(done)
        if self.args.check:
            changed, lines = self.report.changed, self.report.lines
            print(f"{changed:,} of {lines:,} lines would change", file=sys.stderr)

    def to_files(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Each file to its place, whole or not at all; over itself with its permissions."""
        for path, target in pairs:
            try:
                os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
            except OSError as error:
                raise UserError(f"{target}: cannot be written ({error.strerror})") from error
            with whole_file(target) as out:
                if path == target:
                    shutil.copymode(path, out.name)
                for done, ends in self.corrected(path):
                    out.buffer.write(_joined(done, ends))
                    self.report.add(done)

    def corrected(self, path: str) -> Iterator[tuple[list["Correction"], list[bytes]]]:
        """The lines of a file, corrected, and their line ends, a chunk at a time."""
        self.report.begin(path)
        document, told = self.corrector.document(), False
        for chunk in chunks(raw_lines(path), path, self.args.buffer):
            ends = [b"\n" if line.endswith(b"\n") else b"" for line in chunk]
            bodies = (line.removesuffix(b"\n") for line in chunk)
            lines = [body.decode("utf-8", "surrogateescape") for body in bodies]
            done = self.corrector.correct(
                lines,
                min_confidence=self.args.min_confidence,
                protection=self.protection,
                document=document,
                batch_size=self.args.batch_size,
            )
            if document and document.foreign and not told:
                told = True
                place = f"{path}: " if self.args.files else ""
                print(f"note: {place}{FOREIGN}", file=sys.stderr)
            yield done, ends


def load_corrector(args: argparse.Namespace) -> "Corrector":
    """Return the corrector of a checkpoint; imported only here, to keep ``--help`` quick."""
    from ..inference.correction import Corrector

    names = "path data device unit window beam max_iter delete_threshold precision settings"
    names += " lexicon lookup bigrams confusions"
    given: dict[str, Any] = {name: getattr(args, name) for name in names.split()}
    given["weights"] = weights(args.weight or ())
    corrector = Corrector.from_pretrained(**given | text_processing(args))
    if wanted := [one for one in args.protect or () if one in NAMED]:
        corrector.protects_code = wanted[-1] == "code"
    return corrector


def _joined(done: Sequence["Correction"], ends: Sequence[bytes]) -> bytes:
    pairs = zip(done, ends, strict=True)
    return b"".join(one.text.encode("utf-8", "surrogateescape") + end for one, end in pairs)


if __name__ == "__main__":
    run_cli(main)
