"""A report as a picture: iterations, iterations by length, and sentences against their drafts.

Colours are Okabe and Ito's, which the colour-blind can tell apart; hatching, markers, line styles
and numbers say the same without any colour.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import UserError
from .figures import NO_EDIT_BASELINE, Figures, System
from .plotting import png, require_matplotlib, short_line
from .table import short_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
HATCHES = ("", "///", "...", "xxx", "\\\\\\", "++")
MARKERS = ("o", "s", "^", "D", "v", "P")
LINES = ("-", "--", "-.", ":")
# better, as good, worse: colour, hatching, what stands in the legend
OUTCOMES = (
    ("better", "#0072b2", "", "better than the draft"),
    ("equal", "#d9d9d9", "", "as good"),
    ("worse", "#d55e00", "///", "worse"),
)
_WIDTH, _HEIGHT = 6.0, 4.6  # inches a panel
_DOTS = 150  # an inch
_MOST_LABELS = 14  # bars that still have space for their numbers
_NARROW = 0.06  # share of a bar that is too short for its number


def draw(figures: Figures, title: str | None = None) -> bytes:
    """The figures of :func:`.figures.compute` as a PNG.

    Panels that have no numbers are left out.

    Raises:
        UserError: matplotlib is not installed, or there is nothing to draw.
    """
    require_matplotlib()
    panels = _panels(figures)
    if not panels:
        raise UserError(
            "--png: nothing to draw: there are no I- lines (generate with --print-step) and no "
            "drafts with references (--drafts FILE)"
        )
    style = {
        "axes.axisbelow": True,
        "hatch.linewidth": 0.6,
        "axes.titlelocation": "left",
        "axes.titlesize": 11,
        "axes.titlepad": 10,
        "font.size": 10,
    }

    def paint(figure: "Figure") -> None:
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        for one, (plot, systems) in zip(axes, panels):
            plot(one, systems, figures)
        if title:
            figure.suptitle(short_line(title), x=0.01, ha="left", fontsize=13, weight="bold")

    size = (_WIDTH * len(panels), _HEIGHT)
    return png(paint, style, figsize=size, layout="constrained", dpi=_DOTS)


def _panels(figures: Figures) -> list[tuple[Callable[..., None], list[System]]]:
    """What can be plotted, and the systems that have the numbers for it."""
    systems = figures["systems"]
    timed = [one for one in systems if one["iterations"]]
    measured = [one for one in timed if one["iterations"]["by_length"]]
    edited = [one for one in systems if one["against_draft"] and one["name"] != NO_EDIT_BASELINE]
    panels = ((_histogram, timed), (_lengths, measured), (_outcomes, edited))
    return [(plot, chosen) for plot, chosen in panels if chosen]


def _name(system: System) -> str:
    return short_line(short_name(system["name"]))


def _histogram(axes: "Axes", systems: Sequence[System], figures: Figures) -> None:
    """Share of the sentences by iterations (paper, Table 6)."""
    shares = [
        {
            item["iterations"]: 100 * item["sentences"] / figures["sentences"]
            for item in one["iterations"]["histogram"]
        }
        for one in systems
    ]
    seen = sorted({count for one in shares for count in one})
    width = 0.8 / len(systems)
    for place, (system, share) in enumerate(zip(systems, shares)):
        mean = system["iterations"]["mean"]
        bars = axes.bar(
            [index - 0.4 + (place + 0.5) * width for index in range(len(seen))],
            [share.get(count, 0.0) for count in seen],
            width * 0.94,
            label=f"{_name(system)} (mean {mean:.2f})",
            color=COLORS[place % len(COLORS)],
            hatch=HATCHES[place % len(HATCHES)],
            edgecolor="white",
            linewidth=0,
        )
        if len(seen) * len(systems) <= _MOST_LABELS:
            axes.bar_label(bars, fmt="%.1f", fontsize=8, padding=2)
    axes.set_xticks(range(len(seen)), [str(count) for count in seen])
    axes.set(xlabel="iterations", ylabel="sentences, %", title="Iterations of a sentence")
    axes.grid(axis="y", alpha=0.3)
    _legend(axes)


def _lengths(axes: "Axes", systems: Sequence[System], figures: Figures) -> None:
    """Mean iterations over source length (paper, Fig. 4a)."""
    for place, system in enumerate(systems):
        classes = system["iterations"]["by_length"]
        axes.plot(
            [one["mean_length"] for one in classes],
            [one["mean_iterations"] for one in classes],
            label=_name(system),
            color=COLORS[place % len(COLORS)],
            marker=MARKERS[place % len(MARKERS)],
            linestyle=LINES[place % len(LINES)],
            markersize=7,
        )
    axes.set(
        xlabel="tokens of the source (means of classes)",
        ylabel="iterations, mean",
        title="Iterations by source length",
    )
    highest = max(
        one["mean_iterations"] for system in systems for one in system["iterations"]["by_length"]
    )
    axes.set_xlim(left=0)
    axes.set_ylim(0, 1.25 * highest or 1)  # space for the legend
    axes.grid(alpha=0.3)
    _legend(axes)


def _outcomes(axes: "Axes", systems: Sequence[System], figures: Figures) -> None:
    """Sentences that are better, as good and worse than their drafts."""
    total = figures["sentences"]
    rows = range(len(systems))
    start = [0.0] * len(systems)
    for key, color, hatch, label in OUTCOMES:
        counts = [one["against_draft"][key] for one in systems]
        shares = [100 * count / total for count in counts]
        bars = axes.barh(
            rows, shares, 0.6, start, label=label, color=color, hatch=hatch, edgecolor="white",
            linewidth=0.8,
        )  # fmt: skip
        texts = [
            str(count) if share > 100 * _NARROW else "" for count, share in zip(counts, shares)
        ]
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5, "alpha": 0.85}
        for text in axes.bar_label(bars, texts, label_type="center"):
            if text.get_text():
                text.set_bbox(box)
        start = [one + share for one, share in zip(start, shares)]
    axes.set_yticks(rows, [_name(one) for one in systems])
    axes.invert_yaxis()
    axes.set_ylim(len(systems) - 0.4, -0.6)
    axes.set(
        xlim=(0, 100),
        xlabel=f"sentences, % (numbers: sentences of {total})",
        title=f"Edits still needed, in {figures['unit']}s, against the draft",
    )
    _legend(axes, ncols=len(OUTCOMES), loc="upper center", bbox_to_anchor=(0.5, -0.16))


def _legend(axes: "Axes", **where: Any) -> None:
    axes.legend(frameon=False, fontsize=9, **where)
