"""Listed misspellings that are parts of camelCase and snake_case identifiers.

A report for people, never an edit: others may use the name.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

from lev_runtime.errors import counted

_NAME = re.compile(r"[^\W\d]\w*")
#: A part of six letters or more. Of shorter ones and those in capitals, 42 in 100 were right.
_PART = re.compile(r"(?<![^\W\d_A-Z])[A-Z]?[a-z]{5,}(?![^\W\d_A-Z])")


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

    level, rule, fix = "note", "misspelt-identifier", None

    @property
    def message(self) -> str:
        """``testRecieve: Recieve -> Receive (in 3 places)``."""
        places = counted(self.places, "place")
        return f"{self.identifier}: {self.before} -> {self.after} (in {places})"

    def to_dict(self) -> dict[str, object]:
        """Ready for JSON."""
        return asdict(self)


def identifiers(
    lines: Iterable[tuple[str, int, str]],
    misspelt: Callable[[str], Sequence[str]],
    is_right: Callable[[str], bool],
) -> list[Identifier]:
    """Returns the identifiers of some lines that have a listed misspelling as one of their parts.

    Args:
        lines: file, number and text of each.
        misspelt: word in small letters → corrections that are listed for it.
        is_right: whether a name, or a part of one, stays.
    """
    found: dict[tuple[str, str], Identifier] = {}
    known: dict[str, Sequence[tuple[int, str, str]]] = {}
    for file, number, line in lines:
        for match in _NAME.finditer(line):
            name = match.group()
            if name not in known:
                parts = () if is_right(name) else _misspelt_parts(name, misspelt)
                known[name] = [part for part in parts if not is_right(part[1])]
            for start, before, after in known[name]:
                place = (file, number, match.start() + start + 1)
                first = Identifier(*place, name, before, after)
                found.setdefault((name, before), first).places += 1
    return [*found.values()]


def _misspelt_parts(
    name: str, misspelt: Callable[[str], Sequence[str]]
) -> Iterator[tuple[int, str, str]]:
    """Yields where a part of a name begins that has one listed correction, it and this."""
    for match in _PART.finditer(name):
        part, rest = match.group(), name[: match.start()] + name[match.end() :]
        if any(map(str.isalpha, rest)):
            listed = misspelt(part.lower())
            if len(listed) == 1 and listed[0].isalpha():
                after = listed[0].capitalize() if part[0].isupper() else listed[0]
                yield match.start(), part, after
