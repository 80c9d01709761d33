"""Repair a draft where the change of its source needs no translation: names, code, numbers.

A word of the source language is never written into a translation.
"""

import calendar
import re
import unicodedata
from collections.abc import Callable, Container, Hashable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import groupby
from typing import NamedTuple

import regex
from babel import Locale, localedata
from babel.core import get_global
from babel.numbers import parse_decimal

from .code import ORDERED, TAG
from .layout import accelerated, followed
from .text import QUOTES, SINGLE, WHOLE, Token, changes, places, replaced, span, to_text, tokens_of

LONGEST = 5000  # tokens of a source; a longer one is left alone
_MAYBE = regex.compile(r"%\d+")  # a placeholder, if both texts have it: Turkish has %50, too
# of a word: an acronym, or a capital where no sentence begins
_NAME = regex.compile(
    r"(?V1)(?:\p{Lu}{2,}|(?<=[\w,&`)] |\b\p{Lu}\. )\p{Lu}(?:\.(?= \p{Lu})|[\p{L}\p{M}]*"
    rf"(?:[\-'’]\p{{Lu}}\p{{L}}*)*))(?![\w--[{SINGLE}]])"
)
_PLAIN = regex.compile(r"\b\p{Ll}{4,}|^\W*\p{Ll}")  # where not each word has a capital
_THOUSANDS = regex.compile(r"\d{1,3}(?:,\d{3})+")  # in English
_DATES = {*calendar.month_name, *calendar.month_abbr, *calendar.day_name, *calendar.day_abbr} - {""}
FREE = ("code", "number", "name", "currency")  # kinds that need no translation
_NOUN = regex.compile(r"(?<=\d)\W*[\s⍽⎵␊]\W*\p{L}[\p{Ll}\p{Lo}\p{M}]{2}")  # after a number
# marks around words: a translation has them in the same order
_LAYOUT = regex.compile(r"[*_~#|=\"'\p{Pi}\p{Pf}„‚]")
Span = tuple[int, int]
Stretch = tuple[range, range]  # of tokens that differ: in the older source, in the new one


# numbers and plural categories --------------------------------------------------------------------

_SIGNS = re.compile(r"\D+")  # between digits


def digits(text: str) -> tuple[str, ...]:
    """Returns the groups of digits of a number: the same whatever parts them, in any script."""
    return (*_SIGNS.split("".join(map(_plain, text))),)


def _plain(char: str) -> str:
    """Returns a digit as ASCII has it; another character as it is."""
    return str(unicodedata.digit(char)) if char.isdecimal() else char


def as_written(old: str, new: str, like: str) -> str | None:
    """Returns ``new`` as a text writes it that has ``like`` for ``old``; None if that does not show
    how.

    ``as_written("3.5", "4.25", "3,5")`` is ``"4,25"``.
    """
    signs = dict(zip(_SIGNS.findall(old), _SIGNS.findall(like)))
    if not signs.keys() >= {*_SIGNS.findall(new)}:
        return None
    written = _SIGNS.sub(lambda sign: signs[sign[0]], new)
    zeros = {ord(char) - unicodedata.digit(char) for char in like if char.isdecimal()}
    table = {ord("0") + digit: min(zeros) + digit for digit in range(10)}
    return written.translate(table)


#: the category of a number as it is written; None for what counts nothing: a date, a version
Category = Callable[[str], Hashable]
_GROUPING = re.compile(r"[\s٬’'`*]")  # a mark of code may stand around a number, too
_NO_RULES = localedata.load("root")["plural_form"]  # what Babel gives a language without its own


@lru_cache
def locale_of(language: str) -> Locale | None:
    """Returns a language's data of CLDR, by whatever name it has (``pt-br``, ``sr@latin``,
    ``de_DE_formal``, ``iw``); None without its plural forms."""
    names, known = [re.sub("[-@.]", "_", language)], localedata.locale_identifiers()
    locale = Locale.negotiate(names, known, aliases=get_global("language_aliases"))
    return None if locale is None or locale.plural_form is _NO_RULES else locale


@lru_cache
def counting(language: str) -> Category:
    """Returns the plural categories of a language by CLDR; without them each number has its own."""
    locale = locale_of(language)

    def category(written: str) -> Hashable:
        number = _GROUPING.sub("", to_text(written))
        try:
            return locale.plural_form(parse_decimal(number, locale, True)) if locale else number
        except (ValueError, ArithmeticError):
            return None

    return category


# the rule ----------------------------------------------------------------------------------------

ANY_QUOTES = "\"'„‚“”‘’«»‹›"
UNKNOWN = counting("")  # plural categories of no language


class Substitution(NamedTuple):
    """A text of an older source, at ``start``, and what the new source has in its place."""

    start: int
    before: str
    after: str


