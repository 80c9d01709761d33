"""fairseq-preprocess with a third side: text is checked, drafts are counted and binarised too."""

import argparse
import logging
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from fairseq import tasks
from fairseq.data import Dictionary, data_utils

from ..errors import UserError
from ..io.text_files import (
    count_lines,
    has_carriage_returns,
    read_lines,
    read_parallel,
    refuse_special_tokens,
    require_files,
)

PARTS = ("train", "valid", "test")


@dataclass
class Side:
    """A text file: one side of a split, and what was found in it.

    role: source, target or draft. equal: of drafts, those that are their target.
    """

    role: str
    lang: str | None
    path: str
    lines: int = 0
    tokens: int = 0
    unknown: int = 0
    equal: int = 0


#: name (train, valid, valid1 …) → its sides, which belong together line by line
Splits = dict[str, list[Side]]


def find_splits(args: argparse.Namespace) -> Splits:
    """The files that fairseq-preprocess's flags speak of; all of them are there."""
    roles = [("source", args.source_lang)]
    roles += [] if args.only_source else [("target", args.target_lang)]
    roles += [("draft", args.draft_lang)] if args.draft_lang else []
    splits: Splits = {}
    for part in PARTS[:1] if args.dict_only else PARTS:
        given = getattr(args, f"{part}pref") or ""
        prefixes = [given] if part == "train" else given.split(",")
        for index, prefix in enumerate(prefixes if given else ()):
            sides = [
                Side(role, lang, f"{prefix}.{lang}" if lang else prefix) for role, lang in roles
            ]
            splits[f"{part}{index or ''}"] = sides
    hint = f"drafts are PREFIX.{args.draft_lang}" if args.draft_lang else ""
    require_files([side.path for sides in splits.values() for side in sides], hint)
    require_files([path for path in (args.srcdict, args.tgtdict, args.alignfile) if path])
    return splits


def check_split(sides: Sequence[Side]) -> None:
    """Reads the files of a split once, side by side, and counts.

    Raises:
        UserError: whatever would make the binarised data differ from what the user meant.
    """
    paths = [side.path for side in sides]
    for number, lines in enumerate(read_parallel(paths), start=1):
        words = [line.split() for line in lines]
        for side, tokens in zip(sides, words, strict=True):
            refuse_special_tokens(side.path, number, tokens)
            side.lines = number
            side.tokens += len(tokens)
        sides[-1].equal += len(words) == 3 and words[1] == words[2]
    if not sides[0].lines:
        raise UserError(f"no lines in {', '.join(paths)}; give files with sentences in them")


def dictionary_path(directory: str, lang: str | None) -> str:
    """Where fairseq keeps the dictionary of a language."""
    return os.path.join(directory, f"dict.{lang}.txt" if lang else "dict.txt")


def write_all(
    args: argparse.Namespace, folder: str, splits: Splits
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
        _check_dictionary(path)
    sides = [side for split in splits.values() for side in split]
    if args.workers > 1 and any(has_carriage_returns(side.path) for side in sides):
        args.workers = 1
    given = args.tgtdict or args.joined_dictionary and args.srcdict
    with tempfile.TemporaryDirectory() as made, _quietly():
        if args.draft_lang and not given:
            path = os.path.join(made, "dict.txt")
            _build_with_drafts(args, splits["train"]).save(path)
            vars(args)["srcdict" if args.joined_dictionary else "tgtdict"] = path
        print("binarise", *(side.path for side in sides), flush=True)
        preprocess.main(args)
        source = Dictionary.load(dictionary_path(folder, args.source_lang))
        target = None
        if not args.only_source:
            path = dictionary_path(folder, args.target_lang)
            target = source if args.joined_dictionary else Dictionary.load(path)
        if args.draft_lang and not args.dict_only:
            preprocess._make_all(args.draft_lang, target, args)
    for name, split in () if args.dict_only else splits.items():
        for side in split:
            known = source if side.role == "source" or target is None else target
            words = (word for line in read_lines(side.path) for word in line.split())
            side.unknown = sum(word not in known.indices for word in words)
            if args.dataset_impl != "raw":
                _check_written(preprocess.dataset_dest_prefix(args, name, side.lang), side)
    return source, target


def _build_with_drafts(args: argparse.Namespace, train: Sequence[Side]) -> Dictionary:
    """The dictionary of the targets, or of all sides where joined, with training drafts counted.

    Built as fairseq-preprocess builds it.
    """
    joined = args.joined_dictionary
    return tasks.get_task(args.task).build_dictionary(
        [side.path for side in train if joined or side.role != "source"],
        workers=args.workers,
        threshold=args.thresholdsrc if joined else args.thresholdtgt,
        nwords=args.nwordssrc if joined else args.nwordstgt,
        padding_factor=args.padding_factor,
    )


def _check_dictionary(path: str | None) -> None:
    """A given dictionary's mistakes as one line that names it."""
    if path:
        count_lines(path)  # which reads and checks all of it
        try:
            Dictionary.load(path)
        except (ValueError, RuntimeError) as error:
            raise UserError(f"{path}: is no dictionary: {error}") from error


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


def _check_written(prefix: str, side: Side) -> None:
    written = len(data_utils.load_indexed_dataset(prefix))
    if written != side.lines:
        raise UserError(
            f"{side.path}: {side.lines} lines were read but {written} written; if the file did "
            "not change meanwhile, try --workers 1"
        )
