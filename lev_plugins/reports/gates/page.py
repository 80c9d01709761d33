"""Gates as a page of heat maps (paper, Figure 4): the darker a token, the higher the probability.

The scale runs from light to dark in one hue, which the colour-blind and a black-and-white printer
can tell apart; where there is room the number stands below the token.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ..page import render
from .record import GATES, Record
from .scale import SHADES, Scale, gate_scales
from .words import Piece, pieces, subword_marks

# Of shorter tokens the numbers would stand further apart than the letters can be read.
_WIDE_TOKEN = 2.0


class Cell(NamedTuple):
    """A token on the page; ``end`` is that of the sentence."""

    text: str
    value: float
    shade: int
    end: bool


def render_html(records: Sequence[Record], title: str, scale: str = "data") -> str:
    """The page for ``records``, in their order; ``scale`` as of :func:`.scale.gate_scales`."""
    scales = gate_scales(records, scale)
    marks = subword_marks([t for one in records for t in (*one.source_tokens, *one.target_tokens)])
    return render(
        "gates.html",
        title=title,
        facts=_facts(records),
        shades=SHADES,
        scales=_ends(scales),
        lines=[{"record": one, "gates": _gates(one, marks, scales)} for one in records],
    )


def _facts(records: Sequence[Record]) -> list[tuple[str, str]]:
    facts = [("lines", f"{len(records):,}")]
    for name in GATES:
        values = [value for one in records for value in one.gate(name) or []]
        if values:
            facts.append((f"{name}, mean", f"{sum(values) / len(values):.3f}"))
    return facts


def _ends(scales: dict[str, Scale]) -> list[tuple[str, float, float]]:
    """Names and ends of each scale that is in use."""
    groups: dict[tuple[float, float], list[str]] = {}
    for name, scale in scales.items():
        groups.setdefault((scale.low, scale.high), []).append(name)
    return [(", ".join(names), *ends) for ends, names in groups.items()]


def _gates(
    record: Record, marks: str, scales: dict[str, Scale]
) -> list[tuple[str, list[list[Cell]], bool]]:
    """The gates of a line: name, words, and whether their tokens are too short for numbers."""
    found = []
    for name in GATES:
        values = record.gate(name)
        if values is not None:
            shown = pieces(record.tokens(name), marks)
            body = shown[:-1]
            width = sum(len(piece.text) for piece in body) / max(len(body), 1)
            found.append((name, _words(shown, values, scales[name]), width < _WIDE_TOKEN))
    return found


def _words(shown: Sequence[Piece], values: Sequence[float], scale: Scale) -> list[list[Cell]]:
    """Tokens as cells, those of a word together."""
    words: list[list[Cell]] = []
    for place, (piece, value) in enumerate(zip(shown, values)):
        if piece.starts or not words:
            words.append([])
        end = place == len(shown) - 1
        words[-1].append(Cell(piece.text, value, scale.shade(value), end))
    return words
