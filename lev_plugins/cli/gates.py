"""Show what the gates of a gated model do: which source tokens it hides, and how it writes.

    python -m lev_plugins.cli.gates --path checkpoint_best.pt < lines.txt > gates.jsonl

One JSON object a line (the keys of :class:`.record.Record`): the masking probability of every
source token, and the copy, generate and skip probabilities of every token that the model wrote.
``--target FILE`` forces given lines instead. ``--html FILE`` and ``--png FILE`` draw them as
Figure 4 of the paper does. ``python examples/analysis/gate_analysis.py`` reads the JSON.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import chain, islice
from pathlib import Path

from ..errors import UserError, counted
from ..fairseq_patches import run_cli
from ..io.lines import (
    BATCHES_PER_CHUNK,
    STANDARD_STREAM,
    check_lines,
    chunks,
    input_lines,
    json_line,
)
from ..io.output import refuse_overwriting, report_file, require_names, whole_file
from ..io.progress import lines_of, progress
from ..io.text_files import few, read_lines
from ..registration import register
from ..reports.gates.picture import MOST_LINES
from ..reports.gates.record import Record
from ..reports.gates.scale import SCALES
from ..reports.plotting import require_matplotlib
from .options import add_model_data, adder, at_least_one, make_parser, text_processing

_FEW = 5  # lines that a picture shows unless told otherwise


def line_numbers(option: str, text: str) -> set[int]:
    """The numbers that a user chose with an option: ``1,4,7-9``.

    Raises:
        UserError: no number, or no range of lines.
    """
    numbers: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise UserError(f"{option} {text}: {part!r} is no line; write them as 1,4,7-9")
        start, end = int(first), int(last) if dash else int(first)
        if not 1 <= start <= end or end - start > 100_000:
            raise UserError(f"{option} {text}: {part!r} is no range of lines, which count from 1")
        numbers.update(range(start, end + 1))
    return numbers


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command with the arguments ``argv`` (default: those of the process)."""
    args = build_parser().parse_args(argv)
    _check(args)
    wanted = None if args.show is None else line_numbers("--show", args.show)
    if args.png and wanted is not None and len(wanted) > MOST_LINES:
        raise UserError(
            f"--show {args.show}: a picture of {len(wanted)} lines; choose {MOST_LINES} at most, "
            "or leave --png out"
        )
    shown: list[Record] = []
    number = 0
    with ExitStack() as stack:
        # Outputs are opened first: a folder that cannot be written is told before the model loads.
        out = stack.enter_context(report_file(args.json))
        page = stack.enter_context(whole_file(args.html)) if args.html else None
        picture = stack.enter_context(whole_file(args.png)) if args.png else None
        if picture is not None:
            require_matplotlib()
        records = progress(_recorded(args), "lines", lines_of(args.input), args.json)
        for number, record in enumerate(records, start=1):
            out.write(json_line(record.to_dict()))
            out.flush()
            few = page is not None or len(shown) < _FEW  # a picture alone needs the first few
            if few if wanted is None else number in wanted:
                shown.append(record)
        _refuse_lines_not_there(wanted, number)
        title = args.title or f"Gates of {Path(args.path).name}"
        if page is not None:
            from ..reports.gates.page import render_html

            page.write(render_html(shown, title, args.scale))
        if picture is not None:
            from ..reports.gates.picture import draw

            shown_lines = shown if wanted is not None else shown[:_FEW]
            picture.buffer.write(draw(shown_lines, title, args.scale))
            if len(shown_lines) < number:
                print(
                    f"{args.png}: {len(shown_lines)} of {number} lines; choose them with --show",
                    file=sys.stderr,
                )
    for file, count in ((args.json, number), (args.html, len(shown))):
        if file and file != STANDARD_STREAM:
            print(f"{counted(count, 'line')} written to {file}", file=sys.stderr)


def build_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = make_parser(
        "gates",
        "Show what the gates of a gated model do with each token of the input and of its output.",
    )
    add = adder(parser)
    add("--path CHECKPOINT", "the trained model; one, not an ensemble", required=True)
    add_model_data(add)
    add("--input FILE", "lines of source text in UTF-8 (default: stdin)", STANDARD_STREAM)
    add("--target FILE", "force these lines instead of the model's own output")
    add("--beam N", "width of the search (default: 5)", 5)
    add("--max-len-a A", "longest output: A · source …", 0.0)
    add("--max-len-b B", "… + B tokens (default: 200)", 200)
    add("--batch-size N", "lines at once (default: 64)", 64)
    add("--device NAME", "such as cuda (default: the CPU)")
    add("--json FILE", "one JSON object a line (default: stdout)", STANDARD_STREAM)
    add("--html FILE", "also write heat maps as a page that opens anywhere")
    add("--png FILE", "also write heat maps as a picture; needs matplotlib")
    add(
        "--show LINES",
        f"lines on page and picture, such as 1,4,7-9 (default: all, {_FEW} on the picture)",
    )
    add("--title TEXT", "of page and picture (default: Gates of CHECKPOINT)")
    add(
        "--scale",
        "shades from the lowest to the highest value (data) or from 0 to 1 (unit)",
        SCALES[0],
        choices=SCALES,
    )
    return parser


def _check(args: argparse.Namespace) -> None:
    at_least_one(args, "beam", "batch_size")
    if args.max_len_a < 0 or args.max_len_b < 0 or not args.max_len_a + args.max_len_b:
        raise UserError(
            f"--max-len-a {args.max_len_a} --max-len-b {args.max_len_b}: must be 0 or more, and "
            "not both 0"
        )
    require_names({"--html": args.html, "--png": args.png})
    refuse_overwriting(
        {"--json": args.json, "--html": args.html, "--png": args.png},
        [("--input", args.input), ("--target", args.target)],
    )
    for path in (args.input, args.target):
        check_lines(path)


def _refuse_lines_not_there(wanted: set[int] | None, count: int) -> None:
    if missing := sorted(one for one in wanted or () if one > count):
        raise UserError(f"--show: there is no line {few(missing)}; the input has {count}")


def _recorded(args: argparse.Namespace) -> Iterator[Record]:
    """Yield the records of all lines; memory holds one chunk of them."""
    register(lean=True)
    from ..reports.gates.recorder import Recorder

    recorder = Recorder(
        args.path,
        args.data,
        text_processing(args),
        args.device,
        args.beam,
        args.max_len_a,
        args.max_len_b,
    )
    sources = input_lines(args.input, "one line per sentence:")
    targets = read_lines(args.target) if args.target else None
    first = 1
    for chunk in chunks(sources, args.input, args.batch_size * BATCHES_PER_CHUNK):
        wanted = None if targets is None else list(islice(targets, len(chunk)))
        if wanted is not None and len(wanted) < len(chunk):
            raise UserError(
                f"{args.target} has {first - 1 + len(wanted)} lines, the input more; line n of "
                "both must belong together"
            )
        yield from recorder.records(chunk, wanted, args.batch_size, first)
        first += len(chunk)
    if targets is not None and next(chain(targets, [None])) is not None:
        raise UserError(
            f"{args.target} has more lines than the input, which has {first - 1}; line n of both "
            "must belong together"
        )


if __name__ == "__main__":
    run_cli(main)
