"""Chooses how an edit model decodes by what its outputs score on the validation set.

The empty penalty γ (§3.3) and the probability above which a token is deleted decide how much is
written and how much of it stays. All pairs of the values given are decoded and scored, beside the
drafts as they are; the last line has the flags of the best for fairseq-generate.
"""

import argparse
from collections.abc import Sequence

from lev_runtime.errors import UserError, counted
from lev_runtime.io.lines import progress
from lev_runtime.io.options import (
    adder,
    at_least_one,
    make_parser,
    say,
)
from lev_runtime.io.output import standard_output

from ..metrics.corpus import make_metric
from ..registration import register

# --bpe's names for what can be undone in text, and fairseq's
SUBWORDS = {"sentencepiece": "sentencepiece", "characters": "sentencepiece"}
SUBWORDS |= {"subword_nmt": "subword_nmt"}
GAMMAS = "0,0.5,1,2"
THRESHOLDS = "0.5,0.7,0.8,0.9"


def build_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = make_parser(
        "tune",
        "Choose the empty penalty and the deletion threshold of a LevT on a validation set.",
        "data --path checkpoint_last.pt --draft-lang mt --remove-bpe sentencepiece",
        "DATA --path FILE [options]",
    )
    add = adder(parser)
    add("data DATA", "data folder made by lev-preprocess")
    add("--path FILE", "checkpoint or its folder", required=True)
    add("--draft-lang LANG", "suffix of the draft files (default: as in training)")
    add("--metric NAME", "metric, such as bleu, ter, chrf, accuracy (default: bleu)", "bleu")
    subwords = "join subwords of this kind before scoring"
    add("--remove-bpe KIND", subwords, choices=sorted(SUBWORDS))
    add("--gammas LIST", f"empty penalties to try (default: {GAMMAS})", GAMMAS)
    add("--thresholds LIST", f"deletion thresholds to try (default: {THRESHOLDS})", THRESHOLDS)
    add("--device NAME", "device, such as cuda (default: cpu)")
    add("--gen-subset SPLIT", "split to decode (default: valid)", "valid", advanced=True)
    add("--max-iter N", "maximum iterations (default: 10)", 10, advanced=True)
    add("--batch-size N", "sentences per batch (default: 64)", 64, advanced=True)
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command with the arguments ``argv`` (default: those of the process)."""
    args = build_parser().parse_args(argv)
    at_least_one(args, "max_iter", "batch_size")
    gammas = _numbers("--gammas", args.gammas, 3)  # the largest that decoding takes
    thresholds = _numbers("--thresholds", args.thresholds, 1)
    metric = make_metric(args.metric)
    register()
    from ..inference.decoding_search import Search, best_of
    from ..inference.editor import LevenshteinEditor

    editor = LevenshteinEditor.from_pretrained(
        args.path, args.data, args.device, tokenizer=None, bpe=None
    )
    editor.task.cfg.draft_lang = args.draft_lang or editor.task.cfg.draft_lang
    subwords = args.remove_bpe and SUBWORDS[args.remove_bpe]
    search = Search(editor, args.gen_subset, metric, subwords)
    if search.left_out:
        say(f"skipped: {counted(search.left_out, 'sentence')} longer than the model's limit")
    out, pairs = standard_output(), len(gammas) * len(thresholds)
    out.write(f"{args.gen_subset}: {counted(len(search.sources), 'sentence')}\n")
    out.write(f"{'gamma':>6} {'threshold':>9} {metric.name:>10} {'length':>7} {'iterations':>10}\n")
    if search.drafts is not None:
        score, length = search.rated(search.drafts)
        out.write(f"{'no edits':>16} {score:>10.2f} {length:>7.3f} {0:>10.2f}\n")
    tried = search.choices(gammas, thresholds, args.max_iter, args.batch_size)
    choices = list(progress(tried, "settings", total=pairs))
    for choice in choices:
        settings = f"{choice.gamma:>6g} {choice.threshold:>9g}"
        figures = f"{choice.score:>10.2f} {choice.length:>7.3f} {choice.iterations:>10.2f}"
        out.write(f"{settings} {figures}\n")
    out.write(f"length: words written over words of the references; {metric.signature()}\n")
    best = best_of(choices, metric)
    out.write(f"--iter-decode-eos-penalty {best.gamma:g} --delete-threshold {best.threshold:g}\n")


def _numbers(flag: str, text: str, most: float) -> list[float]:
    try:
        values = [float(number) for number in text.split(",")]
    except ValueError:
        values = []
    if not values or not all(0 <= value <= most for value in values):
        raise UserError(f"{flag} {text}: expected numbers from 0 to {most:g}, separated by commas")
    return values
