"""Prepare labelled text for EncT5.

    python -m lev_plugins.cli.enct5_prepare --kind tagging --format conllu \\
        --train train.conllu --valid dev.conllu --test test.conllu --vocab-size 4000 --destdir data

Reads TSV, CoNLL-U or a word and its tag a line; cuts the text into subwords, of a local T5 or BERT,
of a sentencepiece model, of one that is trained here, or bytes; and writes fairseq's indexed data
sets, ``labels.txt`` and a description, whole or not at all.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from ..errors import UserError
from ..fairseq_patches import run_cli
from ..io.staging import staged
from ..io.text_files import require_files
from ..registration import register
from .options import adder, make_parser

if TYPE_CHECKING:
    from ..systems.enct5.metadata import Metadata
    from ..systems.enct5.preparation.labels import Labels
    from ..systems.enct5.preparation.reading import Layout
    from ..systems.enct5.tokenizer import Tokenizer

#: as :class:`.ProblemType`, :data:`.reading.FORMATS` and :data:`.reading.CONLLU_TAGS` have them,
#: which the help is not to load
KINDS = ("classification", "regression", "multilabel", "tagging")
FORMATS = ("tsv", "conllu", "columns")
TAGS = ("upos", "xpos")


def build_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = make_parser(
        "enct5_prepare",
        "Prepare labelled text for EncT5: pieces, labels, and for tagging the word of each piece.",
        "--kind classification --train train.tsv --valid dev.tsv --vocab-size 4000 --destdir data",
    )
    add = adder(parser)
    add(
        "--kind",
        "what is to be predicted of a text; data of multilabel serve multilabel_pooled too",
        required=True,
        choices=KINDS,
    )
    for split in ("train", "valid", "test"):
        several = f"; several, divided by commas, become {split}, {split}1 …"
        help_text = f"examples of the {split} set" + (several if split != "train" else "")
        add(f"--{split} FILE", help_text, required=split == "train")
    add("--destdir DIR", "new folder; whole or not at all", required=True)
    add(
        "--format",
        "of the files (default: tsv); columns: a word a line, its tag behind it, empty lines "
        "between sentences, -DOCSTART- left out",
        "tsv",
        choices=FORMATS,
    )
    add("--label-column N", "from 1 (default: 1 of a TSV, the last of two columns)", type=int)
    add(
        "--text-columns N[,N]",
        "of a TSV: one text, or two as 2,3 (default: 2); other columns are left alone",
    )
    add("--header", "the first line of a TSV names the columns")
    add("--label-separator C", "multilabel: what stands between the labels of a text (default: ,)")
    add("--label-numbers", "labels are lines of --labels, from 0")
    add("--tags", "of CoNLL-U (default: upos)", choices=TAGS)
    add(
        "--labels FILE", "all labels in their order, one a line (default: those of --train, sorted)"
    )
    _add_subwords(parser)
    add(
        "--max-length N",
        "most subwords of an example; what is longer is cut off and counted (default: 512, or a "
        "BERT's positions where they are fewer)",
        type=int,
    )
    _add_sampling(parser)
    return parser


def _add_subwords(parser: argparse.ArgumentParser) -> None:
    pieces = adder(parser.add_mutually_exclusive_group(required=True))
    pieces("--t5-dir DIR", "subwords of this local T5, mT5 or ByT5, its extra ids included")
    pieces("--bert-dir DIR", "subwords of this local BERT")
    pieces("--sentencepiece-model FILE", "subwords of this model")
    pieces(
        "--vocab-size N",
        "train so many subwords on the text of --train; fewer where it does not give so many",
        type=int,
    )
    pieces("--bytes", "bytes instead of subwords, as ByT5")
    pieces(
        "--subwords-of PATH",
        "those of data that this command wrote, or of a checkpoint: it can then be fine-tuned to "
        "other labels",
    )


def _add_sampling(parser: argparse.ArgumentParser) -> None:
    add = adder(parser)
    add(
        "--sampled-copies N",
        "write the train set so many times more, with subwords sampled by the model's "
        "probabilities, so that words are known in parts too (subword regularization)",
        0,
    )
    add(
        "--sampling-alpha A", "the lower, the more parts in those copies (default: 0.2)", type=float
    )
    add("--seed N", "of those copies (default: 1)", type=int)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command; raises :class:`UserError` with nothing written."""
    args = build_parser().parse_args(argv)
    register(lean=True)
    from ..systems.enct5.preparation.writing import Sampling, longest_text, write_all

    kept = None if args.subwords_of is None else _kept_subwords(args.subwords_of)
    # a BERT's: no text may be longer than its positions
    most = None if kept is None or kept.wordpiece is None else kept.max_length
    if args.max_length is None:
        args.max_length = most or longest_text(args.bert_dir)
    layout, files = _layout(args, most is not None or args.bert_dir is not None), _files(args)
    given = [*files.values(), *filter(None, (args.labels, args.sentencepiece_model))]
    compressed = [path for path in given if path.endswith(".gz") and os.path.isfile(path)]
    if compressed:
        raise UserError(
            f"{compressed[0]}: is compressed; decompress it first: gunzip -k {' '.join(compressed)}"
        )
    require_files(given)
    if os.path.lexists(args.destdir) or os.path.lexists(os.path.realpath(args.destdir)):
        raise UserError(f"--destdir {args.destdir}: is there already; name another folder")
    labels = _labels(args, layout)
    for path in files.values():  # every line is judged before the work begins
        for example in layout.read(path):
            labels.stored(example)
    tokenizer = _cutter(args, layout) if kept is None else kept.tokenizer(args.subwords_of)
    with staged(args.destdir) as folder:
        asked = {"alpha": args.sampling_alpha, "seed": args.seed}
        chosen = {name: value for name, value in asked.items() if value is not None}
        copies = Sampling(args.sampled_copies, **chosen)
        sizes, say = (args.max_length, args.vocab_size), partial(print, file=sys.stderr)
        write_all(folder, layout, files, labels, tokenizer, *sizes, say, copies)
    print(f"prepared in {args.destdir}", file=sys.stderr)


