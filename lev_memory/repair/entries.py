"""Repair the translation of a changed source from a memory's own words.

Each stretch that differs between the two sources is repaired on its own: by rule, by the language's
marks and capitals, by looking up how the memory translates the new words with their neighbours, or
by deleting what the deleted words are linked to. What finds no repair stays.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

from .alignment import Links, Token, is_word, tokens_of
from .lines import replaced
from .lookup import Found, Lookup, joined, stretch
from .marks import Habits, capital, end_of
from .plurals import Category
from .repair import UNKNOWN, Terms, repaired
from .scripts import goes_on

NEIGHBOURS = 4  # of a stretch that are looked up with it
MANY = 3  # from which on all words of the old source must be linked
LEAST_SHARE = 0.3  # of a translation among all


class Edit(NamedTuple):
    """A replacement in a draft, and what tells how sure it is.

    kind: "marks", "case", "look-up" or "deletion". count, share: of the translation in the memory.
    linked: share of the old words with a link. neighbours: that were looked up too. known: whether
    the memory has the replaced text for the old words as well. agrees: whether a small word in
    front was changed.
    """

    start: int
    end: int
    text: str
    kind: str
    count: int = 1
    share: float = 1.0
    linked: float = 1.0
    neighbours: int = 0
    known: bool = True
    agrees: bool = False


class Repair(NamedTuple):
    """A repaired draft. kinds: of the repairs, sorted. is_all: nothing else has changed in the
    source."""

    text: str
    kinds: tuple[str, ...]
    edits: tuple[Edit, ...]
    is_all: bool
    opened: float = 0.0


class Words:
    """Both sources and the draft of an entry, as tokens with links between old source and draft."""

    def __init__(self, lookup: Lookup, old: str, new: str, draft: str) -> None:
        self.lookup, self.draft = lookup, draft
        self.old, self.new, self.target = map(tokens_of, (old, new, draft))
        self.links = lookup.lexicon.links(self.old, self.target)

    def stretches(self) -> Iterator[tuple[range, range]]:
        """Yields what differs: tokens of the old source and those of the new one."""
        i = k = 0
        sides = ([token.key for token in side] for side in (self.old, self.new))
        for j, m, size in Levenshtein.opcodes(*sides).as_matching_blocks():
            if j > i or m > k:
                yield range(i, j), range(k, m)
            i, k = j + size, m + size

    def edit(self, old: range, new: range) -> Edit | None:
        """Returns the repair of a stretch, the most neighbours first."""
        for count in range(NEIGHBOURS, -1, -1):
            found = [
                edit
                for before in range(count + 1)
                if (edit := self.looked_up(old, new, before, count - before))
            ]
            if found:
                return max(found, key=lambda edit: edit.share * (1 - 0.5 / edit.count) * (1 + edit.linked))
        return self.deletion(old) if old and not new else None

    def looked_up(self, old: range, new: range, before: int, after: int) -> Edit | None:
        """Returns the repair by a look-up of the new words with neighbours on both sides."""
        wide = range(old.start - before, old.stop + after), range(new.start - before, new.stop + after)
        if min(wide[0].start, wide[1].start) < 0 or wide[0].stop > len(self.old) or wide[1].stop > len(self.new):
            return None
        keys = [self.old[i].key for i in wide[0]], [self.new[i].key for i in wide[1]]
        if not all(keys) or keys[0][:before] != keys[1][:before] or keys[0][len(keys[0]) - after:] != keys[1][len(keys[1]) - after:] or not any(map(is_word, keys[1])):
            return None
        there = stretch(wide[0], *self.links)
        linked = sum(i in self.links[0] for i in wide[0]) / len(wide[0])
        if there is None or (before + after >= MANY and linked < 1):
            return None
        found = self.lookup.translations(keys[1])
        if not found or found[0].share < LEAST_SHARE:
            return None
        first, last = there
        replaced_text = self.draft[self.target[first].start : self.target[last].end]
        is_known = any(each.text.lower() == replaced_text.lower() for each in self.lookup.translations(keys[0]))
        text = self.cased(found[0], first, self.new[wide[1].start].text)
        start, text, agrees = self.agreed(first, last, text)
        return Edit(start, self.target[last].end, self.apart(start, self.target[last].end, text), "look-up", found[0].count, found[0].share, linked, before + after, is_known, agrees)

    def cased(self, found: Found, first: int, new: str) -> str:
        """Returns a translation with a capital where it replaces one at the beginning, and that of
        the replaced text where the memory does not show its own."""
        text, old = found.text, self.target[first].text
        if text[:2].isupper() and len(text) > 1:
            return text
        if old[:1].isupper() and (first == 0 or new[:1].isupper()):
            return text[:1].upper() + text[1:]
        if not found.is_inner and old[:1].islower():
            return text[:1].lower() + text[1:]
        return text

    def apart(self, start: int, end: int, text: str) -> str:
        """Returns a replacement with spaces where it would go on a word."""
        if goes_on(self.draft[:start][-1:], text[:1]):
            text = f" {text}"
        return f"{text} " if goes_on(text[-1:], self.draft[end:][:1]) else text

    def agreed(self, first: int, last: int, text: str) -> tuple[int, str, bool]:
        """Returns where a replacement starts, and its text: its last word in the form that the
        memory has before the next one, with the word in front of it in the form for its first."""
        start, agrees = self.target[first].start, False
        parts = tokens_of(text)
        if last + 1 < len(self.target) and parts and is_word(self.target[last + 1].text):
            final = parts[-1]
            form = self.lookup.agreeing(final.text, self.target[last + 1].text)
            agrees = form != final.text
            text = text[: final.start] + form + text[final.end :]
        if not first or not parts:
            return start, text, agrees
        small = self.target[first - 1]
        form = self.lookup.agreeing(small.text, tokens_of(text)[0].text)
        if form == small.text:
            return start, text, agrees
        return small.start, form + joined(form, self.draft[small.end : start]) + text, True

    def deletion(self, old: range) -> Edit | None:
        """Returns the deletion of the words that all of a stretch's are linked to."""
        there = stretch(old, *self.links)
        if there is None or any(i not in self.links[0] for i in old):
            return None
        start, end = self.target[there[0]].start, self.target[there[1]].end
        if self.draft[:start].endswith(" "):
            start -= 1
        elif self.draft[end:].startswith(" "):
            end += 1
        return Edit(start, end, "", "deletion")


