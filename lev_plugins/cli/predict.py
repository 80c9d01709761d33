"""Say what an EncT5 predicts of text: classes, values, labels or tags.

One record an input line, in order: a JSON object (the keys of
:meth:`lev_plugins.inference.enct5.Prediction.to_dict` and the number of the ``line``), or with
``--format tsv`` answer, tab and score. The checkpoint is all that is needed.
"""

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..errors import UserError, counted
from ..io import lines
from ..io.lines import STANDARD_STREAM, progress
from ..io.output import refuse_overwriting, whole_file
from ..io.text_files import count_lines, few
from ..registration import register
from .options import adder, at_least_one, make_parser, say

if TYPE_CHECKING:
    from ..inference.enct5 import EncT5, Prediction

BUFFER = 1024  # lines that are in memory and sorted by length


def build_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = make_parser(
        "predict",
        "Say what an EncT5 predicts: one record an input line, in order. A line is a text; two "
        "texts with a tab between them; or words with spaces between them.",
        "--path checkpoint_best.pt --top-k 3 < lines.txt > found.jsonl",
    )
    add = adder(parser)
    add("--path CHECKPOINT", "the trained model, or its folder: all that is needed", required=True)
    add("--input FILE", "lines in UTF-8 (default: stdin)", STANDARD_STREAM)
    add("--output FILE", "records; whole or not at all (default: stdout)", STANDARD_STREAM)
    add("--format", "default: jsonl", "jsonl", choices=("jsonl", "tsv"))
    add("--top-k N", "also list the N likeliest labels (of each word); jsonl alone", type=int)
    add("--threshold P", "many labels: those with a score above this hold (default: the best in "
        "validation, which the checkpoint keeps)", type=float)  # fmt: skip
    add("--device NAME", "such as cuda (default: the CPU)")
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command with the arguments ``argv`` (default: those of the process)."""
    args = build_parser().parse_args(argv)
    register(lean=True)
    from ..inference.enct5 import EncT5
    from ..reports.predictions import json_record, tsv_record

    at_least_one(args, "top_k")
    if args.top_k is not None and args.format == "tsv":
        raise UserError(f"--top-k {args.top_k}: a line of TSV has one answer; use --format jsonl")
    refuse_overwriting({"--output": args.output}, [("--input", args.input)])
    if not lines.is_stream(args.input):
        count_lines(args.input)  # its errors are told now, not after an hour of work
    number, cut = 0, list[int]()
    with whole_file(args.output) as out:  # first: told before the model loads
        model = EncT5.from_pretrained(args.path, args.device)
        written = tsv_record(model) if args.format == "tsv" else json_record
        records = progress(_found(model, args), "lines", args.output, args.input)
        for number, found in enumerate(records, start=1):
            out.write(written(number, found))
            if args.output == STANDARD_STREAM:
                out.flush()
            cut += [number] if found.cut else []
    if cut:
        lines_cut = f"{counted(len(cut), 'line')} ({few(cut, 5)})"
        say(f"longer than {model.metadata.max_length} subwords, cut off: {lines_cut}")
    if args.output != STANDARD_STREAM:
        say(f"{counted(number, 'line')} written to {args.output}")


def _found(model: "EncT5", args: argparse.Namespace) -> "Iterator[Prediction]":
    """What is found in all lines."""
    texts: Iterator[str | list[str]] = lines.input_lines(args.input)
    if model.metadata.texts > 1:
        form = "the model was trained on pairs of texts, so a line is one text, a tab and the other"
        texts = lines.input_fields(args.input, {2}, form)
    size = lines.chunk_size(args.input, BUFFER)
    return model.stream(texts, args.top_k, args.threshold, size)
