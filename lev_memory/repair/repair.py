"""Repair a draft where the change of its source needs no translation: names, code, numbers, terms.

A word of the source language is never written into a translation.
"""

import calendar
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

import regex
from rapidfuzz.distance import Levenshtein

from .code import FIXED, FORMAT, TAG
from .lines import replaced
from .plurals import Category, counting
from .scripts import PREFIXING, SINGLE, places
from .values import (
    INSIDE,
    Written,
    digits,
    grouped,
    numbers,
    replacement,
)

LONGEST = 5000  # tokens of a source; a longer one is left alone
_PART = rf"[\w--[{SINGLE}{PREFIXING}]]"  # of an identifier or an address
_JOINT = r"[./\\:@+=~#?&%\-]"
# what tells these from words: a_b, a@b, C:\a, a://b, a::b, aB, a1, a.b, a=b, a/b/c, a(), /a, -a
_SIGN = (
    rf"(?:{_PART}|{_JOINT})*?(?:[_@\\]|:[:/]|->|\p{{Ll}}\p{{Lu}}|[a-zA-Z]=|[a-zA-Z]{{2}}\d|(?<!\d)[a-zA-Z]\d"
    rf"|{_PART}{{2}}\.[a-zA-Z]|[a-zA-Z]\.{_PART}{{2}}|/[a-zA-Z]{_PART}*/|{_PART}\(\))"
    r"|[~.]{0,2}/[a-zA-Z]|--[a-zA-Z]|-[a-zA-Z](?!\w)"
)
_CODE = (
    r"(?<![\w:`])(?::[\w:+.\-]+:)?(?:``[^`]++``|`[^`]++`_{0,2})"
    rf"|(?<!{_PART}|{_JOINT})(?={_SIGN}){_JOINT}*+(?:{_PART}++"
    rf"(?:(?:(?!:(?![:/\\])|-\p{{Lu}}){_JOINT})++(?={_PART})|/)?)+(?:\(\))?"
    r"|\d+(?:(?: ?[+*=<>×÷] ?| [/\-] )\d+){2,}"  # a sum
)
_WHOLE = regex.compile(rf"(?V1){FIXED}|{_CODE}")  # is replaced whole, or not at all
_MAYBE = regex.compile(r"[%$]\d+")  # a placeholder, if both texts have it: Turkish has %50, too
# a term; code; a number with what parts it (a version and a date are numbers too); a name: an
# acronym, or with a capital where no sentence begins; a currency; a word; a mark
_TOKEN = (
    r"(?V1)\s*(?:(?P<term>(?<!\w)\L<terms>(?!\w))|(?P<code>{codes})"
    rf"|(?P<number>\d+-\d+-\d+|\d+(?:(?!-){INSIDE})*(?:[a-zA-Z][a-zA-Z\d]*)?)"
    r"|(?P<name>(?:\p{Lu}{2,}|(?<=[\w,&`)] |\b\p{Lu}\. )\p{Lu}(?:\.(?= \p{Lu})|[\p{L}\p{M}]*"
    rf"(?:[\-'’]\p{{Lu}}\p{{L}}*)*))(?![\w--[{SINGLE}]]))"
    rf"|(?P<currency>\p{{Sc}})|(?P<word>[{SINGLE}]|(?:(?![{SINGLE}])\w)+)|(?P<mark>[^\w\s]))"
)
_PLAIN = regex.compile(r"\b\p{Ll}{4,}|^\W*\p{Ll}")  # where not each word has a capital
# lower-case endings of words that are the same or alike in languages of Europe, and of English ones
_ORDINARY = regex.compile(
    r".{2,}(?:al|ar|or|ion|ions|ble|[ae]nt|ment|ive|ed|ings?|ly|ness|ful|ers)"
)
_DATES = {*calendar.month_name, *calendar.month_abbr, *calendar.day_name, *calendar.day_abbr} - {""}
FREE = {"term", "code", "number", "name", "currency"}  # kinds that need no translation
_WORDS = regex.compile(r"(?<![&\p{L}])\p{L}{2}")
# a noun after a number, some with what joins it in Romanian: no abbreviation of a unit
_NOUN = regex.compile(
    rf"(?V1)(?<=\d`*)[*_`\"'’”»]*(?:[\s\p{{Cf}}⍽⎵␊]|&nbsp;|&\#160;|{TAG.pattern})+[*_`\"'«„“]*(?:de\s)?"
    r"(?!(?:min|sec|sek|dpi|ppi|fps|bps|rpm|ppm|mph)\b)"
    rf"(?:{FORMAT[0].pattern}|\p{{Lu}}{{4}}|[\p{{L}}--[{SINGLE}]][[\p{{Ll}}\p{{Lo}}\p{{M}}]--[{SINGLE}]]{{2}})"
)
_NAMED_DATES = "|".join(_DATES)
# after a number in English that counts no noun: a small word, a month, or a month before it
_NO_COUNT = regex.compile(
    r"\s(?:of|and|or|to|from|in|on|at|by|for|with|than|as|if|the|per|out|into|until"
    rf"|{_NAMED_DATES})\b|(?<=\b(?:{_NAMED_DATES})\.? \d+)(?!\s\p{{Ll}}{{3}})"
)
Terms = Mapping[str, Sequence[str]]  # of a glossary: source to translations, the first the usual
Span = tuple[int, int]
Pair = tuple[str, str]  # of texts: the older one, and the new one
Token = tuple[str, str]  # its kind, and its text with the space in front of it
UNKNOWN = counting("")  # plural categories of no language


