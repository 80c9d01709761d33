"""Draws the figures of the documents as SVG, readable on light and dark pages.

    python docs/figures.py                       # charts, from benchmarks/results.jsonl
    python docs/figures.py --trace trace.jsonl   # LevT at work, from a line of `lev-trace --json`

Points are means over seeds, lines from them the lowest and highest seed. A chart without its rows
in the list is an error.
"""

import argparse
import json
import math
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results.jsonl"
FIGURES = ROOT / "docs" / "figures"
WIDTH, HEIGHT = 720, 340
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 40, 52
ADVANCE, MONO = 0.58, 8.43  # of a character: in sizes of the font; in pixels
STYLE = """
text { font: 13px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328; }
.soft { fill: #59636e; } .title { font-weight: 600; font-size: 14px; }
.axis { stroke: #8b949e; } .grid { stroke: #d8dee4; } .range { stroke-width: 2; }
.ours { fill: #0969da; stroke: #0969da; } .other { fill: #bc4c00; stroke: #bc4c00; }
.ours.name { stroke: none; font-weight: 600; } .other.name { stroke: none; fill: #59636e; }
.gone { fill: #ffd7d5; } .come { fill: #cbe5ff; }
.word { font: 14px ui-monospace, Consolas, "DejaVu Sans Mono", monospace; }
.struck { stroke: #cf222e; stroke-width: 1.5; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .soft, .other.name { fill: #9198a1; }
  .axis { stroke: #6e7681; } .grid { stroke: #30363d; }
  .ours { fill: #58a6ff; stroke: #58a6ff; } .other { fill: #f0883e; stroke: #f0883e; }
  .gone { fill: #5d1f1c; } .come { fill: #10355c; } .struck { stroke: #ff7b72; }
}
"""


class Point(NamedTuple):
    """A system: its name, whether it is of this package, and (mean, lowest, highest) of both
    measures."""

    name: str
    ours: bool
    x: tuple[float, float, float]
    y: tuple[float, float, float]


class Box(NamedTuple):
    """A rectangle, in pixels."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: "Box") -> bool:
        """Whether they have a point in common."""
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


class Axis(NamedTuple):
    """What is measured, its ends, whether it is logarithmic, and the values that are marked."""

    label: str
    low: float
    high: float
    marks: Sequence[float]
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """Where a value stands between the ends, 0 to 1."""
        low, high = self.low, self.high
        if self.logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return (value - low) / (high - low)


def text(x: float, y: float, content: str, classes: str = "", anchor: str = "start") -> str:
    """A line of text that ends, begins or has its middle at a place."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" class="{classes}" text-anchor="{anchor}">'
        f"{escape(content)}</text>"
    )


def line(x1: float, y1: float, x2: float, y2: float, classes: str) -> str:
    """A straight line."""
    places = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {places} class="{classes}"/>'


def svg(width: float, height: float, title: str, shapes: Sequence[str]) -> str:
    """The whole file."""
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(title)}">'
    )
    return "\n".join([head, f"<style>{STYLE}</style>", *shapes, "</svg>", ""])


