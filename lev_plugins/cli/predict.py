"""Say what an EncT5 predicts of text: classes, values, labels or tags.

One record an input line, in order: a JSON object (the keys of
:meth:`lev_plugins.inference.enct5.Prediction.to_dict` and the number of the ``line``), or with
``--format tsv`` answer, tab and score. Of CoNLL-U and other columns there is
one a sentence, with the line of its first word; or the lines themselves, with the tags. The
checkpoint is all that is needed.
"""

import argparse
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from lev_runtime.errors import UserError, counted
from lev_runtime.io import lines
from lev_runtime.io.lines import STANDARD_STREAM, progress
from lev_runtime.io.options import (
    adder,
    at_least_one,
    make_parser,
    say,
)
from lev_runtime.io.output import refuse_overwriting, whole_file
from lev_runtime.io.text_files import count_lines, few

from ..registration import register

if TYPE_CHECKING:
    from ..inference.enct5 import EncT5, Prediction
    from ..systems.enct5.sentences import Sentence

    Found = tuple[int, Sentence | None, Prediction | None]
    Writer = Callable[[int, Sentence | None, Prediction | None], str]

#: formats of a word a line, with the column of the tags, from 1
WORDS = {"conllu": 4, "columns": 2}
BUFFER = 1024  # lines that are in memory and sorted by length


def build_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = make_parser(
        "predict",
        "Predict with an EncT5: one record for each input line, in order. A line is a "
        "text; two texts separated by a tab; or words separated by spaces.",
        "--path checkpoint_best.pt --top-k 3 < lines.txt > predictions.jsonl",
    )
    add = adder(parser)
    add("--path CHECKPOINT", "checkpoint or its folder; nothing else is needed", required=True)
    add("--input FILE", "UTF-8 lines (default: standard input)", STANDARD_STREAM)
    add(
        "--output FILE",
        "records, complete or not written at all (default: standard output)",
        STANDARD_STREAM,
    )
    add(
        "--input-format",
        "text; for tagging also one word a line (default: text; for FILE.conllu: conllu)",
        choices=("text", *WORDS),
    )
    add("--format", "default: jsonl; conllu and columns: the input lines with the tags",
        "jsonl", choices=("jsonl", "tsv", *WORDS))  # fmt: skip
    add(
        "--label-column N",
        "column of the tags, from 1 (default: conllu 4, upos; otherwise 2)",
        type=int,
    )
    add(
        "--top-k N",
        "also list the N most probable labels (of each word); only with jsonl",
        type=int,
    )
    add(
        "--threshold P",
        "multilabel: predict labels with a score above this (default: the best in validation, "
        "saved in the checkpoint)",
        type=float,
    )
    add("--device NAME", "device, such as cuda (default: cpu)")
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command with the arguments ``argv`` (default: those of the process)."""
    args = build_parser().parse_args(argv)
    register()
    from ..inference.enct5 import EncT5

    at_least_one(args, "top_k", "label_column")
    _check_formats(args)
    refuse_overwriting({"--output": args.output}, [("--input", args.input)])
    if not lines.is_stream(args.input):
        # errors are told now, not after an hour of work
        if args.input_format == "text":
            count_lines(args.input)
        else:
            deque(_sentences(args), 0)
    number, cut = 0, list[int]()
    with whole_file(args.output) as out:  # first: told before the model loads
        model = EncT5.from_pretrained(args.path, args.device)
        written = _writer(args, model)
        total = args.input if args.input_format == "text" else None
        for number, source, prediction in progress(
            _found(model, args), "lines", args.output, total
        ):
            out.write(written(number, source, prediction))
            if args.output == STANDARD_STREAM:
                out.flush()
            cut += [number] if prediction and prediction.cut else []
    if cut:
        lines_cut = f"{counted(len(cut), 'line')} ({few(cut, 5)})"
        say(f"truncated to {model.metadata.max_length} subwords: {lines_cut}")
    if args.output != STANDARD_STREAM:
        say(f"{counted(number, 'line')} written to {args.output}")


def _check_formats(args: argparse.Namespace) -> None:
    """Settles the formats of input and output; raises :class:`UserError` where they do not fit."""
    if args.input_format is None:
        args.input_format = "conllu" if args.input.endswith(".conllu") else "text"
    if args.format in WORDS and args.format != args.input_format:
        raise UserError(f"--format {args.format} needs --input-format {args.format}")
    if args.label_column is not None and args.format not in WORDS:
        raise UserError("--label-column only works with --format conllu or columns; leave it out")
    if args.top_k is not None and args.format != "jsonl":
        raise UserError(f"--top-k {args.top_k}: only --format jsonl can hold several labels")


def _writer(args: argparse.Namespace, model: "EncT5") -> "Writer":
    """What makes text of a prediction and what it is of."""
    from ..reports.predictions import json_record, tagged_lines, tsv_record

    if args.input_format != "text" and not model.tags:
        kind = model.problem_type.value
        raise UserError(
            f"--input-format {args.input_format}: {args.path} was trained for {kind} and "
            "does not tag words; give one text a line"
        )
    if args.format in WORDS:
        column = args.label_column or WORDS[args.format]
        if column == (2 if args.format == "conllu" else 1):
            raise UserError(f"--label-column {column} is the column of the words; give another")
        return tagged_lines(model, args.format, column - 1)
    record = tsv_record(model) if args.format == "tsv" else json_record
    return lambda number, _, prediction: record(number, prediction) if prediction else ""


def _sentences(args: argparse.Namespace) -> "Iterator[Sentence]":
    """Those of CoNLL-U or columns."""
    from ..systems.enct5.sentences import read_sentences

    name = "standard input" if args.input == STANDARD_STREAM else args.input
    column = _word_column(args)
    for sentence in read_sentences(lines.input_lines(args.input, True), args.input_format, name):
        sentence.words(column)  # their errors
        yield sentence


def _word_column(args: argparse.Namespace) -> int:
    return 1 if args.input_format == "conllu" else 0


def _found(model: "EncT5", args: argparse.Namespace) -> "Iterator[Found]":
    """What is found in lines, or in sentences if they have words, with the numbers of lines."""
    asked = args.top_k, args.threshold, BUFFER
    if args.input_format != "text":
        column = _word_column(args)
        for chunk in lines.chunks(_sentences(args), args.input, BUFFER):
            filled = (sentence.words(column) for sentence in chunk if sentence.rows)
            predictions = model.stream(filled, *asked)
            for sentence in chunk:
                place = sentence.first_line + (sentence.word_lines[0] if sentence.rows else 0)
                yield place, sentence, next(predictions) if sentence.rows else None
        return
    texts: Iterator[str | list[str]] = lines.input_lines(args.input)
    if model.metadata.texts_per_example > 1:
        form = "the model was trained on pairs of texts, so a line is one text, a tab and the other"
        texts = lines.input_fields(args.input, {2}, form)
    predictions = model.stream(lines.with_pauses(texts, args.input), *asked)
    for number, prediction in enumerate(predictions, start=1):
        yield number, None, prediction
