"""What all pictures share: matplotlib where it is installed, and a figure as a PNG."""

import io
import warnings
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from lev_plugins.errors import UserError
from lev_plugins.fairseq_patches.logs import untouched_root_logger

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLE = {
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def require_matplotlib() -> ModuleType:
    """matplotlib, or a :class:`UserError` that says how to get it."""
    try:
        with untouched_root_logger():
            import matplotlib
    except ImportError as error:
        raise UserError(
            "--png needs the library matplotlib; install it: pip install 'lev_plugins[report]'"
        ) from error
    return matplotlib


def png(paint: Callable[["Figure"], object], style: Mapping[str, object], **figure: Any) -> bytes:
    """A figure as a PNG.

    Args:
        paint: puts axes and marks on an empty figure.
        style: matplotlib's settings, beside those that all pictures have.

    Raises:
        UserError: matplotlib is not installed.
    """
    matplotlib = require_matplotlib()
    # fairseq leaves the root logger at DEBUG; matplotlib then says much
    with untouched_root_logger(), matplotlib.rc_context({**_STYLE, **style}):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        empty = Figure(**figure)
        FigureCanvasAgg(empty)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing")  # a box in its place
            paint(empty)
            stream = io.BytesIO()
            empty.savefig(stream, format="png", metadata={"Software": None})
    return stream.getvalue()


def short_line(text: str) -> str:
    """Text without line ends and control characters."""
    return "".join(c if c.isprintable() else " " for c in text)
