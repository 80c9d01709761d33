"""Correct text: noisy lines in, clean lines out, everything else kept byte for byte.

    python -m lev_plugins.cli.correct --path CHECKPOINT noisy.txt more.txt > clean.txt
    python -m lev_plugins.cli.correct --path CHECKPOINT < noisy > clean
    python -m lev_plugins.cli.correct --path CHECKPOINT folder more.txt --output-dir clean

Serves every corrector of the package: edit models, and any model of fairseq's that writes from left
to right. Lines end at ``\\n`` alone. Bytes that are not UTF-8 pass through.

``--edits FILE`` gets one JSON object for each edit that the model wants: ``file`` (where files were
given), ``line`` (of the file, from 1) and the fields of
:class:`lev_plugins.inference.correction.Edit`.
"""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, BinaryIO

from ..errors import UserError, counted
from ..fairseq_patches import run_cli
from ..io.lines import STANDARD_STREAM, chunks, raw_lines
from ..io.output import report_file, standard_output, whole_file
from ..io.text_files import read_lines
from ..reports.correction_journal import Journal
from ..reports.correction_page import LINES, html_sink
from ..reports.correction_report import (
    REPORTS,
    Progress,
    Report,
    Sink,
    check_reports,
    csv_sink,
    json_sink,
    summarize,
)
from .correct_options import build_parser, check, weights
from .correct_tune import tune
from .options import text_processing

if TYPE_CHECKING:
    from ..inference.correction import Correction, Corrector, Edit
    from ..inference.correction.documents import Plan
    from ..inference.correction.protection import Protection


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 or raises :class:`UserError`."""
    args = build_parser().parse_args(argv)
    check(args)
    from ..inference.correction.documents import plan
    from ..inference.correction.protection import Protection

    words = read_lines(args.protect_words) if args.protect_words else ()
    protection = Protection(args.protect or (), words)
    todo = plan(args.files, args.output_dir, args.skip_invalid) if args.output_dir else None
    if todo:
        check_reports(args, {"what is written": todo.targets, "the input": todo.sources})
    else:
        standard_output()
    wanted = any(getattr(args, flag) for flag in REPORTS)
    journal = Journal(args.output_dir, todo.finished) if todo and wanted else None
    with ExitStack() as stack:
        if todo and not todo.documents and not (journal and journal.known):
            summarize(todo, None)
            return 0
        # First: a folder that cannot be written is told before the model loads.
        sinks = _sinks(args, stack, journal)
        if journal:
            journal.report(sinks)
        if todo and not todo.documents:
            summarize(todo, None)
            return 0
        corrector = load_corrector(args)
        if args.tune:
            if args.protect_words:
                corrector.protection = protection
            return tune(corrector, args)
        if corrector.settings:
            print(_used(corrector, args), file=sys.stderr)
        report = Report(sinks, args.files, Progress(todo.size) if todo else None)
        if todo:
            _to_folder(corrector, args, protection, todo, report, journal)
        else:
            _to_standard_output(corrector, args, protection, report)
    report.close()
    if todo:
        summarize(todo, report)
    return 0


def _sinks(args: argparse.Namespace, stack: ExitStack, journal: Journal | None) -> list[Sink]:
    """The reports that were asked for, each opened."""
    unknown = journal.unknown if journal else []
    for flag in REPORTS:
        path = getattr(args, flag)
        if unknown and path and os.path.isfile(path):
            raise UserError(
                f"--{flag} {path} is there, and the new one would lack "
                f"{counted(len(unknown), 'file')} finished before; choose another name"
            )
    sinks = []
    if args.edits:
        sinks.append(json_sink(stack.enter_context(report_file(args.edits)), bool(args.files)))
    if args.csv:
        sinks.append(csv_sink(stack.enter_context(report_file(args.csv))))
    if args.html:
        title = f"Corrections by {os.path.basename(args.path)}"
        lines = args.html_lines or LINES[0]
        sinks.append(stack.enter_context(html_sink(args.html, title, lines, unknown)))
    return sinks


def _to_standard_output(
    corrector: "Corrector", args: argparse.Namespace, protection: "Protection", report: Report
) -> None:
    out = standard_output().buffer
    open_end = False
    for path in args.files or [STANDARD_STREAM]:
        for done, ends in _corrected(corrector, args, protection, path, report):
            if open_end:  # the last line of the file before had none
                out.write(b"\n")
            open_end = not ends[-1]
            _write(out, done, ends)
            report.add(done)


def _to_folder(
    corrector: "Corrector",
    args: argparse.Namespace,
    protection: "Protection",
    todo: "Plan",
    report: Report,
    journal: Journal | None,
) -> None:
    for document in todo.documents:
        try:
            os.makedirs(os.path.dirname(document.target) or ".", exist_ok=True)
        except OSError as error:
            raise UserError(f"{document.target}: cannot be written ({error.strerror})") from error
        edits: list[tuple[int, Edit]] = []
        with whole_file(document.target) as out:
            for done, ends in _corrected(corrector, args, protection, document.source, report):
                _write(out.buffer, done, ends)
                for number, correction in enumerate(done, start=report.line + 1):
                    edits += [(number, edit) for edit in correction.edits]
                report.add(done)
            if journal:
                journal.note(document, edits)


def _corrected(
    corrector: "Corrector",
    args: argparse.Namespace,
    protection: "Protection",
    path: str,
    report: Report,
) -> Iterator[tuple[list["Correction"], list[bytes]]]:
    """The lines of a file, corrected, and their line ends, a chunk at a time."""
    report.begin(path)
    for chunk in chunks(raw_lines(path), path, args.buffer):
        ends = [b"\n" if line.endswith(b"\n") else b"" for line in chunk]
        bodies = (line.removesuffix(b"\n") for line in chunk)
        lines = [body.decode("utf-8", "surrogateescape") for body in bodies]
        if report.look_at is not None:
            report.look_at(lines)
        sure = args.min_confidence
        yield corrector.correct_protected(lines, sure, protection, args.batch_size), ends


def _used(corrector: "Corrector", args: argparse.Namespace) -> str:
    """One line on the settings in use."""
    sure = corrector.min_confidence if args.min_confidence is None else args.min_confidence
    return (
        f"settings of {corrector.settings}: --unit {corrector.unit} --min-confidence {sure:.3g}"
        f"{', protected words' if corrector.protection else ''} ({corrector.tuned})"
    )


def load_corrector(args: argparse.Namespace) -> "Corrector":
    """Return the corrector of a checkpoint; imported only here, to keep ``--help`` quick."""
    from ..inference.correction import Corrector

    names = "path data device unit window beam max_iter delete_threshold precision settings"
    names += " lexicon lookup bigrams confusions"
    given: dict[str, Any] = {name: getattr(args, name) for name in names.split()}
    given["weights"] = weights(args.weight or ())
    return Corrector.from_pretrained(**given | text_processing(args))


def _write(out: BinaryIO, done: Sequence["Correction"], ends: Sequence[bytes]) -> None:
    for correction, end in zip(done, ends, strict=True):
        out.write(correction.text.encode("utf-8", "surrogateescape") + end)
    out.flush()


if __name__ == "__main__":
    run_cli(main)
