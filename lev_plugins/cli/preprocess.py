"""Binarise sources, targets and drafts side by side: fairseq-preprocess with a third file.

All flags of fairseq-preprocess keep their meaning, and without ``--draft-lang`` dictionaries and
data are those that it would write, byte for byte. With ``--draft-lang mt`` the drafts (y⁰, what an
editor starts from) are read from ``PREFIX.mt`` and written as ``SPLIT.SRC-TGT.mt`` in the
target's numbering. Every file is read and judged first; the output is made in a temporary
folder and moved into place at the end, so a failure leaves the destination as it was.

Training drafts count towards the target (or joined) dictionary: a draft token that the editor
keeps must be printable, and a draft's own misspellings must be seen to be deleted. A given
``--tgtdict`` (or ``--srcdict`` with ``--joined-dictionary``) is used as it is.
"""

import argparse
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from ..errors import UserError
from ..fairseq_patches import run_cli
from ..io.staging import staged
from ..io.text_files import Side, Split, check_split, require_files
from ..registration import register
from .names import prog
from .options import add_help, adder

PARTS = ("train", "valid", "test")
LOG = "preprocess.log"
LONGEST = 1024  # fairseq's default of --max-source-positions and --max-target-positions
#: fairseq's options that --help shows; all others are for --help-all
MAIN = (
    *("help", "source_lang", "target_lang", "trainpref", "validpref", "testpref", "destdir"),
    *("joined_dictionary", "srcdict", "tgtdict", "only_source", "workers"),
)


def build_parser() -> argparse.ArgumentParser:
    """fairseq-preprocess's parser with a group of our own at its end."""
    register()  # the parser has the names of all components
    from fairseq import options

    parser = options.get_preprocessing_parser()
    for action in parser._actions:
        if action.dest not in MAIN:
            action.advanced_help, action.help = action.help, argparse.SUPPRESS  # type: ignore[attr-defined]
    parser.prog = prog("preprocess")
    parser.description = (
        "fairseq-preprocess with drafts: checks text files, builds dictionaries and binarises "
        "source, target and draft side by side."
    )
    parser.epilog = (
        f"example: {parser.prog} --source-lang src --target-lang pe --draft-lang mt "
        "--trainpref data/train --validpref data/dev --testpref data/test "
        "--joined-dictionary --destdir data-bin --workers 2"
    )
    parser._optionals.conflict_handler = "resolve"  # of two --help ours stays
    add_help(parser)
    group = parser.add_argument_group(
        "Drafts",
        "Text is UTF-8, tokens stand between spaces, line n of each file belongs together. Empty "
        "lines are kept and counted: an empty draft means generation from scratch.",
    )
    add = adder(group)
    add(
        "--draft-lang LANG",
        "suffix of the draft files, `mt` say: drafts are read from PREFIX.LANG and written "
        "with the target's dictionary, in which the training drafts are counted. Default: no "
        "drafts, plain pairs",
    )
    return parser


