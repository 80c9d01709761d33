"""Tells whether a text that does not follow a change of its source says something else."""

import json
from collections.abc import Iterable
from importlib import resources
from typing import NamedTuple

import regex

_WORDS = json.loads(resources.files(__package__).joinpath("meaning.json").read_text("utf-8"))
_LISTS = {name: " ".join(lines) for name, lines in _WORDS.items()}
#: pairs of words of nine languages, and of what opposites begin with (``en``able, ``dis``able)
_OPPOSITES = [tuple(pair.split()) for pair in _LISTS["opposites"].split("; ")]
_PREFIXES = [tuple(pair.replace("-", "").split(" ")) for pair in _LISTS["prefixes"].split("; ")]
_NEGATIONS, _VERBS, _BEFORE_VERBS, _AFTER_VERBS = (
    {*_LISTS[name].split()} for name in ("negations", "verbs", "before verbs", "after verbs")
)
_WORD = regex.compile(r"\p{L}+(?:['’]\p{L}+)*")
_NOT = regex.compile(r"n['’]t$")
_INFINITIVE = regex.compile(r"(?:en|ern|eln)$")  # of German and Dutch, at the end of an instruction
ENDING, LEAST_LETTERS = 3, 4  # letters of an inflection, and of a word that has one
LONGEST = 60  # characters of a text that is shown
FEW = 4  # words on a side of a change that is read; what a longer one leaves is seen


class Change(NamedTuple):
    """Words of an older source, those of the new one in their place, and the words around them.

    ``before`` is empty where the words begin their source, ``after`` where they end it.
    """

    old: str
    new: str
    before: str
    after: str

    def described(self) -> str:
        """Returns ``up → down``, with one side alone where words come or go."""
        sides = (" ".join(text.split()) for text in (self.old, self.new))
        old, new = (text if len(text) <= LONGEST else f"{text[:LONGEST]}…" for text in sides)
        return f"{old} → {new}".strip()


def words_of(text: str) -> list[str]:
    """Returns the words of a text in small letters, ``don't`` as one."""
    return _WORD.findall(text.lower())


def changes_meaning(changes: Iterable[Change]) -> bool:
    """Returns whether a text without some changes says something else than its source.

    That is so where a word becomes its opposite, where a negation comes or goes, and where an
    instruction asks for something else.
    """
    sides = [(change, {*words_of(change.old)}, {*words_of(change.new)}) for change in changes]
    for change, old, new in sides:
        gone, come = old - new, new - old
        if max(len(gone), len(come)) > FEW:
            continue
        if any(word in _NEGATIONS or _NOT.search(word) for word in gone | come):
            return True
        if any(are_opposites(word, other) for word in gone for other in come):
            return True
        if has_another_verb(change):
            return True
    return False


def are_opposites(word: str, other: str) -> bool:
    """Returns whether two words are opposites, by the lists of both directions."""
    for left, right in ((word, other), (other, word)):
        if any(is_form(left, one) and is_form(right, two) for one, two in _OPPOSITES):
            return True
        for one, two in _PREFIXES:
            stem = left[len(one) :]
            if len(stem) >= LEAST_LETTERS and left.startswith(one) and right == two + stem:
                return True
    return False


def is_form(word: str, listed: str) -> bool:
    """Returns whether a word is a listed one or, if that is long enough, a form of it."""
    if len(listed) < LEAST_LETTERS:
        return word == listed
    return word.startswith(listed[:-1]) and len(word) <= len(listed) + ENDING


def has_another_verb(change: Change) -> bool:
    """Returns whether another verb stands where an instruction has one: at its beginning, after
    ``to``, ``please`` and the like, or, in German and Dutch, at its end."""
    old, new, before, after = map(words_of, change)
    if not old or not new or is_form(new[0], old[0]) or is_form(old[0], new[0]):
        return False
    is_verb = bool({old[0], new[0]} & _VERBS)
    following = [*old[1:], *after][:1], [*new[1:], *after][:1]
    is_verb |= any(word in _AFTER_VERBS for words in following for word in words)
    if is_verb and (not before or before[-1] in _BEFORE_VERBS):
        return True
    ends = _INFINITIVE.search(old[-1]) and _INFINITIVE.search(new[-1])
    return bool(ends and before and not after)
