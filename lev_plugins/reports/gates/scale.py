"""From a probability to a shade: one hue from light to dark, and letters readable on it."""

from collections.abc import Sequence
from dataclasses import dataclass

from .record import GATES, Record

# Background and letters. The backgrounds grow darker step by step in one hue (blue); the letters
# change from black to white where the contrast asks for it.
SHADES = (
    ("#ffffff", "#000000"),
    ("#ebf3fb", "#000000"),
    ("#d6e6f4", "#000000"),
    ("#bdd7ec", "#000000"),
    ("#9ac7e1", "#000000"),
    ("#74b2d8", "#000000"),
    ("#519ccc", "#000000"),
    ("#2a7ab9", "#ffffff"),
    ("#1562a9", "#ffffff"),
    ("#08488e", "#ffffff"),
    ("#08306b", "#ffffff"),
)
SCALES = ("data", "unit")
_STEP = 0.05  # the ends of a scale are multiples of this


@dataclass(frozen=True)
class Scale:
    """low, high: the probabilities of the lightest and the darkest shade."""

    low: float = 0.0
    high: float = 1.0

    def shade(self, value: float) -> int:
        """Index in :data:`SHADES`."""
        share = (value - self.low) / (self.high - self.low)
        return min(max(round(share * (len(SHADES) - 1)), 0), len(SHADES) - 1)


def gate_scales(records: Sequence[Record], kind: str) -> dict[str, Scale]:
    """A scale for each gate that is on; copy, generate and skip share theirs.

    Args:
        kind: ``unit``, from 0 to 1, or ``data``, from the lowest value to the highest: with the
            paper's gates nothing lies below 0.155 or above 0.731, and the whole scale would show
            little of it.
    """
    scales: dict[str, Scale] = {}
    for group in (GATES[:1], GATES[1:]):
        values = [v for one in records for name in group for v in one.gate(name) or []]
        names = [name for name in group if any(one.gate(name) is not None for one in records)]
        scale = Scale()
        if kind == "data" and values:
            low = int(min(values) / _STEP) * _STEP
            high = -int(-max(values) / _STEP // 1) * _STEP
            scale = Scale(round(low, 2), round(max(high, low + _STEP), 2))
        scales |= dict.fromkeys(names, scale)
    return scales