class Repaired(NamedTuple):
    """A draft after repairs; ``is_all``: nothing else has changed in its source; ``old``: the older
    source after the same repairs."""

    text: str
    is_all: bool
    old: str = ""


class _Text:
    """A text, and where its parts are found: code whole, all else outside of code."""

    def __init__(self, text: str, other: str) -> None:
        self.codes: dict[str, list[Span]] = {}
        self.other = other
        self.prose = _WHOLE.sub(self._cover, text)
        self.numbers: dict[str, list[Written]] = {}
        for number in numbers(self.prose):
            self.numbers.setdefault(digits(number.text), []).append(number)

    def _cover(self, match: regex.Match[str]) -> str:
        if _MAYBE.fullmatch(match[0]) and match[0] not in self.other:
            return match[0]
        self.codes.setdefault(match[0], []).append(match.span())
        return "\0" * len(match[0])

    def places(self, part: str) -> list[Span]:
        return self.codes.get(part) or places(self.prose, part)

    def ways(self, old: str, new: str, terms: Terms) -> Iterator[list[tuple[Span, str]]]:
        """Yields the ways to repair it: what would replace its characters."""
        if old in terms and new in terms:
            yield [(span, terms[new][0]) for text in terms[old] for span in self.places(text)]
        yield [(span, new) for span in self.places(old)]
        before, after = numbers(old), numbers(new)
        if len(before) == len(after) == 1 and old == before[0].text + before[0].suffix:
            like = self.numbers.get(digits(old), ())
            texts = [(number, replacement(before[0], after[0], number)) for number in like]
            yield [((number.start, number.end), text) for number, text in texts if text is not None]


@lru_cache(maxsize=8)
def _pattern(terms: frozenset[str], has_amounts: bool) -> regex.Pattern[str]:
    codes = f"(?!\\$\\d)(?:{_WHOLE.pattern[5:]})" if has_amounts else _WHOLE.pattern[5:]
    return regex.compile(_TOKEN.replace("{codes}", codes), terms=[*terms, "\0"])


def _tokens(text: str, draft: str, terms: Terms, small: set[str]) -> list[Token]:
    """Returns the tokens of a source; ``$4`` is an amount where its draft has no ``$4``.

    small: words that are no names with a capital, either.
    """
    has_amounts = any(sign not in draft for sign in _MAYBE.findall(text))
    prose = _WHOLE.sub(" ", text)
    is_plain, is_upper = _PLAIN.search(prose), prose.isupper()

    def kind(match: regex.Match[str]) -> str:
        name = match[0].strip()
        if match.lastgroup != "name":
            return str(match.lastgroup)
        if is_upper or name.lower() in small or name in _DATES or _ORDINARY.fullmatch(name):
            return "word"
        is_acronym = len(name) > 1 and name.isupper()
        return "name" if is_acronym or is_plain else "part"  # of a name, if it has two

    matches = _pattern(frozenset(terms), has_amounts).finditer(text)
    return [(kind(match), match[0]) for match in matches]


