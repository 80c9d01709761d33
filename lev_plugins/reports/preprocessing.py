"""What deserves a look after preprocessing, and the command to type next."""

import argparse
from collections.abc import Sequence

from fairseq.data import Dictionary

from ..data.binarization import Splits
from ..inference.correction.loading import single_characters
from .next_command import FIVE_MINUTES, next_command


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
        if args.trainpref:
            lines.append(f"note: next trains for an hour; a try of five minutes: {FIVE_MINUTES}")
        lines.append(f"next: {next_command(args, single_characters(target))}")
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
