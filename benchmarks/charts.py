"""The charts of the documents as SVG, readable on light and dark pages: results.py writes them."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

Record = dict[str, Any]

WIDTH, HEIGHT = 720, 340
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 40, 52
STYLE = """
text { font: 13px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328; }
.soft { fill: #59636e; } .title { font-weight: 600; font-size: 14px; }
.axis { stroke: #8b949e; } .grid { stroke: #d8dee4; } .range { stroke-width: 2; }
.ours { fill: #0969da; stroke: #0969da; } .other { fill: #bc4c00; stroke: #bc4c00; }
.ours.name { stroke: none; font-weight: 600; } .other.name { stroke: none; fill: #59636e; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .soft, .other.name { fill: #9198a1; }
  .axis { stroke: #6e7681; } .grid { stroke: #30363d; }
  .ours { fill: #58a6ff; stroke: #58a6ff; } .other { fill: #f0883e; stroke: #f0883e; }
}
"""


class Range(NamedTuple):
    """A metric over seeds."""

    mean: float
    low: float
    high: float


def read_metric(value: Any) -> Range:
    """Returns a metric's mean (or median), lowest and highest."""
    if isinstance(value, Mapping):
        middle = value["mean"] if "mean" in value else value["median"]
        return Range(middle, value["lowest"], value["highest"])
    return Range(value, value, value)


class Axis(NamedTuple):
    """A metric, its label, its ends and the values that are marked."""

    metric: str
    label: str
    low: float
    high: float
    marks: Sequence[float]
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """Returns the place of a value between the ends, 0 to 1."""
        low, high = self.low, self.high
        if self.logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return (value - low) / (high - low)


class Chart(NamedTuple):
    """Two metrics of some rows of a table.

    points: system, its name in the chart, whether it is of this package (``ours``, ``other``), and
    whether the name stands right or left of it (``start``, ``end``), above or ``below``.
    """

    title: str
    table: str
    x: Axis
    y: Axis
    points: str


CHARTS = {
    "learning": Chart(
        "Learning: 1,000 updates from scratch, three seeds",
        "levt-learning",
        Axis("seconds", "CPU seconds for 1,000 updates", 0, 500, (0, 100, 200, 300, 400, 500)),
        Axis("tuned", "BLEU, Multi30k en-de", 0, 25, (0, 5, 10, 15, 20, 25)),
        """stock, its recipe (Adam, 0.002) | fairseq's LevT, its recipe | other | end
        stock, Muon at 0.004 | fairseq's, Muon | other | start, below
        ours, without rotary positions, Muon at 0.004 | without rotary | ours | end, below
        ours, Adam at 0.002 | ours with Adam | ours | end
        ours, Muon at 0.004 | ours, its recipe | ours | start""",
    ),
    "latency": Chart(
        "Latency against quality: one sentence at a time",
        "translation",
        Axis("ms", "median ms per sentence, batch 1", 0, 120, (0, 20, 40, 60, 80, 100, 120)),
        Axis("bleu", "BLEU, Multi30k en-de", 0, 40, (0, 10, 20, 30, 40)),
        """transformer by Muon, d = 128, 2 + 2, beam 5 | the teacher, beam 5 | other | start
        transformer by Muon, d = 128, 2 + 2, greedy | the same, greedy | other | start, below
        transformer by Muon, d = 256, 3 + 3, beam 5 | d = 256, beam 5 | other | end, below
        LevT from it and its text, 85 minutes, 2,650 updates | LevT, d = 256 | ours | start, below
        LevT from it and its text, 98 minutes, 6,199 updates | LevT, distilled | ours | start""",
    ),
    "corrections": Chart(
        "English: misspellings corrected against false changes",
        "correctors",
        Axis("right_text", "changed of 1,000 correct words (log scale)", 0.1, 200,
             (0.1, 1, 10, 100), True),
        Axis("made_right", "learners' misspellings corrected, %", 0, 100, (0, 25, 50, 75, 100)),
        """lev-correct | lev-correct | ours | start
        lev-correct --min-confidence 0.9 | lev-correct --min-confidence 0.9 | ours | start, below
        lev-correct --eager | lev-correct --eager | ours | start
        codespell | codespell | other | start, below
        typos | typos | other | start
        symspellpy | symspellpy | other | end
        aspell | aspell | other | start
        harper | harper | other | end""",
    ),
}  # fmt: skip


def text(x: float, y: float, content: str, classes: str, anchor: str = "start") -> str:
    """Returns a line of text in SVG."""
    place = f'x="{x:.1f}" y="{y:.1f}" class="{classes}" text-anchor="{anchor}"'
    return f"<text {place}>{escape(content)}</text>"


def line(x1: float, y1: float, x2: float, y2: float, classes: str) -> str:
    """Returns a straight line in SVG."""
    places = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {places} class="{classes}"/>'


def drawn(chart: Chart, rows: Sequence[Record]) -> str:
    """Returns a chart as SVG: means as points, with their range over seeds."""
    foot, edge = HEIGHT - BOTTOM, WIDTH - RIGHT

    def x_of(value: float) -> float:
        return LEFT + chart.x.share(value) * (edge - LEFT)

    def y_of(value: float) -> float:
        return foot - chart.y.share(value) * (foot - TOP)

    shapes = [text(LEFT, 22, chart.title, "title")]
    for mark in chart.y.marks:
        shapes.append(line(LEFT, y_of(mark), edge, y_of(mark), "grid"))
        shapes.append(text(LEFT - 8, y_of(mark) + 4, f"{mark:g}", "soft", "end"))
    for mark in chart.x.marks:
        shapes.append(line(x_of(mark), foot, x_of(mark), foot + 5, "axis"))
        shapes.append(text(x_of(mark), foot + 20, f"{mark:g}", "soft", "middle"))
    shapes.append(line(LEFT, foot, edge, foot, "axis"))
    shapes.append(text(edge, HEIGHT - 12, chart.x.label, "soft", "end"))
    shapes.append(text(LEFT, TOP - 4, chart.y.label, "soft"))
    values = {row["system"]: row["metrics"] for row in rows}
    for point in chart.points.splitlines():
        system, name, kind, place = point.strip().split(" | ")
        anchor, _, below = place.partition(", ")
        (x, left, right), (y, low, high) = (
            map(place_of, read_metric(values[system][axis.metric]))
            for axis, place_of in ((chart.x, x_of), (chart.y, y_of))
        )
        shapes.append(line(left, y, right, y, f"{kind} range"))
        shapes.append(line(x, low, x, high, f"{kind} range"))
        shapes.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" class="{kind}"/>')
        aside = 10 if anchor == "start" else -10
        shapes.append(text(x + aside, y + (18 if below else -7), name, f"{kind} name", anchor))
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    label = f'role="img" aria-label="{escape(chart.title)}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {label}>'
    return "\n".join([head, f"<style>{STYLE}</style>", *shapes, "</svg>", ""])
