"""Follows a source in what is no language: code alone, accelerators; and in what a memory
shows: how a language writes marks."""

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


# marks -------------------------------------------------------------------------------------------

USUAL = 3  # translations that show a habit
MARKS = "marks"  # a kind of repairs
MOST = 0.8  # least share of them
_NO_END = r"\p{Ps}\p{Pe}\p{Pi}\p{Pf}\"'%*/\\_@#&`\-"
# searched from the end
_END = regex.compile(rf"(?V1r)[\s⍽⎵]*(?:[\p{{P}}--[{_NO_END}]]+)?\s*$")
_OPENING = regex.compile(r"[¿¡]")


def end_of(text: str) -> str:
    """Returns the marks that a text ends with, and the space before them."""
    return _END.search(text)[0]  # type: ignore[index]


def body_of(text: str) -> str:
    """Returns a text without its end marks."""
    return text[: len(text) - len(end_of(text))]


class Habits:
    """Holds what translations have for the end marks of their sources, and their quotes."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        ends: defaultdict[str, Counter[str]] = defaultdict(Counter)
        quotes = Counter[str]()
        for source, target in pairs:
            quotes.update({*QUOTES.findall(target)})
            ends[end_of(source).strip()][end_of(target)] += 1
        self.quotes = {mark for mark, count in quotes.items() if count >= USUAL}
        self.ends = dict[str, str]()
        for mark, counts in ends.items():
            ((end, most),) = counts.most_common(1)
            if counts.total() >= USUAL and most >= MOST * counts.total():
                self.ends[mark] = end

    def marked(self, old: str, new: str, draft: str) -> tuple[str, str]:
        """Returns a draft and its source with the end marks of the new source; what the language
        writes otherwise stays."""
        better = None
        if end_of(old).strip() != end_of(new).strip():
            better = self.with_end(old, new, draft)
        return (draft, old) if better is None else (better, body_of(old) + end_of(new))

    def with_end(self, old: str, new: str, draft: str) -> str | None:
        """Returns a draft with the end marks of the new source; None if it has not the old one's,
        or a tag before them."""
        before, after, there = end_of(old).strip(), end_of(new).strip(), end_of(draft).strip()
        if there not in (before, self.ends.get(before, before).strip()) or _OPENING.search(draft):
            return None
        if any(body_of(text).endswith(">") for text in (old, new, draft)):
            return None
        return body_of(draft) + self.ends.get(after, after)
