"""A report as a table of text, one column a system."""

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import NormalDist
from typing import Any

from lev_runtime.errors import counted
from lev_runtime.io.output import printable

from .figures import Figures

ABSENT = "–"
Row = tuple[str, list[str]]


def render_table(figures: Figures) -> str:
    """The figures of :func:`.figures.compute` as text that ends in a line end."""
    systems = figures["systems"]
    names = [printable(system["name"]) for system in systems]
    rows = [("", names), *_rows(figures, systems)]
    filled = [cells for _, cells in rows if cells]
    widths = [max(map(len, column)) for column in zip(*filled)]
    left = max(len(label) for label, _ in rows)
    lines = [counted(figures["sentences"], "sentence"), ""]
    for label, cells in rows:
        line = label.ljust(left)
        for cell, width in zip(cells, widths):
            line += f"  {cell.rjust(width)}"
        lines.append(line.rstrip())
    lines.append("")
    lines += [f"{side}: {printable(name)}" for side, name in figures["origin"].items()]
    lines += [f"{name}: {about['signature']}" for name, about in figures["metrics"].items()]
    lines += [f"note: {printable(note)}" for note in figures["notes"]]
    lines += [_verdict(system) for system in systems[1:] if system["against_draft"]]
    return "\n".join(lines) + "\n"


def _verdict(system: Figures) -> str:
    """Better or worse than no edits; the confidence is that of a sign test over sentences."""
    needed, remaining, better, worse, _, empty = system["against_draft"].values()
    if remaining == needed:
        way = "no better"
    else:
        way = "better" if remaining < needed else "worse"
    apart_by = max(abs(better - worse) - 1, 0)  # corrected for continuity
    deviation = math.sqrt(better + worse or 1)
    sure = NormalDist().cdf(apart_by / deviation)
    more = "better" if better > worse else "worse"
    edits = f"the edits of words still needed, {remaining:,} and {needed:,}"
    sentences = f"{better:,} sentences better, {worse:,} worse"
    test = f"sign test: {100 * sure:.1f} % confidence that more are {more}"
    apart = f", without {counted(empty, 'empty draft')}" if empty else ""
    name = printable(system["name"])
    return f"{name}: {way} than the no-edit baseline by {edits}; {sentences} ({test}){apart}"


def _rows(figures: Figures, systems: Sequence[Figures]) -> Iterator[Row]:
    first, total = systems[0], figures["sentences"]
    for name, about in figures["metrics"].items():
        arrow = "↑" if about["higher_is_better"] else "↓"
        yield f"{name} {arrow}", [f"{system['scores'][name]:.2f}" for system in systems]
    if first["words"]:
        words, right = first["words"]["words"], first["words"]["right_before"]
        yield "", []
        yield f"words of the references, {words}: {right} right before", []
        wrong = {"corrected": words - right, "miscorrected": right}
        yield from _shares([system["words"] for system in systems], wrong)
        against = [system["against_draft"] for system in systems]
        drafts = total - against[0]["empty_drafts"]
        yield "", []
        yield f"sentences, against the drafts, of {drafts}", []
        totals = dict.fromkeys(("better", "worse", "equal"), drafts)
        yield from _shares(against, totals)
        yield "edits still needed ↓", [str(system["remaining"]) for system in against]
    if first["unchanged"] is not None:
        yield from _shares(systems, {"unchanged": total})
    steps = [system["iterations"] for system in systems]
    if any(steps):
        sentences = [iterations and iterations["sentences"] for iterations in steps]
        yield "", []
        means = [f"{iterations['mean']:.2f}" if iterations else ABSENT for iterations in steps]
        yield "iterations, mean", means
        seen = sorted({count for counts in sentences if counts for count in counts})
        yield from _shares(sentences, dict.fromkeys(seen, total))


def _shares(
    columns: Sequence[Mapping[Any, int] | None], totals: Mapping[Any, Any]
) -> Iterator[Row]:
    """A row for each of ``totals``: counts and their percentages of it, in columns of their own."""
    for key, total in totals.items():
        cells = []
        for column in columns:
            if column is None:
                cells.append(ABSENT)
            else:
                count = column.get(key, 0)
                share = 100 * count / total if total else 0
                cells.append(f"{count}  {share:5.1f} %")
        yield f"  {str(key).replace('_', ' ')}", cells
