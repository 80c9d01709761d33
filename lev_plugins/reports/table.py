"""A report as a table of text, one column a system."""

from lev_runtime.errors import counted
from lev_runtime.io.output import printable

from .figures import Report

ARROWS = {"higher": " ↑", "lower": " ↓"}


def render_table(report: Report) -> str:
    """Returns the report of :func:`.figures.compute` as text that ends in a line end."""
    systems, about = report["systems"], report["metrics"]
    names = dict.fromkeys(name for system in systems for name in system["figures"])
    in_order = sorted(names, key=lambda name: int(name) if name.isdigit() else -1)
    arrows = {name: ARROWS[metric["better"]] for name, metric in about.items()}
    labels = ["", *(name + arrows.get(name, "") for name in in_order)]
    columns = [[label.ljust(max(map(len, labels))) for label in labels]]
    for system in systems:
        cells = [_cell(system["figures"].get(name)) for name in in_order]
        column = [printable(system["name"]), *cells]
        columns.append([cell.rjust(max(map(len, column))) for cell in column])
    rows = ["  ".join(row).rstrip() for row in zip(*columns)]
    signatures = [f"{name}: {metric['signature']}" for name, metric in about.items()]
    lines = [counted(report["sentences"], "sentence"), "", *rows, "", *signatures]
    return "\n".join(lines) + "\n"


def _cell(figure: float | tuple[int, int] | None) -> str:
    if figure is None:
        return "–"
    if isinstance(figure, tuple):
        count, total = figure
        share = 100 * count / total if total else 0
        return f"{count}  {share:5.1f} %"
    return str(figure) if isinstance(figure, int) else f"{figure:.2f}"
