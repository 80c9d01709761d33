"""Tells whether a mended typo alone changed a source, by lev_correct where that is installed."""

from functools import cache
from typing import Any

from rapidfuzz.distance import Levenshtein

MOST_EDITS, LEAST_LETTERS = 2, 4  # of a word that may have been misspelt


@cache
def corrector() -> Any:
    """Returns the corrector of English; None where it is not installed."""
    try:
        import lev_correct

        return lev_correct.Corrector.from_pretrained()
    except ImportError:
        return None


def is_mended_typo(old: str, new: str) -> bool:
    """Returns whether correcting the older source makes the new one of it."""
    before, after = old.split(), new.split()
    changed = [(a, b) for a, b in zip(before, after) if a != b]
    if len(before) != len(after) or len(changed) != 1:
        return False
    word, other = changed[0]
    is_near = min(map(len, changed[0])) >= LEAST_LETTERS
    if not is_near or Levenshtein.distance(word, other) > MOST_EDITS or not corrector():
        return False
    return bool(corrector().correct([old])[0].text == new)
