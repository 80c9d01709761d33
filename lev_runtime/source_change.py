"""What changed between two versions: of a source as segments and as marks in the text.

A translation memory has an older source beside each draft. Where the two sources differ is where
the draft has to be edited, so the model is shown the difference (Xu, Crego and Yvon, 2023, give
the older source as a second input; here both are one sequence).
"""

import difflib
import re
from typing import NamedTuple

from rapidfuzz.distance import Editops

#: ``before[i:j]`` gives way to ``after[k:m]``.
Change = tuple[int, int, int, int]
MARKS = ("<del>", "</del>", "<ins>", "</ins>")
# a word, a number or a punctuation mark, with the spaces in front of it
_TOKEN = re.compile(r"\s*(?:\w+|[^\w\s])|\s+$")


def changes(script: Editops) -> list[Change]:
    """What a script of single edits does, in order, at least one kept item between two."""
    stretches, i, k = [], 0, 0
    for equal in script.as_matching_blocks():  # the last is empty
        if (i, k) != (equal.a, equal.b):
            stretches.append((i, equal.a, k, equal.b))
        i, k = equal.a + equal.size, equal.b + equal.size
    return stretches


class Segment(NamedTuple):
    """A stretch of the old text and what stands in its place in the new one; either may be ""."""

    old: str
    new: str


def segments(old: str, new: str) -> list[Segment]:
    """Two texts as stretches that are equal and others that differ, in turn.

    All ``old`` together are the old text, all ``new`` the new one. Units are words, numbers and
    punctuation marks: in ``:func:`os.stat``` the name alone may change.
    """
    before = _TOKEN.findall(old)
    after = _TOKEN.findall(new)
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    stretches = []
    for _, i, j, k, m in matcher.get_opcodes():
        stretches.append(Segment("".join(before[i:j]), "".join(after[k:m])))
    return stretches


def mark_change(source: str, old: str) -> str:
    """A source in which the difference to an older one is marked.

    What went stands between ``<del>`` and ``</del>``, what came between ``<ins>`` and ``</ins>``:
    ``See issue<del> 17</del><ins> 23</ins>.`` No spaces are added, so the text without the marks
    and what they delete is the source. A source without an older one stays as it is. The marks have
    to be symbols of their own for what cuts the text (SentencePiece: ``user_defined_symbols``).
    """
    if not old.strip():
        return source
    parts = []
    for before, after in segments(old, source):
        if before == after:
            parts.append(after)
            continue
        deleted = f"<del>{before}</del>" if before else ""
        inserted = f"<ins>{after}</ins>" if after else ""
        parts.append(deleted + inserted)
    return "".join(parts)
