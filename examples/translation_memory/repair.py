"""Repair a draft where the change of its source needs no translation: names, code, numbers, terms.

What a repair has written is never changed by another one.
"""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import regex
from lines import FIXED
from scripts import SINGLE, places
from values import INSIDE, grouped, numbers, replacement

# a tag or placeholder, a number with what parts it (a version and a date are numbers too), a word,
# or a mark; with the spaces in front of it
_TOKEN = regex.compile(
    rf"\s*(?:{FIXED}|\d+(?:{INSIDE})+|[{SINGLE}]|(?:(?![{SINGLE}])\w)+|[^\w\s])|\s+$"
)
_FIXED = regex.compile(FIXED)
_MAYBE = regex.compile(r"[%$]\d+")  # a placeholder, if the source has it: Turkish has %50, too
Terms = Mapping[str, Sequence[str]]  # of a glossary: source to translations, the first the usual


class Stretch(NamedTuple):
    """Text of the old source and what stands in its place in the new one."""

    old: str
    new: str


class Change(NamedTuple):
    """Characters of a draft, and the text that takes their place."""

    start: int
    end: int
    text: str

    def cuts(self, start: int, end: int) -> bool:
        """Whether the change is within a span, and not of all of it."""
        return start < self.end and self.start < end and (start < self.start or self.end < end)


def stretches(old: str, new: str) -> tuple[list[Stretch], list[str]]:
    """What became another text, and what stayed as it was, each in order."""
    a, b = ([match[0] for match in _TOKEN.finditer(text)] for text in (old, new))
    changed, kept = [], []
    for kind, i, j, k, m in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        before, after = "".join(a[i:j]).strip(), "".join(b[k:m]).strip()
        if kind == "equal":
            kept.append(after)
        elif before and after and before != after:
            changed.append(Stretch(before, after))
    return changed, kept


def _verbatim(stretch: Stretch, draft: str) -> Iterator[Change]:
    if regex.search(r"\w", stretch.old):
        for start, end in places(draft, stretch.old):
            yield Change(start, end, stretch.new)


def _by_value(stretch: Stretch, draft: str) -> Iterator[Change]:
    """Of a stretch that is a number."""
    before, after = numbers(stretch.old), numbers(stretch.new)
    if len(before) == len(after) == 1 and stretch.old == before[0].text + before[0].suffix:
        for number in numbers(draft):
            text = replacement(before[0], after[0], number)
            if text is not None:
                yield Change(number.start, number.end, text)


def _by_term(stretch: Stretch, draft: str, terms: Terms) -> Iterator[Change]:
    if stretch.old in terms and stretch.new in terms:
        for translation in terms[stretch.old]:
            for start, end in places(draft, translation):
                yield Change(start, end, terms[stretch.new][0])


def _parts(stretch: Stretch, terms: Terms) -> list[Stretch]:
    """A stretch by its tags and placeholders and by its numbers, where old and new have equally
    many, and by its term."""
    parts = []
    codes = [[match[0] for match in _FIXED.finditer(side)] for side in stretch]
    if len(codes[0]) == len(codes[1]):
        parts += [Stretch(*pair) for pair in zip(*codes)]
    before, after = numbers(stretch.old), numbers(stretch.new)
    if before and len(before) == len(after) and stretch.old != before[0].text + before[0].suffix:
        pairs = zip(before, after, strict=True)
        parts += [Stretch(a.text + a.suffix, b.text + b.suffix) for a, b in pairs]
    held = [[term for term in terms if places(side, term)] for side in stretch]
    if len(held[0]) == len(held[1]) == 1:
        parts.append(Stretch(held[0][0], held[1][0]))
    return [part for part in parts if part != stretch and part.old != part.new]


def repair(
    old: str, new: str, draft: str, terms: Terms | None = None, sign: str | None = None
) -> str:
    """The draft after the changes of its source that need no translation.

    A stretch of the old source that is another one in the new source gives way to that where it
    stands in the draft exactly once: as it is and not inside a word, as a number of the same value,
    or as a term of the glossary. What stands elsewhere in the new source too is left alone.

    sign: what parts thousands in the language, if that is known.
    """
    repaired: list[tuple[int, int]] = []  # characters that are not to be changed again
    changed, equal = stretches(old, new)
    kept = [_FIXED.sub("\n", text) for text in equal]  # a tag or a placeholder is no text
    kept_codes = {match[0] for text in equal for match in _FIXED.finditer(text)}
    queue = [*changed]
    while queue:
        stretch = queue.pop(0)
        if stretch.old in kept_codes or any(places(text, stretch.old) for text in kept):
            continue
        fixed = [
            match.span()
            for match in _FIXED.finditer(draft)
            if match[0] in old or not _MAYBE.fullmatch(match[0])
        ]
        ways = (
            _by_term(stretch, draft, terms or {}),
            _verbatim(stretch, draft),
            _by_value(stretch, draft),
        )
        for way in ways:
            free = [
                change
                for change in way
                if all(change.end <= start or end <= change.start for start, end in repaired)
                and not any(change.cuts(*span) for span in fixed)
            ]
            if free:
                break
        else:
            queue[:0] = _parts(stretch, terms or {})
            continue
        if len(free) == 1:
            start, end, text = free[0]
            text = text if sign is None else grouped(stretch.old, text, sign)
            draft = draft[:start] + text + draft[end:]
            moved = len(text) - (end - start)
            repaired = [(a + moved, b + moved) if a >= end else (a, b) for a, b in repaired] + [
                (start, start + len(text))
            ]
    return draft
