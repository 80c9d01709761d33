"""Cutting a line into the units that a model reads.

Spaces (any Unicode whitespace) between units, at both ends of the line and a byte order mark in
front belong to no unit, so nothing changes them. Offsets count characters of the line from 0.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, get_args
from unicodedata import category, normalize

from lev_runtime.errors import UserError, require_count
from lev_runtime.io.lines import UNREADABLE

from ..files.markup import APOSTROPHES as APOSTROPHES
from ..files.markup import HYPHENS as HYPHENS
from ..files.markup import Knows as Knows
from ..files.markup import Listed as Listed
from ..files.markup import Span as Span
from ..files.markup import without_markup

UnitKind = Literal["word", "letters", "line", "window"]
KINDS: tuple[UnitKind, ...] = get_args(UnitKind)

Context = tuple[str, str]
NO_CONTEXT: Context = ("", "")

_BYTE_ORDER_MARK = "\ufeff"
_WORD = re.compile(r"\S+")
_WORD_OR_CONTROL = re.compile(r"[\S\x85]+")  # which is whitespace for Python
# Letters, with apostrophes inside; not in what holds more than letters and punctuation: numbers,
# addresses, paths, names of programs; nor in words cut short (goin', heav'n, ev'ry, giv'st), nor
# next to what was no text: controls, bytes that are no UTF-8, a ? for a letter.
_LETTER = rf"(?:(?![{APOSTROPHES}])[^\W\d_])"
_LETTERS = re.compile(rf"{_LETTER}+(?:[{APOSTROPHES}]{_LETTER}+)*")
_ASCII_LETTERS = re.compile("[A-Za-z]+(?:'[A-Za-z]+)*")
# Raised and lowered ones, fractions, Roman and circled numbers, which are no \d.
_NUMERALS = r"\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u209c\u2150-\u218b\u2460-\u24ff\u2776-\u2793"
_NO_LETTERS = (
    rf"\d{_NUMERALS}_@/\\#=<>{{}}|~^`$+*\u00ac"
    r"\x00-\x08\x0e-\x1b\x7f-\x9f\ufffd\ud800-\udfff"
)
# All alternatives look back at a sign: where there is none, they take a seventh of the time.
_NO_WORDS = re.compile(
    rf"[{_NO_LETTERS}.:&%'\u2019?](?:(?<=[{_NO_LETTERS}])|(?<=\w[.:])(?=\w)|(?<=[&%])(?=[A-Za-z])"
    r"|(?i:(?<=in['\u2019])(?!\w)|(?<=(?![aeioug])[a-z]['\u2019])(?=[nr](?![et])|st))"
    r"|(?<=[^\W\d_]\?)(?=[^\W\d_]))"
)
# Words and numbers with no spaces between.
_FIELD = rf"[\"'(]*(?:[^\W\d_{_NUMERALS}]+|\d[\d.:/-]*)[\"')]*"
_FIELDS = re.compile(rf"[,;|]*{_FIELD}(?:[,;|]+{_FIELD})+[,;|.]*")
# What stands inside a word, but for the ending of word(s); what begins one with a hyphen (mis-).
_INSIDE_WORD = re.compile(
    r"(?<=[^\W\d_])(?:-?[)\]]|[(\[](?!e?s\)))(?=[^\W\d_])|(?<![\w-])[^\W\d_]{1,3}(?=-[^\W\d_])"
)
# What parts or joins letters of a word and is none: the soft hyphen, zero-width marks.
_JOINING = "\u00ad\u180e\u200b\u200c\u200d\u2060\ufeff"
# What is read as others: a ligature, a letter with marks on it, what joins Latin letters (in other
# scripts joiners tell words apart); this, or a character.
_SIGN = re.compile(
    rf"[\ufb00-\ufb06]|[^\W\d_][\u0300-\u036f\u3099\u309a]+"
    rf"|(?<=[A-Za-z\u00c0-\u036f\ufb00-\ufb06])[{_JOINING}]+(?=[A-Za-z\u00c0-\u024f\ufb00-\ufb06])"
)
_EACH = re.compile(f"({_SIGN.pattern})|.", re.DOTALL)
_STRAIGHT = str.maketrans(dict.fromkeys(APOSTROPHES, "'"))
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class ModelUnit(NamedTuple):
    """``line[start:end]`` as a model reads it, which begins and ends with no space.

    text: single spaces for runs of spaces, and :data:`UNREADABLE` for half surrogate pairs.
    context: the words before and after it (:func:`context`), for models that use them. often: words
    of its files that it may be a slip of.
    """

    start: int
    end: int
    text: str
    context: Context = NO_CONTEXT
    often: tuple[str, ...] = ()

    @property
    def query(self) -> "ModelUnit":
        """Returns it without its place: such units, if equal, have equal answers."""
        return self._replace(start=0, end=0)


def composed(line: str, by_letters: bool = True) -> tuple[str, Sequence[int]]:
    """Returns a line as its words are read by letters: accents and ligatures are a part of them,
    and nothing joins them; and where in the line each character begins, and where it ends."""
    if line.isascii() or not by_letters or not _SIGN.search(line):
        return line, range(len(line) + 1)
    read = [
        (sign.start(), normalize("NFKC", sign[1].strip(_JOINING)) if sign[1] else sign[0])
        for sign in _EACH.finditer(line)
    ]
    text = "".join(letters for _, letters in read)
    places = [start for start, letters in read for _ in letters]
    return text, [*places, len(line)] if text != line else range(len(line) + 1)


def read_unit(line: str, start: int, end: int) -> ModelUnit:
    """The unit between two places of a line, less the spaces at its ends."""
    text = line[start:end]
    first = end - len(text.lstrip())
    last = start + len(text.rstrip())
    spaced = " ".join(text.split())
    return ModelUnit(first, last, _LONE_SURROGATE.sub(UNREADABLE, spaced))


def spans(line: str, kind: UnitKind, window: int = 0) -> Iterator[Span]:
    """Where the units of a line begin and end; disjoint, in order, with no spaces at their ends.

    Args:
        kind: ``word`` (between whitespace), ``letters`` (without the punctuation around them, with
            the marks on their letters; none of what holds digits or other symbols), ``line`` or
            ``window``, of so many words, the last of fewer.
    """
    start = len(_BYTE_ORDER_MARK) if line.startswith(_BYTE_ORDER_MARK) else 0
    if kind == "letters":
        yield from _letters(line, start)
        return
    words = [match.span() for match in _WORD.finditer(line, start)]
    if not words:
        return
    size = {"word": 1, "line": len(words)}.get(kind, window)
    for n in range(0, len(words), size):
        yield words[n][0], words[n : n + size][-1][1]


def _letters(line: str, begin: int) -> Iterator[Span]:
    """The units of kind ``letters`` from a place of a line on."""
    written, line = line, without_markup(with_marks_as_letters(line))
    parted = {place for match in _INSIDE_WORD.finditer(line) for place in match.span()}
    stretches = [(begin, len(line))]  # no word goes beyond its token
    if _NO_WORDS.search(line, begin):
        tokens = _WORD_OR_CONTROL.finditer(line, begin)
        stretches = [token.span() for token in tokens if _may_have_words(line, token)]
    letters = _ASCII_LETTERS if line.isascii() else _LETTERS
    for stretch in stretches:
        for start, end in (match.span() for match in letters.finditer(line, *stretch)):
            if parted.isdisjoint((start, end)):
                yield start, start + len(written[start:end].rstrip(_JOINING))


def _may_have_words(line: str, token: re.Match[str]) -> bool:
    return not _NO_WORDS.search(line, *token.span()) or bool(_FIELDS.fullmatch(token[0]))


def plain_apostrophes(text: str) -> str:
    """A text with the straight mark for all that look like it."""
    return text if text.isascii() else text.translate(_STRAIGHT)


def looked_up(word: str) -> str:
    """Returns a word in small letters, with plain apostrophes."""
    return plain_apostrophes(word.lower())


def with_case(text: str, word: str) -> str:
    """A text with the capitals of a word: none, all, or the first letter's."""
    if len(word) > 1 and word == word.upper() != word.lower():
        return text.upper()
    first = word[:1]
    if first == first.lower():
        return text
    return text[:1].upper() + text[1:]


