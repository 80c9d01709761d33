"""Prepare labelled text for EncT5.

Reads TSV or CoNLL-U; cuts the text into subwords, of a local T5 or BERT, of a sentencepiece model
that is trained here, or bytes; and writes fairseq's indexed data sets, ``labels.txt`` and a
description, whole or not at all.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

from lev_runtime.errors import UserError, flag
from lev_runtime.io.options import adder, make_parser, say
from lev_runtime.io.output import staging_directory
from lev_runtime.io.text_files import require_files
from lev_runtime.labels.pieces import Tokenizer

from ..registration import register

if TYPE_CHECKING:
    from ..systems.enct5.dataset import Metadata
    from ..systems.enct5.prepare import FileFormat

#: of :class:`.ProblemType`, which would load torch for --help
KINDS = ("classification", "regression", "multilabel", "tagging")
DEFAULT_MAX_LENGTH = 512


def build_parser() -> argparse.ArgumentParser:
    """Returns the parser of the command's options."""
    parser = make_parser(
        "enct5-prepare",
        "Prepare labelled text for EncT5: split it into subwords and binarise it with its labels.",
        "--kind classification --train train.tsv --valid dev.tsv --vocab-size 4000 --destdir data",
        "--kind KIND --train FILE --destdir FOLDER [options]",
    )
    add = adder(parser)
    add("--kind", "problem type", required=True, choices=KINDS)
    add("--train FILE", "training examples", required=True)
    add("--valid FILE", "validation set; several, separated by commas, become valid, valid1 …")
    add("--test FILE", "test set, likewise")
    add("--destdir FOLDER", "new folder, complete or not written at all", required=True)
    add("--format", "format of the files (default: tsv)", "tsv", choices=("tsv", "conllu"))
    add(
        "--label-column N", "column of the label, from 1 (default: tsv 1; conllu 4, upos)", type=int
    )
    add("--text-columns N[,N]", "tsv: column of the text, or of two texts as 2,3 (default: 2)")
    add("--header", "the first line of a TSV names the columns")
    add("--labels FILE", "all labels in their order, one a line (default: those of --train)")
    pieces = adder(parser.add_mutually_exclusive_group(required=True))
    pieces("--vocab-size N", "train this many subwords on --train; fewer if it is small", type=int)
    pieces("--bytes", "bytes instead of subwords")
    pieces("--t5-dir FOLDER", "subwords of this local T5 or mT5, including its extra ids")
    pieces("--bert-dir FOLDER", "subwords of this local BERT")
    pieces("--subwords-of PATH", "subwords of prepared data, or of a checkpoint to fine-tune")
    longest = (
        "maximum subwords of an example; longer ones are truncated (default: 512, or a BERT's "
        "positions)"
    )
    add("--max-length N", longest, type=int)
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the command; raises :class:`UserError` with nothing written."""
    args = build_parser().parse_args(argv)
    register()
    from ..systems.enct5.prepare import read_labels, write_all

    file_format = _file_format(args)
    files = _files(args)
    require_files([*files.values(), *filter(None, [args.labels])])
    if os.path.lexists(args.destdir) or os.path.lexists(os.path.realpath(args.destdir)):
        raise UserError(f"--destdir {args.destdir} already exists; name another folder")
    labels = read_labels(args.labels or args.train, file_format, listed=bool(args.labels))
    for path in files.values():  # find faults before the work begins
        for example in file_format.read(path):
            labels.encode(example)
    tokenizer, max_length = make_tokenizer(args, file_format)
    least = 1 + len(file_format.texts) + len(tokenizer.prefix)
    if max_length < least:
        raise UserError(f"--max-length {max_length}: give {least} or more")
    with staging_directory(args.destdir) as folder:
        write_all(folder, file_format, files, labels, tokenizer, max_length, log=say)
    say(f"prepared in {args.destdir}")
    guide = "pretrained" if args.t5_dir or args.bert_dir else "tagging"
    say(f"next: examples/guides/{guide}.md")


def _files(args: argparse.Namespace) -> dict[str, str]:
    """Returns split → file."""
    files = {"train": args.train}
    for split in ("valid", "test"):
        paths = (getattr(args, split) or "").split(",")
        for number, path in enumerate(filter(None, paths)):
            files[f"{split}{number or ''}"] = path
    return files


def _file_format(args: argparse.Namespace) -> "FileFormat":
    """Returns the format of the files; raises :class:`UserError` for options that contradict."""
    from ..systems.enct5.prepare import FORM, UPOS, FileFormat
    from ..systems.enct5.problem_types import ProblemType

    problem_type = ProblemType(args.kind)
    is_tagging = problem_type is ProblemType.TAGGING
    is_conllu = args.format == "conllu"
    for name, fits, owner in (
        ("format", is_tagging or not is_conllu, "--kind tagging"),
        ("text_columns", not is_conllu, "--format tsv"),
        ("header", not is_conllu, "--format tsv"),
        ("labels", problem_type is not ProblemType.REGRESSION, "labels, not for values"),
    ):
        if getattr(args, name) and not fits:
            raise UserError(f"{flag(name)} is for {owner}; leave it out")
    default_label, default_text = (UPOS, FORM) if is_conllu else (0, 1)
    label = default_label + 1 if args.label_column is None else args.label_column
    text_columns = (args.text_columns or str(default_text + 1)).split(",")
    texts = [int(column) if column.isdecimal() else -1 for column in text_columns]
    max_texts = 1 if is_tagging else 2
    is_numbered = min(*texts, label) >= 1
    if not is_numbered or len(texts) > max_texts or label in texts:
        raise UserError(
            f"--label-column {label} --text-columns {','.join(text_columns)}: columns are "
            "numbered from 1; give one or two for the text (tagging: one) and a different "
            "one for the label"
        )
    names_columns = args.label_column is not None or args.text_columns is not None
    return FileFormat(
        problem_type,
        is_conllu,
        label=label - 1,
        texts=[column - 1 for column in texts],
        header=args.header,
        width=None if names_columns else 2,
    )


def make_tokenizer(args: argparse.Namespace, file_format: "FileFormat") -> tuple[Tokenizer, int]:
    """Returns the tokenizer, and the most subwords of an example.

    Raises:
        UserError: a folder or a checkpoint that cannot be used, or more subwords than its model has
            positions.
    """
    from ..systems.enct5.model import DIRECTORIES, EncoderDirectory
    from ..systems.enct5.prepare import train_tokenizer

    tokenizer, most = Tokenizer(), sys.maxsize  # of bytes, unless an option names another
    for option in DIRECTORIES:
        path = getattr(args, option)
        if path:
            directory = EncoderDirectory(path, option)
            most = getattr(directory.config, "positions", most)
            tokenizer = directory.tokenizer()
    if args.max_length is not None and args.max_length > most:
        raise UserError(f"--max-length {args.max_length}: the model has only {most} positions")
    if args.subwords_of:
        kept = _kept_subwords(args.subwords_of)
        tokenizer = kept.tokenizer(args.subwords_of)
        if kept.hf_tokenizer is not None:  # a BERT's positions limit the length
            most = kept.max_length
    elif args.vocab_size is not None:
        examples = (example.texts for example in file_format.read(args.train))
        texts = map(" ".join, examples) if args.kind == "tagging" else chain.from_iterable(examples)
        tokenizer = train_tokenizer(iter(texts), args.vocab_size)
    default = min(DEFAULT_MAX_LENGTH, most)
    return tokenizer, default if args.max_length is None else args.max_length


def _kept_subwords(path: str) -> "Metadata":
    """Returns the description of prepared data, or of a checkpoint's data."""
    from ..inference.checkpoints import find_checkpoint, load_state
    from ..systems.enct5.dataset import DESCRIPTION, Metadata

    if os.path.isfile(os.path.join(path, DESCRIPTION)):
        return Metadata.from_folder(path)
    checkpoint = find_checkpoint(path)
    state = load_state(checkpoint)
    return Metadata.from_state(state.get("task_state"), checkpoint)
