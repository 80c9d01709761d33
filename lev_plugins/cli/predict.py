"""Predict classes, values, labels or tags of text with an EncT5.

Writes one JSON object an input line, in order: the keys of :meth:`.Prediction.to_dict` and the
number of the ``line``. Of CoNLL-U it writes the lines themselves, with the tags. It needs the
checkpoint alone.
"""

import argparse
from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lev_runtime.errors import UserError, counted, flag
from lev_runtime.io import lines
from lev_runtime.io.lines import STANDARD_STREAM, json_line, progress
from lev_runtime.io.options import adder, at_least_one, make_parser, say
from lev_runtime.io.output import refuse_overwriting, whole_file
from lev_runtime.io.signature import signature
from lev_runtime.io.text_files import few

from ..registration import register

if TYPE_CHECKING:
    from ..inference.enct5 import EncT5
    from ..systems.enct5.prepare import Sentence

BUFFER = 1024  # lines that are in memory and sorted by length
UPOS = 3
#: the number of the last line that it is of, text, and whether an end was cut off
Answer = tuple[int, str, bool]


def build_parser() -> argparse.ArgumentParser:
    """Returns the parser of the command's options."""
    parser = make_parser(
        "predict",
        "Predict with an EncT5: one record for each input line, in order. A line is a "
        "text; two texts separated by a tab; or words separated by spaces.",
        "--path checkpoint_best.pt --top-k 3 < lines.txt > predictions.jsonl",
    )
    add = adder(parser)
    add("--path CHECKPOINT", "checkpoint or its folder; nothing else is needed", required=True)
    add("--input FILE", "UTF-8 lines (default: standard input)", STANDARD_STREAM)
    output = "records, complete or not written at all (default: standard output)"
    add("--output FILE", output, STANDARD_STREAM)
    form = "conllu: reads CoNLL-U, and writes the same lines with the tags (default: jsonl)"
    add("--format", form, "jsonl", choices=("jsonl", "conllu"))
    add("--label-column N", "conllu: column of the tags, from 1 (default: 4, upos)", type=int)
    top = "also list the N most probable labels (of each word)"
    add("--top-k N", top, type=int)
    threshold = (
        "multilabel: predict labels with a score above this (default: the best in validation, "
        "saved in the checkpoint)"
    )
    add("--threshold P", threshold, type=float)
    add("--device NAME", "device, such as cuda (default: cpu)")
    add("--signature", "tell version, model and settings, also in every JSON record")
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the command with the arguments ``argv`` (default: those of the process)."""
    args = build_parser().parse_args(argv)
    register()
    from ..inference.enct5 import EncT5

    at_least_one(args, "top_k", "label_column")
    is_conllu = args.format == "conllu"
    for option in ("top_k", "threshold") if is_conllu else ("label_column",):
        if getattr(args, option) is not None:
            conflict = f"{flag(option)} does not work with --format {args.format}"
            raise UserError(f"{conflict}; leave it out")
    if args.label_column == 2:
        raise UserError("--label-column 2 is the column of the words; give another")
    refuse_overwriting({"--output": args.output}, [("--input", args.input)])
    if not lines.is_stream(args.input):
        # errors are told now, not after an hour of work
        deque(_sentences(args) if is_conllu else lines.input_lines(args.input), 0)
    number, cut = 0, list[int]()
    with whole_file(args.output) as out:  # first: told before the model loads
        model = EncT5.from_pretrained(args.path, args.device)
        answers = _tagged(model, args) if is_conllu else _records(model, args)
        for number, text, is_cut in progress(answers, "lines", args.output, args.input):
            out.write(text)
            if args.output == STANDARD_STREAM:
                out.flush()
            cut += [number] * is_cut
    if cut:
        lines_cut = f"{counted(len(cut), 'line')} ({few(cut, 5)})"
        say(f"truncated to {model.max_length} subwords: {lines_cut}")
    if args.output != STANDARD_STREAM:
        say(f"{counted(number, 'line')} written to {args.output}")
    if args.signature:
        say(f"signature: {_signature(model, args)}")


def _signature(model: "EncT5", args: argparse.Namespace) -> str:
    chosen = model.threshold if args.threshold is None else args.threshold
    threshold = chosen if model.kind.startswith("multilabel") else None
    return signature(args.path, kind=model.kind, top_k=args.top_k, threshold=threshold)


def _records(model: "EncT5", args: argparse.Namespace) -> Iterator[Answer]:
    """Yields the record of each line."""
    texts: Iterator[str | list[str]] = lines.input_lines(args.input)
    if model.texts_per_example > 1:
        form = "the model was trained on pairs of texts, so a line is one text, a tab and the other"
        texts = lines.input_fields(args.input, {2}, form)
    read = lines.with_pauses(texts, args.input)
    signed = {"signature": _signature(model, args)} if args.signature else {}
    predictions = model.stream(read, args.top_k, args.threshold, BUFFER)
    for number, prediction in enumerate(predictions, start=1):
        record = {"line": number, **prediction.to_dict(), **signed}
        yield number, json_line(record), prediction.cut


def _sentences(args: argparse.Namespace) -> "Iterator[Sentence]":
    """Yields those of CoNLL-U."""
    from ..systems.enct5.prepare import read_sentences

    name = "standard input" if args.input == STANDARD_STREAM else args.input
    return read_sentences(lines.input_lines(args.input, True), name)


def _tagged(model: "EncT5", args: argparse.Namespace) -> Iterator[Answer]:
    """Yields the lines of each sentence with the tags.

    Raises:
        UserError: a model that does not tag, or whose tags are more than a column can hold.
    """
    if not model.tags or any(len(label.split()) != 1 for label in model.labels):
        raise UserError(
            f"--format conllu: {args.path} was trained for {model.kind}, and CoNLL-U holds a tag "
            "without spaces for each word; use --format jsonl"
        )
    column = UPOS if args.label_column is None else args.label_column - 1
    number = 0
    for chunk in lines.chunks(_sentences(args), args.input, BUFFER):
        predictions = model.predict_tags(sentence.words for sentence in chunk)
        for sentence, prediction in zip(chunk, predictions, strict=True):
            number += len(sentence.lines)
            yield number, sentence.tagged(prediction.tags or (), column), prediction.cut