def letters_only(text: str) -> str:
    """Returns a text without spaces and apostrophes."""
    return plain_apostrophes(text).replace(" ", "").replace("'", "")


def with_marks_as_letters(line: str) -> str:
    """A line in which each mark on a letter (an accent of its own, a soft hyphen, a joiner) has
    given way to that letter: Python takes a word for ended at them."""
    if line.isascii():
        return line
    shown = [" "]
    for char in line:
        marks = char in _JOINING or category(char)[0] == "M"
        shown.append(shown[-1] if marks and shown[-1].isalpha() else char)
    return "".join(shown[1:])


def core_of(word: str) -> str:
    """A word without punctuation around it, with the marks on its letters."""
    places = [n for n, char in enumerate(with_marks_as_letters(word)) if char.isalnum()]
    return word[places[0] : places[-1] + 1] if places else ""


def context(line: str, places: Sequence[Span], number: int) -> Context:
    """The units before and after the one of that number, in small letters; ``""`` where there is
    none, or more than whitespace between the two."""
    start, end = places[number]
    line = without_markup(line)
    before = behind = ""
    if number > 0:
        first, last = places[number - 1]
        if line[last:start].isspace():
            before = line[first:last].lower()
    if number + 1 < len(places):
        first, last = places[number + 1]
        if line[end:first].isspace():
            behind = line[first:last].lower()
    return before, behind


def pieces(line: str, start: int, end: int, fits: Knows) -> Iterator[ModelUnit]:
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
        spaces = (match.start() for match in re.compile(r"\s").finditer(line, unit.start, unit.end))
        cut = min(spaces, key=lambda place: abs(place - middle), default=middle)
        yield from pieces(line, unit.start, cut, fits)
        yield from pieces(line, cut, unit.end, fits)


def check_unit(unit: str | None, window: int | None) -> UnitKind | None:
    """The unit, ``window`` where its size alone is given, None for the default; raises UserError
    for one that is not known, and a size below 1 or of another unit."""
    if unit is None and window is not None:
        unit = "window"
    if unit is not None and unit not in KINDS:
        raise UserError(f"unit={unit}: choose one of {', '.join(KINDS)}")
    if window is not None:
        require_count("window", window)
        if unit != "window":
            raise UserError(f"window={window}: only with unit=window")
    return next((kind for kind in KINDS if kind == unit), None)
