"""What ``correct --tune`` chose from, as a picture."""

import io
import os
from typing import TYPE_CHECKING, Any

from ..errors import UserError
from ..fairseq_patches.logs import untouched_root_logger

if TYPE_CHECKING:
    from ..inference.correction.calibration import Bin
    from ..inference.correction.tuning import Choice


def require_matplotlib() -> Any:
    """matplotlib, or a :class:`UserError` that says how to get it."""
    try:
        with untouched_root_logger():
            import matplotlib
    except ImportError as error:
        raise UserError(
            "--png needs the library matplotlib; install it: pip install 'lev_plugins[report]'"
        ) from error
    return matplotlib


def save(choice: "Choice", before: "list[Bin]", after: "list[Bin]", path: str) -> None:
    """Writes the picture, whole or not at all: what thresholds give, and a reliability diagram.

    Args:
        before, after: edits by their probability, without calibration and with it.

    Raises:
        UserError: matplotlib is missing, or the file cannot be written.
    """
    with untouched_root_logger():  # which fairseq leaves at DEBUG; matplotlib then says much
        picture = _draw(choice, before, after)
    try:
        with open(path + ".tmp", "wb") as file:
            file.write(picture)
        os.replace(path + ".tmp", path)
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror})") from error


def _draw(choice: "Choice", before: "list[Bin]", after: "list[Bin]") -> bytes:
    matplotlib = require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    style = {"font.size": 10, "axes.spines.top": False, "axes.spines.right": False}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(10, 4.6), layout="constrained", dpi=120)
        FigureCanvasAgg(figure)
        curve, diagram = figure.subplots(1, 2)
        _draw_curve(curve, choice)
        _draw_reliability(diagram, before, after)
        stream = io.BytesIO()
        figure.savefig(stream, format="png", metadata={"Software": None})
    return stream.getvalue()


def _draw_curve(axes: Any, choice: "Choice") -> None:
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


def _draw_reliability(axes: Any, before: "list[Bin]", after: "list[Bin]") -> None:
    from ..inference.correction.calibration import expected_error

    axes.plot([0, 1], [0, 1], color="#808080", linestyle=":")
    for bins, name, look in (
        (before, "the model's", {"marker": "s", "linestyle": "--", "color": "#808080"}),
        (after, "calibrated", {"marker": "o", "color": "#1f5fa8"}),
    ):
        label = f"{name}, expected error {expected_error(bins):.3f}"
        axes.plot([one.probability for one in bins], [one.right for one in bins],
                  label=label, **look)  # fmt: skip
    axes.set(xlabel="probability of an edit", ylabel="share that is right")
    axes.set(xlim=(0, 1.02), ylim=(0, 1.02))
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, loc="upper left")
