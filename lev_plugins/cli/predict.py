"""Predict classes, values, labels or tags of text with an EncT5.

One record an input line, in order: a JSON object (the keys of
:meth:`lev_plugins.inference.enct5.Prediction.to_dict` and the number of the ``line``), or with
``--format tsv`` answer, tab and score. Of CoNLL-U the lines themselves, with the tags. The
checkpoint is all that is needed.
"""

import argparse
from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lev_runtime.errors import UserError, counted
from lev_runtime.io import lines
from lev_runtime.io.lines import STANDARD_STREAM, json_line, progress
from lev_runtime.io.options import adder, at_least_one, make_parser, say
from lev_runtime.io.output import printable, refuse_overwriting, whole_file
from lev_runtime.io.text_files import count_lines, few

from ..registration import register

if TYPE_CHECKING:
    from ..inference.enct5 import EncT5, Prediction
    from ..systems.enct5.sentences import Sentence

BUFFER = 1024  # lines that are in memory and sorted by length


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
    form = "default: jsonl; conllu: reads CoNLL-U, and writes the same lines with the tags"
    add("--format", form, "jsonl", choices=("jsonl", "tsv", "conllu"))
    add("--label-column N", "conllu: column of the tags, from 1 (default: 4, upos)", type=int)
    top = "also list the N most probable labels (of each word); only with jsonl"
    add("--top-k N", top, type=int)
    threshold = (
        "multilabel: predict labels with a score above this (default: the best in validation, "
        "saved in the checkpoint)"
    )
    add("--threshold P", threshold, type=float)
    add("--device NAME", "device, such as cuda (default: cpu)")
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command with the arguments ``argv`` (default: those of the process)."""
    args = build_parser().parse_args(argv)
    register()
    from ..inference.enct5 import EncT5

    _check(args)
    is_conllu = args.format == "conllu"
    if not lines.is_stream(args.input):
        # errors are told now, not after an hour of work
        if is_conllu:
            deque(_sentences(args), 0)
        else:
            count_lines(args.input)
    number, cut = 0, list[int]()
    with whole_file(args.output) as out:  # first: told before the model loads
        model = EncT5.from_pretrained(args.path, args.device)
        _check_labels(model, args)
        answers = _tagged(model, args) if is_conllu else _records(model, args)
        total = None if is_conllu else args.input
        for number, text, is_cut in progress(answers, "lines", args.output, total):
            out.write(text)
            if args.output == STANDARD_STREAM:
                out.flush()
            cut += [number] * is_cut
    if cut:
        lines_cut = f"{counted(len(cut), 'line')} ({few(cut, 5)})"
        say(f"truncated to {model.max_length} subwords: {lines_cut}")
    if args.output != STANDARD_STREAM:
        say(f"{counted(number, 'line')} written to {args.output}")


def _check(args: argparse.Namespace) -> None:
    """Raises :class:`UserError` for options that do not go together."""
    at_least_one(args, "top_k", "label_column")
    if args.label_column is not None and args.format != "conllu":
        raise UserError("--label-column only works with --format conllu; leave it out")
    if args.label_column == 2:
        raise UserError("--label-column 2 is the column of the words; give another")
    if args.top_k is not None and args.format != "jsonl":
        raise UserError(f"--top-k {args.top_k}: only --format jsonl can hold several labels")
    refuse_overwriting({"--output": args.output}, [("--input", args.input)])


def _check_labels(model: "EncT5", args: argparse.Namespace) -> None:
    """Raises :class:`UserError` for a kind, or a label, that the format cannot hold."""
    if args.format == "conllu" and not model.tags:
        raise UserError(
            f"--format conllu: {args.path} was trained for {model.kind} and does not tag words; "
            "give one text a line"
        )
    if args.format == "jsonl" or model.kind in ("classification", "regression"):
        return
    separator = " " if model.tags else ","
    for label in model.labels:
        if separator in label:
            raise UserError(
                f"--format {args.format}: the label {label!r} contains the separator of labels; "
                "use --format jsonl"
            )


def _records(model: "EncT5", args: argparse.Namespace) -> Iterator[tuple[int, str, bool]]:
    """Yields the number of each line, its record, and whether its end was cut off."""
    texts: Iterator[str | list[str]] = lines.input_lines(args.input)
    if model.texts_per_example > 1:
        form = "the model was trained on pairs of texts, so a line is one text, a tab and the other"
        texts = lines.input_fields(args.input, {2}, form)
    pieces = lines.with_pauses(texts, args.input)
    predictions = model.stream(pieces, args.top_k, args.threshold, BUFFER)
    for number, prediction in enumerate(predictions, start=1):
        if args.format == "tsv":
            record = _tsv(prediction, " " if model.tags else ",")
        else:
            record = json_line({"line": number, **prediction.to_dict()})
        yield number, record, prediction.cut


def _tsv(prediction: "Prediction", separator: str) -> str:
    """Returns answer, tab and score; or the value."""
    values = prediction.to_dict()
    if "value" in values:
        return f"{values['value']}\n"
    if "label" in values:
        values |= {"labels": [values["label"]], "scores": [values["score"]]}
    answer = separator.join(map(printable, values.get("tags", values.get("labels"))))
    scores = separator.join(f"{score:.6f}" for score in values["scores"])
    return f"{answer}\t{scores}\n"


def _sentences(args: argparse.Namespace) -> "Iterator[Sentence]":
    """Yields those of CoNLL-U."""
    from ..systems.enct5.sentences import read_sentences

    name = "standard input" if args.input == STANDARD_STREAM else args.input
    return read_sentences(lines.input_lines(args.input, True), name)


def _tagged(model: "EncT5", args: argparse.Namespace) -> Iterator[tuple[int, str, bool]]:
    """Yields the number of each sentence's last line, its lines with the tags, and whether the end
    of a word was cut off."""
    column = 3 if args.label_column is None else args.label_column - 1
    number = 0
    for chunk in lines.chunks(_sentences(args), args.input, BUFFER):
        predictions = model.predict_tags([sentence.words for sentence in chunk])
        for sentence, prediction in zip(chunk, predictions, strict=True):
            number += len(sentence.lines)
            yield number, sentence.tagged(prediction.tags or (), column), prediction.cut
