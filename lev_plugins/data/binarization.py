"""fairseq-preprocess with a third side: text is checked, drafts are counted and binarised too."""

import argparse
import logging
import os
import shutil
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
    read_parallel,
    refuse_special_tokens,
    require_files,
)

PARTS = ("train", "valid", "test")
LOG = "preprocess.log"


@dataclass
class Side:
    """A text file, one side of a split: source, target or draft.

    equal: of the lines of drafts, those that are their target's.
    """

    role: str
    lang: str | None
    path: str
    lines: int = 0
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
        sides[-1].equal += len(words) == 3 and words[1] == words[2]
    if not sides[0].lines:
        raise UserError(f"no lines in {', '.join(paths)}; give files with sentences in them")


def dictionary_path(directory: str, lang: str | None) -> str:
    """Where fairseq keeps the dictionary of a language."""
    return os.path.join(directory, f"dict.{lang}.txt" if lang else "dict.txt")


def write_all(
    args: argparse.Namespace, folder: str, splits: Splits
) -> tuple[Dictionary, Dictionary | None]:
    r"""Writes dictionaries, all data and fairseq's log into ``folder``.

    fairseq cuts a file among processes by text offsets, which go astray at ``\r\n``: lines are
    then lost or doubled. Such files are read by one process.

    Returns:
        source and target dictionary, the same object where joined; None for no target.
    """
    from fairseq_cli import preprocess

    log = os.path.join(args.destdir, LOG)  # what an earlier run left, which fairseq continues
    if os.path.isfile(log):
        shutil.copy(log, folder)
    args = argparse.Namespace(**vars(args) | {"destdir": folder})
    for path in (args.srcdict, args.tgtdict):
        _check_dictionary(path)
    sides = [side for split in splits.values() for side in split]
    if args.workers > 1 and any(has_carriage_returns(side.path) for side in sides):
        args.workers = 1
    given = args.tgtdict or args.joined_dictionary and args.srcdict
    with tempfile.TemporaryDirectory() as made, _own_handlers(preprocess.logger):
        if args.draft_lang and not given:  # training drafts count as targets do
            joined, path = args.joined_dictionary, os.path.join(made, "dict.txt")
            texts = [side.path for side in splits["train"] if joined or side.role != "source"]
            task, roles = tasks.get_task(args.task), {"src": joined, "tgt": not joined}
            preprocess._build_dictionary(texts, task, args, **roles).save(path)
            vars(args)["srcdict" if joined else "tgtdict"] = path
        preprocess.main(args)
        source, target = Dictionary.load(dictionary_path(folder, args.source_lang)), None
        if not args.only_source:
            path = dictionary_path(folder, args.target_lang)
            target = source if args.joined_dictionary else Dictionary.load(path)
        if args.draft_lang and not args.dict_only:
            preprocess._make_all(args.draft_lang, target, args)
    for name, split in () if args.dict_only or args.dataset_impl == "raw" else splits.items():
        for side in split:
            prefix = preprocess.dataset_dest_prefix(args, name, side.lang)
            written = len(data_utils.load_indexed_dataset(prefix))
            if written != side.lines:
                raise UserError(
                    f"{side.path}: {side.lines} lines were read but {written} written; if the "
                    "file did not change meanwhile, try --workers 1"
                )
    return source, target


def _check_dictionary(path: str | None) -> None:
    """A given dictionary's mistakes as one line that names it."""
    if path:
        count_lines(path)  # which reads and checks all of it
        try:
            Dictionary.load(path)
        except (ValueError, RuntimeError) as error:
            raise UserError(f"{path}: is no dictionary: {error}") from error


@contextmanager
def _own_handlers(logger: logging.Logger) -> Iterator[None]:
    """What stands inside leaves a log open, which is closed at the end."""
    before = set(logger.handlers)
    try:
        yield
    finally:
        for handler in set(logger.handlers) - before:
            logger.removeHandler(handler)
            handler.close()
