"""Binarises sources, targets and drafts side by side: fairseq-preprocess with a third file.

All flags of fairseq-preprocess keep their meaning, and without ``--draft-lang`` dictionaries and
data are those that it would write, byte for byte. With ``--draft-lang mt`` the drafts (y⁰, what an
editor starts from) are read from ``PREFIX.mt`` and written as ``SPLIT.SRC-TGT.mt`` in the
target's numbering. Training drafts count towards the target (or joined) dictionary: a draft token
that is kept must be printable. With ``--like CHECKPOINT`` the files are text, and become data for
that model. Every file is read and checked first, and the output is moved into place at the end.
"""

import argparse
import os
import shlex
import sys
import tempfile
from collections.abc import Sequence

from lev_runtime.errors import UserError, flag
from lev_runtime.io.options import (
    HELP_ALL,
    add_model_data,
    adder,
    as_flags,
    make_parser,
    text_processing,
)
from lev_runtime.io.output import staging_directory

from ..registration import register

_ABOUT = (
    "fairseq-preprocess with drafts: check the text, build dictionaries, and binarise source, "
    "target and draft. Tokens are separated by spaces; files are line-aligned. An empty draft "
    "means generation from scratch."
)
_EXAMPLE = (
    "--source-lang src --target-lang pe --draft-lang mt --trainpref data/train --validpref "
    "data/dev --testpref data/test --joined-dictionary --destdir data-bin --workers 2"
)


def build_parser() -> argparse.ArgumentParser:
    """Returns the main options, those of fairseq-preprocess and one of our own, without fairseq."""
    parser = make_parser("preprocess", _ABOUT, _EXAMPLE)
    add = adder(parser)
    add("-s --source-lang CODE", "suffix of the source files PREFIX.CODE")
    add("-t --target-lang CODE", "suffix of the target files")
    about = "suffix of the draft files, such as mt (default: no drafts, plain pairs)"
    add("--draft-lang CODE", about)
    add("--trainpref PREFIX", "training files without their suffix; dictionaries are made of them")
    add("--validpref PREFIX", "validation files; several prefixes are separated by commas")
    add("--testpref PREFIX", "test files, likewise")
    add("--destdir FOLDER", "folder for the data (default: data-bin)", "data-bin")
    add("--srcdict FILE", "source dictionary to use")
    add("--tgtdict FILE", "target dictionary to use")
    add("--joined-dictionary", "one dictionary for all sides")
    add("--like CHECKPOINT", "cut text as this model does, and take its dictionaries")
    add("--only-source", "process only the source language")
    add("--workers N", "number of parallel workers (default: 1)", 1)
    add_model_data(adder(parser.add_argument_group("with --like")), ", or none", advanced=True)
    return parser


def _complete_parser() -> argparse.ArgumentParser:
    """Adds the other options of fairseq-preprocess."""
    register()  # the parser has the names of all components
    from fairseq import options

    parser = build_parser()
    for action in options.get_preprocessing_parser()._actions:
        if parser._option_string_actions.keys().isdisjoint(action.option_strings):
            action.advanced_help, action.help = action.help, argparse.SUPPRESS  # type: ignore[attr-defined]
            parser._add_action(action)
    return parser


def _refuse_contradictions(args: argparse.Namespace) -> None:
    only_source, draft, text = args.only_source, args.draft_lang, args.trainpref
    languages = args.source_lang, args.target_lang
    joined = args.joined_dictionary and (args.srcdict or args.tgtdict)
    need = "no text to build a dictionary from: give --trainpref or "
    if not only_source and not all(languages):
        raise UserError("--source-lang and --target-lang are needed (or --only-source)")
    if joined and args.srcdict and args.tgtdict:
        raise UserError("--joined-dictionary has one dictionary: give --srcdict or --tgtdict")
    if not (args.dict_only or text or args.validpref or args.testpref):
        raise UserError("nothing to do: give --trainpref, --validpref or --testpref")
    if draft and draft in languages:
        raise UserError(
            f"--draft-lang {draft} is a side of the pair too; give the drafts one of their own"
        )
    if not text and not (joined or args.srcdict):
        raise UserError(f"{need}--srcdict")
    if not text and not (joined or args.tgtdict or only_source):
        raise UserError(f"{need}--tgtdict")
    if draft and only_source:
        raise UserError("--draft-lang needs the target side: leave out --only-source")