def chart(title: str, across: Axis, up: Axis, points: Sequence[Point]) -> str:
    """Points with their names, and the spread of their seeds."""

    def x_of(value: float) -> float:
        return LEFT + across.share(value) * (WIDTH - LEFT - RIGHT)

    def y_of(value: float) -> float:
        return HEIGHT - BOTTOM - up.share(value) * (HEIGHT - TOP - BOTTOM)

    foot = HEIGHT - BOTTOM
    shapes = [text(LEFT, 22, title, "title")]
    for mark in up.marks:
        shapes.append(line(LEFT, y_of(mark), WIDTH - RIGHT, y_of(mark), "grid"))
        shapes.append(text(LEFT - 8, y_of(mark) + 4, f"{mark:g}", "soft", "end"))
    for mark in across.marks:
        shapes.append(line(x_of(mark), foot, x_of(mark), foot + 5, "axis"))
        shapes.append(text(x_of(mark), foot + 20, f"{mark:g}", "soft", "middle"))
    shapes.append(line(LEFT, foot, WIDTH - RIGHT, foot, "axis"))
    shapes.append(text(WIDTH - RIGHT, HEIGHT - 12, across.label, "soft", "end"))
    shapes.append(text(LEFT, TOP - 4, up.label, "soft"))
    taken = []
    for point in points:
        (x, left, right), (y, low, high) = map(x_of, point.x), map(y_of, point.y)
        taken += [Box(x - 6, y - 6, x + 6, y + 6), Box(left, y - 3, right, y + 3)]
        taken.append(Box(x - 3, high, x + 3, low))
    for point in points:
        x, y = x_of(point.x[0]), y_of(point.y[0])
        kind = "ours" if point.ours else "other"
        shapes.append(line(x_of(point.x[1]), y, x_of(point.x[2]), y, f"{kind} range"))
        shapes.append(line(x, y_of(point.y[1]), x, y_of(point.y[2]), f"{kind} range"))
        shapes.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" class="{kind}"/>')
        name = free_box(point.name, x, y, taken)
        taken.append(name)
        shapes.append(text(name.left, name.bottom - 4, point.name, f"{kind} name"))
    return svg(WIDTH, HEIGHT, title, shapes)


def free_box(name: str, x: float, y: float, taken: Sequence[Box]) -> Box:
    """Where the name of a point stands: beside it, above or below, and over nothing else."""
    width, height = len(name) * ADVANCE * 13, 17.0
    right, left = (x + 10, x - 10 - width) if x + 10 + width < WIDTH else (x - 10 - width, x + 10)
    boxes = [
        Box(start, top, start + width, top + height)
        for start in (right, left)
        for top in (y - 9, y - 24, y + 7)
        if start > LEFT
    ]
    free = (box for box in boxes if not any(map(box.overlaps, taken)))
    return next(free, boxes[0])


def measured(value: Any) -> tuple[float, float, float]:
    """A metric of a row as mean, lowest and highest."""
    if isinstance(value, dict):
        return value["mean"], value["lowest"], value["highest"]
    return float(value), float(value), float(value)


def rows_of(table: str) -> dict[str, dict[str, Any]]:
    """System → its metrics, of a table of the list of results."""
    rows = map(json.loads, RESULTS.read_text(encoding="utf-8").splitlines())
    metrics = {
        row["system"]: row["metrics"] for row in rows if "system" in row and row["table"] == table
    }
    if not metrics:
        raise SystemExit(f"{RESULTS}: no rows of the table {table}")
    return metrics


def points_of(table: str, x: str, y: str, names: dict[str, tuple[str, bool]]) -> list[Point]:
    """Rows of a table with both metrics. ``names``: system → its name in the chart, and whether it
    is of this package; other rows are left out."""
    metrics = rows_of(table)
    return [
        Point(name, ours, measured(metrics[system][x]), measured(metrics[system][y]))
        for system, (name, ours) in names.items()
    ]


def learning() -> str:
    """BLEU of LevT after 1,000 updates against CPU time, stock and ours."""
    names = {
        "stock, its recipe (Adam, 0.002)": ("fairseq's LevT, its recipe", False),
        "stock, Muon at 0.004": ("fairseq's LevT with Muon", False),
        "ours, Adam at 0.002": ("ours with Adam", True),
        "ours, Muon at 0.004": ("ours, its recipe", True),
    }
    across = Axis("CPU seconds for 1,000 updates", 280, 480, (300, 350, 400, 450))
    up = Axis("BLEU, Multi30k en-de", 5, 25, (5, 10, 15, 20, 25))
    title = "Learning: 1,000 updates from scratch, three seeds"
    return chart(title, across, up, points_of("levt-learning", "seconds", "tuned", names))