class _Text:
    """A text, and where its parts are found: code whole, all else outside of code."""

    def __init__(self, text: str, tokens: Sequence[Token], other: str) -> None:
        self.text, self.codes = text, dict[str, list[Span]]()
        for token in tokens:
            is_code = token.kind == "code" and (
                token.text in other or not _MAYBE.fullmatch(token.text)
            )
            if is_code:
                self.codes.setdefault(token.text, []).append(token[:2])
        spans = (span for there in self.codes.values() for span in there)
        self.prose = replaced(text, ((*span, "\0" * (span[1] - span[0])) for span in spans))
        self.numbers = [token for token in tokens if token.kind == "number"]

    def places(self, part: str) -> list[Span]:
        if part not in self.codes and WHOLE.search(part):  # code and what stands beside it
            return [match.span() for match in regex.finditer(regex.escape(part), self.text)]
        return self.codes.get(part) or places(self.prose, part)

    def ordered(self, part: str) -> list[Span]:
        """Returns where a part that is identified by its order stands; any quotation mark for
        another."""
        if QUOTES.fullmatch(part):
            return [match.span() for match in QUOTES.finditer(self.prose)]
        return self.places(part)

    def ways(self, old: str, new: str) -> Iterator[list[tuple[Span, str]]]:
        """Yields the ways to repair it: what would replace its characters."""
        if old.isdigit() and _THOUSANDS.fullmatch(new):  # nothing tells what parts them here
            return
        yield [(span, new) for span in self.places(old)]
        like = [token for token in self.numbers if digits(token.text) == digits(old)]
        texts = [(token[:2], as_written(old, new, token.text)) for token in like]
        yield [(span, text) for span, text in texts if text is not None]


class Source(NamedTuple):
    """A source and its tokens."""

    text: str
    tokens: list[Token]

    def slice(self, there: range) -> str:
        """Returns what stands at some tokens."""
        return self.text[slice(*span(self.tokens, there))] if there else ""


class Sources:
    """Both sources of a draft as tokens with their kinds, and where they differ."""

    def __init__(self, old: str, new: str) -> None:
        small = {*regex.findall(r"\b\p{Ll}+\b", f"{old} {new}")}
        self.old, self.new = (Source(text, [*_kinds(text, small)]) for text in (old, new))

    @cached_property
    def stretches(self) -> list[Stretch]:
        """Returns what differs: tokens of the older source and those of the new one."""
        sides = (self.old.tokens, self.new.tokens)
        return [*changes(*([token.text for token in side] for side in sides))]

    def after(self, old: str) -> "Sources":
        """Returns the same with an older source that is repaired."""
        return self if old == self.old.text else Sources(old, self.new.text)


class Repaired(NamedTuple):
    """A draft after repairs, and its sources, of which the older one has the same repairs."""

    text: str
    sources: Sources

    @property
    def is_all(self) -> bool:
        """Returns whether nothing else has changed in the source."""
        return not self.sources.stretches


def _kinds(text: str, small: set[str]) -> Iterator[Token]:
    """Yields the tokens of a source with their kinds.

    small: words that are no names with a capital, either.
    """
    tokens = tokens_of(text)
    prose = replaced(text, ((*token[:2], " ") for token in tokens if token.kind == "code"))
    is_plain, is_upper = _PLAIN.search(prose), prose.isupper()

    def kind_of(name: str) -> str:
        if is_upper or name.lower() in small or name in _DATES:
            return "word"
        is_acronym = len(name) > 1 and name.isupper()
        return "name" if is_acronym or is_plain else "part"  # of a name, if it has two

    end, kind = 0, ""  # of a name
    for token in tokens:
        if token.start >= end:
            name = _NAME.match(text, token.start) if token.kind == "word" else None
            end, kind = (name.end(), kind_of(name[0])) if name else (token.end, token.kind)
        yield token._replace(kind=kind)


def _runs(text: str, tokens: Sequence[Token]) -> list[Token]:
    """Returns tokens of a text, a name of two words as one, marks around words as "layout"."""
    runs = []
    for kind, group in groupby(tokens, key=lambda token: token.kind):
        parts = [*group]
        if kind == "part":
            kind = "name" if len(parts) > 1 else "word"
        if kind == "name":
            start, end = parts[0].start, parts[-1].end
            parts = [Token(start, end, text[start:end], text[start:end], kind)]
        parts = [part._replace(kind=kind) for part in parts]
        runs += [
            part._replace(kind="layout") if kind == "mark" and _is_layout(part) else part
            for part in parts
        ]
    return runs


def _changes(sources: Sources) -> list[Substitution]:
    """Returns what may be repaired."""
    left, right = sources.old, sources.new
    if max(len(left.tokens), len(right.tokens)) > LONGEST:
        return []
    pairs = list[Substitution]()
    for gone, come in sources.stretches:
        before, after = left.tokens[gone.start : gone.stop], right.tokens[come.start : come.stop]
        if before and all(map(_is_layout, [*before, *after])):
            pairs.append(Substitution(before[0].start, left.slice(gone), right.slice(come)))
        else:
            pairs += _pairs(_runs(left.text, before), _runs(right.text, after))
    return pairs


