"""``correct --tune``: threshold, weights and calibration, chosen on a development set."""

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..io.text_files import read_lines

if TYPE_CHECKING:
    from ..inference.correction import Corrector
    from ..inference.correction.protection import Protection


def tune(corrector: "Corrector", args: argparse.Namespace, protection: "Protection") -> int:
    """Choose, write the settings beside the checkpoint, say what they give."""
    from ..inference.checkpoints import find_checkpoint
    from ..inference.correction import settings, tuning
    from ..inference.correction.ranking import Ranker

    if args.protect_words:
        corrector.protection = protection
    noisy, clean = (list(read_lines(path)) for path in args.tune)
    goal = tuning.Goal.parse(args.goal)
    counts, left_out = tuning.tune(corrector, noisy, clean, goal, args.tune_weights)
    said = (
        f"tuned for {args.goal} on {counts.right + counts.wrong:,} words: {counts.corrected:,} of "
        f"{counts.wrong:,} wrong ones corrected, {counts.changed:,} of {counts.right:,} right ones "
        "changed"
    )
    checkpoint, ranker = find_checkpoint(args.path), corrector.backend
    stored = {} if corrector.settings is None else vars(settings.read(corrector.settings))
    path = settings.write(
        settings.Settings(
            unit=corrector.unit,
            window=corrector.window or None,
            min_confidence=corrector.min_confidence,
            **{key: _given(args, stored, key) for key in (*settings.FILES, "beam")},
            weights=ranker.named_weights() if isinstance(ranker, Ranker) else {},
            longest=corrector.longest,
            tuned=said,
            temperature=corrector.temperature,
            protect_code=corrector.protects_code,
        ),
        checkpoint,
    )
    if left_out:
        print(
            f"left out: {len(left_out):,} of {len(noisy):,} lines, which have more or fewer "
            f"noisy than clean words (the first is line {left_out[0]})"
        )
    print(f"{said}; --min-confidence {corrector.min_confidence:.3g}")
    print(f"calibrated with a temperature of {corrector.temperature:.3g}")
    print(tuning.verdict(counts), path, sep="\n")
    return 0


def _given(args: argparse.Namespace, stored: Mapping[str, Any], key: str) -> Any:
    """What was typed, else what was set before."""
    typed = getattr(args, key)
    return stored.get(key) if typed is None else typed
