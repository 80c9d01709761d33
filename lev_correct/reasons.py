"""Says in words why an edit is proposed, for people who look at it."""

from collections import Counter

from rapidfuzz.distance import OSA

from .judge.judge import kind_of_spaces
from .lines import Edit
from .propose.backend import Backend
from .text.units import looked_up

#: Letters that differ, in words; a word that differs in more is the model's own.
_LETTERS = {1: "One letter", 2: "Two letters", 3: "Three letters"}
_SPACED = {
    "left out": "A space is missing",
    "put in": "A space too many",
    "apostrophe": "An apostrophe differs",
}


def reason_for(edit: Edit, words: Backend) -> str:
    """Returns why an edit is proposed, in one line; ``words``: the lists."""
    before, after = edit.before.strip(), edit.after.strip()
    old, new = looked_up(before), looked_up(after)
    if old and old.split() == new.split() * 2:
        return "Written twice"
    if before and words.misspelt(before):
        return "In the list of misspellings"
    if edit.reason == "reported" and not edit.why:
        return f"Usually written “{after}” here"
    if old == new:
        return "A capital differs"
    if old and (reason := _SPACED.get(kind_of_spaces(old, new) or "")):
        return reason
    return _difference(old, new, after) + _place(edit, words)


def _difference(old: str, new: str, after: str) -> str:
    distance = OSA.distance(old, new)
    if distance == 1 and Counter(old) == Counter(new):
        return f"Two letters of “{after}” exchanged"
    if not (old and new) or distance not in _LETTERS:
        return "The model's own proposal"
    return f"{_LETTERS[distance]} from “{after}”"


def _place(edit: Edit, words: Backend) -> str:
    if words.is_confused(edit.before):
        return ", which fits better here"
    if dict(edit.why).get("fits", 0) > 0:
        return ", which fits here"
    return ", in no list of words" if words.unknown(edit.before) else ""
