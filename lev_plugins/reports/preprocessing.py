"""What preprocess read and wrote, what deserves a look, and the command to type next."""

import argparse
import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from fairseq.data import Dictionary

from ..inference.correction.loading import single_characters
from ..io.notes import subwords_in
from ..io.text_files import Side, Split

PACKAGE = Path(__file__).resolve().parents[1]
#: of the guides
TRAINING = (
    "--criterion edit_policy_loss --label-smoothing 0.1 --dropout 0.1 --clip-norm 1 "
    "--lr-scheduler inverse_sqrt --max-tokens 4000 --save-dir checkpoints "
    "--optimizer muon --muon-update-rms 0.4 --lr 0.004 --warmup-updates 500 --max-update 20000"
)
#: the share of drafts in training grows
WITH_DRAFTS = "--alpha-start 0 --beta-start 0 --roll-in-updates 5000"


def summarise(
    args: argparse.Namespace, splits: Sequence[Split], source: Dictionary, target: Dictionary | None
) -> str:
    """What was read and written, what deserves a look, and the command to type next."""
    if target is None or target is source:
        joined = "" if target is None else "joined "
        sizes = f"{joined}dictionary of {len(source):,} symbols"
    else:
        pair = f"{len(source):,} ({args.source_lang}) and {len(target):,} ({args.target_lang})"
        sizes = f"dictionaries of {pair} symbols"
    lines = [f"{args.destdir}: {sizes}"]
    if not args.dict_only:
        lines += _table(splits)
        drafted = [split for split in splits if split.side("draft") is not None]
        if drafted:
            shares = (f"{one.name} {one.unedited:,} of {one.lines:,}" for one in drafted)
            lines.append(f"drafts that need no edit: {', '.join(shares)}")
        lines += [note for split in splits for side in split.sides for note in _side_notes(side)]
    if target is not None and not args.dict_only:
        kind, shown = subwords_in(target.symbols[target.nspecial :])
        if kind is not None:  # only the user knows the file
            file = "--sentencepiece-model" if kind == "sentencepiece" else "--bpe-codes"
            lines.append(
                f'note: symbols such as "{shown}": add --bpe {kind} {file} FILE to the next '
                "command, so that models take plain text"
            )
        lines.append(f"next: {next_command(args, target)}")
    return "\n".join(lines)


def _table(splits: Sequence[Split]) -> list[str]:
    rows = [("split", "side", "file", "sentences", "tokens", "unknown", "empty", "long")]
    for split in splits:
        for side in split.sides:
            numbers = (split.lines, side.tokens, side.empty.count, side.long.count)
            lines, tokens, empty, long = (f"{number:,}" for number in numbers)
            unknown = f"{100 * side.unknown / max(side.tokens, 1):.2f} %"
            rows.append((split.name, side.role, side.path, lines, tokens, unknown, empty, long))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place < 3 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths))
        )
        for row in rows
    ]


def _side_notes(side: Side) -> list[str]:
    notes = []
    if side.empty:
        outcome = "generated from scratch" if side.role == "draft" else "kept as empty sentences"
        notes.append(f"note: {side.path}: empty lines {side.empty}: {outcome}")
    if side.long:
        positions = "source" if side.role == "source" else "target"
        notes.append(
            f"warning: {side.path}: lines {side.long} are longer than fairseq reads: shorten them "
            f"or train with --max-{positions}-positions N"
        )
    return notes


def next_command(args: argparse.Namespace, target: Dictionary) -> str:
    """The fairseq command that takes the data further."""
    package = os.path.relpath(PACKAGE) if PACKAGE.is_relative_to(Path.cwd()) else str(PACKAGE)
    words = ["fairseq-train" if args.trainpref else "fairseq-generate", args.destdir]
    words += ["--user-dir", package, "--task", "translation_edit"]
    words += ["--source-lang", args.source_lang, "--target-lang", args.target_lang]
    words += ["--draft-lang", args.draft_lang] if args.draft_lang else []
    characters = single_characters(target)
    words += ["--bpe", "characters"] if characters else []
    if not args.trainpref:
        subset = "test" if args.testpref else "valid"
        words += ["--gen-subset", subset, "--path", "checkpoints/checkpoint_best.pt"]
        return shlex.join(words)
    words += ["--arch", "levenshtein_editor_char" if characters else "levenshtein_editor_small"]
    words += ["--share-all-embeddings"] if args.joined_dictionary else []
    words += [*TRAINING.split(), "--adam-betas", "(0.9, 0.98)"]
    words += WITH_DRAFTS.split() if args.draft_lang else []
    words += [] if args.validpref else ["--disable-validation"]
    return shlex.join(words)