def _layout(args: argparse.Namespace, of_bert: bool) -> "Layout":
    """How the files are written; ``of_bert``: whether something stands before every text."""
    from ..systems.enct5.metadata import LARGEST
    from ..systems.enct5.preparation.reading import Layout
    from ..systems.enct5.problem_types import ProblemType

    kind = ProblemType(args.kind)
    if args.format != "tsv" and kind is not ProblemType.TAGGING:
        raise UserError(f"--format {args.format} is for --kind tagging")
    _refuse(args, args.format == "tsv", "--format tsv", "text_columns", "header")
    _refuse(args, args.format != "conllu", "--format tsv or columns", "label_column")
    _refuse(args, args.format == "conllu", "--format conllu", "tags")
    _refuse(args, kind.many, "--kind multilabel", "label_separator")
    _refuse(
        args,
        kind is not ProblemType.REGRESSION,
        "labels, not for values",
        "labels",
        "label_numbers",
    )
    if args.label_numbers and not args.labels:
        raise UserError("--label-numbers needs --labels FILE, whose lines are counted")
    least = 2 if args.text_columns is None else 1 + len(args.text_columns.split(","))
    least += of_bert
    if not least <= args.max_length <= LARGEST:
        raise UserError(f"--max-length {args.max_length}: give {least} or more")
    _check_sampling(args)
    if args.vocab_size is not None and args.vocab_size < 4:
        raise UserError(f"--vocab-size {args.vocab_size}: give 4 or more; 3 subwords are T5's own")
    label, texts = _columns(args)
    if kind is ProblemType.TAGGING and len(texts) > 1:
        raise UserError(f"--text-columns {args.text_columns}: words are tagged of one text")
    separator = "," if args.label_separator is None else args.label_separator
    if separator == "" or "\t" in separator:
        raise UserError(f"--label-separator {separator!r}: give a character, but no tab")
    tags = args.tags or TAGS[0]
    return Layout(kind, args.format, label, texts, args.header, separator, tags)


