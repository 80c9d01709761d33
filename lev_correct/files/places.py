"""Places of source code to which edits do not come, since they would end a string or be code."""

import re

from .markup import APOSTROPHES, HYPHENS

#: What an edit neither brings nor takes; a mark that is not inside a word; what stands between
#: apostrophes.
_ODD = re.compile(rf"[^{HYPHENS}{APOSTROPHES}\u0300-\u036f\w ,.!?]|_")
_MARK = re.compile(f"[{HYPHENS}{APOSTROPHES}]")
_LOOSE_MARK = re.compile(rf"(?<![^\W_]){_MARK.pattern}|{_MARK.pattern}(?!\w)")
_QUOTED = re.compile(r"(?<![\w'])'(?=[^\s'])(?:[^']|(?<=\w)'(?=\w))*+(?:'|\Z)")
#: The beginning of a string in which an apostrophe is a character like others.
_TAKES_APOSTROPHES = re.compile(r"\s*[\w@#$%~]*[\"`]")


def takes_apostrophes(string: str) -> bool:
    """Returns whether an apostrophe may be written in a string of source code: it is between other
    quotes."""
    return bool(_TAKES_APOSTROPHES.match(string))


def is_quoted(line: str, place: int) -> bool:
    """Returns whether a character of a line stands between apostrophes."""
    return any(first <= place < last for first, last in map(re.Match.span, _QUOTED.finditer(line)))


def may_be_code(changed: str, around: str) -> bool:
    """Returns whether a change brings or takes more than words and the marks inside them.

    Args:
        changed: what it brings and takes.
        around: the new text, with a character on each side.
    """
    return bool(_ODD.search(changed) or (_MARK.search(changed) and _LOOSE_MARK.search(around)))
