"""Exported models of lev_plugins, decoded with numpy and ONNX Runtime: neither torch nor fairseq.

>>> from lev_runtime import Editor, Labeler
>>> Editor("folder").edit(["a source"], ["its draft"])[0].text
>>> Labeler("folder").predict(["a text"])[0].label
"""

from typing import Any

__version__ = "0.6.0"
__all__ = ["Editor", "Labeler"]


def __getattr__(name: str) -> Any:
    """Both are loaded when they are asked for, and ONNX Runtime with them."""
    if name == "Editor":
        from .editor import Editor

        return Editor
    if name == "Labeler":
        from .labeler import Labeler

        return Labeler
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
