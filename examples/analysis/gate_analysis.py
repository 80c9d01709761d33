"""Relate gates to noise, length and success: the result analysis of the gated-Trans paper (§5).

    lev-trace --path checkpoint_best.pt --json < noisy.txt > gates.jsonl
    python examples/analysis/gate_analysis.py gates.jsonl --reference clean.txt --png analysis.png

Every line counts as one point: its mean gate probabilities (without </s>), the length of its
source in words, how noisy the source is (100 − WRR), and WRR of what the model wrote. A table goes
to stdout, ``--json`` gets the numbers, ``--png`` the panels of Figure 2.
"""

import argparse
import json
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from plotting import png

from lev_plugins.errors import UserError
from lev_plugins.fairseq_patches import run_cli
from lev_plugins.io.output import standard_output, whole_file
from lev_plugins.io.text_files import read_lines
from lev_plugins.metrics.corpus import Metric, make_metric
from lev_plugins.reports.gates import GATES, Record

# colour (Okabe and Ito's), marker and line style of each gate; each says the same alone
STYLES = {
    "mask": ("#d55e00", "s", "--"),
    "copy": ("#0072b2", "o", "-"),
    "generate": ("#009e73", "^", "-."),
    "skip": ("#cc79a7", "D", ":"),
}
GATE = "gate probability, mean of class"
#: relation → the heads of its x axis and of its y axis
RELATIONS = {
    "noise": ("noise of the source, %", GATE),
    "length": ("words of the source", GATE),
    "wrr": (GATE, "WRR of the output, %"),
}


@dataclass(frozen=True)
class Point:
    """One line. noise and wrr are percentages, None where there is nothing to compare with."""

    length: float
    noise: float | None
    wrr: float | None
    gates: dict[str, float | None]


def read_records(path: str) -> Iterator[Record]:
    """The records of a JSONL file.

    Raises:
        UserError: a line is no record; it is named.
    """
    for number, line in enumerate(read_lines(path), start=1):
        try:
            yield Record(**json.loads(line))
        except (ValueError, TypeError, RecursionError) as error:
            raise UserError(
                f"{path}: line {number} is no record of gates; write the file with lev-trace --json"
            ) from error


def read_points(path: str, reference: str | None, clean: str | None) -> list[Point]:
    """The points of a file.

    Args:
        reference: file of what the outputs should be, or None.
        clean: file of what the sources should be, or None.

    Raises:
        UserError: a file that cannot be read, or with another number of lines.
    """
    records = list(read_records(path))
    metric = make_metric("wrr")
    sides: list[list[str]] = []
    for file in (reference, clean):
        sides.append(list(read_lines(file)) if file else [""] * len(records))
        if len(sides[-1]) != len(records):
            raise UserError(f"{path} has {len(records)} lines, {file} has {len(sides[-1])}")
    points = []
    for record, wanted, right in zip(records, *sides, strict=True):
        means = {}
        for gate in GATES:
            values = (getattr(record, gate) or [])[:-1]
            means[gate] = sum(values) / len(values) if values else None
        noise = recognised(metric, record.source, right)
        points.append(
            Point(
                len(record.source.split()),
                None if noise is None else 100 - noise,
                recognised(metric, record.target, wanted),
                means,
            )
        )
    return points


def recognised(metric: Metric, text: str, reference: str) -> float | None:
    """WRR of a line; None where there is no word to recognise."""
    return metric.score(metric.statistics(text, reference)) if reference.split() else None


# ---------------------------------------------------------------- classes and correlations


def compute(points: Sequence[Point], classes: int) -> dict[str, Any]:
    """The relations of every gate that is on: to noise, to length, and of WRR to it.

    Args:
        classes: most groups of about as many lines into which a relation is cut.
    """
    on = [gate for gate in GATES if any(one.gates[gate] is not None for one in points)]
    found: dict[str, Any] = {"lines": len(points), "gates": on}
    for gate in on:
        values = [one.gates[gate] for one in points]
        for name, x, y in (
            ("noise", [one.noise for one in points], values),
            ("length", [one.length for one in points], values),
            ("wrr", values, [one.wrr for one in points]),
        ):
            found.setdefault(name, {})[gate] = relation(x, y, classes)
    return found


