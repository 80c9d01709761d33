"""Cutting a line into the units that a model reads, with the way back to the line.

Whitespace is what separates tokens for fairseq: any Unicode whitespace. Spaces between units, the
line's own at both ends and a byte order mark in front belong to no unit, so nothing changes them.
Offsets count characters of the line from 0.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

UnitKind = Literal["word", "letters", "line", "sentence", "window"]
KINDS: tuple[UnitKind, ...] = get_args(UnitKind)
#: Stands for what cannot be text: a byte that is not UTF-8, or a token that a model cannot spell.
UNREADABLE = "\ufffd"

Context = tuple[str, str]
NO_CONTEXT: Context = ("", "")

_BYTE_ORDER_MARK = "\ufeff"
_WORD = re.compile(r"\S+")
# Letters, with apostrophes inside; not in what holds more than letters and punctuation: numbers,
# addresses, paths, names of programs.
_LETTERS = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_NO_WORDS = re.compile(r"[\d_@/\\#=<>{}|~^`$+*]|\w[.:]\w")
_JOINING = "\u00ad\u200c\u200d"  # the soft hyphen, and what parts or joins letters of a word
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
# The end of a sentence, with closing quotes and brackets: before a space, or, where the script
# has no spaces, anywhere. A run of dots is tried once, from its beginning: a long one would else
# take the square of its length.
_DOTS = r".!?\u2026\u0964\u061f\u06d4"
_SENTENCE_END = re.compile(
    rf"(?<![{_DOTS}])[{_DOTS}]++[\"'\u201d\u2019\u00bb)\]]*+(?=\s)"
    r"|[\u3002\uff01\uff1f\uff61]+[\u201d\u2019\u300d\u300f\uff09]*"
)
_SHOWN = re.compile(r"\S")


@dataclass(frozen=True)
class Unit:
    """A part of a line as a model reads it.

    text: single spaces for runs of spaces, and :data:`UNREADABLE` for half surrogate pairs.
    places: for each character of ``text`` its offset in the line, and the end of the unit.
    context: the words before and behind it (:func:`context`), for models that use them.
    """

    text: str
    places: tuple[int, ...]
    context: Context = NO_CONTEXT


def read_unit(line: str, start: int, end: int) -> Unit:
    """The unit that ``line[start:end]`` is, which begins and ends with no space."""
    characters: list[str] = []
    places: list[int] = []
    for place in range(start, end):
        space = line[place].isspace()
        if space and characters and characters[-1] == " ":
            continue
        characters.append(" " if space else line[place])
        places.append(place)
    text = _LONE_SURROGATE.sub(UNREADABLE, "".join(characters))
    return Unit(text, (*places, end))


def spans(line: str, kind: UnitKind, window: int = 0) -> Iterator[tuple[int, int]]:
    """Where the units of a line begin and end; disjoint, in order, with no spaces at their ends.

    Args:
        kind: ``word`` (what stands between whitespace), ``letters`` (words without the punctuation
            around them, with the marks on their letters; none of what holds digits or other
            symbols), ``line``, ``sentence`` or ``window``.
        window: words in a window; the last of a line may have fewer.
    """
    start = len(_BYTE_ORDER_MARK) if line.startswith(_BYTE_ORDER_MARK) else 0
    words = [match.span() for match in _WORD.finditer(line, start)]
    if not words:
        return
    if kind == "word":
        yield from words
    elif kind == "letters":
        line = with_marks_as_letters(line)
        for first, last in words:
            if not _NO_WORDS.search(line, first, last):
                yield from (match.span() for match in _LETTERS.finditer(line, first, last))
    elif kind == "window":
        for first in range(0, len(words), window):
            group = words[first : first + window]
            yield group[0][0], group[-1][1]
    elif kind == "sentence":
        yield from _sentences(line, words[0][0], words[-1][1])
    else:
        yield words[0][0], words[-1][1]


def with_marks_as_letters(line: str) -> str:
    """A line in which each mark on a letter (an accent of its own, a vowel sign, a soft hyphen, a
    joiner) has given way to that letter: Python takes a word for ended at them."""
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
    left, right = NO_CONTEXT
    if number and line[places[number - 1][1] : start].isspace():
        left = line[slice(*places[number - 1])].lower()
    if number + 1 < len(places) and line[end : places[number + 1][0]].isspace():
        right = line[slice(*places[number + 1])].lower()
    return left, right


def _sentences(line: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Cuts behind what ends a sentence, unless the text continues in lower case."""
    for match in _SENTENCE_END.finditer(line, start, end):
        following = _SHOWN.search(line, match.end(), end)
        if following is None or line[following.start()].islower():
            continue
        yield start, match.end()
        start = following.start()
    yield start, end


def pieces(line: str, start: int, end: int, fits: Callable[[str], bool]) -> Iterator[Unit]:
    """The unit at a span; where it does not fit, as few parts of it as greed finds.

    It is cut at spaces, and inside a word that does not fit by itself. A character that does not
    fit alone is in no part.

    Args:
        fits: whether a model reads a text whole; what fits, fits when it is cut shorter.
    """
    whole = read_unit(line, start, end)
    if fits(whole.text):
        yield whole
        return
    yield from _fitting(line, [match.span() for match in _WORD.finditer(line, start, end)], fits)


def _fitting(
    line: str, parts: Sequence[tuple[int, int]], fits: Callable[[str], bool]
) -> Iterator[Unit]:
    """Units of as many neighbouring parts as fit; one that is too long alone is cut further."""

    def together(first: int, count: int) -> Unit:
        return read_unit(line, parts[first][0], parts[first + count - 1][1])

    def fit(first: int, count: int) -> bool:
        return fits(together(first, count).text)

    first = 0
    while first < len(parts):
        start, end = parts[first]
        if taken := _most(len(parts) - first, partial(fit, first)):
            yield together(first, taken)
        elif end - start > 1:
            yield from _fitting(line, [(n, n + 1) for n in range(start, end)], fits)
        first += max(taken, 1)


def _most(limit: int, fits: Callable[[int], bool]) -> int:
    """The largest number up to ``limit`` that fits, 0 if 1 does not; found by doubling."""
    good, bad = 0, 1
    while bad <= limit and fits(bad):
        good, bad = bad, 2 * bad
    bad = min(bad, limit + 1)
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return good