def _is_layout(token: Token) -> bool:
    """Returns whether a token is markup or a mark around words."""
    is_tag = token.kind == "code" and TAG.fullmatch(token.text)
    return bool(is_tag or (token.kind == "mark" and _LAYOUT.fullmatch(token.text)))


def _pairs(old: list[Token], new: list[Token]) -> list[Substitution]:
    """Returns what of a stretch may be repaired."""
    kinds = [token.kind for token in old], [token.kind for token in new]
    is_written_out = kinds != (["number"], ["name"])
    if len(old) == len(new) == 1 and is_written_out and {*FREE} >= {*kinds[0], *kinds[1]}:
        return [Substitution(old[0].start, old[0].text, new[0].text)]
    pairs = []
    for kind in (*FREE, "layout"):
        before, after = ([token for token in side if token.kind == kind] for side in (old, new))
        if len(before) == len(after):
            both = zip(before, after)
            pairs += [Substitution(a.start, a.text, b.text) for a, b in both if a.text != b.text]
    return pairs


def repaired(
    old: str,
    new: str,
    draft: str,
    category: Category = UNKNOWN,
    quotes: Container[str] = ANY_QUOTES,
) -> Repaired:
    """Returns the draft after those changes of its source that need no translation.

    A text of the old source that is another one in the new source gives way to that where it
    stands in the draft, as often as it does in the old source: as it is and not inside a word, as a
    number of the same value. A number before a noun gives way to one of its own plural category
    alone.

    Args:
        category: plural categories of the language.
        quotes: marks that its translations have; others are not put in.
    """
    old, draft = followed(old, new, draft)
    old, draft = accelerated(old, new, draft)
    sources = Sources(old, new)
    source, target = _Text(old, sources.old.tokens, draft), _Text(draft, tokens_of(draft), old)
    pairs = _changes(sources)
    became_positional = [
        pair for pair in pairs if _is_positional(pair.after) and not _is_positional(pair.before)
    ]
    if len(became_positional) > 1:  # the draft may have them in another order
        pairs = [pair for pair in pairs if pair not in became_positional]
    edits, same = dict[Span, str](), dict[Span, str]()  # in the draft, and in the older source
    by_text: dict[str, list[Substitution]] = {}
    for pair in pairs:
        by_text.setdefault(pair.before, []).append(pair)
    for before, group in by_text.items():
        there = source.places(before)
        is_one = len({pair.after for pair in group}) == 1 and not _LAYOUT.match(before)
        if not (is_one and len(group) == len(there)) and _is_ordered(before):
            both = [_in_order(pair, source, target, quotes) for pair in group]
            way = [edit for pair in both if pair for edit in pair[1]]
            there = [pair[0] for pair in both if pair]
            texts = [pair.after for pair, found in zip(group, both) if found]
            if not any(span in edits for span, _ in way):
                edits |= way
                same |= zip(there, texts)
            continue
        after = group[0].after
        way = next(filter(None, target.ways(before, after)), [])
        if before == old.strip() in after:
            way = [((0, len(draft)), after.replace(before, draft.strip()))]
        ends = [*((draft, end) for (_, end), _ in way), *((old, end) for _, end in there)]
        is_agreeing = not any(_NOUN.match(*end) for end in ends) or all(
            category(draft[start:end]) == category(text) for (start, end), text in way
        )
        is_free = is_one and not any(span in edits for span, _ in way)
        if len(way) == len(there) == len(group) and is_free and is_agreeing:
            edits |= way
            same |= dict.fromkeys(there, after)
    text, between = (
        replaced(side, ((*span, new) for span, new in edited.items()))
        for side, edited in ((draft, edits), (old, same))
    )
    return Repaired(text, sources.after(between))


def _is_positional(text: str) -> bool:
    """Returns whether a text is a placeholder that is identified by its order."""
    return bool(ORDERED.fullmatch(text)) or text == "{}"


def _is_ordered(text: str) -> bool:
    """Returns whether several of a text are told apart by their order."""
    return bool(_is_positional(text) or TAG.fullmatch(text) or _LAYOUT.match(text))


def _in_order(
    pair: Substitution, source: _Text, target: _Text, quotes: Container[str]
) -> tuple[Span, list[tuple[Span, str]]] | None:
    """Returns a text of the older source, and what replaces the same one in its draft; None if the
    draft has not as many. Quotation marks of the language stay."""
    before, after = pair.before, pair.after
    span = pair.start, pair.start + len(before)
    there, ways = source.ordered(before), target.ordered(before)
    if len(ways) != len(there) or span not in there:
        return None
    place = ways[there.index(span)]
    is_own = target.text[slice(*place)] != before or any(
        mark not in quotes for mark in QUOTES.findall(after)
    )
    if QUOTES.fullmatch(before) and after and is_own:
        return span, []
    return span, [(place, after)]
