"""What preprocess read and wrote, what deserves a look, and the command to type next."""

import argparse
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fairseq.data import Dictionary

from ..data.binarization import safe_workers
from ..inference.correction.loading import single_characters
from ..io.notes import subwords_in
from ..io.text_files import Side, Split

PACKAGE = Path(__file__).resolve().parents[1]
MANY = 1_000_000  # training lines from which a model of base size is proposed


@dataclass(frozen=True)
class Recipe:
    """How the next command trains; with drafts their share in training grows by ``roll_in``."""

    arch: str
    training: str
    roll_in: str


#: of the guides, and of the paper's size
SMALL = Recipe(
    "levenshtein_editor_small",
    "--optimizer muon --muon-update-rms 0.4 --lr 0.004 --warmup-updates 500 --max-update 20000",
    "--alpha-start 0 --beta-start 0 --roll-in-updates 5000",
)
LARGE = Recipe(
    "levenshtein_editor",
    "--optimizer adam --lr 0.0005 --warmup-updates 4000 --max-update 100000",
    "--alpha-start 0.3 --alpha 0.9 --beta-start 0.3 --beta 0.9 --roll-in-updates 70000",
)
COMMON = (
    "--criterion edit_policy_loss --label-smoothing 0.1 --dropout 0.1 --clip-norm 1 "
    "--lr-scheduler inverse_sqrt --max-tokens 4000 --save-dir checkpoints"
)


def summarise(
    args: argparse.Namespace, splits: Sequence[Split], source: Dictionary, target: Dictionary | None
) -> str:
    """What was read and written, what deserves a look, and the command to type next."""
    lines = [f"{args.destdir}: {_dictionary_line(args, source, target)}"]
    if not args.dict_only:
        lines += _table(splits)
        drafted = [split for split in splits if split.side("draft") is not None]
        if drafted:
            shares = (f"{one.name} {one.unedited:,} of {one.lines:,}" for one in drafted)
            lines.append(f"drafts that need no edit: {', '.join(shares)}")
        for split in splits:
            for side in split.sides:
                lines += _side_notes(side, args.warn_length)
            if args.align_suffix and split.alignment is None:
                lines.append(f"note: {split.name} has no .{args.align_suffix} file: no alignments")
    if args.workers > 1:
        lines += [
            f"note: {side.path} has \\r\\n line ends, so one process reads it alone"
            for split in splits
            for side in split.sides
            if safe_workers(side.path, args.workers) == 1
        ]
    command = next_command(args, target, max((split.lines for split in splits), default=0))
    if command and target is not None:
        lines += _subword_note(target)
        lines.append(f"next: {command}")
    return "\n".join(lines)


def _dictionary_line(
    args: argparse.Namespace, source: Dictionary, target: Dictionary | None
) -> str:
    if target is None:
        return f"dictionary of {len(source):,} symbols"
    if target is source:
        return f"joined dictionary of {len(source):,} symbols"
    return (
        f"dictionaries of {len(source):,} ({args.source_lang}) "
        f"and {len(target):,} ({args.target_lang}) symbols"
    )


def _table(splits: Sequence[Split]) -> list[str]:
    rows = [("split", "side", "file", "sentences", "tokens", "unknown", "empty", "long")]
    for split in splits:
        for side in split.sides:
            share = 100 * side.unknown / max(side.tokens, 1)
            numbers = (split.lines, side.tokens, side.empty.count, side.long.count)
            lines, tokens, empty, long = (f"{number:,}" for number in numbers)
            unknown = f"{share:.2f} %"
            rows.append((split.name, side.role, side.path, lines, tokens, unknown, empty, long))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    table = []
    for row in rows:
        left = [cell.ljust(width) for cell, width in zip(row[:3], widths[:3], strict=True)]
        right = [cell.rjust(width) for cell, width in zip(row[3:], widths[3:], strict=True)]
        table.append("  ".join(left + right))
    return table


def _side_notes(side: Side, longest: int) -> list[str]:
    notes = []
    if side.empty:
        outcome = "generated from scratch" if side.role == "draft" else "kept as empty sentences"
        notes.append(f"note: {side.path}: empty lines {side.empty}: {outcome}")
    if side.long:
        positions = "source" if side.role == "source" else "target"
        notes.append(
            f"warning: {side.path}: lines {side.long} have more than {longest} tokens with <s> "
            f"and </s>: shorten them or train with --max-{positions}-positions N"
        )
    return notes


def _subword_note(dictionary: Dictionary) -> list[str]:
    """Which text processing the symbols show whose files only the user knows."""
    kind, shown = subwords_in(dictionary.symbols[dictionary.nspecial :])
    if kind is None:
        return []
    file = "--sentencepiece-model" if kind == "sentencepiece" else "--bpe-codes"
    return [
        f'note: symbols such as "{shown}": add --bpe {kind} {file} FILE to the next command, so '
        "that models take plain text in fairseq-interactive, correct, trace and Python"
    ]


def next_command(args: argparse.Namespace, target: Dictionary | None, lines: int) -> str:
    """The fairseq command that takes the data further, empty where there is none.

    ``lines``: of the largest split.
    """
    if args.dict_only or target is None:
        return ""
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
    recipe = SMALL if lines < MANY else LARGE
    words += ["--arch", "levenshtein_editor_char" if characters else recipe.arch]
    words += ["--share-all-embeddings"] if args.joined_dictionary else []
    words += [*COMMON.split(), *recipe.training.split(), "--adam-betas", "(0.9, 0.98)"]
    words += recipe.roll_in.split() if args.draft_lang else []
    words += [] if args.validpref else ["--disable-validation"]
    return shlex.join(words)
