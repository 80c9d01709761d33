"""Correct text: noisy lines in, clean lines out, everything else kept byte for byte.

    python -m lev_plugins.cli.correct --path CHECKPOINT noisy.txt more.txt > clean.txt
    python -m lev_plugins.cli.correct --path CHECKPOINT < noisy > clean
    python -m lev_plugins.cli.correct --path CHECKPOINT folder more.txt --output-dir clean

Serves every corrector of the package: edit models, and any model of fairseq's that writes from left
to right. Lines end at ``\\n`` alone. Bytes that are not UTF-8 pass through.

``--edits FILE`` writes one JSON object for each edit that the model wants, in the order of the
text: ``file`` (where files were given), ``line`` (of the file, from 1), ``offset`` and ``length``
(characters of the input line, from 0), ``before``, ``after``, ``probability``, ``made``, and
``reason`` where it was not made (see :class:`lev_plugins.correction.Edit`).
"""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO

from ..compat import run_cli
from ..data.text_files import read_lines
from ..errors import UserError
from .correct_page import LINES, html_sink
from .correct_report import (
    REPORTS,
    Progress,
    Report,
    Sink,
    check_reports,
    csv_sink,
    json_sink,
    summarize,
)
from .lines import STANDARD_STREAM, TEXT_PROCESSING, is_terminal, raw_lines, require_readable
from .names import prog
from .output import standard_output, whole_file

