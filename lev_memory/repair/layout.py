"""Follows a source in what is no language: code alone, accelerators; and in what a memory
shows: how a language writes marks and the first letter."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

import regex

from .code import ACCELERATORS
from .text import QUOTES, places

_PROSE = regex.compile(r"(?<!\S)\p{L}{2,}[.,:;!?]?(?!\S)")
_WORD = regex.compile(r"[\w\p{M}]+")


def followed(old: str, new: str, draft: str) -> tuple[str, str]:
    """Returns an older source and its draft, or the new source for both where they have no word
    between spaces and the draft is the older source."""
    is_code = old == draft and not any(map(_PROSE.search, (old, new)))
    return (new, new) if is_code else (old, draft)


# accelerators ------------------------------------------------------------------------------------


class Marked(NamedTuple):
    """A text without the mark of a key's letter (``Sa_ve``), the mark, and the place of the letter:
    in the text, and in which word of it; "" and 0 without a mark."""

    text: str
    sign: str = ""
    place: int = 0
    word: str = ""
    offset: int = 0

    def letter(self) -> str:
        return self.text[self.place].lower() if self.sign else ""

    def marked(self, sign: str, place: int) -> str:
        return self.text[:place] + sign + self.text[place:]


def unmarked(text: str) -> Marked:
    """Returns a text without its accelerator."""
    for certain, _ in ACCELERATORS:
        matches = [*regex.finditer(certain, text)]
        if len(matches) == 1:
            place = matches[0].end() - 1
            bare_text = text[:place] + text[place + 1 :]
            word = next(w for w in _WORD.finditer(bare_text) if w.start() <= place < w.end())
            return Marked(bare_text, text[place], place, word[0], place - word.start())
    return Marked(text)


def accelerated(old: str, new: str, draft: str) -> tuple[str, str]:
    """Returns an older source and its draft with the accelerator of the new source.

    A letter that the translation shares with the older source becomes that of the new one if the
    draft has it; else the draft's own stays.
    """
    before, after, there = map(unmarked, (old, new, draft))
    is_same = before.sign == after.sign and before[3:] == after[3:]
    if is_same or there.sign != before.sign:
        return old, draft
    if not after.sign:
        return before.text, there.text
    words = places(before.text, after.word)
    if len(words) != 1:
        return old, draft
    same = before.marked(after.sign, words[0][0] + after.offset)
    place = there.place
    if not there.sign or there.letter() == before.letter():
        letter = regex.escape(after.letter())
        tried = (rf"(?i)\b{letter}", rf"(?i){letter}", r"\p{L}" if not there.sign else r"\b\B")
        found = next(filter(None, (regex.search(each, there.text) for each in tried)), None)
        if not found and not there.sign:
            return old, draft
        place = found.start() if found else place
    return same, there.marked(after.sign, place)


# marks and capitals ------------------------------------------------------------------------------

USUAL = 3  # translations that show a habit
MARKS, CASE = "marks", "case"  # kinds of repairs
MOST = 0.8  # least share of them
_NO_END = r"\p{Ps}\p{Pe}\p{Pi}\p{Pf}\"'%*/\\_@#&`\-"
_END = regex.compile(rf"(?V1)[\s⍽⎵]*(?:[\p{{P}}--[{_NO_END}]]+)?\s*$")
_FIRST = regex.compile(r"\p{L}")
_SMALL = regex.compile(r"\b\p{Ll}\p{L}*")
_OPENING = regex.compile(r"[¿¡]")


def end_of(text: str) -> str:
    """Returns the marks that a text ends with, and the space before them."""
    return _END.search(text)[0]  # type: ignore[index]


def body_of(text: str) -> str:
    """Returns a text without its end marks."""
    return text[: len(text) - len(end_of(text))]


def capital(text: str) -> bool | None:
    """Returns whether the first letter is a capital; None without one."""
    first = _FIRST.search(text)
    return first[0].isupper() if first else None


class Habits:
    """Holds what translations have for the end marks and the capitals of their sources."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self.small = set[str]()  # words that it has with a small letter
        ends: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.capitals: Counter[tuple[bool | None, bool | None]] = Counter()
        quotes = Counter[str]()
        for source, target in pairs:
            quotes.update({*QUOTES.findall(target)})
            ends[end_of(source).strip()][end_of(target)] += 1
            self.small.update(_SMALL.findall(target))
            self.capitals[capital(source), capital(target)] += 1
        self.quotes = {mark for mark, count in quotes.items() if count >= USUAL}
        self.ends = dict[str, str]()
        for mark, counts in ends.items():
            ((usual, most),) = counts.most_common(1)
            if counts.total() >= USUAL and most >= MOST * counts.total():
                self.ends[mark] = usual

    def marked(self, old: str, new: str, draft: str) -> tuple[str, str, set[str]]:
        """Returns a draft and its source with the end marks and the first letter of the new source,
        and the kinds of what has changed; what the language writes otherwise stays."""
        kinds = set()
        if end_of(old).strip() != end_of(new).strip():
            better = self.with_end(old, new, draft)
            if better is not None:
                if better != draft:
                    kinds.add(MARKS)
                draft = better
                old = body_of(old) + end_of(new)
        if capital(old) != capital(new) and old[1:2] == new[1:2]:
            better = self.with_capital(bool(capital(new)), draft)
            if better is not None:
                kinds.add(CASE)
                draft, old = better, new[:1] + old[1:]
        return draft, old, kinds

    def with_end(self, old: str, new: str, draft: str) -> str | None:
        """Returns a draft with the end marks of the new source; None if it has not the old one's,
        or a tag before them."""
        before, after, there = end_of(old).strip(), end_of(new).strip(), end_of(draft).strip()
        if there not in (before, self.ends.get(before, before).strip()) or _OPENING.search(draft):
            return None
        if any(body_of(text).endswith(">") for text in (old, new, draft)):
            return None
        return body_of(draft) + self.ends.get(after, after)

    def with_capital(self, is_capital: bool, draft: str) -> str | None:
        """Returns a draft whose first letter is a capital or none; None if the language has another
        habit, or it has several capitals."""
        first = _FIRST.search(draft)
        kept = self.capitals[is_capital, is_capital]
        changed = self.capitals[is_capital, not is_capital]
        if not first or first[0].isupper() == is_capital or kept < MOST * (kept + changed):
            return None
        start, end = first.span()
        letter = first[0].upper() if is_capital else first[0].lower()
        cased = draft[:start] + letter + draft[end:]
        is_name = not is_capital and _SMALL.findall(cased)[0] not in self.small
        is_acronym = draft[end : end + 1].isupper()
        return None if is_name or is_acronym else cased