def relation(x: Sequence[float | None], y: Sequence[float | None], classes: int) -> dict[str, Any]:
    """Means of y by classes of x, and their correlation; points without either are left out."""
    pairs = [(a, b) for a, b in zip(x, y, strict=True) if a is not None and b is not None]
    groups = cut([a for a, _ in pairs], classes)
    means = [
        {
            "lines": len(group),
            "low": min(pairs[i][0] for i in group),
            "high": max(pairs[i][0] for i in group),
            "x": statistics.fmean(pairs[i][0] for i in group),
            "y": statistics.fmean(pairs[i][1] for i in group),
        }
        for group in groups
    ]
    try:
        together = statistics.correlation([a for a, _ in pairs], [b for _, b in pairs])
    except statistics.StatisticsError:  # fewer than two, or all the same
        together = None
    return {"classes": means, "correlation": together}


def cut(values: Sequence[float], classes: int) -> list[list[int]]:
    """Indices of ``values`` in at most so many groups, in order; equal values stay together."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    groups: list[list[int]] = []
    start = 0
    for number in range(1, classes + 1):
        end = max(round(number * len(order) / classes), start)
        while 0 < end < len(order) and values[order[end]] == values[order[end - 1]]:
            end += 1
        if end > start:
            groups.append(order[start:end])
        start = end
    return groups


# ---------------------------------------------------------------- what comes out


def render_table(name: str, found: dict[str, Any]) -> str:
    """The numbers as text."""
    lines = [f"{name}: {found['lines']} lines, classes of about as many lines each"]
    for key, (x, y) in RELATIONS.items():
        lines.append(f"  {x} → {y}")
        for gate, one in found[key].items():
            spans = (f"{c['low']:.2f}–{c['high']:.2f}: {c['y']:.3f}" for c in one["classes"])
            r = "-" if one["correlation"] is None else f"{one['correlation']:+.2f}"
            lines.append(f"    {gate:<9} {'  '.join(spans)}  r {r}")
    return "\n".join(lines) + "\n"


def draw(systems: dict[str, dict[str, Any]]) -> bytes:
    """A row for each file, with the panels of the paper's Figures 2a and 2b and its text (§5)."""

    def paint(figure: Any) -> None:
        grid = figure.subplots(len(systems), len(RELATIONS), squeeze=False)
        for row, (name, found) in zip(grid, systems.items(), strict=True):
            for axes, (key, (x, y)) in zip(row, RELATIONS.items(), strict=True):
                axes.set(xlabel=x, ylabel=y, title=f"{name}: {key}")
                axes.grid(alpha=0.3)
                for gate, one in found[key].items():
                    color, marker, line = STYLES[gate]
                    xs, ys = ([c[side] for c in one["classes"]] for side in "xy")
                    axes.plot(xs, ys, label=gate, color=color, marker=marker, linestyle=line)
                axes.legend(frameon=False, fontsize=8)

    return png(paint, 4.8 * len(RELATIONS), 4.0 * len(systems))


def main(argv: Sequence[str] | None = None) -> None:
    """Read, compute, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("records", nargs="+", metavar="JSONL", help="what lev-trace --json wrote")
    add("--reference", nargs="+", metavar="FILE", help="what the outputs should be, for each JSONL")
    add("--clean", nargs="+", metavar="FILE", help="what the sources should be (default: "
        "--reference); give it for translation")  # fmt: skip
    add("--classes", type=int, default=5, metavar="N", help="most classes of lines (default: 5)")
    add("--json", metavar="FILE", help="write all numbers")
    add("--png", metavar="FILE", help="draw them; needs matplotlib")
    args = parser.parse_args(argv)
    references = args.reference or [None] * len(args.records)
    clean = args.clean or references
    if not len(args.records) == len(references) == len(clean):
        raise UserError("--reference and --clean: give one file for each JSONL")
    files = zip(args.records, references, clean, strict=True)
    systems = {path: compute(read_points(path, *sides), args.classes) for path, *sides in files}
    if args.json:
        with whole_file(args.json) as file:
            json.dump(systems, file, allow_nan=False, indent=1)
    if args.png:
        with whole_file(args.png) as file:
            file.buffer.write(draw(systems))
    standard_output().write("".join(render_table(*one) for one in systems.items()))


if __name__ == "__main__":
    run_cli(main)
