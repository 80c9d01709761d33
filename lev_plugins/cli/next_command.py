"""What a preparing command prints last: notes, and the training command, one for each task.

The command is made of a recipe. Each trains for a time rather than a number of updates, so that it
ends when it says, on any machine.
"""

import argparse
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from .recipes import Recipe, command_flags, read_recipe

if TYPE_CHECKING:
    from fairseq.data import Dictionary

PACKAGE = Path(__file__).resolve().parents[1]
FIVE_MINUTES = "--stop-time-hours 0.083"
#: options of LevT's task that are for drafts
DRAFT_OPTIONS = ("draft_lang", "alpha_start", "beta_start", "roll_in_updates")
#: --kind → the metric to choose a checkpoint by
METRICS = {
    "tagging": "word_accuracy",
    "classification": "accuracy",
    "regression": "pearson",
    "multilabel": "micro_f1_tuned",
}
MAX_LABEL_LATENTS = 1024  # --max-target-positions
#: share of the symbols that look as if a subword model had made them
MIN_SUBWORD_SHARE = 0.1


def summarise(
    args: argparse.Namespace, counts: Mapping[str, tuple[int, int]], target: "Dictionary | None"
) -> str:
    """How many drafts need no edit, what the symbols look like, and the command to type next.

    counts: of each split, lines and drafts that need no edit.
    """
    from ..inference.generation import single_characters

    lines = [f"written: {args.destdir}"]
    if args.draft_lang:
        shares = [f"{name} {equal:,} of {lines_:,}" for name, (lines_, equal) in counts.items()]
        lines.append(f"drafts that need no edit: {', '.join(shares)}")
    if target is not None and not args.dict_only:
        lines += _subword_notes(target)
        if args.trainpref:
            lines.append(f"note: next trains for an hour; a try of five minutes: {FIVE_MINUTES}")
        lines.append(f"next: {next_command(args, single_characters(target))}")
    return "\n".join(lines)


def _subword_notes(target: "Dictionary") -> list[str]:
    """How to undo subwords, where the symbols look so; only the user knows the file."""
    symbols = target.symbols[target.nspecial :]
    examples = {
        "sentencepiece --sentencepiece-model": [
            symbol for symbol in symbols if symbol.startswith("▁") and symbol != "▁"
        ],
        "subword_nmt --bpe-codes": [symbol for symbol in symbols if symbol.endswith("@@")],
    }
    notes = []
    for flags, subwords in examples.items():
        if len(subwords) > MIN_SUBWORD_SHARE * len(symbols):
            way = f"add --bpe {flags} FILE to the next command, so that models take plain text"
            notes.append(f'note: symbols such as "{subwords[0]}": {way}')
    return notes


def next_command(args: argparse.Namespace, characters: bool) -> str:
    """The fairseq command that takes binarised data further.

    Args:
        args: of lev-preprocess.
        characters: every symbol of the target is one character. Then pairs without drafts train
            PBD, and LevT has the arch for characters.
    """
    recipe = read_recipe("pbd" if characters and not args.draft_lang else "levt")
    task = recipe["task"]
    for name in DRAFT_OPTIONS:
        if not args.draft_lang:
            task.pop(name, None)
    languages = {"source_lang": args.source_lang, "target_lang": args.target_lang}
    if args.draft_lang:
        languages["draft_lang"] = args.draft_lang
    recipe["task"] = {"_name": task["_name"], **languages, **(task | languages)}
    recipe["bpe"] = {"_name": "characters"} if characters else {}
    if not args.trainpref:
        subset = "test" if args.testpref else "valid"
        decoding: Recipe = {name: recipe[name] for name in ("task", "bpe")}
        for name in DRAFT_OPTIONS[1:]:
            decoding["task"].pop(name, None)
        decoding["generation"] = {"gen_subset": subset, "path": "checkpoints/checkpoint_best.pt"}
        return _command("fairseq-generate", args.destdir, decoding)
    model = recipe["model"]
    if task["_name"] == "translation_edit":
        model["_name"] = f"levenshtein_editor_{'char' if characters else 'small'}"
        model["share_all_embeddings"] = bool(args.joined_dictionary)
    return _training(args.destdir, recipe, has_valid=bool(args.validpref))


def next_enct5_command(args: argparse.Namespace, num_labels: int) -> str | None:
    """The same for what lev-enct5-prepare wrote; None for a T5, whose recipe is for a GPU."""
    if args.t5_dir:
        return None
    scratch = "enct5_tagger" if args.kind == "tagging" else "enct5_classifier"
    recipe = read_recipe("enct5_from_bert" if args.bert_dir else scratch)
    if args.bert_dir:
        recipe["model"]["bert_dir"] = args.bert_dir
    if args.kind == "multilabel" and num_labels > MAX_LABEL_LATENTS:
        recipe["task"]["kind"] = "multilabel_pooled"
    recipe["checkpoint"]["best_checkpoint_metric"] = METRICS[args.kind]
    return _training(args.destdir, recipe, has_valid=bool(args.valid))


def _training(data: str, recipe: Recipe, has_valid: bool) -> str:
    checkpoint = recipe.setdefault("checkpoint", {})
    if not has_valid:
        checkpoint.clear()
        recipe["dataset"]["disable_validation"] = True
    checkpoint["save_dir"] = "checkpoints"
    return _command("fairseq-train", data, recipe)


def _command(program: str, data: str, recipe: Recipe) -> str:
    user_dir = str(PACKAGE)
    if PACKAGE.is_relative_to(Path.cwd()):
        user_dir = os.path.relpath(PACKAGE)
    return shlex.join([program, data, "--user-dir", user_dir, *command_flags(recipe)])