def latency() -> str:
    """BLEU against the time of a sentence, of systems and peers."""
    names = {
        "transformer by Muon, d = 128, 2 + 2, beam 5": ("Transformer, beam 5 (the teacher)", False),
        "LevT from it and its text, 98 minutes, 6,199 updates": ("LevT, distilled", True),
    }
    across = Axis("median ms per sentence (log scale)", 20, 200, (20, 50, 100, 200), True)
    up = Axis("BLEU, Multi30k en-de", 28, 40, (28, 32, 36, 40))
    title = "Latency against quality: one sentence at a time"
    return chart(title, across, up, points_of("translation", "ms", "bleu", names))


def corrections() -> str:
    """Misspellings made right against right words changed, of the corrector and its peers."""
    ours = ("lev-correct", "lev-correct --min-confidence 0.9", "lev-correct --eager")
    peers = ("codespell", "typos", "symspellpy", "aspell", "harper")
    names = {name: (name, name in ours) for name in (*ours, *peers)}
    marks = (0.1, 1, 10, 100)
    across = Axis("words changed in 1,000 words of right text (log scale)", 0.1, 200, marks, True)
    up = Axis("learners' misspellings made right, %", 0, 100, (0, 25, 50, 75, 100))
    title = "English correctors: more right (up), less harm (left)"
    return chart(title, across, up, points_of("correctors", "right_text", "made_right", names))


CHARTS = {"learning": learning, "latency": latency, "corrections": corrections}


def states(trace: dict[str, Any]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Rows of the picture: a label, and tokens each with its mark."""
    first = trace["iterations"][0]
    yield "source", [(word, "") for word in trace["source"].split()]
    yield "draft", [(token, "") for token in words(first["before"])]
    for number, step in enumerate(trace["iterations"], start=1):
        if any(step["deleted"]):
            marks = ["gone" if gone else "" for gone in step["deleted"]]
            yield f"{number}: delete", list(zip(words(step["before"]), marks, strict=True))
        if any(step["inserted"]):
            marks = ["come" if new else "" for new in step["inserted"]]
            after = words(step["after"])
            slots = ["\u25a2" if new else token for token, new in zip(after, step["inserted"])]
            yield f"{number}: insert", list(zip(slots, marks, strict=True))
            yield f"{number}: fill", list(zip(after, marks, strict=True))
    yield "result", [(word, "") for word in trace["text"].split()]


def words(tokens: Sequence[str]) -> list[str]:
    """Subwords as they are shown: without the sign of a word's beginning."""
    return [token.replace("\u2581", "") or "\u2581" for token in tokens]


def picture(trace: dict[str, Any]) -> str:
    """LevT at work on one sentence."""
    shapes, y, width = [], 30.0, 0.0
    for label, tokens in states(trace):
        shapes.append(text(16, y, label, "soft"))
        x = 110.0
        for token, mark in tokens:
            advance = len(token) * MONO
            if mark:
                box = f'x="{x - 3:.1f}" y="{y - 16:.1f}" width="{advance + 6:.1f}" height="22"'
                shapes.append(f'<rect {box} rx="3" class="{mark}"/>')
            shapes.append(
                f'<text x="{x:.1f}" y="{y:.1f}" class="word" textLength="{advance:.1f}" '
                f'lengthAdjust="spacingAndGlyphs">{escape(token)}</text>'
            )
            if mark == "gone":
                shapes.append(line(x - 2, y - 5, x + advance + 2, y - 5, "struck"))
            x += advance + MONO
        width, y = max(width, x), y + 34
    title = "A Levenshtein Transformer edits a draft: " + trace["text"]
    return svg(width + 16, y - 10, title, shapes)


def main(argv: Sequence[str] | None = None) -> None:
    """Write all charts, or the picture of a trace."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--trace", help="file with a line of lev-trace --json")
    args = parser.parse_args(argv)
    FIGURES.mkdir(exist_ok=True)
    if args.trace:
        (trace,) = map(json.loads, Path(args.trace).read_text(encoding="utf-8").splitlines())
        (FIGURES / "levt.svg").write_text(picture(trace), encoding="utf-8")
        return
    for name, draw in CHARTS.items():
        (FIGURES / f"{name}.svg").write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()
