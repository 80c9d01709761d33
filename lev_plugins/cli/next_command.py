"""What a preparing command prints last: notes, and the training command, one for each task.

README and the guides have the same commands (``tests/test_docs.py``). Each trains for a time rather
than a number of updates, so that it ends when it says, on any machine.
"""

import argparse
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairseq.data import Dictionary

PACKAGE = Path(__file__).resolve().parents[1]
FIVE_MINUTES = "--stop-time-hours 0.083"
_HOUR = (
    "--optimizer muon --muon-update-rms 0.4 --lr 0.004 --clip-norm 1 --lr-scheduler time_budget "
    "--stop-time-hours 1 --max-tokens 4000"
)
LEVT = f"--criterion edit_policy_loss {_HOUR}"
#: the share of drafts in training grows for seven tenths of the time
DRAFTS = "--alpha-start 0 --beta-start 0 --roll-in-updates 0.7"
PBD = (
    "--arch pbd_transformer_char --criterion label_smoothed_cross_entropy --label-smoothing 0.1 "
    f"{_HOUR}"
)
_ENCT5 = (
    "--task enct5 --criterion enct5 --clip-norm 1 --max-tokens 2000 --lr-scheduler time_budget "
    "--stop-time-hours 0.33"
)
_TINY = f"{_ENCT5} --arch enct5_tiny --dropout 0.2"
TAGGER = f"{_TINY} --optimizer muon --muon-update-rms 0.2 --lr 0.004"
LABELLER = f"{_TINY} --optimizer adam --lr 0.001"
FROM_BERT = (
    f"{_ENCT5} --arch enct5 --dropout 0.1 --pack --optimizer backbone_adam "
    "--backbone-lr-ratio 0.2 --lr 0.0005"
)
METRICS = {
    "tagging": "word_accuracy",
    "classification": "accuracy",
    "regression": "pearson",
    "multilabel": "micro_f1_tuned",
}


def summarise(
    args: argparse.Namespace, counts: Mapping[str, tuple[int, int]], target: "Dictionary | None"
) -> str:
    """How many drafts need no edit, what the symbols look like, and the command to type next.

    counts: of each split, lines and drafts that need no edit.
    """
    from ..inference.generation import single_characters

    lines = []
    if args.draft_lang:
        shares = (f"{name} {equal:,} of {all_:,}" for name, (all_, equal) in counts.items())
        lines.append(f"drafts that need no edit: {', '.join(shares)}")
    if target is not None and not args.dict_only:
        symbols = target.symbols[target.nspecial :]
        cut = {  # only the user knows the file
            "sentencepiece --sentencepiece-model": [
                one for one in symbols if one[:1] == "▁" != one
            ],
            "subword_nmt --bpe-codes": [one for one in symbols if one.endswith("@@")],
        }
        for kind in (kind for kind, found in cut.items() if 10 * len(found) > len(symbols)):
            way = f"add --bpe {kind} FILE to the next command, so that models take plain text"
            lines.append(f'note: symbols such as "{cut[kind][0]}": {way}')
        if args.trainpref:
            lines.append(f"note: next trains for an hour; a try of five minutes: {FIVE_MINUTES}")
        lines.append(f"next: {next_command(args, single_characters(target))}")
    return "\n".join([f"written: {args.destdir}", *lines])


def next_command(args: argparse.Namespace, characters: bool) -> str:
    """The fairseq command that takes binarised data further.

    Args:
        args: of lev-preprocess.
        characters: every symbol of the target is one character. Then pairs without drafts train
            PBD, and LevT has the arch for characters.
    """
    draft, pbd = args.draft_lang, characters and not args.draft_lang
    words = ["fairseq-train" if args.trainpref else "fairseq-generate", args.destdir]
    words += [*_user_dir(), "--task", "translation" if pbd else "translation_edit"]
    words += ["--source-lang", args.source_lang, "--target-lang", args.target_lang]
    words += ["--draft-lang", draft] if draft else []
    words += ["--bpe", "characters"] if characters else []
    if not args.trainpref:
        subset = "test" if args.testpref else "valid"
        words += ["--gen-subset", subset, "--path", "checkpoints/checkpoint_best.pt"]
        return shlex.join(words)
    if pbd:
        words += PBD.split()
    else:
        words += ["--arch", f"levenshtein_editor_{'char' if characters else 'small'}"]
        words += ["--share-all-embeddings"] if args.joined_dictionary else []
        words += [*LEVT.split(), *(DRAFTS.split() if draft else [])]
    words += [] if args.validpref else ["--disable-validation"]
    return shlex.join([*words, "--save-dir", "checkpoints"])


def next_enct5_command(args: argparse.Namespace, labels: int) -> str | None:
    """The same for what lev-enct5-prepare wrote; None for a T5, whose recipe is for a GPU."""
    if args.t5_dir:
        return None
    recipe = FROM_BERT if args.bert_dir else TAGGER if args.kind == "tagging" else LABELLER
    words = ["fairseq-train", args.destdir, *_user_dir(), *recipe.split()]
    words += ["--bert-dir", args.bert_dir] if args.bert_dir else []
    pooled = args.kind == "multilabel" and labels > 1024  # --max-target-positions
    words += ["--kind", "multilabel_pooled"] if pooled else []
    metric = ["--best-checkpoint-metric", METRICS[args.kind], "--maximize-best-checkpoint-metric"]
    words += metric if args.valid else ["--disable-validation"]
    return shlex.join([*words, "--save-dir", "checkpoints"])


def _user_dir() -> list[str]:
    path = os.path.relpath(PACKAGE) if PACKAGE.is_relative_to(Path.cwd()) else str(PACKAGE)
    return ["--user-dir", path]
