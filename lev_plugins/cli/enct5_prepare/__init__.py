"""Prepare labelled text for EncT5.

    python -m lev_plugins.cli.enct5_prepare --kind tagging --format conllu \\
        --train train.conllu --valid dev.conllu --test test.conllu --vocab-size 4000 --destdir data

Reads TSV, CoNLL-U or a word and its tag a line; cuts the text into T5's pieces, of a local T5, of
a sentencepiece model, of one that is trained here, or bytes; and writes fairseq's indexed data
sets, ``labels.txt`` and a description, whole or not at all.
"""

import argparse
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from itertools import chain

from ...data.text_files import read_lines, require_files
from ...errors import UserError
from ...models.enct5.description import Description
from ...models.enct5.kinds import KINDS, Kind
from ...models.enct5.pieces import Cutter
from .reading import CONLLU_TAGS, FORMATS, Labelled, Layout
from .writing import (
    SplitWriter,
    Summary,
    check_labels,
    directory_cutter,
    file_cutter,
    found_labels,
    trained_cutter,
    write_labels,
)


def build_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {__package__}",
        description="Prepare labelled text for EncT5: pieces, labels, and for tagging the word of "
        "each piece.",
    )
    parser.epilog = (
        f"example: {parser.prog} --kind classification --train train.tsv --valid dev.tsv "
        "--vocab-size 4000 --destdir data"
    )
    add = parser.add_argument
    kinds = [kind for kind in KINDS if kind != Kind.MULTILABEL_POOLED.value]
    add("--kind", required=True, choices=kinds, help="what is to be predicted of a text")
    for split in ("train", "valid", "test"):
        many = "; several, divided by commas, become valid, valid1 …" if split != "train" else ""
        help_text = f"examples of the {split} set{many}"
        add(f"--{split}", metavar="FILE", required=split == "train", help=help_text)
    add("--destdir", required=True, metavar="DIR", help="new folder; whole or not at all")
    add("--format", choices=FORMATS, default="tsv", help="of the files (default: tsv)")
    add("--label-column", type=int, default=1, metavar="N", help="of a TSV, from 1 (default: 1)")
    add("--text-columns", default="2", metavar="N[,N]", help="one text or two (default: 2)")
    add("--header", action="store_true", help="the first line of a TSV names the columns")
    add("--label-separator", default=",", metavar="C", help="between several labels (default: ,)")
    add("--label-numbers", action="store_true", help="labels are lines of --labels, from 0")
    add("--tags", choices=list(CONLLU_TAGS), default="upos", help="of CoNLL-U (default: upos)")
    add(
        "--labels",
        metavar="FILE",
        help="all labels in their order, one a line (default: those of --train, sorted)",
    )
    pieces = parser.add_mutually_exclusive_group(required=True)
    pieces.add_argument("--t5-dir", metavar="DIR", help="pieces of this T5, mT5 or ByT5")
    pieces.add_argument("--sentencepiece-model", metavar="FILE", help="pieces of this model")
    pieces.add_argument(
        "--vocab-size", type=int, metavar="N", help="train so many pieces on the text of --train"
    )
    pieces.add_argument("--bytes", action="store_true", help="bytes instead of pieces, as ByT5")
    add(
        "--max-length",
        type=int,
        default=512,
        metavar="N",
        help="most pieces of an example; what is longer is cut off and counted (default: 512)",
    )
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command; raises :class:`UserError` with nothing written."""
    args = build_parser().parse_args(argv)
    layout, files = _layout(args), _files(args)
    require_files([*files.values(), *([args.labels] if args.labels else [])])
    if os.path.exists(args.destdir):
        raise UserError(f"--destdir {args.destdir} is there already; name another folder")
    building = f"{args.destdir.rstrip('/')}.part"
    shutil.rmtree(building, ignore_errors=True)
    try:
        os.makedirs(building)
        _prepare(args, layout, files, building)
        os.replace(building, args.destdir)
    except OSError as error:
        raise UserError(f"{args.destdir}: cannot be written ({error.strerror})") from error
    finally:
        shutil.rmtree(building, ignore_errors=True)
    print(f"prepared in {args.destdir}", file=sys.stderr)


def _layout(args: argparse.Namespace) -> Layout:
    kind = Kind(args.kind)
    columns = args.text_columns.split(",")
    if not all(column.isdecimal() and int(column) > 0 for column in columns) or len(columns) > 2:
        raise UserError(f"--text-columns {args.text_columns}: give one or two, as 2 or 2,3")
    if args.label_column < 1:
        raise UserError(f"--label-column {args.label_column}: columns count from 1")
    if args.format != "tsv" and kind is not Kind.TAGGING:
        raise UserError(f"--format {args.format} is for --kind tagging")
    if kind is Kind.TAGGING and len(columns) > 1:
        raise UserError(f"--text-columns {args.text_columns}: words are tagged of one text")
    if args.max_length < 2:
        raise UserError(f"--max-length {args.max_length}: give 2 or more")
    if args.label_numbers and not args.labels:
        raise UserError("--label-numbers needs --labels FILE, whose lines are counted")
    texts = [int(column) - 1 for column in columns]
    return Layout(
        kind,
        args.format,
        args.label_column - 1,
        texts,
        args.header,
        args.label_separator,
        args.tags,
    )


def _files(args: argparse.Namespace) -> dict[str, str]:
    """Split → file."""
    files = {"train": args.train}
    for split in ("valid", "test"):
        for number, path in enumerate((getattr(args, split) or "").split(",")):
            if path:
                files[f"{split}{number or ''}"] = path
    return files


def _prepare(args: argparse.Namespace, layout: Layout, files: dict[str, str], folder: str) -> None:
    cutter = _cutter(args, layout)
    labels = _labels(args, layout)
    description = Description(
        kind=layout.kind.value,
        labels=labels,
        pieces=cutter.pieces,
        texts=len(layout.texts),
        max_length=args.max_length,
        model=cutter.serialised,
    )
    writer = SplitWriter(description, cutter)
    for split, path in files.items():
        examples = _named(layout.read(path), labels) if args.label_numbers else layout.read(path)
        summary = writer.write(os.path.join(folder, split), examples)
        if split == "train":
            description.counts = [writer.counts[i] for i in range(len(labels))]
            if writer.values:
                description.low, description.high = min(writer.values), max(writer.values)
        _report(split, path, summary, args.max_length)
    write_labels(folder, labels)
    description.write(folder)


def _cutter(args: argparse.Namespace, layout: Layout) -> Cutter:
    if args.t5_dir:
        return directory_cutter(args.t5_dir)
    if args.sentencepiece_model:
        return file_cutter(args.sentencepiece_model)
    if args.bytes:
        return Cutter(None)
    examples = (example.texts for example in layout.read(args.train))
    if layout.kind is Kind.TAGGING:
        return trained_cutter((" ".join(words) for words in examples), args.vocab_size)
    return trained_cutter(chain.from_iterable(examples), args.vocab_size)


def _labels(args: argparse.Namespace, layout: Layout) -> list[str]:
    if layout.kind is Kind.REGRESSION:
        if args.labels:
            raise UserError(f"--labels {args.labels}: values have no labels; leave it out")
        return []
    if args.labels:
        labels = list(read_lines(args.labels))
        check_labels(labels, args.labels)
        return labels
    labels = found_labels(layout.read(args.train))
    check_labels(labels, args.train)
    return labels


def _named(examples: Iterator[Labelled], labels: Sequence[str]) -> Iterator[Labelled]:
    """The same with labels by name instead of by number."""
    for example in examples:
        wrong = [n for n in example.labels if not n.isdecimal() or int(n) >= len(labels)]
        if wrong:
            raise UserError(
                f"{example.where}: {wrong[0]!r} is none of the {len(labels)} labels, which count "
                "from 0"
            )
        example.labels = [labels[int(number)] for number in example.labels]
        yield example


def _report(split: str, path: str, summary: Summary, most: int) -> None:
    words = f"{summary.words:,} words, " if summary.words else ""
    unknown = f", {summary.unknown:,} of them unknown" if summary.unknown else ""
    print(
        f"{split}: {summary.examples:,} examples of {path}, {words}{summary.pieces:,} pieces"
        + unknown,
        file=sys.stderr,
    )
    if summary.cut:
        lost = f"; {summary.lost:,} words lost, which count as errors" if summary.lost else ""
        print(
            f"{split}: {summary.cut.count:,} examples are longer than {most} pieces and were cut "
            f"off{lost} (examples {summary.cut})",
            file=sys.stderr,
        )
