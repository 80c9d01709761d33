"""Repair the translation of a changed source from a memory's own words.

Each stretch that differs between the two sources is repaired on its own: by rule, by the language's
marks and capitals, by looking up how the memory translates the new words with their neighbours, or
by deleting what the deleted words are linked to. What finds no repair stays.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

from .alignment import Lexicon, is_word, tokens_of
from .confidence import probability
from .lines import replaced
from .lookup import Found, Lookup, joined, stretch
from .marks import Habits
from .scripts import goes_on

NEIGHBOURS = 4  # of a stretch that are looked up with it
MANY = 3  # of them, from which on all words of the old source must have a link
LEAST_SHARE = 0.3  # of a translation among all
# share of a change without a repair from which on marks alone help nobody: 55 of 81 needed fewer
# edits, by the mark
MOST_OPEN = 0.4
RULE, LOOKED_UP, DELETED, EXACT = "rule", "look-up", "deletion", "exact"


class Edit(NamedTuple):
    """A replacement in a draft, and what tells how sure it is.

    times, share: of the translation in the memory. linked: share of the old words with a link.
    neighbours: how many were looked up too. agrees: whether another word was made to agree.
    """

    start: int
    end: int
    text: str
    kind: str
    times: int = 1
    share: float = 1.0
    linked: float = 1.0
    neighbours: int = 0
    agrees: bool = False

    @property
    def weight(self) -> float:
        """Returns by what the best of several look-ups is chosen."""
        return self.share * (1 - 0.5 / self.times) * (1 + self.linked)


class Repair(NamedTuple):
    """A repaired draft. kinds: of its repairs. is_all: nothing else has changed in the source.
    probability: that it needs fewer edits than the draft."""

    text: str
    kinds: tuple[str, ...]
    is_all: bool
    probability: float
    features: dict[str, float]


class Words:
    """Both sources and the draft of an entry as tokens, linked between old source and draft."""

    def __init__(self, lookup: Lookup, old: str, new: str, draft: str) -> None:
        self.lookup, self.draft = lookup, draft
        self.old, self.new, self.target = map(tokens_of, (old, new, draft))
        self.forward, self.backward = lookup.lexicon.links(self.old, self.target)
        self.keys = [token.key for token in self.old], [token.key for token in self.new]

    def stretches(self) -> Iterator[tuple[range, range]]:
        """Yields what differs: tokens of the old source and those of the new one."""
        i = k = 0
        for j, m, size in Levenshtein.opcodes(*self.keys).as_matching_blocks():
            if j > i or m > k:
                yield range(i, j), range(k, m)
            i, k = j + size, m + size

    def edit(self, old: range, new: range) -> Edit | None:
        """Returns the repair of a stretch with as many neighbours as possible, None without one."""
        for count in range(NEIGHBOURS, -1, -1):
            ways = (self.looked_up(old, new, left, count - left) for left in range(count + 1))
            if found := [*filter(None, ways)]:
                return max(found, key=lambda edit: edit.weight)
        return self.deletion(old) if old and not new else None

    def looked_up(self, old: range, new: range, left: int, right: int) -> Edit | None:
        """Returns the repair by a look-up of the new words with neighbours on both sides."""
        before, after = self.keys
        if min(old.start, new.start) < left:
            return None
        if old.stop + right > len(before) or new.stop + right > len(after):
            return None
        old, new = (range(side.start - left, side.stop + right) for side in (old, new))
        words = after[new.start : new.stop]
        there = stretch(old, self.forward, self.backward)
        if there and len(old) == len(before):
            there = 0, len(self.target) - 1
        linked = sum(i in self.forward for i in old) / max(len(old), 1)
        if there is None or not any(map(is_word, words)) or (left + right >= MANY and linked < 1):
            return None
        found = self.lookup.translations(words)
        if not found or found[0].share < LEAST_SHARE:
            return None
        first, last = there
        text = self.cased(found[0], first, self.new[new.start].text)
        start, text, agrees = self.agreed(first, last, text)
        end = self.target[last].end
        sure = found[0].times, found[0].share, linked, left + right, agrees
        return Edit(start, end, self.apart(start, end, text), LOOKED_UP, *sure)

    def cased(self, found: Found, first: int, new: str) -> str:
        """Returns a translation with a capital where it replaces one at the beginning, and in small
        letters as the replaced text where the memory shows it at the beginning alone."""
        text, old = found.text, self.target[first].text
        if text[:2].isupper() and len(text) > 1:
            return text
        if old[:1].isupper() and (first == 0 or new[:1].isupper()):
            return text[:1].upper() + text[1:]
        if not found.is_inner and old[:1].islower():
            return text[:1].lower() + text[1:]
        return text

    def apart(self, start: int, end: int, text: str) -> str:
        """Returns a replacement with spaces where a word would go on."""
        if goes_on(self.draft[:start][-1:], text[:1]):
            text = f" {text}"
        return f"{text} " if goes_on(text[-1:], self.draft[end:][:1]) else text

    def agreed(self, first: int, last: int, text: str) -> tuple[int, str, bool]:
        """Returns where a replacement starts, and its text: its last word in the form that the
        memory has before the next one, and the word before it in the form for its first."""
        start, agrees = self.target[first].start, False
        parts, following = tokens_of(text), self.target[last + 1 : last + 2]
        if not parts:
            return start, text, False
        if following and is_word(following[0].text):
            final = parts[-1]
            form = self.lookup.agreeing(final.text, following[0].text)
            agrees = form != final.text
            text = text[: final.start] + form + text[final.end :]
        if first:
            small = self.target[first - 1]
            form = self.lookup.agreeing(small.text, tokens_of(text)[0].text)
            if form != small.text:
                text = form + joined(form, self.draft[small.end : start]) + text
                start, agrees = small.start, True
        return start, text, agrees

    def deletion(self, old: range) -> Edit | None:
        """Returns the deletion of what all words of a stretch are linked to."""
        there = stretch(old, self.forward, self.backward)
        if there is None or any(i not in self.forward for i in old):
            return None
        start, end = self.target[there[0]].start, self.target[there[1]].end
        if self.draft[:start].endswith(" "):
            start -= 1
        elif self.draft[end:].startswith(" "):
            end += 1
        return Edit(start, end, "", DELETED)


class Repairer:
    """Repairs the drafts of a project from the pairs of its memory."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        self.lookup, self.habits = Lookup(pairs), Habits(pairs)

    def repair(self, sources: tuple[str, str], draft: str, ruled: str, between: str) -> Repair:
        """Returns a draft with all repairs that are found.

        Args:
            sources: the older one and the new one.
            draft: the older one's translation.
            ruled: the draft repaired by rule.
            between: the older source after the same repairs.
        """
        old, new = sources
        kinds = {RULE} if ruled != draft else set()
        text, between, marked = self.habits.marked(between, new, ruled)
        words = Words(self.lookup, between, new, text)
        found = [(stretch, words.edit(*stretch)) for stretch in words.stretches()]
        edits = sorted(edit for _, edit in found if edit)
        if any(right.start < left.end for left, right in zip(edits, edits[1:])):
            edits = []
        opened = sum(sum(map(len, stretch)) for stretch, edit in found if edit not in edits)
        share = opened / max(len(words.old) + len(words.new), 1)
        if not edits and share > MOST_OPEN:
            text, marked = ruled, set()
        repaired = replaced(text, (edit[:3] for edit in edits))
        kinds |= marked | {edit.kind for edit in edits}
        features = {kind: 1.0 for kind in kinds}
        if opened or kinds != {RULE}:  # the rule does not depend on the memory
            features |= sureness([edit for edit in edits if edit.kind == LOOKED_UP])
            features |= fit(self.lookup.lexicon, old, draft)
            features |= {
                "edits": len(edits),
                "part": bool(opened),
                "open": share,
                "similarity": Levenshtein.normalized_similarity(old.split(), new.split()),
                "length": math.log(1 + len(old.split())),
            }
        return Repair(repaired, tuple(sorted(kinds)), not opened, probability(features), features)


def sureness(edits: Sequence[Edit]) -> dict[str, float]:
    """Returns features of the least sure look-up of several."""
    if not edits:
        return {}
    return {
        "share": min(edit.share for edit in edits),
        "count": min(math.log(edit.times) for edit in edits),
        "once": min(edit.times for edit in edits) == 1,
        "linked": min(edit.linked for edit in edits),
        "neighbours": min(min(edit.neighbours, 2) for edit in edits),
        "agrees": any(edit.agrees for edit in edits),
        "words": math.log(1 + sum(len(edit.text.split()) for edit in edits)),
        "letter": any(len(edit.text.strip()) <= 2 for edit in edits),
    }


def fit(lexicon: Lexicon, old: str, draft: str) -> dict[str, float]:
    """Returns how much of the older source has a link to the draft, and of the draft to it."""
    source, target = tokens_of(old), tokens_of(draft)
    sides = [[i for i, t in enumerate(side) if is_word(t.text)] for side in (source, target)]
    links = lexicon.links(source, target)
    there = [sum(i in each for i in side) / max(len(side), 1) for side, each in zip(sides, links)]
    return {"draft": there[0], "translation": there[1]}
