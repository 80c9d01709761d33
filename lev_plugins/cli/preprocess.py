"""Binarise sources, targets and drafts side by side: fairseq-preprocess with a third file.

All flags of fairseq-preprocess keep their meaning, and without ``--draft-lang`` dictionaries and
data are those that it would write, byte for byte. With ``--draft-lang mt`` the drafts (y⁰, what an
editor starts from) are read from ``PREFIX.mt`` and written as ``SPLIT.SRC-TGT.mt`` in the
target's numbering. Training drafts count towards the target (or joined) dictionary: a draft token
that is kept must be printable. Every file is read and checked first, and the output is moved into
place at the end.
"""

import argparse
import os
from collections.abc import Sequence
from contextlib import suppress

from lev_runtime.extras import MissingExtra

from ..errors import UserError
from ..io.output import staging_directory
from ..registration import register
from .names import prog
from .options import add_help, adder

#: fairseq's options that --help shows; all others are for --help-all
MAIN = (
    *("help", "source_lang", "target_lang", "trainpref", "validpref", "testpref", "destdir"),
    *("joined_dictionary", "srcdict", "tgtdict", "only_source", "workers"),
)


def build_parser() -> argparse.ArgumentParser:
    """fairseq-preprocess's parser with an option of our own at its end, alone without fairseq."""
    parser = argparse.ArgumentParser(add_help=False)
    with suppress(MissingExtra):
        register()  # the parser has the names of all components
        from fairseq import options

        parser = options.get_preprocessing_parser()
    for action in parser._actions:
        if action.dest not in MAIN:
            action.advanced_help, action.help = action.help, argparse.SUPPRESS  # type: ignore[attr-defined]
    parser.prog = prog("preprocess")
    parser.description = (
        "fairseq-preprocess with drafts: check the text, build dictionaries, and binarise "
        "source, target and draft. Tokens are separated by spaces; files are line-aligned. "
        "An empty draft means generation from scratch."
    )
    parser.epilog = (
        f"example: {parser.prog} --source-lang src --target-lang pe --draft-lang mt "
        "--trainpref data/train --validpref data/dev --testpref data/test "
        "--joined-dictionary --destdir data-bin --workers 2"
    )
    parser._optionals.conflict_handler = "resolve"  # of two --help ours stays
    add_help(parser)
    about = "suffix of the draft files PREFIX.LANG, such as mt (default: no drafts, plain pairs)"
    adder(parser)("--draft-lang LANG", about)
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


def refuse_old_dictionaries(args: argparse.Namespace) -> None:
    """A dictionary is never overwritten by a new one: data made with the old would be lost."""
    from ..data.binarization import dictionary_path

    wanted = [(args.source_lang, args.srcdict, "--srcdict")]
    wanted += [] if args.only_source else [(args.target_lang, args.tgtdict, "--tgtdict")]
    for lang, dictionary, flag in wanted:
        path = dictionary_path(args.destdir, lang)
        if not dictionary and os.path.exists(path):
            keep = f"{flag} {path}"
            if args.joined_dictionary and (args.srcdict or args.tgtdict):
                keep = "--srcdict and --tgtdict, without --joined-dictionary"
            raise UserError(
                f"{path} already exists; reuse it with {keep}, delete it, or choose another "
                "--destdir"
            )


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command; raises :class:`UserError` with nothing written."""
    parser = build_parser()
    parser.parse_known_args(argv)  # where --help ends, without fairseq too
    register()
    args = parser.parse_args(argv)
    _refuse_contradictions(args)
    from ..data.binarization import check_split, find_splits, write_all
    from .next_command import summarise

    refuse_old_dictionaries(args)
    splits, counts = find_splits(args), {}
    for name, paths in splits.items():
        print("check", *paths, flush=True)
        counts[name] = check_split(paths)
    with staging_directory(args.destdir) as folder:
        target = write_all(args, folder, splits)
    print(summarise(args, counts, target))