def _check_sampling(args: argparse.Namespace) -> None:
    if args.sampled_copies < 0:
        raise UserError(f"--sampled-copies {args.sampled_copies}: give 0 or more")
    _refuse(args, args.sampled_copies > 0, "--sampled-copies", "sampling_alpha", "seed")
    if args.sampled_copies and (args.bytes or args.bert_dir):
        what = "bytes have" if args.bytes else "a BERT's WordPiece has"
        raise UserError(f"--sampled-copies: {what} one segmentation only; leave it out")
    if args.sampling_alpha is not None and not 0 < args.sampling_alpha <= 100:
        raise UserError(f"--sampling-alpha {args.sampling_alpha}: give a number from 0 to 100")
    if args.seed is not None and not 0 <= args.seed < 2**31:
        raise UserError(f"--seed {args.seed}: give a number from 0 to {2**31 - 1}")


def _refuse(args: argparse.Namespace, fits: bool, where: str, *names: str) -> None:
    """Raises :class:`UserError` if an option is given that would mean nothing."""
    for name in () if fits else names:
        if getattr(args, name) is not None and getattr(args, name) is not False:
            raise UserError(f"--{name.replace('_', '-')} is for {where}; leave it out")


def _columns(args: argparse.Namespace) -> tuple[int | None, list[int]]:
    """Columns of the label and of the texts, from 0; None where two columns say which it is."""
    words = args.format == "columns"
    label = 1 if args.label_column is None else args.label_column
    if label < 1:
        raise UserError(f"--label-column {label}: columns count from 1")
    if words and args.label_column == 1:
        raise UserError("--label-column 1: holds the words; the tag is in a later one")
    if args.format != "tsv":
        return (args.label_column and label - 1 if words else label - 1), [0]
    written = "2" if args.text_columns is None else args.text_columns
    columns = written.split(",")
    if len(columns) > 2 or not all(column.isdecimal() and int(column) > 0 for column in columns):
        raise UserError(f"--text-columns {written}: give one or two, as 2 or 2,3")
    texts = [int(column) for column in columns]
    if len({label, *texts}) < 1 + len(texts):
        raise UserError(f"--label-column {label} --text-columns {written}: a column is named twice")
    return label - 1, [column - 1 for column in texts]


def _files(args: argparse.Namespace) -> dict[str, str]:
    """Split → file."""
    files = {"train": args.train}
    for split in ("valid", "test"):
        paths = filter(None, (getattr(args, split) or "").split(","))
        files.update({f"{split}{number or ''}": path for number, path in enumerate(paths)})
    return files


def _labels(args: argparse.Namespace, layout: "Layout") -> "Labels":
    from ..systems.enct5.preparation.labels import Labels, found_labels, listed_labels
    from ..systems.enct5.problem_types import ProblemType

    if layout.kind is ProblemType.REGRESSION:
        return Labels(layout.kind)
    if args.labels:
        separator = None if args.label_numbers else layout.separator
        names = listed_labels(args.labels, layout.kind, separator)
        return Labels(layout.kind, names, args.label_numbers)
    return Labels(layout.kind, found_labels(layout.read(args.train), layout.kind, args.train))


def _cutter(args: argparse.Namespace, layout: "Layout") -> "Tokenizer":
    from ..systems.enct5.preparation.writing import (
        bert_cutter,
        directory_cutter,
        file_cutter,
        trained_cutter,
    )
    from ..systems.enct5.problem_types import ProblemType
    from ..systems.enct5.tokenizer import Tokenizer

    if args.t5_dir:
        return directory_cutter(args.t5_dir)
    if args.bert_dir:
        return bert_cutter(args.bert_dir, args.max_length)
    if args.sentencepiece_model:
        return file_cutter(args.sentencepiece_model)
    if args.bytes:
        return Tokenizer(None)
    examples = (example.texts for example in layout.read(args.train))
    if layout.kind is ProblemType.TAGGING:
        return trained_cutter((" ".join(words) for words in examples), args.vocab_size)
    return trained_cutter(chain.from_iterable(examples), args.vocab_size)


def _kept_subwords(path: str) -> "Metadata":
    """What prepared data, or a checkpoint, say of their subwords."""
    from ..inference.checkpoints import find_checkpoint, load_state
    from ..systems.enct5.metadata import DESCRIPTION, Metadata
    from ..systems.enct5.starting import description

    if os.path.isfile(os.path.join(path, DESCRIPTION)):
        return Metadata.read(path)
    checkpoint = find_checkpoint(path)
    return description(load_state(checkpoint).get("task_state"), checkpoint)


if __name__ == "__main__":
    run_cli(main)
