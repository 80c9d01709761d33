"""What deserves a look after preprocessing, and the command to type next."""

import argparse
import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from fairseq.data import Dictionary

from ..data.binarization import Splits
from ..inference.correction.loading import single_characters

PACKAGE = Path(__file__).resolve().parents[1]
#: of the guides
TRAINING = (
    "--criterion edit_policy_loss --label-smoothing 0.1 --dropout 0.1 --clip-norm 1 "
    "--lr-scheduler inverse_sqrt --max-tokens 4000 --save-dir checkpoints "
    "--optimizer muon --muon-update-rms 0.4 --lr 0.004 --warmup-updates 500 --max-update 20000"
)
#: the share of drafts in training grows
WITH_DRAFTS = "--alpha-start 0 --beta-start 0 --roll-in-updates 5000"


def summarise(args: argparse.Namespace, splits: Splits, target: Dictionary | None) -> str:
    """How many drafts need no edit, what the symbols look like, and the command to type next."""
    lines = []
    if args.draft_lang:
        shares = (f"{name} {one[-1].equal:,} of {one[-1].lines:,}" for name, one in splits.items())
        lines.append(f"drafts that need no edit: {', '.join(shares)}")
    if target is not None and not args.dict_only:
        kind, shown = subwords_in(target.symbols[target.nspecial :])
        if kind is not None:  # only the user knows the file
            file = "--sentencepiece-model" if kind == "sentencepiece" else "--bpe-codes"
            lines.append(
                f'note: symbols such as "{shown}": add --bpe {kind} {file} FILE to the next '
                "command, so that models take plain text"
            )
        lines.append(f"next: {next_command(args, target)}")
    return "\n".join([f"written: {args.destdir}", *lines])


def subwords_in(symbols: Sequence[str]) -> tuple[str | None, str]:
    """The name for ``--bpe`` that symbols look like, and one of them; None without."""
    kinds = {
        "sentencepiece": [one for one in symbols if one[:1] == "▁" != one],
        "subword_nmt": [one for one in symbols if one.endswith("@@") and one != "@@"],
    }
    for name, found in kinds.items():
        if 10 * len(found) > len(symbols):
            return name, found[0]
    return None, ""


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
