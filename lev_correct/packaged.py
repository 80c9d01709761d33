"""The model that comes with the package: English spelling. Its card lies next to it."""

import importlib.util
from pathlib import Path

#: Folder of the checkpoint, its settings, its lists and CARD.md.
ENGLISH_SPELLING = Path(__file__).with_name("english_spelling")


def installed_misspellings() -> str | None:
    """codespell's list of misspellings, None where it is not installed.

    Its licence (CC BY-SA 3.0) asks for more than attribution, so that the package depends on it
    and does not carry it.
    """
    spec = importlib.util.find_spec("codespell_lib")
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).with_name("data") / "dictionary.txt"
    return str(path) if path.is_file() else None
