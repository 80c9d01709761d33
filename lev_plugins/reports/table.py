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
    labels = [""]
    for name in in_order:
        arrow = ARROWS[about[name]["better"]] if name in about else ""
        labels.append(name + arrow)
    width = max(map(len, labels))
    columns = [[label.ljust(width) for label in labels]]
    for system in systems:
        column = [printable(system["name"])]
        column += [_cell(system["figures"].get(name)) for name in in_order]
        width = max(map(len, column))
        columns.append([cell.rjust(width) for cell in column])
    lines = [counted(report["sentences"], "sentence"), ""]
    for row in zip(*columns):
        lines.append("  ".join(row).rstrip())
    lines.append("")
    for name, metric in about.items():
        lines.append(f"{name}: {metric['signature']}")
    return "\n".join(lines) + "\n"


def _cell(figure: float | tuple[int, int] | None) -> str:
    if figure is None:
        return "–"
    if isinstance(figure, tuple):
        count, total = figure
        share = 100 * count / total if total else 0
        return f"{count}  {share:5.1f} %"
    return str(figure) if isinstance(figure, int) else f"{figure:.2f}"
