"""Exported models of lev_plugins, decoded with numpy and ONNX Runtime: neither torch nor fairseq.

>>> from lev_runtime import Editor, Labeler
>>> Editor("folder").edit(["a source"], ["its draft"])[0].text
>>> Labeler("folder").predict(["a text"])[0].label
"""

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .editor import Editor
    from .labeler import Labeler

__version__ = "0.7.0"
__all__ = ["Editor", "Labeler", "load"]


def load(path: str | os.PathLike[str], threads: int | None = None) -> "Editor | Labeler":
    """The model of a folder, by its kind; arguments and errors are those of the classes."""
    from .editor import Editor
    from .folder import Folder
    from .labeler import MODEL, Labeler

    folder = Folder(path)
    reader: Any = Labeler if folder.model == MODEL else Editor
    model: Editor | Labeler = reader(folder, threads)
    return model


def __getattr__(name: str) -> Any:
    """Both are loaded when they are asked for, and ONNX Runtime with them."""
    if name == "Editor":
        from .editor import Editor

        return Editor
    if name == "Labeler":
        from .labeler import Labeler

        return Labeler
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
