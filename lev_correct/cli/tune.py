"""``lev-correct tune``: threshold, weights and calibration, chosen on a development set."""

import argparse
from dataclasses import replace

from lev_runtime.errors import UserError, counted
from lev_runtime.io.text_files import read_lines

from .options import Load


def tune(args: argparse.Namespace, load: Load) -> int:
    """Chooses, writes the settings next to the checkpoint, prints the outcome."""
    from .. import settings, tuning
    from ..propose.ranking import WordRanker

    if not args.path:
        raise UserError("tune needs your own model: add --path")
    goal = tuning.Goal.parse(args.goal)
    corrector = load(args)
    if args.tune_weights and not isinstance(corrector.backend, WordRanker):
        raise UserError("--tune-weights: only rankings have weights; add --lexicon or --lookup")
    noisy, clean = (list(read_lines(path)) for path in (args.noisy, args.clean))
    counts, left_out = tuning.tune(corrector, noisy, clean, goal, args.tune_weights)
    summary = (
        f"tuned for {args.goal} on {counted(counts.words, 'word')}: {counts.corrected:,} of "
        f"{counts.wrong_before:,} wrong ones corrected, {counts.miscorrected:,} of "
        f"{counts.right_before:,} right ones changed"
    )
    ranker = corrector.backend
    use = replace(
        corrector.settings,
        unit=corrector.unit,
        window=corrector.window or None,
        weights=ranker.named_weights() if isinstance(ranker, WordRanker) else {},
        tuned=summary,
    )
    path = settings.write(use, args.path)
    if left_out:
        lines = counted(len(left_out), "line")
        print(f"left out: {lines} with more or fewer noisy than clean words")
    print(f"{summary}; --min-confidence {corrector.min_confidence:.3g}")
    if counts.miscorrected > counts.corrected:
        print("note: more right words are changed than wrong ones corrected: train longer")
    print(f"calibrated with a temperature of {use.temperature:.3g}")
    print(path)
    return 0
