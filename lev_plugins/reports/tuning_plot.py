"""What ``correct --tune`` chose from, as a picture."""

from typing import TYPE_CHECKING, Any

from ..io.output import whole_file
from .plotting import png

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..inference.correction.calibration import Bin
    from ..inference.correction.tuning import Choice


def save(choice: "Choice", before: "list[Bin]", after: "list[Bin]", path: str) -> None:
    """Writes the picture, whole or not at all: what thresholds give, and a reliability diagram.

    Args:
        before, after: edits by their probability, without calibration and with it.

    Raises:
        UserError: matplotlib is missing, or the file cannot be written.
    """

    def paint(figure: "Figure") -> None:
        curve, diagram = figure.subplots(1, 2)
        _draw_curve(curve, choice)
        _draw_reliability(diagram, before, after)

    picture = png(paint, {"font.size": 10}, figsize=(10, 4.6), layout="constrained", dpi=120)
    with whole_file(path) as file:
        file.buffer.write(picture)


def _draw_curve(axes: "Axes", choice: "Choice") -> None:
    every = [counts for _, counts in choice.curve]
    axes.plot(
        [100 * one.changed / max(one.right, 1) for one in every],
        [100 * one.corrected / max(one.wrong, 1) for one in every],
        marker=".",
        color="#1f5fa8",
        label="thresholds",
    )
    one = choice.counts
    axes.plot(
        [100 * one.changed / max(one.right, 1)],
        [100 * one.corrected / max(one.wrong, 1)],
        marker="o",
        markersize=9,
        linestyle="",
        color="#b3261e",
        label=f"chosen: {choice.min_confidence:.2f}",
    )
    axes.set(xlabel="right words changed, %", ylabel="wrong words corrected, %", ylim=(0, None))
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, loc="lower right")


def _draw_reliability(axes: "Axes", before: "list[Bin]", after: "list[Bin]") -> None:
    from ..inference.correction.calibration import expected_error

    axes.plot([0, 1], [0, 1], color="#808080", linestyle=":")
    looks: tuple[dict[str, Any], ...] = (
        {"marker": "s", "linestyle": "--", "color": "#808080"},
        {"marker": "o", "color": "#1f5fa8"},
    )
    for bins, name, look in zip((before, after), ("the model's", "calibrated"), looks):
        label = f"{name}, expected error {expected_error(bins):.3f}"
        axes.plot([one.probability for one in bins], [one.right for one in bins],
                  label=label, **look)  # fmt: skip
    axes.set(xlabel="probability of an edit", ylabel="share that is right")
    axes.set(xlim=(0, 1.02), ylim=(0, 1.02))
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, loc="upper left")
