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
    from ..inference.checkpoints import find_checkpoint, separate_paths
    from ..inference.correction import settings, tuning

    if args.protect_words:
        corrector.protection = protection
    noisy, clean = (list(read_lines(path)) for path in args.tune)
    choice = tuning.tune(corrector, noisy, clean, tuning.Goal.parse(args.goal), args.tune_weights)
    counts = choice.counts
    said = (
        f"tuned for {args.goal} on {counts.right + counts.wrong:,} words: {counts.corrected:,} of "
        f"{counts.wrong:,} wrong ones corrected, {counts.changed:,} of {counts.right:,} right ones "
        "changed"
    )
    checkpoint = find_checkpoint(separate_paths(args.path)[0])
    stored = {} if corrector.settings is None else vars(settings.read(corrector.settings))
    path = settings.write(
        settings.Settings(
            unit=corrector.unit,
            window=corrector.window or None,
            min_confidence=choice.min_confidence,
            **{key: _given(args, stored, key) for key in (*settings.FILES, "beam")},
            weights=choice.weights,
            longest=choice.longest,
            tuned=said,
            temperature=choice.temperature,
            protect_code=corrector.protects_code,
        ),
        checkpoint,
    )
    if choice.left_out:
        print(
            f"left out: {len(choice.left_out):,} of {len(noisy):,} lines, which have more or fewer "
            f"noisy than clean words (the first is line {choice.left_out[0]})"
        )
    print(
        f"{said}; --min-confidence {choice.min_confidence:.3g}\ncalibrated with a temperature of "
        f"{choice.temperature:.3g}\n{tuning.verdict(choice)}\n{path}"
    )
    return 0


def _given(args: argparse.Namespace, stored: Mapping[str, Any], key: str) -> Any:
    """What was typed, else what was set before."""
    typed = getattr(args, key)
    return stored.get(key) if typed is None else typed
