"""Listed misspellings that are parts of camelCase and snake_case identifiers.

A report for people, never an edit: others may use the name.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from lev_runtime.errors import counted

from ..files.markup import Listed

#: A part of six letters or more: of shorter ones and those in capitals, 58 in 100 were wrong.
_PART = re.compile(r"(?:[A-Z][a-z]{5,}|(?<![^\W\d_])[a-z]{6,})(?![^\W\d_A-Z])")
_NAME = re.compile(r"\w{7,}")


@dataclass
class Identifier:
    """An identifier with a misspelt part, where it stands first, and in how many places.

    line and column count from 1. before, after: the part and its listed correction.
    """

    file: str
    line: int
    column: int
    identifier: str
    before: str
    after: str
    places: int = 0

    rule, level, edit, offers, written = "misspelt-identifier", "note", None, (), False

    @property
    def message(self) -> str:
        """``testRecieve: Recieve -> Receive (in 3 places)``."""
        places = counted(self.places, "place")
        return f"{self.identifier}: {self.before} -> {self.after} (in {places})"


def identifiers(lines: Iterable[tuple[str, int, str]], misspelt: Listed) -> list[Identifier]:
    """Returns the identifiers of some lines that have a listed misspelling as one of their parts.

    Args:
        lines: file, number and text of each.
        misspelt: word in small letters → corrections that are listed for it.
    """
    known: dict[tuple[str, str], Identifier] = {}
    for file, number, line in lines:
        for name in _NAME.finditer(line):
            for match in _PART.finditer(name.group()):
                part, listed = match.group(), misspelt(match.group().lower())
                has_more = any(map(str.isalpha, name.group().replace(part, "", 1)))
                if has_more and len(listed) == 1 and listed[0].isalpha():
                    right = listed[0].capitalize() if part[0].isupper() else listed[0]
                    column = name.start() + match.start() + 1
                    first = Identifier(file, number, column, name.group(), part, right)
                    known.setdefault((name.group(), part), first).places += 1
    return [*known.values()]
