"""fairseq-preprocess with a third side: dictionaries that count the drafts, and their data."""

import argparse
import logging
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from fairseq import tasks
from fairseq.data import Dictionary, data_utils

from ..errors import UserError
from ..io.text_files import Side, Split, count_lines, has_carriage_returns, read_lines


def text_path(prefix: str, lang: str | None) -> str:
    """The file of a language."""
    return f"{prefix}.{lang}" if lang else prefix


def dictionary_path(directory: str, lang: str | None) -> str:
    """Where fairseq keeps the dictionary of a language."""
    return os.path.join(directory, f"dict.{lang}.txt" if lang else "dict.txt")


def load_dictionary(path: str, task: type[tasks.FairseqTask]) -> Dictionary:
    """Load a dictionary file, its mistakes as one line that names it."""
    count_lines(path)  # which reads and checks all of it
    try:
        return task.load_dictionary(path)
    except (ValueError, RuntimeError) as error:
        raise UserError(f"{path}: is no dictionary: {error}") from error


def build_with_drafts(args: argparse.Namespace, train: Split) -> Dictionary:
    """The dictionary of the targets, or of all sides where joined, with training drafts counted.

    Built as fairseq-preprocess builds it.
    """
    joined = args.joined_dictionary
    return tasks.get_task(args.task).build_dictionary(
        [side.path for side in train.sides if joined or side.role != "source"],
        workers=args.workers,
        threshold=args.thresholdsrc if joined else args.thresholdtgt,
        nwords=args.nwordssrc if joined else args.nwordstgt,
        padding_factor=args.padding_factor,
    )


def write_all(
    args: argparse.Namespace, folder: str, splits: Sequence[Split]
) -> tuple[Dictionary, Dictionary | None]:
    r"""Writes dictionaries and all data into ``folder``, and counts the unknown words.

    fairseq cuts a file among processes by text offsets, which go astray at ``\r\n``: lines are
    then lost or doubled. Such files are read by one process.

    Returns:
        source and target dictionary, the same object where joined; None for no target.
    """
    from fairseq_cli import preprocess

    args = argparse.Namespace(**vars(args) | {"destdir": folder})
    for path in (args.srcdict, args.tgtdict):
        if path:
            load_dictionary(path, tasks.get_task(args.task))
    sides = [side for split in splits for side in split.sides]
    if args.workers > 1 and any(has_carriage_returns(side.path) for side in sides):
        args.workers = 1
    given = args.tgtdict or args.joined_dictionary and args.srcdict
    with tempfile.TemporaryDirectory() as made, _quietly():
        if args.draft_lang and not given:
            path = os.path.join(made, "dict.txt")
            build_with_drafts(args, splits[0]).save(path)
            vars(args)["srcdict" if args.joined_dictionary else "tgtdict"] = path
        print("binarise", *(side.path for side in sides), flush=True)
        preprocess.main(args)
        source, target = _load_written(args, folder)
        if args.draft_lang and not args.dict_only:
            preprocess._make_all(args.draft_lang, target, args)
    for split in () if args.dict_only else splits:
        for side in split.sides:
            dictionary = source if side.role == "source" or target is None else target
            side.unknown = _count_unknown(side.path, dictionary)
            if args.dataset_impl != "raw":
                prefix = preprocess.dataset_dest_prefix(args, split.name, side.lang)
                _check_lines(prefix, split, side, dictionary)
    return source, target


def _load_written(args: argparse.Namespace, folder: str) -> tuple[Dictionary, Dictionary | None]:
    """The dictionaries of a folder."""
    task = tasks.get_task(args.task)
    source = task.load_dictionary(dictionary_path(folder, args.source_lang))
    if args.only_source or args.joined_dictionary:
        return source, None if args.only_source else source
    return source, task.load_dictionary(dictionary_path(folder, args.target_lang))


@contextmanager
def _quietly() -> Iterator[None]:
    """fairseq-preprocess's log stays as it was: we have a summary, and files that may move."""
    logger = logging.getLogger("fairseq_cli.preprocess")
    handlers, level = list(logger.handlers), logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)
        for handler in set(logger.handlers) - set(handlers):
            logger.removeHandler(handler)
            handler.close()


def _count_unknown(path: str, dictionary: Dictionary) -> int:
    """Words that are not in the dictionary."""
    known = dictionary.indices
    return sum(word not in known for line in read_lines(path) for word in line.split())


def _check_lines(prefix: str, split: Split, side: Side, dictionary: Dictionary) -> None:
    written = len(data_utils.load_indexed_dataset(prefix, dictionary))
    if written != split.lines:
        raise UserError(
            f"{side.path}: {split.lines} lines were read but {written} written; if the "
            "file did not change meanwhile, try --workers 1"
        )
