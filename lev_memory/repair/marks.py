"""How a language writes marks and the first letter, as its translations show it."""

from collections import Counter, defaultdict
from collections.abc import Iterable

import regex

USUAL = 3  # translations that show a habit
MOST = 0.8  # least share of them
_END = regex.compile(r"(?V1)[\s⍽⎵]*(?:\.{2,3}|[\p{P}--[\p{Ps}\p{Pe}\p{Pi}\p{Pf}\"'%*/\\_@#&`\-]]+)?\s*$")
_FIRST = regex.compile(r"\p{L}")
_OPENING = regex.compile(r"[¿¡]")


def end_of(text: str) -> str:
    """Returns the marks that a text ends with, and the space before them."""
    return _END.search(text)[0]  # type: ignore[index]


def capital(text: str) -> bool | None:
    """Returns whether the first letter is a capital; None without one."""
    first = _FIRST.search(text)
    return first[0].isupper() if first else None


class Habits:
    """What translations have for the end marks and the capitals of their sources."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        ends: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.capitals: Counter[tuple[bool | None, bool | None]] = Counter()
        for source, target in pairs:
            ends[end_of(source).strip()][end_of(target)] += 1
            self.capitals[capital(source), capital(target)] += 1
        self.ends = {
            mark: counts.most_common(1)[0][0]
            for mark, counts in ends.items()
            if counts.total() >= USUAL and max(counts.values()) >= MOST * counts.total()
        }

    def end(self, mark: str) -> str:
        """Returns what a translation ends with where its source ends with a mark."""
        return self.ends.get(mark, mark)

    def with_end(self, old: str, new: str, draft: str) -> str | None:
        """Returns a draft with the end marks of the new source; None if it has not the old one's."""
        before, after, there = end_of(old).strip(), end_of(new).strip(), end_of(draft)
        if there.strip() not in (before, self.end(before).strip()) or _OPENING.search(draft):
            return None
        bodies = (text[: len(text) - len(end_of(text))] for text in (old, new, draft))
        if any(body.endswith(">") for body in bodies):
            return None
        return draft[: len(draft) - len(there)] + self.end(after)

    def with_capital(self, is_capital: bool, draft: str) -> str | None:
        """Returns a draft whose first letter is one; None if the language has another habit."""
        first = _FIRST.search(draft)
        kept, changed = (self.capitals[is_capital, way] for way in (is_capital, not is_capital))
        rest = draft[first.end() :] if first else ""
        if not first or first[0].isupper() == is_capital or rest[:1].isupper() or kept < MOST * (kept + changed):
            return None
        letter = first[0].upper() if is_capital else first[0].lower()
        return draft[: first.start()] + letter + rest
