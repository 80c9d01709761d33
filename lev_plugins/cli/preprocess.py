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
from .options import adder

PARTS = ("train", "valid", "test")
LOG = "preprocess.log"


def build_parser() -> argparse.ArgumentParser:
    """fairseq-preprocess's parser with a group of our own at its end."""
    register()  # the parser has the names of all components
    from fairseq import options

    parser = options.get_preprocessing_parser()
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
    group = parser.add_argument_group(
        "Drafts and checks",
        "Text is UTF-8, tokens stand between spaces, line n of each file belongs together. Empty "
        "lines are kept and counted: an empty draft means generation from scratch.",
    )
    add = adder(group)
    add(
        "--draft-lang LANG",
        "suffix of the draft files, `mt` say: drafts are read from PREFIX.LANG and written "
        "with the target's dictionary. The training drafts take part in building the target (or "
        "joined) dictionary unless it is given. Default: no drafts, plain pairs",
    )
    for part in PARTS:
        several = "" if part == "train" else ", comma separated like it"
        add(
            f"--draftpref-{part} PREFIX",
            f"where the {part} drafts lie if not at --{part}pref: PREFIX.LANG{several}",
        )
    add(
        "--warn-length N",
        "name the lines of more than N tokens, <s> and </s> counted; keep it equal to "
        "training's --max-source-positions and --max-target-positions (default: %(default)s)",
        1024,
    )
    return parser