def parse_args(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse ``argv`` (None: the command line), a user's own ``--user-dir`` imported first."""
    register()
    from fairseq import utils

    early = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    early.add_argument("--user-dir", default=None)
    utils.import_user_module(early.parse_known_args(argv)[0])
    args = build_parser().parse_args(argv)
    if not args.only_source and not (args.source_lang and args.target_lang):
        raise UserError("--source-lang and --target-lang are needed (or --only-source)")
    if args.joined_dictionary and args.srcdict and args.tgtdict:
        raise UserError("--joined-dictionary has one dictionary: give --srcdict or --tgtdict")
    if args.only_source and (args.align_suffix or args.alignfile):
        raise UserError("--align-suffix and --alignfile need both sides: leave out --only-source")
    if args.alignfile and not args.trainpref:
        raise UserError("--alignfile aligns the two sides of --trainpref: give that too")
    if not (args.dict_only or args.trainpref or args.validpref or args.testpref):
        raise UserError("nothing to do: give --trainpref, --validpref or --testpref")
    if args.draft_lang and args.draft_lang in (args.source_lang, args.target_lang):
        raise UserError(
            f"--draft-lang {args.draft_lang} is a side of the pair too; give the drafts a suffix "
            "of their own"
        )
    if not args.trainpref:
        _require_dictionaries(args)
    if args.draft_lang and args.only_source:
        raise UserError("--draft-lang needs the target side: leave out --only-source")
    return args


def _require_dictionaries(args: argparse.Namespace) -> None:
    wanted = [(args.srcdict, "--srcdict"), (args.tgtdict, "--tgtdict")]
    if args.joined_dictionary:
        wanted = [(args.srcdict or args.tgtdict, "--srcdict")]
    for path, flag in wanted[: 1 if args.only_source else 2]:
        if not path:
            raise UserError(f"no text to build a dictionary from: give --trainpref or {flag}")


def plan_splits(args: argparse.Namespace) -> list[Split]:
    """The files that the flags speak of; raises :class:`UserError` where one is missing."""
    from ..data.binarization import text_path

    roles = [("source", args.source_lang), ("target", args.target_lang), ("draft", args.draft_lang)]
    roles = roles[:1] if args.only_source else roles if args.draft_lang else roles[:2]
    splits = []
    for part in PARTS[:1] if args.dict_only else PARTS:
        given = getattr(args, f"{part}pref")
        prefixes = [given] if part == "train" else (given or "").split(",")
        for index, prefix in enumerate(prefixes if given else ()):
            sides = [Side(role, lang, text_path(prefix, lang)) for role, lang in roles]
            alignment = f"{prefix}.{args.align_suffix}"
            there = args.align_suffix and os.path.isfile(alignment)
            splits.append(Split(f"{part}{index or ''}", sides, alignment if there else None))
    hint = f"drafts are PREFIX.{args.draft_lang}" if args.draft_lang else ""
    require_files([side.path for split in splits for side in split.sides], hint)
    require_files([path for path in (args.srcdict, args.tgtdict, args.alignfile) if path])
    return splits


def refuse_old_dictionaries(args: argparse.Namespace) -> None:
    """A dictionary is never overwritten by a new one: data made with the old would be lost."""
    from ..data.binarization import dictionary_path

    wanted = [(args.source_lang, args.srcdict, "--srcdict")]
    if not args.only_source:
        wanted.append((args.target_lang, args.tgtdict, "--tgtdict"))
    for lang, given, flag in wanted:
        path = dictionary_path(args.destdir, lang)
        if not given and os.path.exists(path):
            raise UserError(
                f"{path} is there already; keep it with {flag} {path}, delete it, or choose "
                "another --destdir"
            )


def check_all(args: argparse.Namespace, splits: Sequence[Split]) -> None:
    """Read every file that will be used; raises :class:`UserError` before anything is written."""
    for split in splits:
        print(f"check {' '.join(side.path for side in split.sides)}", flush=True)
        alignments = [split.alignment] if split.alignment else []
        if split.name == "train" and args.alignfile:
            alignments.append(args.alignfile)
        check_split(split, LONGEST, alignments)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command; raises :class:`UserError` with nothing written."""
    args = parse_args(argv)
    from ..data.binarization import write_all
    from ..reports.preprocessing import summarise

    refuse_old_dictionaries(args)
    splits = plan_splits(args)
    check_all(args, splits)
    command = shlex.join(["lev-preprocess", *(sys.argv[1:] if argv is None else argv)])
    with staged(args.destdir) as folder:
        source, target = write_all(args, folder, splits)
        summary = summarise(args, splits, source, target)
        before = Path(args.destdir, LOG)  # what an earlier run left
        earlier = before.read_text(encoding="utf-8", errors="replace") if before.is_file() else ""
        Path(folder, LOG).write_text(f"{earlier}$ {command}\n{summary}\n", encoding="utf-8")
    print(summary)


if __name__ == "__main__":
    run_cli(main)
