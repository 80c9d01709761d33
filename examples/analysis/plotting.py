"""What all pictures share: a figure as a PNG, with matplotlib where it is installed."""

import io
from collections.abc import Callable
from typing import Any

from lev_plugins.errors import UserError
from lev_plugins.fairseq_patches.imports import untouched_root_logger

STYLE = {
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "font.size": 10,
}


def png(paint: Callable[[Any], object], width: float, height: float) -> bytes:
    """A figure as a PNG; ``paint`` puts axes and marks on an empty one of so many inches.

    Raises:
        UserError: matplotlib is not installed.
    """
    try:
        with untouched_root_logger():  # fairseq leaves it at DEBUG; matplotlib then says much
            import matplotlib
            from matplotlib.backends.backend_agg import FigureCanvasAgg
            from matplotlib.figure import Figure

            with matplotlib.rc_context(STYLE):
                figure = Figure(figsize=(width, height), layout="constrained", dpi=150)
                FigureCanvasAgg(figure)
                paint(figure)
                stream = io.BytesIO()
                figure.savefig(stream, format="png", metadata={"Software": None})
    except ImportError as error:
        raise UserError(
            "--png needs the library matplotlib; install it: pip install 'lev_plugins[report]'"
        ) from error
    return stream.getvalue()
