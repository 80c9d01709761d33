"""The analysis as a picture, with the panels of the paper's Figure 2 and its text (§5).

Colours are Okabe and Ito's, which the colour-blind can tell apart; markers, line styles and
hatching say the same without any colour.
"""

from collections.abc import Sequence
from typing import Any

from plotting import png, short_line

# colour, marker, line style and hatching of each gate
STYLES = {
    "mask": ("#d55e00", "s", "--", "///"),
    "copy": ("#0072b2", "o", "-", ""),
    "generate": ("#009e73", "^", "-.", "..."),
    "skip": ("#cc79a7", "D", ":", "xxx"),
}
_WIDTH, _HEIGHT, _DOTS = 4.8, 4.0, 150

Figures = dict[str, Any]


def draw(figures: Figures, title: str | None = None) -> bytes:
    """The figures of :func:`.figures.compute` as a PNG: a row for each file, then all files."""
    systems = figures["systems"]
    rows = len(systems) + (len(systems) > 1)
    style = {
        "axes.titlelocation": "left",
        "axes.titlesize": 10,
        "font.size": 9,
        "hatch.linewidth": 0.6,
    }

    def paint(figure: Any) -> None:
        grid = figure.add_gridspec(rows, 3)
        for place, system in enumerate(systems):
            panels = [figure.add_subplot(grid[place, column]) for column in range(3)]
            name = f"{short_line(system['name'])}: " if len(systems) > 1 else ""
            _relation(panels[0], system, "by_noise", "noise of the source, %", name + "noise")
            _relation(panels[1], system, "by_length", "words of the source", name + "length")
            _recognition(panels[2], system, name + "WRR of the output")
        if len(systems) > 1:
            _tasks(figure.add_subplot(grid[-1, :]), systems)
        if title:
            figure.suptitle(short_line(title), x=0.01, ha="left", fontsize=12, weight="bold")

    size = (3 * _WIDTH, rows * _HEIGHT)
    return png(paint, style, figsize=size, layout="constrained", dpi=_DOTS)


def _correlated(gate: str, value: float | None) -> str:
    return gate if value is None else f"{gate} (r = {value:+.2f})"


def _relation(axes: Any, system: Figures, key: str, label: str, title: str) -> None:
    """Mean gate probability by classes (paper, Figures 2a and 2b)."""
    found = system[key]
    axes.set(xlabel=label, ylabel="gate probability, mean of class", title=title)
    if not found["classes"]:
        return _say(axes, "no references")
    for gate in system["gates"]:
        color, marker, line, _ = STYLES[gate]
        values = [(one["mean"], one[gate]) for one in found["classes"] if one[gate] is not None]
        axes.plot(
            [x for x, _ in values],
            [y for _, y in values],
            label=_correlated(gate, found["correlation"][gate]),
            color=color,
            marker=marker,
            linestyle=line,
        )
    axes.set_ylim(0, 1)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8)


def _recognition(axes: Any, system: Figures, title: str) -> None:
    """WRR of the output by classes of each gate's probability (paper, §5)."""
    axes.set(xlabel="gate probability, mean of class", ylabel="WRR of the output, %", title=title)
    plotted = False
    for gate in system["gates"]:
        found = system["wrr_by_gate"][gate]
        if not found["classes"]:
            continue
        color, marker, line, _ = STYLES[gate]
        axes.plot(
            [one["mean"] for one in found["classes"]],
            [one["wrr"] for one in found["classes"]],
            label=_correlated(gate, found["correlation"]),
            color=color,
            marker=marker,
            linestyle=line,
        )
        plotted = True
    if not plotted:
        return _say(axes, "no references")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8)


def _tasks(axes: Any, systems: Sequence[Figures]) -> None:
    """Mean gate probabilities of each file (paper, Figure 2c)."""
    gates = [gate for gate in STYLES if any(gate in one["gates"] for one in systems)]
    width = 0.8 / len(gates)
    for place, gate in enumerate(gates):
        color, _, _, hatch = STYLES[gate]
        known = [(i, one["means"].get(gate)) for i, one in enumerate(systems)]
        bars = axes.bar(
            [i - 0.4 + (place + 0.5) * width for i, value in known if value is not None],
            [value for _, value in known if value is not None],
            width * 0.94,
            label=gate,
            color=color,
            hatch=hatch,
            edgecolor="white",
            linewidth=0,
        )
        axes.bar_label(bars, fmt="%.2f", fontsize=8, padding=2)
    axes.set_xticks(range(len(systems)), [short_line(one["name"]) for one in systems])
    axes.set(ylabel="gate probability, mean", title="All files", ylim=(0, 1))
    axes.legend(frameon=False, fontsize=8, ncols=len(gates))


def _say(axes: Any, text: str) -> None:
    axes.text(0.5, 0.5, text, ha="center", va="center", transform=axes.transAxes, color="#5b6570")
