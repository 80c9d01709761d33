"""A report as a table of text, one column a system."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lev_runtime.errors import counted
from lev_runtime.io.output import printable

from .figures import Figures

ABSENT = "–"
Row = tuple[str, list[str]]


def render_table(figures: Figures) -> str:
    """Returns the figures of :func:`.figures.compute` as text that ends in a line end."""
    names = [printable(system["name"]) for system in figures["systems"]]
    rows = [("", names), *_rows(figures)]
    labels, cells = zip(*rows)
    left = max(map(len, labels))
    columns = []
    for column in zip(*cells):
        width = max(map(len, column))
        columns.append([cell.rjust(width) for cell in column])
    lines = [counted(figures["sentences"], "sentence"), ""]
    for label, *row in zip(labels, *columns):
        line = "  ".join([label.ljust(left), *row])
        lines.append(line.rstrip())
    lines.append("")
    for side, name in figures["origin"].items():
        lines.append(f"{side}: {printable(name)}")
    for name, about in figures["metrics"].items():
        lines.append(f"{name}: {about['signature']}")
    return "\n".join(lines) + "\n"


def _rows(figures: Figures) -> Iterator[Row]:
    systems, total = figures["systems"], figures["sentences"]
    first = systems[0]
    for name, about in figures["metrics"].items():
        arrow = "↑" if about["higher_is_better"] else "↓"
        yield f"{name} {arrow}", [f"{system['scores'][name]:.2f}" for system in systems]
    if first["words"]:
        words, right = first["words"]["words"], first["words"]["right_before"]
        wrong = {"corrected": words - right, "miscorrected": right}
        yield from _shares([system["words"] for system in systems], wrong)
        against = [system["against_draft"] for system in systems]
        drafts = total - first["against_draft"]["empty_drafts"]
        yield from _shares(against, dict.fromkeys(("better", "worse", "equal"), drafts))
        yield "edits still needed ↓", [str(system["remaining"]) for system in against]
    if first["unchanged"] is not None:
        yield from _shares(systems, {"unchanged": total})
    steps = [system["iterations"] or {"mean": None, "sentences": {}} for system in systems]
    seen = sorted({count for iterations in steps for count in iterations["sentences"]})
    if seen:
        means = [iterations["mean"] for iterations in steps]
        yield "iterations, mean", [ABSENT if mean is None else f"{mean:.2f}" for mean in means]
        sentences = [iterations["sentences"] for iterations in steps]
        yield from _shares(sentences, dict.fromkeys(seen, total))


def _shares(columns: Sequence[Mapping[Any, int]], totals: Mapping[Any, Any]) -> Iterator[Row]:
    """Yields a row for each of ``totals``: counts and their percentages of it."""
    for key, total in totals.items():
        cells = []
        for column in columns:
            count = column.get(key, 0)
            share = 100 * count / total if total else 0
            cells.append(f"{count}  {share:5.1f} %" if column else ABSENT)
        yield f"  {key}", cells
