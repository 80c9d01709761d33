"""The charts of the documents as SVG, readable on light and dark pages: results.py writes them."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise
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
    """Two metrics of some rows of a table, or one metric of several classes.

    points: system, its name in the chart, whether it is of this package (``ours``, ``other``), and
    whether the name stands right or left of it (``start``, ``end``), above or ``below``, and at
    which class. classes: metrics of the vertical axis, a unit of the horizontal one apart, and
    their names there; a line joins those of a system.
    """

    title: str
    table: str
    x: Axis
    y: Axis
    points: str
    classes: Mapping[str, str] = {}


CHARTS = {
    "corrections": Chart(
        "English: misspellings corrected against false changes",
        "correctors",
        Axis("right_text", "changed of 1,000 correct words (log scale)", 0.1, 200,
             (0.1, 1, 10, 100), True),
        Axis("made_right", "learners' misspellings corrected, %", 0, 100, (0, 25, 50, 75, 100)),
        """lev-correct | lev-correct | ours | end
        lev-correct --min-confidence 0.9 | lev-correct --min-confidence 0.9 | ours | start, below
        lev-correct --min-confidence 0.05 | lev-correct --min-confidence 0.05 | ours | start
        codespell | codespell | other | start, below
        typos | typos | other | start
        symspellpy | symspellpy | other | end
        aspell | aspell | other | start
        harper | harper | other | end""",
    ),
    "fuzzy": Chart(
        "Fuzzy matches of the learnt project: edits that are still needed",
        "fuzzy-similarity",
        Axis("", "similarity of the source", 0, 6, ()),
        Axis("", "TER (lower is better)", 0, 70, (0, 10, 20, 30, 40, 50, 60, 70)),
        """no-edit baseline | no edits | other | start, 1
        repaired from the memory | the memory | other | end, below, 0
        transformer_concat, 30 CPU minutes, beam 5 | transformer_concat | other | start, 4
        LevT, 30 CPU minutes | LevT | ours | end, below, 2""",
        {f"ter_{low}": f"0.{low}–{'1' if low == 9 else f'0.{low + 1}'}" for low in range(4, 10)},
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


def framed(title: str, y: Axis, x_label: str, shapes: Sequence[str]) -> str:
    """Returns an SVG of shapes on the lines of a vertical axis."""
    foot, edge = HEIGHT - BOTTOM, WIDTH - RIGHT
    grid = [text(LEFT, 22, title, "title")]
    for mark in y.marks:
        place = foot - y.share(mark) * (foot - TOP)
        grid.append(line(LEFT, place, edge, place, "grid"))
        grid.append(text(LEFT - 8, place + 4, f"{mark:g}", "soft", "end"))
    grid.append(line(LEFT, foot, edge, foot, "axis"))
    grid.append(text(edge, HEIGHT - 12, x_label, "soft", "end"))
    grid.append(text(LEFT, TOP - 4, y.label, "soft"))
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    label = f'role="img" aria-label="{escape(title)}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {label}>'
    return "\n".join([head, f"<style>{STYLE}</style>", *grid, *shapes, "</svg>", ""])


def drawn(chart: Chart, rows: Sequence[Record]) -> str:
    """Returns a chart as SVG: means as points, with their range over seeds."""
    foot, edge = HEIGHT - BOTTOM, WIDTH - RIGHT

    def x_of(value: float) -> float:
        return LEFT + chart.x.share(value) * (edge - LEFT)

    def y_of(value: float) -> float:
        return foot - chart.y.share(value) * (foot - TOP)

    shapes = []
    metrics = chart.classes or {chart.y.metric: ""}
    marks = [(mark, f"{mark:g}") for mark in chart.x.marks]
    marks += [(number + 0.5, name) for number, name in enumerate(chart.classes.values())]
    for mark, name in marks:
        shapes.append(line(x_of(mark), foot, x_of(mark), foot + 5, "axis"))
        shapes.append(text(x_of(mark), foot + 20, name, "soft", "middle"))
    values = {row["system"]: row["metrics"] for row in rows}
    for point in chart.points.splitlines():
        system, name, kind, place = point.strip().split(" | ")
        anchor, *places = place.split(", ")
        means = []
        for number, metric in enumerate(metrics):
            across = number + 0.5 if chart.classes else values[system][chart.x.metric]
            x, left, right = map(x_of, read_metric(across))
            y, low, high = map(y_of, read_metric(values[system][metric]))
            shapes.append(line(left, y, right, y, f"{kind} range"))
            shapes.append(line(x, low, x, high, f"{kind} range"))
            shapes.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" class="{kind}"/>')
            means.append((x, y))
        shapes += [line(*one, *next_one, f"{kind} range") for one, next_one in pairwise(means)]
        x, y = means[int(places[-1]) if chart.classes else 0]
        aside = 10 if anchor == "start" else -10
        below = 18 if "below" in places else -7
        shapes.append(text(x + aside, y + below, name, f"{kind} name", anchor))
    return framed(chart.title, chart.y, chart.x.label, shapes)
