"""Cutting a line into the units that a model reads.

Spaces (any Unicode whitespace) between units, at both ends of the line and a byte order mark in
front belong to no unit, so nothing changes them. Offsets count characters of the line from 0.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple, get_args

from ..io.lines import UNREADABLE

UnitKind = Literal["word", "letters", "line", "window"]
KINDS: tuple[UnitKind, ...] = get_args(UnitKind)

Context = tuple[str, str]
NO_CONTEXT: Context = ("", "")

_BYTE_ORDER_MARK = "\ufeff"
_WORD = re.compile(r"\S+")
# Letters, with apostrophes inside; not in what holds more than letters and punctuation: numbers,
# addresses, paths, names of programs; nor in words cut short (goin', heav'n, ev'ry, giv'st).
_LETTERS = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_CUT_SHORT = r"(?i:in['\u2019](?!\w)|(?![aeioug])[a-z]['\u2019](?:[nr](?![et])|st))"
_NO_WORDS = re.compile(rf"[\d_@/\\#=<>{{}}|~^`$+*]|\w[.:]\w|&\w+;|{_CUT_SHORT}")
_JOINING = "\u00ad\u200c\u200d"  # the soft hyphen, and what parts or joins letters of a word
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Unit(NamedTuple):
    """``line[start:end]`` as a model reads it, which begins and ends with no space.

    text: single spaces for runs of spaces, and :data:`UNREADABLE` for half surrogate pairs.
    context: the words before and behind it (:func:`context`), for models that use them.
    """

    start: int
    end: int
    text: str
    context: Context = NO_CONTEXT


def read_unit(line: str, start: int, end: int) -> Unit:
    """The unit between two places of a line, less the spaces at its ends."""
    text = line[start:end]
    start, end = end - len(text.lstrip()), start + len(text.rstrip())
    return Unit(start, end, _LONE_SURROGATE.sub(UNREADABLE, " ".join(text.split())))


def spans(line: str, kind: UnitKind, window: int = 0) -> Iterator[tuple[int, int]]:
    """Where the units of a line begin and end; disjoint, in order, with no spaces at their ends.

    Args:
        kind: ``word`` (between whitespace), ``letters`` (without the punctuation around them, with
            the marks on their letters; none of what holds digits or other symbols), ``line`` or
            ``window``, of so many words, the last of fewer.
    """
    start = len(_BYTE_ORDER_MARK) if line.startswith(_BYTE_ORDER_MARK) else 0
    words = [match.span() for match in _WORD.finditer(line, start)]
    if not words:
        return
    if kind == "letters":
        line = with_marks_as_letters(line)
        for first, last in words:
            if not _NO_WORDS.search(line, first, last):
                yield from (match.span() for match in _LETTERS.finditer(line, first, last))
        return
    size = {"word": 1, "line": len(words)}.get(kind, window)
    for n in range(0, len(words), size):
        yield words[n][0], words[n : n + size][-1][1]


def with_marks_as_letters(line: str) -> str:
    """A line in which each mark on a letter (an accent of its own, a soft hyphen, a joiner) has
    given way to that letter: Python takes a word for ended at them."""
    if line.isascii():
        return line
    shown = [" "]
    for one in line:
        marks = one in _JOINING or unicodedata.category(one)[0] == "M"
        shown.append(shown[-1] if marks and shown[-1].isalpha() else one)
    return "".join(shown[1:])


def core_of(word: str) -> str:
    """A word without punctuation around it, with the marks on its letters."""
    places = [n for n, one in enumerate(with_marks_as_letters(word)) if one.isalnum()]
    return word[places[0] : places[-1] + 1] if places else ""


def context(line: str, places: Sequence[tuple[int, int]], number: int) -> Context:
    """The units before and behind the one of that number, in small letters; ``""`` where there is
    none, or more than whitespace between the two."""
    start, end = places[number]
    before, behind = places[max(number - 1, 0) : number], places[number + 1 : number + 2]
    left = (line[a:b].lower() for a, b in before if line[b:start].isspace())
    right = (line[a:b].lower() for a, b in behind if line[end:a].isspace())
    return "".join(left), "".join(right)


def pieces(line: str, start: int, end: int, fits: Callable[[str], bool]) -> Iterator[Unit]:
    """The unit at a span; where it does not fit, its halves, theirs, and so on.

    It is cut at the space nearest to its middle, and inside a word that does not fit by itself. A
    character that does not fit alone is in no part.

    Args:
        fits: whether a model reads a text whole; what fits, fits when it is cut shorter.
    """
    unit = read_unit(line, start, end)
    if fits(unit.text):
        yield unit
    elif len(unit.text) > 1:
        middle = (unit.start + unit.end) // 2
        spaces = (one.start() for one in re.compile(r"\s").finditer(line, unit.start, unit.end))
        cut = min(spaces, key=lambda place: abs(place - middle), default=middle)
        yield from pieces(line, unit.start, cut, fits)
        yield from pieces(line, cut, unit.end, fits)