if TYPE_CHECKING:
    from ..correction import Correction, Corrector
    from ..correction.documents import Plan
    from ..correction.protection import Protection


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 or raises :class:`UserError`."""
    args = build_parser().parse_args(argv)
    _check(args)
    from ..correction.documents import plan
    from ..correction.protection import Protection

    words = read_lines(args.keep_words) if args.keep_words else ()
    protection = Protection(args.keep or (), words)
    todo = plan(args.files, args.output_dir, args.skip_invalid) if args.output_dir else None
    if todo:
        check_reports(args, {"what is written": todo.targets, "the input": todo.sources})
    else:
        standard_output()
    with ExitStack() as stack:
        if todo and not todo.documents:
            summarize(todo, None)
            return 0
        # First: a folder that cannot be written is told before the model loads.
        sinks = _sinks(args, stack, todo)
        corrector = load_corrector(args)
        if args.tune:
            return _tune(corrector, args)
        if corrector.settings:
            print(_used(corrector, args), file=sys.stderr)
        report = Report(sinks, args.files, Progress(todo.size) if todo else None)
        if todo:
            _to_folder(corrector, args, protection, todo, report)
        else:
            _to_standard_output(corrector, args, protection, report)
    report.close()
    if todo:
        summarize(todo, report)
    return 0


def _sinks(args: argparse.Namespace, stack: ExitStack, todo: "Plan | None") -> list[Sink]:
    """The reports that were asked for, each opened."""
    finished = [document.source for document in todo.finished] if todo else []
    for flag in REPORTS:
        path = getattr(args, flag)
        if finished and path and os.path.isfile(path):
            raise UserError(
                f"--{flag} {path} is there, and {len(finished)} files that were finished before "
                "would not be in the new one; choose another name"
            )
    sinks = []
    if args.edits:
        sinks.append(json_sink(stack.enter_context(whole_file(args.edits)), bool(args.files)))
    if args.csv:
        sinks.append(csv_sink(stack.enter_context(whole_file(args.csv))))
    if args.html:
        title = f"Corrections by {os.path.basename(args.path)}"
        lines = args.html_lines or LINES[0]
        sinks.append(stack.enter_context(html_sink(args.html, title, lines, finished)))
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
) -> None:
    for document in todo.documents:
        try:
            os.makedirs(os.path.dirname(document.target) or ".", exist_ok=True)
        except OSError as error:
            raise UserError(f"{document.target}: cannot be written ({error.strerror})") from error
        with whole_file(document.target) as out:
            for done, ends in _corrected(corrector, args, protection, document.source, report):
                _write(out.buffer, done, ends)
                report.add(done)


def _corrected(
    corrector: "Corrector",
    args: argparse.Namespace,
    protection: "Protection",
    path: str,
    report: Report,
) -> Iterator[tuple[list["Correction"], list[bytes]]]:
    """The lines of a file, corrected, and their line ends, a chunk at a time."""
    report.begin(path)
    for lines, ends in _chunks(path, args.buffer):
        yield (
            corrector.correct_protected(lines, args.min_confidence, protection, args.batch_size),
            ends,
        )


def _used(corrector: "Corrector", args: argparse.Namespace) -> str:
    """One line on the settings in use."""
    sure = corrector.min_confidence if args.min_confidence is None else args.min_confidence
    return (
        f"settings of {corrector.settings}: --unit {corrector.unit} --min-confidence {sure:.3g} "
        f"({corrector.tuned})"
    )


def _tune(corrector: "Corrector", args: argparse.Namespace) -> int:
    """Choose threshold and weights, write them beside the checkpoint, say what they give."""
    from ..checkpoints import find_checkpoint, separate_paths
    from ..correction import settings
    from ..correction.tuning import Goal, tune

    noisy, clean = (list(read_lines(path)) for path in args.tune)
    choice = tune(corrector, noisy, clean, Goal.parse(args.goal), args.tune_weights)
    counts = choice.counts
    said = (
        f"tuned for {args.goal} on {counts.right + counts.wrong:,} words: {counts.corrected:,} of "
        f"{counts.wrong:,} wrong ones corrected, {counts.changed:,} of {counts.right:,} right ones "
        "changed"
    )
    checkpoint = find_checkpoint(separate_paths(args.path)[0])
    files = {} if corrector.settings is None else vars(settings.read(corrector.settings))
    path = settings.write(
        settings.Settings(
            unit=corrector.unit,
            window=corrector.window or None,
            min_confidence=choice.min_confidence,
            lexicon=args.lexicon or files.get("lexicon"),
            lookup=args.lookup or files.get("lookup"),
            weights=choice.weights or dict(settings.DEFAULTS),
            longest=choice.longest,
            tuned=said,
        ),
        checkpoint,
    )
    print(f"{said}; --min-confidence {choice.min_confidence:.3g}\n{path}")
    return 0


def load_corrector(args: argparse.Namespace) -> "Corrector":
    """Return the corrector of a checkpoint; imported only here, to keep ``--help`` quick."""
    from ..correction import Corrector

    return Corrector.from_pretrained(
        args.path,
        args.data,
        args.device,
        args.unit,
        args.window,
        args.beam,
        args.max_iter,
        args.delete_threshold,
        args.precision,
        args.lexicon,
        args.lookup,
        args.settings,
        **{name: getattr(args, name) for name in TEXT_PROCESSING},
    )


def build_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        prog=prog("correct"),
        description="Correct text, line by line, to standard output. What the model does not "
        "change is kept byte for byte: whitespace, line ends, bytes that are not UTF-8.",
        usage="%(prog)s --path CHECKPOINT [options] [FILE ...] > clean\n"
        "       %(prog)s --path CHECKPOINT [options] FILE|FOLDER ... --output-dir OUT",
    )
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="noisy text, corrected in this order; - is standard input (default: standard input); "
        "with --output-dir also folders",
    )
    parser.epilog = (
        f"example: {parser.prog} --path checkpoint_best.pt --min-confidence 0.9 "
        "--keep 'https?://\\S+' --keep-words names.txt --edits edits.jsonl < noisy > clean"
    )
    _add_model(parser)
    _add_choice(parser)
    _add_ranking(parser)
    group = parser.add_argument_group("output and speed")
    add = group.add_argument
    add(
        "--output-dir",
        metavar="DIR",
        help="write each file to one of its name in DIR, folders with all below them; what is "
        "there already is finished and skipped",
    )
    add(
        "--skip-invalid",
        action="store_true",
        help="of --output-dir: leave out files that are not UTF-8 (default: correct none)",
    )
    add(
        "--edits",
        metavar="FILE",
        help="also write every edit, made or not, as one JSON object a line; whole or not at all",
    )
    add(
        "--csv",
        metavar="FILE",
        help="also write the words that each edit changes as a table: file, line, before, after, "
        "probability, applied",
    )
    add("--html", metavar="FILE", help="also write a page that shows every edit in its line")
    add(
        "--html-lines",
        choices=LINES,
        help="of --html: lines that changed, lines with edits, made or not, or all "
        "(default: changed)",
    )
    add("--batch-size", type=int, default=64, metavar="N", help="units at once (default: 64)")
    add(
        "--buffer",
        type=int,
        default=1024,
        metavar="N",
        help="lines that are in memory and corrected together; 1 answers each line at once "
        "(default: 1024, and 1 on a terminal)",
    )
    add("--device", metavar="NAME", help="such as cuda (default: cpu)")
    add(
        "--precision",
        choices=("fp32", "bf16", "int8"),
        default="fp32",
        help="bf16 and int8 (CPU) are faster and may change what is corrected (default: fp32)",
    )
    return parser


def _add_model(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("model").add_argument
    add(
        "--path",
        required=True,
        metavar="CHECKPOINT",
        help="of task translation_edit, translation or translation_concat, or a folder with one; "
        "a.pt:b.pt is an ensemble",
    )
    add("--data", metavar="DIR", help="folder with the dictionaries (default: as the model says)")
    for name, what in TEXT_PROCESSING.items():
        none = "; none for none" if name in ("tokenizer", "bpe") else ""
        flag = "--" + name.replace("_", "-")
        add(flag, metavar="NAME", help=f"{what}{none} (default: as the model was trained)")
    add("--beam", type=int, metavar="N", help="left-to-right models: width (default: 5)")
    add("--max-iter", type=int, metavar="N", help="edit models: most iterations (default: 10)")
    add(
        "--delete-threshold",
        type=float,
        metavar="P",
        help="edit models: a token goes when its probability of deletion is above this "
        "(default: as the model was trained)",
    )


def _add_choice(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("what is read and what is changed").add_argument
    add(
        "--unit",
        metavar="KIND",
        help="what the model reads at once: word, letters, line, sentence or window (default: as "
        "tuned, else letters with --lexicon or --lookup, word for a model of characters that knows "
        "no blank, else line); longer than the model reads is cut",
    )
    add("--window", type=int, metavar="N", help="words in a window, for --unit window")
    add(
        "--min-confidence",
        type=float,
        metavar="P",
        help="make only edits of at least this probability (default: as tuned, else 0, all)",
    )
    add(
        "--keep",
        action="append",
        metavar="REGEX",
        help="make no edit that touches what this matches; may be given again",
    )
    add("--keep-words", metavar="FILE", help="words that stay, one a line, as they are spelt")


def _add_ranking(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("ranking and tuning").add_argument
    add(
        "--lexicon",
        metavar="FILE",
        help="words, one a line, with or without a count: candidates for what is not among them",
    )
    add("--lookup", metavar="FILE", help="known misspellings: wrong, tab, right, one pair a line")
    add(
        "--settings",
        metavar="FILE",
        help="what --tune wrote; none for none (default: corrector.json beside the checkpoint)",
    )
    add(
        "--tune",
        nargs=2,
        metavar=("NOISY", "CLEAN"),
        help="correct nothing: choose the threshold on these files, and write it, with the lexicon "
        "and the look-up table, beside the checkpoint, where correct finds them",
    )
    add("--tune-weights", action="store_true", help="of --tune: choose the weights of ranking too")
    add(
        "--goal",
        default="changed:1",
        metavar="GOAL",
        help="of --tune: changed:N (most corrections with at most N per cent of the right words "
        "changed), f0.5 or accuracy (default: changed:1)",
    )


def _check(args: argparse.Namespace) -> None:
    """What can be told without the model."""
    from ..correction.corrector import check_confidence, check_unit

    check_unit(args.unit, args.window)
    if args.min_confidence is not None:
        check_confidence(args.min_confidence)
    if args.tune:
        _check_tuning(args)
    for flag in ("batch_size", "buffer"):
        if getattr(args, flag) < 1:
            raise UserError(f"--{flag.replace('_', '-')} {getattr(args, flag)}: must be 1 or more")
    if args.html_lines and not args.html:
        raise UserError(f"--html-lines {args.html_lines} needs --html FILE")
    if args.output_dir is None:
        _check_files(args)
    elif not args.files or STANDARD_STREAM in args.files:
        raise UserError("--output-dir needs files or folders, and cannot take standard input")
    check_reports(args, {"--keep-words": [args.keep_words] if args.keep_words else []})


def _check_tuning(args: argparse.Namespace) -> None:
    """--tune corrects nothing, so it takes nothing to correct and writes no report."""
    from ..correction.tuning import Goal

    Goal.parse(args.goal)
    given = {"FILE": args.files, "--output-dir": args.output_dir, "--edits": args.edits}
    given |= {"--csv": args.csv, "--html": args.html}
    for name, value in given.items():
        if value:
            raise UserError(f"--tune corrects nothing: leave {name} out, and correct afterwards")


def _check_files(args: argparse.Namespace) -> None:
    """The files of a run to standard output."""
    if args.skip_invalid:
        raise UserError("--skip-invalid needs --output-dir; without it all bytes pass through")
    for path in args.files:
        if os.path.isdir(path):
            raise UserError(f"{path}: is a folder; give a text file, or --output-dir OUT with it")
    require_readable(args.files)
    check_reports(args, {"the input": args.files})


def _chunks(path: str, size: int) -> Iterator[tuple[list[str], list[bytes]]]:
    r"""Lines of a file and their line ends, ``\n`` or nothing, a chunk at a time."""
    raw = raw_lines(path)
    if path == STANDARD_STREAM and is_terminal(sys.stdin):
        size = 1
    while chunk := list(islice(raw, size)):
        ends = [b"\n" if line.endswith(b"\n") else b"" for line in chunk]
        bodies = (line.removesuffix(b"\n") for line in chunk)
        yield [body.decode("utf-8", "surrogateescape") for body in bodies], ends


def _write(out: BinaryIO, done: Sequence["Correction"], ends: Sequence[bytes]) -> None:
    for correction, end in zip(done, ends, strict=True):
        out.write(correction.text.encode("utf-8", "surrogateescape") + end)
    out.flush()


if __name__ == "__main__":
    run_cli(main)