def _runs(tokens: list[Token]) -> list[Token]:
    """Returns tokens, a name of two words as one."""
    runs = []
    for kind, group in groupby(tokens, key=lambda token: token[0]):
        texts = [text for _, text in group]
        if kind == "part":
            kind = "name" if len(texts) > 1 else "word"
        if kind == "name":
            texts = ["".join(texts)]
        runs += [(kind, text.strip()) for text in texts]
    return runs


def _changes(old: str, new: str, draft: str, terms: Terms) -> tuple[Counter[Pair], bool]:
    """Returns what may be repaired, how often, and whether it is all that has changed."""
    small = {*regex.findall(r"\b\p{Ll}+\b", f"{old} {new}")}
    sides = [_tokens(text, draft, terms, small) for text in (old, new)]
    if max(map(len, sides)) > LONGEST:
        return Counter(), False
    pairs, is_all, i, k = Counter[Pair](), True, 0, 0
    bare = ([text.strip() for _, text in side] for side in sides)
    for j, m, size in Levenshtein.opcodes(*bare).as_matching_blocks():
        stretch = _runs(sides[0][i:j]), _runs(sides[1][k:m])
        i, k = j + size, m + size
        repairable, is_whole = _pairs(*stretch)
        pairs.update(repairable)
        is_all &= is_whole
    return pairs, is_all


def _pairs(old: list[Token], new: list[Token]) -> tuple[list[Pair], bool]:
    """Returns what of a stretch may be repaired, and whether that is all of it."""
    kinds = [kind for kind, _ in old], [kind for kind, _ in new]
    is_written_out = kinds != (["number"], ["name"])
    if len(old) == len(new) == 1 and is_written_out and FREE - {"term"} >= {*kinds[0], *kinds[1]}:
        return [(old[0][1], new[0][1])], True
    pairs, is_all = [], kinds[0] == kinds[1]
    for kind in {*kinds[0], *kinds[1]}:
        before, after = ([text for each, text in side if each == kind] for side in (old, new))
        if kind in FREE and len(before) == len(after):
            pairs += [pair for pair in zip(before, after) if pair[0] != pair[1]]
        else:
            is_all &= before == after
    return pairs, is_all


def repaired(
    old: str,
    new: str,
    draft: str,
    terms: Terms | None = None,
    sign: str | None = None,
    category: Category = UNKNOWN,
) -> Repaired:
    """Returns the draft after those changes of its source that need no translation.

    A text of the old source that is another one in the new source gives way to that where it
    stands in the draft, as often as it does in the old source: as it is and not inside a word, as a
    number of the same value, or as a term of the glossary. A number before a noun gives way to one
    of its own plural category alone. A draft that is the old source is no translation and left
    alone.

    Args:
        sign: what parts thousands in the language, if that is known.
        category: plural categories of the language.
    """
    if draft.strip() == old.strip() and _WORDS.search(_WHOLE.sub(" ", old)):
        return Repaired(draft, old == new, old)
    terms = terms or {}
    pairs, is_all = _changes(old, new, draft, terms)
    source, target = _Text(old, draft), _Text(draft, old)
    edits, same = dict[Span, str](), dict[Span, str]()  # in the draft, and in the older source
    for (before, after), count in pairs.items():
        way = next(filter(None, target.ways(before, after, terms)), [])
        way = [(span, grouped(before, text, sign)) for span, text in way]
        there = source.places(before)
        ends = [*((draft, end) for (_, end), _ in way), *((old, end) for _, end in there)]
        is_counted = any(_NOUN.match(*end) for end in ends)
        is_counted &= not any(_NO_COUNT.match(*end) for end in ends)
        is_agreeing = not is_counted or all(
            category(draft[start:end]) == category(text) for (start, end), text in way
        )
        is_free = not any(span in edits for span, _ in way)
        if len(way) == len(there) == count and is_free and is_agreeing:
            edits |= way
            same |= dict.fromkeys(there, after)
        else:
            is_all = False
    text, between = (
        replaced(side, ((*span, new) for span, new in changes.items()))
        for side, changes in ((draft, edits), (old, same))
    )
    return Repaired(text, is_all, between)
