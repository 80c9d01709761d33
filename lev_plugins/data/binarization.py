"""fairseq-preprocess with a third side: text is checked, drafts are counted and binarised too."""

import argparse
import os
import tempfile
from collections.abc import Sequence
from itertools import chain

from fairseq import tasks
from fairseq.data import Dictionary

from lev_runtime.errors import UserError
from lev_runtime.io.lines import raw_lines
from lev_runtime.io.text_files import (
    SPECIAL_TOKENS,
    XZ,
    count_lines,
    read_lines,
    read_parallel,
    refuse_special_tokens,
    require_files,
)

#: name (train, valid, valid1 …) → files of source, target and draft that belong together by line
Splits = dict[str, list[str]]


def find_splits(args: argparse.Namespace) -> Splits:
    """Returns the files that fairseq-preprocess's flags name; all of them exist."""
    langs = [args.source_lang]
    if not args.only_source:
        langs.append(args.target_lang)
    if args.draft_lang:
        langs.append(args.draft_lang)
    splits: Splits = {}
    for part in ("train",) if args.dict_only else ("train", "valid", "test"):
        option = getattr(args, f"{part}pref") or ""
        prefixes = [option] if part == "train" else option.split(",")
        for index, prefix in enumerate(prefixes if option else ()):
            name = f"{part}{index or ''}"
            splits[name] = [f"{prefix}.{lang}" if lang else prefix for lang in langs]
    hint = f"drafts are PREFIX.{args.draft_lang}" if args.draft_lang else ""
    require_files([path for paths in splits.values() for path in paths], hint)
    require_files([path for path in (args.srcdict, args.tgtdict, args.alignfile) if path])
    return splits


def check_split(paths: Sequence[str]) -> None:
    """Refuses files whose binarised data would differ from what the user meant."""
    for path in paths:  # read_parallel reads what is compressed by xz, fairseq does not
        if next(raw_lines(path), b"").startswith(XZ):
            raise UserError(f"{path} is compressed; decompress it with xz -dk")
    numbers = [_checked_lines(path) for path in paths]
    if len(set(numbers)) > 1:
        for _ in read_parallel(paths):
            pass  # it says how many each has
    if not numbers[0]:
        raise UserError(f"no lines in {', '.join(paths)}; give files with sentences in them")


def _checked_lines(path: str) -> int:
    """Counts the lines of a text; refuses what the data would differ by."""
    number = 0
    for number, line in enumerate(read_lines(path), start=1):
        if any(token in line for token in SPECIAL_TOKENS):
            refuse_special_tokens(path, number, line.split())
    return number


def dictionary_path(directory: str, lang: str | None) -> str:
    """Returns the path of the dictionary of a language."""
    return os.path.join(directory, f"dict.{lang}.txt" if lang else "dict.txt")


def write_all(args: argparse.Namespace, folder: str, splits: Splits) -> None:
    r"""Writes dictionaries, all data and fairseq's log into ``folder``.

    fairseq cuts a file among processes by text offsets, which go astray at ``\r\n``: lines are
    then lost or doubled. Such files are read by one process.
    """
    from fairseq_cli import preprocess

    args = argparse.Namespace(**vars(args) | {"destdir": folder})
    for path in filter(None, (args.srcdict, args.tgtdict)):
        _check_dictionary(path)
    paths = chain(*splits.values())
    if args.workers > 1 and any(b"\r" in line for path in paths for line in raw_lines(path)):
        args.workers = 1
    joined = args.joined_dictionary
    with tempfile.TemporaryDirectory() as scratch:
        if args.draft_lang and not (args.tgtdict or joined and args.srcdict):
            # training drafts count as targets do
            path = os.path.join(scratch, "dict.txt")
            task = tasks.get_task(args.task)
            texts = splits["train"][not joined :]
            roles = {"src": joined, "tgt": not joined}
            preprocess._build_dictionary(texts, task, args, **roles).save(path)
            vars(args)["srcdict" if joined else "tgtdict"] = path
        preprocess.main(args)
        if args.draft_lang and not args.dict_only:
            target = Dictionary.load(dictionary_path(folder, args.target_lang))
            preprocess._make_all(args.draft_lang, target, args)


def _check_dictionary(path: str) -> None:
    """Refuses a dictionary with mistakes in one line that names it."""
    count_lines(path)  # reads, and so checks, all of them
    try:
        Dictionary.load(path)
    except (ValueError, RuntimeError) as error:
        raise UserError(f"{path} is not a dictionary: {error}") from None
