"""Finds the changes between two versions, and marks those of a source in its text.

A translation memory has an older source for each draft. Where the two sources differ is where
the draft has to be edited, so the model is shown the difference (Xu, Crego and Yvon, 2023, give
the older source as a second input; here both are one sequence).
"""

import difflib
import re

from rapidfuzz.distance import Editops

from ..errors import UserError

#: ``before[i:j]`` gives way to ``after[k:m]``.
Change = tuple[int, int, int, int]
MARKS = ("<del>", "</del>", "<ins>", "</ins>")
# a word, a number or a punctuation mark, with the spaces in front of it
_TOKEN = re.compile(r"\s*(?:\w+|[^\w\s])|\s+$")


def changes(script: Editops) -> list[Change]:
    """Returns the stretches that a script edits, in order, at least one kept item between two."""
    stretches, i, k = [], 0, 0
    for equal in script.as_matching_blocks():  # the last is empty
        if (i, k) != (equal.a, equal.b):
            stretches.append((i, equal.a, k, equal.b))
        i, k = equal.a + equal.size, equal.b + equal.size
    return stretches


def read_change(source: str, old: str | None, reads_old: bool) -> str:
    """Does :func:`mark_change` for a model that was trained so, or not; None: no older source.

    Raises:
        UserError: there is an older one, and the model was trained without.
    """
    if old is not None and not reads_old:
        raise UserError(
            "an old source is given, but the model was not trained with --old-source; leave it out"
        )
    return mark_change(source, old or "")


def mark_change(source: str, old: str) -> str:
    """Marks in a source its difference to an older one.

    What went stands between ``<del>`` and ``</del>``, what came between ``<ins>`` and ``</ins>``:
    ``See issue<del> 17</del><ins> 23</ins>.`` No spaces are added, so the text without the marks
    and what they delete is the source. A source without an older one stays as it is. The marks have
    to be symbols of their own for what cuts the text (SentencePiece: ``user_defined_symbols``).
    """
    if not old.strip():
        return source
    sides = _TOKEN.findall(old), _TOKEN.findall(source)
    matcher = difflib.SequenceMatcher(None, *sides, autojunk=False)
    parts = []
    for kind, i, j, k, m in matcher.get_opcodes():
        deleted, inserted = "".join(sides[0][i:j]), "".join(sides[1][k:m])
        if kind != "equal":
            deleted = deleted and f"<del>{deleted}</del>"
            inserted = deleted + (inserted and f"<ins>{inserted}</ins>")
        parts.append(inserted)
    return "".join(parts)