def parse_args(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse ``argv`` (None: the command line), a user's own ``--user-dir`` imported first."""
    register()
    from fairseq import utils

    early = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    early.add_argument("--user-dir", default=None)
    found, _ = early.parse_known_args(argv)
    try:
        utils.import_user_module(found)
    except FileNotFoundError as error:
        raise UserError(f"--user-dir {found.user_dir}: no such folder; check the path") from error
    args = build_parser().parse_args(argv)
    _refuse_contradictions(args)
    return args


def _refuse_contradictions(args: argparse.Namespace) -> None:
    if args.workers < 1:
        raise UserError(f"--workers {args.workers}: at least 1 process is needed")
    if args.warn_length < 1:
        raise UserError(f"--warn-length {args.warn_length}: give a length of 1 or more")
    if args.dataset_impl in ("fasta", "huffman"):
        raise UserError(f"--dataset-impl {args.dataset_impl} cannot be written; choose mmap")
    if not args.only_source and not (args.source_lang and args.target_lang):
        raise UserError("--source-lang and --target-lang are needed (or --only-source)")
    if args.joined_dictionary and args.srcdict and args.tgtdict:
        raise UserError("--joined-dictionary has one dictionary: give --srcdict or --tgtdict")
    if args.align_suffix and args.only_source:
        raise UserError("--align-suffix needs the target side: leave out --only-source")
    if args.alignfile and (args.only_source or not args.trainpref):
        raise UserError("--alignfile aligns source and target of --trainpref: give both sides")
    if not (args.dict_only or args.trainpref or args.validpref or args.testpref):
        raise UserError("nothing to do: give --trainpref, --validpref or --testpref")
    _refuse_draft_contradictions(args)


def _refuse_draft_contradictions(args: argparse.Namespace) -> None:
    moved = {part: getattr(args, f"draftpref_{part}") for part in PARTS}
    if args.draft_lang is None:
        for part in PARTS:
            if moved[part] is not None:
                raise UserError(f"--draftpref-{part} says where: give --draft-lang LANG as well")
        return
    if not args.draft_lang:
        raise UserError("--draft-lang is empty; give the suffix of the draft files, mt say")
    for flag in ("source_lang", "target_lang"):
        if args.draft_lang == getattr(args, flag):
            raise UserError(
                f"--draft-lang {args.draft_lang} is the --{flag.replace('_', '-')} too; "
                "give the drafts a suffix of their own"
            )
    if args.only_source:
        raise UserError(
            "--draft-lang needs the target side: leave out --only-source (lines without a "
            "reference can go to fairseq-interactive as source<TAB>draft)"
        )
    for part in PARTS:
        given = _prefixes(args, part)
        if moved[part] is not None and len(_prefixes(args, part, "draft")) != len(given):
            raise UserError(
                f"--draftpref-{part} {moved[part]}: needs as many prefixes as --{part}pref, "
                f"which has {len(given)}"
            )


def _prefixes(args: argparse.Namespace, part: str, side: str = "") -> list[str]:
    value = getattr(args, f"{part}pref")
    if side == "draft":
        moved = getattr(args, f"draftpref_{part}")
        value = value if moved is None else moved
    if value is None:
        return []
    return [value] if part == "train" else value.split(",")


def plan_splits(args: argparse.Namespace) -> list[Split]:
    """The files that the flags speak of; raises :class:`UserError` where one is missing."""
    from ..data.binarization import text_path

    splits = []
    for part in PARTS[:1] if args.dict_only else PARTS:
        prefixes = zip(_prefixes(args, part), _prefixes(args, part, "draft"), strict=True)
        for index, (prefix, draft_prefix) in enumerate(prefixes):
            sides = [Side("source", args.source_lang, text_path(prefix, args.source_lang))]
            if not args.only_source:
                path = text_path(prefix, args.target_lang)
                sides.append(Side("target", args.target_lang, path))
            if args.draft_lang:
                path = text_path(draft_prefix, args.draft_lang)
                sides.append(Side("draft", args.draft_lang, path))
            split = Split(f"{part}{index or ''}", sides)
            alignment = f"{prefix}.{args.align_suffix}"
            if args.align_suffix and os.path.isfile(alignment):
                split.alignment = alignment
            splits.append(split)
    elsewhere = "elsewhere with --draftpref-train/-valid/-test"
    hint = f"drafts are PREFIX.{args.draft_lang}, {elsewhere}" if args.draft_lang else ""
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


def write_log(args: argparse.Namespace, folder: str, command: str, summary: str) -> None:
    """Append command and summary to what an earlier run left in ``preprocess.log``."""
    before = Path(args.destdir, LOG)
    earlier = before.read_text(encoding="utf-8", errors="replace") if before.is_file() else ""
    Path(folder, LOG).write_text(f"{earlier}$ {command}\n{summary}\n", encoding="utf-8")


def check_all(args: argparse.Namespace, splits: Sequence[Split]) -> None:
    """Read every file that will be used; raises :class:`UserError` before anything is written."""
    from ..data.binarization import text_path

    for split in splits:
        print(f"check {' '.join(side.path for side in split.sides)}", flush=True)
        alignments = [split.alignment] if split.alignment else []
        if split.name == "train" and args.alignfile:
            alignments.append(args.alignfile)
        check_split(split, args.warn_length, alignments)
    if args.only_source and args.joined_dictionary and args.target_lang and args.trainpref:
        path = text_path(args.trainpref, args.target_lang)
        require_files([path])
        check_split(Split("dictionary", [Side("target", None, path)]), args.warn_length)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 or raises :class:`UserError` with nothing written."""
    args = parse_args(argv)
    from ..data.binarization import make_dictionaries, write_all
    from ..reports.preprocessing import summarise

    refuse_old_dictionaries(args)
    splits = plan_splits(args)
    check_all(args, splits)
    train = splits[0] if args.trainpref else None
    source, target = make_dictionaries(args, train)
    typed = sys.argv[1:] if argv is None else argv
    command = shlex.join(["python", "-m", f"{__package__}.preprocess", *typed])
    with staged(args.destdir) as folder:
        write_all(args, folder, splits, source, target)
        summary = summarise(args, splits, source, target)
        write_log(args, folder, command, summary)
    print(summary)
    return 0


if __name__ == "__main__":
    run_cli(main)