def _refuse_beside_like(args: argparse.Namespace) -> None:
    own = "srcdict tgtdict joined_dictionary alignfile only_source dict_only".split()
    if args.like and (given := [name for name in own if getattr(args, name)]):
        raise UserError(f"--like brings the dictionaries of pairs: leave out {flag(given[0])}")
    if not args.like and (args.data or text_processing(args)):
        raise UserError("--data, --bpe and other options of text processing need --like CHECKPOINT")


def refuse_old_dictionaries(args: argparse.Namespace) -> None:
    """Refuses to overwrite a dictionary: data made with the old one would be lost."""
    from ..data.binarization import dictionary_path

    wanted = [(args.source_lang, args.srcdict, "--srcdict")]
    wanted += [] if args.only_source else [(args.target_lang, args.tgtdict, "--tgtdict")]
    for lang, dictionary, option in wanted:
        path = dictionary_path(args.destdir, lang)
        if not dictionary and os.path.exists(path):
            keep = f"{option} {path}"
            if args.joined_dictionary and (args.srcdict or args.tgtdict):
                keep = "--srcdict and --tgtdict, without --joined-dictionary"
            raise UserError(
                f"{path} already exists; reuse it with {keep}, delete it, or choose another "
                "--destdir"
            )


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the command; raises :class:`UserError` with nothing written."""
    words = sys.argv[1:] if argv is None else argv
    if HELP_ALL not in words:
        build_parser().parse_known_args(words)  # --help ends here, without fairseq
    args = _complete_parser().parse_args(words)
    _refuse_beside_like(args)
    flags: Sequence[str] = ()
    with tempfile.TemporaryDirectory() as scratch:
        if args.like:
            flags = _cut_like(args, scratch)
        _write(args)
    print(f"written: {args.destdir}")
    if flags:
        task = f"--user-dir lev_plugins --task translation_edit --draft-lang {args.draft_lang}"
        training = f"{task} --criterion edit_policy_loss {shlex.join(flags)}"
        print(f"next: fairseq-train {args.destdir} {training}")
    else:
        guide = "post_editing" if args.draft_lang else "correcting_text"
        print(f"next: examples/guides/{guide}.md")


def _write(args: argparse.Namespace) -> None:
    """Checks the files and writes all data, or nothing."""
    _refuse_contradictions(args)
    from ..data.binarization import check_split, find_splits, write_all

    refuse_old_dictionaries(args)
    splits = find_splits(args)
    for paths in splits.values():
        print("check", *paths, flush=True)
        check_split(paths)
    with staging_directory(args.destdir) as folder:
        write_all(args, folder, splits)


def _cut_like(args: argparse.Namespace, folder: str) -> Sequence[str]:
    """Cuts the files into a folder as a checkpoint's model does, sets the options to these and its
    dictionaries; returns the flags that train from it."""
    from ..data.binarization import check_split, dictionary_path, find_splits
    from ..inference.checkpoint_text import CheckpointText

    with as_flags(args):
        model = CheckpointText.of(args.like, args.data, **text_processing(args))
    args.srcdict, args.tgtdict = (dictionary_path(folder, side) for side in ("source", "target"))
    model.source.save(args.srcdict)
    model.target.save(args.tgtdict)
    _refuse_contradictions(args)
    names: dict[str, list[str]] = {}
    for name, paths in find_splits(args).items():
        check_split(paths)
        for path, dictionary in zip(paths, (model.source, model.target, model.target)):
            model.write(path, os.path.join(folder, name + os.path.splitext(path)[1]), dictionary)
        names.setdefault(name.rstrip("0123456789"), []).append(os.path.join(folder, name))
    for part, prefixes in names.items():
        setattr(args, f"{part}pref", ",".join(prefixes))
    return model.flags
