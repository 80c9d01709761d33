"""Prepare labelled text for EncT5.

Reads TSV, CoNLL-U or a word and its tag a line; cuts the text into subwords, of a local T5 or BERT,
of a sentencepiece model that is trained here, or bytes; and writes fairseq's indexed data
sets, ``labels.txt`` and a description, whole or not at all.
"""

import argparse
import os
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

from ..errors import UserError
from ..io.output import staged
from ..io.text_files import require_files
from ..registration import register
from .next_command import FIVE_MINUTES, next_enct5_command
from .options import adder, make_parser, say

if TYPE_CHECKING:
    from ..systems.enct5.metadata import Metadata
    from ..systems.enct5.reading import Layout
    from ..systems.enct5.tokenizer import Tokenizer

#: of :class:`.ProblemType`, which the help is not to load
KINDS = ("classification", "regression", "multilabel", "tagging")
LONGEST = 512
#: format → columns of text and label, from 1, unless told otherwise; the label may be the second
FORMATS = {"tsv": (2, 1), "conllu": (2, 4), "columns": (1, None)}


def build_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = make_parser(
        "enct5-prepare",
        "Prepare labelled text for EncT5: subwords, labels, and for tagging the word of each one.",
        "--kind classification --train train.tsv --valid dev.tsv --vocab-size 4000 --destdir data",
        "--kind KIND --train FILE --destdir DIR --vocab-size N [options]",
    )
    add = adder(parser)
    add("--kind", "what is to be predicted of a text", required=True, choices=KINDS)
    add("--train FILE", "examples of the training set", required=True)
    add("--valid FILE", "the validation set; several, divided by commas, become valid, valid1 …")
    add("--test FILE", "the test set, likewise")
    add("--destdir DIR", "new folder; whole or not at all", required=True)
    columns = "columns: a word and its tag a line, empty lines between sentences"
    add("--format", f"of the files (default: tsv); {columns}", "tsv", choices=FORMATS)
    label = "from 1 (default: 1 of a TSV, the last of two columns, 4 of CoNLL-U: upos)"
    add("--label-column N", label, type=int)
    add("--text-columns N[,N]", "of a TSV: one text, or two as 2,3 (default: 2)")
    add("--header", "the first line of a TSV names the columns")
    add("--labels FILE", "all labels in their order, a line each (default: those of --train)")
    add("--label-separator C", "multilabel: between labels of a text (default: ,)", advanced=True)
    pieces = adder(parser.add_mutually_exclusive_group(required=True))
    pieces("--vocab-size N", "train so many subwords on --train; fewer where it is small", type=int)
    pieces("--bytes", "bytes instead of subwords")
    pieces("--t5-dir DIR", "subwords of this local T5 or mT5, its extra ids included")
    pieces("--bert-dir DIR", "subwords of this local BERT")
    pieces("--subwords-of PATH", "those of prepared data, or of a checkpoint, to fine-tune it")
    longest = "most subwords of an example; the rest is cut off (default: 512, a BERT's positions)"
    add("--max-length N", longest, type=int)
    copies = "write the train set so many times more, with sampled subwords (regularization)"
    add("--sampled-copies N", copies, 0)
    add("--seed N", "of --sampled-copies: the same subwords each time (default: 1)", type=int)
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command; raises :class:`UserError` with nothing written."""
    args = build_parser().parse_args(argv)
    register(lean=True)
    from ..systems.enct5.reading import known_labels
    from ..systems.enct5.writing import write_all

    layout = _layout(args)
    files = {"train": args.train}
    for split in ("valid", "test"):
        paths = filter(None, (getattr(args, split) or "").split(","))
        files.update({f"{split}{number or ''}": path for number, path in enumerate(paths)})
    require_files([*files.values(), *filter(None, [args.labels])])
    if os.path.lexists(args.destdir) or os.path.lexists(os.path.realpath(args.destdir)):
        raise UserError(f"--destdir {args.destdir}: is there already; name another folder")
    labels = known_labels(args.labels or args.train, layout, listed=bool(args.labels))
    for path in files.values():  # every line is judged before the work begins
        for example in layout.read(path):
            labels.stored(example)
    tokenizer, longest = _cutter(args, layout)
    if args.seed is not None and not args.sampled_copies:
        raise UserError("--seed is for --sampled-copies; leave it out")
    if args.seed is not None and not 0 <= args.seed < 2**32:
        raise UserError(f"--seed {args.seed}: give a number from 0 to {2**32 - 1}")
    if args.sampled_copies and tokenizer.serialised is None:
        raise UserError("--sampled-copies is for subwords that can be sampled; leave it out")
    least = 1 + len(layout.texts) + len(tokenizer.first)
    if longest < least:
        raise UserError(f"--max-length {longest}: give {least} or more")
    with staged(args.destdir) as folder:
        copies, seed = args.sampled_copies, 1 if args.seed is None else args.seed
        write_all(folder, layout, files, labels, tokenizer, longest, say, copies, seed)
    say(f"prepared in {args.destdir}")
    if command := next_enct5_command(args, len(labels.names)):
        say(f"note: next trains for twenty minutes; for a try of five: {FIVE_MINUTES}")
        say(f"next: {command}")


def _layout(args: argparse.Namespace) -> "Layout":
    """How the files are written."""
    from ..systems.enct5.problem_types import ProblemType
    from ..systems.enct5.reading import Layout

    kind = ProblemType(args.kind)
    tagging, tsv = kind is ProblemType.TAGGING, args.format == "tsv"
    for name, fits, where in (
        ("format", tagging or tsv, "--kind tagging"),
        ("text_columns", tsv, "--format tsv"),
        ("header", tsv, "--format tsv"),
        ("label_separator", kind.many, "--kind multilabel"),
        ("labels", kind is not ProblemType.REGRESSION, "labels, not for values"),
    ):
        if getattr(args, name) and not fits:
            raise UserError(f"--{name.replace('_', '-')} is for {where}; leave it out")
    text, label = FORMATS[args.format]
    label = label if args.label_column is None else args.label_column
    written = (args.text_columns or str(text)).split(",")
    texts = [int(one) if one.isdecimal() else -1 for one in written]
    low = min(*texts, 1 if label is None else label) < 1
    if low or len(texts) > 1 + (not tagging) or label in texts:
        raise UserError(
            f"--label-column {label} --text-columns {','.join(written)}: columns count from 1; "
            "give one or two for the text, for tagging one, and another for the label"
        )
    column, columns = label and label - 1, [one - 1 for one in texts]
    separator = args.label_separator or ","
    named = args.label_column is not None or args.text_columns is not None
    width = None if named or not tsv else 2  # else as many as the first line has
    return Layout(kind, args.format, column, columns, args.header, separator, width)


def _cutter(args: argparse.Namespace, layout: "Layout") -> "tuple[Tokenizer, int]":
    """What cuts text, and most subwords of an example."""
    from ..systems.enct5.directory import DIRECTORIES, EncoderDirectory
    from ..systems.enct5.problem_types import ProblemType
    from ..systems.enct5.tokenizer import Tokenizer
    from ..systems.enct5.writing import trained_cutter

    longest = LONGEST if args.max_length is None else args.max_length
    for option in DIRECTORIES:
        if path := getattr(args, option):
            directory = EncoderDirectory(path, option)
            most = getattr(directory.plan, "positions", longest)
            if longest > most and args.max_length is not None:
                raise UserError(
                    f"--max-length {longest}: {path} has {most} positions; give no more"
                )
            return directory.tokenizer(), min(longest, most)
    if args.subwords_of:
        kept = _kept_subwords(args.subwords_of)
        # no text may be longer than a BERT's positions
        usual = kept.wordpiece is None or args.max_length is not None
        return kept.tokenizer(args.subwords_of), longest if usual else kept.max_length
    if args.bytes:
        return Tokenizer(None), longest
    examples = (example.texts for example in layout.read(args.train))
    words = layout.kind is ProblemType.TAGGING
    texts = map(" ".join, examples) if words else chain.from_iterable(examples)
    return trained_cutter(iter(texts), args.vocab_size), longest


def _kept_subwords(path: str) -> "Metadata":
    """What prepared data, or a checkpoint, say of their subwords."""
    from ..inference.checkpoints import find_checkpoint, load_state
    from ..systems.enct5.metadata import DESCRIPTION, Metadata

    if os.path.isfile(os.path.join(path, DESCRIPTION)):
        return Metadata.read(path)
    checkpoint = find_checkpoint(path)
    return Metadata.of(load_state(checkpoint).get("task_state"), checkpoint)
