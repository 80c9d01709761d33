"""The model that comes with the package: English spelling. Its card lies next to it."""

from pathlib import Path

#: Folder of the checkpoint, its settings, its lists and CARD.md.
ENGLISH_SPELLING = Path(__file__).with_name("english_spelling")
