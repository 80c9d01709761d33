"""Labels, values and tags of text with an exported EncT5."""

import os

from .folder import Folder

MODEL = "enct5"


class Labeler:
    """An exported model with what cuts text for it; several threads may use one at once."""

    def __init__(self, path: str | os.PathLike[str], threads: int | None = None) -> None:
        folder = Folder(path)
        folder.require(MODEL, "Labeler")
