"""Tells whether a text that does not follow a change of its source says something else."""

import json
from importlib import resources
from typing import NamedTuple

import regex

#: a row for each language of sources
_LANGUAGES = json.loads(
    resources.files(__package__).joinpath("languages.json").read_text("utf-8")
).values()


def _column(name: str, separator: str = " ") -> set[str]:
    """Returns what all languages have in a column."""
    texts = (" ".join(row.get(name, ())) for row in _LANGUAGES)
    return {part for text in texts for part in text.split(separator) if part}


#: pairs of words
_OPPOSITES = {frozenset(pair.split()) for pair in _column("opposites", "; ")}
_NEGATIONS, _VERBS, _BEFORE_VERBS, _AFTER_VERBS = map(
    _column, ("negations", "verbs", "before verbs", "after verbs")
)
_WORD = regex.compile(r"\p{L}+(?:['’]\p{L}+)*")
_NOT = regex.compile(r"n['’]t$")
LONGEST = 60  # characters of a text that is shown
FEW = 4  # words on a side of a change that is read; what a longer one leaves is seen


class Unfollowed(NamedTuple):
    """Words of an older source, those of the new one in their place, and the words around them.

    ``before`` is empty where the words begin their source, ``after`` where they end it.
    """

    old: str
    new: str
    before: str
    after: str

    def described(self) -> str:
        """Returns ``up → down``, with one side alone where words come or go."""
        sides = list[str]()
        for side in (self.old, self.new):
            text = " ".join(side.split())
            if len(text) > LONGEST:
                text = f"{text[:LONGEST]}…"
            sides.append(text)
        return " → ".join(sides).strip()

    def changes_meaning(self) -> bool:
        """Returns whether a text that does not follow says something else than its source.

        That is so where a word becomes its opposite, where a negation comes or goes, and where an
        instruction asks for something else: it has another verb, which stands at its beginning or
        after ``to``, ``please`` and the like.
        """
        old, new, before, after = (_WORD.findall(text.lower()) for text in self)
        gone, come = {*old} - {*new}, {*new} - {*old}
        if max(len(gone), len(come)) > FEW:
            return False
        if any(word in _NEGATIONS or _NOT.search(word) for word in gone | come):
            return True
        if any({word, other} in _OPPOSITES for word in gone for other in come):
            return True
        is_first = not before or before[-1] in _BEFORE_VERBS
        if not (old and new and is_first) or old[0] == new[0]:
            return False
        following = {*[*old, *after][1:2], *[*new, *after][1:2]}
        return bool({old[0], new[0]} & _VERBS or following & _AFTER_VERBS)