def repair_entry(lookup: Lookup, habits: Habits, old: str, new: str, draft: str, terms: Terms | None = None, sign: str | None = None, category: Category = UNKNOWN) -> Repair:
    """Returns a draft with all repairs that are found."""
    text, is_all, old_now = repaired(old, new, draft, terms, sign, category)
    kinds = {"rule"} if text != draft else set()
    if is_all:
        return Repair(text, tuple(kinds), (), True)
    # end marks and first letter
    if end_of(old_now).strip() != end_of(new).strip():
        better = habits.with_end(old_now, new, text)
        if better is not None:
            kinds |= {"marks"} if better != text else set()
            text, old_now = better, old_now[: len(old_now) - len(end_of(old_now))] + end_of(new)
    if capital(old_now) != capital(new) and old_now[1:2] == new[1:2]:
        better = habits.with_capital(bool(capital(new)), text)
        if better is not None:
            kinds.add("case"); text=better
            old_now = new[:1] + old_now[1:]
    words = Words(lookup, old_now, new, text)
    edits, all_done, opened = [], True, 0
    for before, after in words.stretches():
        edit = words.edit(before, after)
        if edit: edits.append(edit)
        else:
            all_done = False
            opened += len(before) + len(after)
    edits.sort()
    if any(right.start < left.end for left, right in zip(edits, edits[1:])):
        edits, all_done = [], False
    text = replaced(text, [edit[:3] for edit in edits])
    return Repair(text, tuple(sorted(kinds | {edit.kind for edit in edits})), tuple(edits), all_done, opened / max(len(words.old) + len(words.new), 1))
