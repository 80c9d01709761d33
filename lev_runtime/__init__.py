"""Exported models of lev_plugins, decoded with numpy and ONNX Runtime: neither torch nor fairseq.

It also needs rapidfuzz, sentencepiece for models of such subwords, and tokenizers for an EncT5 that
was made from a BERT or mT5.

    Editor("folder").edit(["a source"], ["its draft"])[0].text   # levenshtein_editor
    Labeler("folder").predict(["a text"])[0].label               # enct5
    Generator("folder").generate(["a source"])[0].text           # pbd_transformer
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .beam.generator import Generator as Generator
    from .labels.labeler import Labeler as Labeler
    from .refine.editor import Editor as Editor

__version__ = "1.0.0rc2"
#: the classes of exported models, and their modules
_KINDS = {
    "Editor": "refine.editor",
    "Labeler": "labels.labeler",
    "Generator": "beam.generator",
}
#: of fairseq's names of models; others write from left to right
_OF_MODEL = {"levenshtein_editor": "Editor", "enct5": "Labeler"}
__all__ = ["Editor", "Generator", "Labeler", "load"]


def load(path: str | os.PathLike[str], threads: int | None = None) -> Any:
    """Returns the model of a folder, whatever its kind is; arguments and errors are the classes'.

    A type checker knows only of the classes what they can do.

    >>> from lev_runtime import load
    >>> [type(load(folder)).__name__ for folder in ("levt", "enct5", "pbd")]
    ['Editor', 'Labeler', 'Generator']
    """
    from .folder import Folder

    folder = Folder(path)
    return __getattr__(_OF_MODEL.get(folder.model, "Generator"))(folder, threads)


def __getattr__(name: str) -> Any:
    """Imports a class when it is asked for: ONNX Runtime takes longest to import."""
    if name not in _KINDS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_KINDS[name]}", __name__), name)
