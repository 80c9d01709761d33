"""Repair a draft where the change of its source needs no translation: names, code, numbers.

A word of the source language is never written into a translation.
"""

import calendar
import re
import unicodedata
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
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


_DIGIT = re.compile(r"\d")  # of any script


def digits(text: str) -> list[str]:
    """Returns the groups of digits of a number: the same whatever parts them, in any script."""
    return _SIGNS.split(in_script(text, "0"))


def in_script(text: str, zero: str) -> str:
    """Returns a text with the digits of the script that has a zero: ``٠``, ``０``."""
    return _DIGIT.sub(lambda digit: chr(ord(zero) + unicodedata.decimal(digit[0])), text)


def as_written(old: str, new: str, like: str) -> str | None:
    """Returns ``new`` as a text writes it that has ``like`` for ``old``; None if that does not show
    how.

    ``as_written("3.5", "4.25", "3,5")`` is ``"4,25"``, and of ``"٣٫٥"`` it is ``"٤٫٢٥"``.
    """
    signs = dict(zip(_SIGNS.findall(old), _SIGNS.findall(like)))
    if not signs.keys() >= {*_SIGNS.findall(new)}:
        return None
    digit = _DIGIT.search(like)
    zero = chr(ord(digit[0]) - unicodedata.decimal(digit[0])) if digit else "0"
    return in_script(_SIGNS.sub(lambda sign: signs[sign[0]], new), zero)


#: the category of a number as it is written; None for what counts nothing: a date, a version
Category = Callable[[str], Hashable]
_GROUPING = re.compile(r"[\s٬’'`*]")  # a mark of code may stand around a number, too
_NO_RULES = localedata.load("root")["plural_form"]  # what Babel gives a language without its own


@lru_cache
def locale_of(language: str) -> Locale | None:
    """Returns a language's data of CLDR, by whatever name it has (``pt-br``, ``sr@latin``,
    ``de_DE_formal``, ``iw``); None without its plural forms."""
    name = re.sub("[-@.]", "_", language)
    known = localedata.locale_identifiers()
    locale = Locale.negotiate([name], known, aliases=get_global("language_aliases"))
    has_rules = locale is not None and locale.plural_form is not _NO_RULES
    return locale if has_rules else None


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


class Edit(NamedTuple):
    """Characters of a text, and what replaces them; ``features`` tell how sure a look-up is."""

    start: int
    end: int
    text: str
    kind: str = ""
    features: Mapping[str, float] = {}


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Returns a text after edits."""
    return replaced(text, (edit[:3] for edit in edits))


class _Edits(NamedTuple):
    """Edits of a draft, and the same ones of its older source."""

    of_source: Sequence[Edit] = ()
    of_draft: Sequence[Edit] = ()


class _Text:
    """A text, and where its parts are found: code whole, all else outside of code."""

    def __init__(self, text: str, tokens: Sequence[Token], other: str) -> None:
        self.text = text
        self.codes = dict[str, list[Span]]()
        self.numbers = [token for token in tokens if token.kind == "number"]
        hidden = list[tuple[int, int, str]]()
        for token in tokens:
            is_certain = token.text in other or not _MAYBE.fullmatch(token.text)
            if token.kind == "code" and is_certain:
                self.codes.setdefault(token.text, []).append(token[:2])
                hidden.append((*token[:2], "\0" * len(token.text)))
        self.prose = replaced(text, hidden)

    def places(self, part: str) -> list[Span]:
        if part in self.codes:
            return self.codes[part]
        if WHOLE.search(part):  # code and what stands beside it
            return [match.span() for match in regex.finditer(regex.escape(part), self.text)]
        return places(self.prose, part)

    def ordered(self, part: str) -> list[Span]:
        """Returns where a part that is identified by its order stands; any quotation mark for
        another."""
        if QUOTES.fullmatch(part):
            return [match.span() for match in QUOTES.finditer(self.prose)]
        return self.places(part)

    def edits(self, old: str, new: str) -> list[Edit]:
        """Returns what replaces a text: as it is written, else a number of the same value."""
        if old.isdigit() and _THOUSANDS.fullmatch(new):  # nothing tells what parts them here
            return []
        edits = [Edit(*span, new) for span in self.places(old)]
        if edits:
            return edits
        for token in self.numbers:
            text = as_written(old, new, token.text)
            if digits(token.text) == digits(old) and text is not None:
                edits.append(Edit(token.start, token.end, text))
        return edits


class Source(NamedTuple):
    """A source and its tokens."""

    text: str
    tokens: list[Token]

    def slice(self, there: range) -> str:
        """Returns what stands at some tokens."""
        return self.text[slice(*span(self.tokens, there))] if there else ""


class Entry:
    """The older source of a draft, the new one, and where they differ."""

    def __init__(self, old: str, new: str, draft: str) -> None:
        small = {*regex.findall(r"\b\p{Ll}+\b", f"{old} {new}")}
        self.old, self.new = (Source(text, [*_kinds(text, small)]) for text in (old, new))
        self.draft = draft

    @cached_property
    def stretches(self) -> list[Stretch]:
        """Returns what differs: tokens of the older source and those of the new one."""
        sides = (self.old.tokens, self.new.tokens)
        return [*changes(*([token.text for token in side] for side in sides))]

    @property
    def is_all(self) -> bool:
        """Returns whether nothing else has changed in the source."""
        return not self.stretches

    def after(self, old: str, draft: str) -> "Entry":
        """Returns the entry with an older source and a draft that are repaired."""
        is_same = (old, draft) == (self.old.text, self.draft)
        return self if is_same else Entry(old, self.new.text, draft)


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
        for part in parts:
            is_layout = kind == "mark" and _is_layout(part)
            runs.append(part._replace(kind="layout" if is_layout else kind))
    return runs


def _changes(entry: Entry) -> Iterator[Edit]:
    """Yields what may be repaired in the older source."""
    left, right = entry.old, entry.new
    if max(len(left.tokens), len(right.tokens)) > LONGEST:
        return
    for gone, come in entry.stretches:
        before, after = left.tokens[gone.start : gone.stop], right.tokens[come.start : come.stop]
        if before and all(map(_is_layout, [*before, *after])):
            yield Edit(*span(left.tokens, gone), right.slice(come))
        else:
            yield from _pairs(_runs(left.text, before), _runs(right.text, after))


def _is_layout(token: Token) -> bool:
    """Returns whether a token is markup or a mark around words."""
    is_tag = token.kind == "code" and TAG.fullmatch(token.text)
    return bool(is_tag or (token.kind == "mark" and _LAYOUT.fullmatch(token.text)))


def _pairs(old: list[Token], new: list[Token]) -> Iterator[Edit]:
    """Yields what of a stretch may be repaired: a token of its own kind by another, if there are as
    many; one that is alone by one of any kind, but no number by a name."""
    kinds = [token.kind for token in (*old, *new)]
    is_free = {*kinds} <= {*FREE}
    is_spelt_out = kinds == ["number", "name"]
    if len(old) == len(new) == 1 and is_free and not is_spelt_out:
        yield Edit(old[0].start, old[0].end, new[0].text)
        return
    for kind in (*FREE, "layout"):
        before = [token for token in old if token.kind == kind]
        after = [token for token in new if token.kind == kind]
        if len(before) == len(after):
            for a, b in zip(before, after):
                if a.text != b.text:
                    yield Edit(a.start, a.end, b.text)


def repaired(
    old: str,
    new: str,
    draft: str,
    category: Category = UNKNOWN,
    quotes: Container[str] = ANY_QUOTES,
) -> Entry:
    """Returns an entry after those changes of its source that need no translation.

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
    entry = Entry(old, new, draft)
    source = _Text(old, entry.old.tokens, draft)
    target = _Text(draft, tokens_of(draft), old)
    of_source = list[Edit]()
    of_draft = list[Edit]()
    for before, group in _by_text(entry).items():
        if _is_in_order(before, group, source):
            edits = _each_in_order(before, group, source, target, quotes)
        else:
            edits = _all_alike(before, group, source, target, category)
        taken = {edit[:2] for edit in of_draft}
        if taken.isdisjoint(edit[:2] for edit in edits.of_draft):
            of_source += edits.of_source
            of_draft += edits.of_draft
    return entry.after(edited(old, of_source), edited(draft, of_draft))


def _by_text(entry: Entry) -> dict[str, list[Edit]]:
    """Returns what may be repaired, by the text of the older source.

    Several texts that become placeholders by order are left out: the draft may have another order.
    """
    groups = dict[str, list[Edit]]()
    edits = [(entry.old.text[edit.start : edit.end], edit) for edit in _changes(entry)]
    became_positional = [
        edit for old, edit in edits if _is_positional(edit.text) and not _is_positional(old)
    ]
    for old, edit in edits:
        if len(became_positional) < 2 or edit not in became_positional:
            groups.setdefault(old, []).append(edit)
    return groups


def _is_positional(text: str) -> bool:
    """Returns whether a text is a placeholder that is identified by its order."""
    return bool(ORDERED.fullmatch(text)) or text == "{}"


def _is_in_order(before: str, group: Sequence[Edit], source: _Text) -> bool:
    """Returns whether equal texts are told apart by their order: marks around words; placeholders
    and markup, unless all of them become the same."""
    if _LAYOUT.match(before):
        return True
    if not (_is_positional(before) or TAG.fullmatch(before)):
        return False
    return not (_is_one(group) and len(group) == len(source.places(before)))


def _is_one(group: Sequence[Edit]) -> bool:
    """Returns whether a text becomes the same wherever it changes."""
    return len({edit.text for edit in group}) == 1


def _each_in_order(
    before: str, group: Sequence[Edit], source: _Text, target: _Text, quotes: Container[str]
) -> _Edits:
    """Returns the edits of those texts that a draft has in the same order; none where it has not as
    many. Quotation marks of the language stay."""
    there, here = source.ordered(before), target.ordered(before)
    if len(there) != len(here):
        return _Edits()
    places = dict(zip(there, here))
    of_source = [edit for edit in group if edit[:2] in places]
    of_draft = list[Edit]()
    for edit in of_source:
        start, end = places[edit[:2]]
        is_foreign = any(mark not in quotes for mark in QUOTES.findall(edit.text))
        is_own = is_foreign or target.text[start:end] != before
        if not (QUOTES.fullmatch(before) and edit.text and is_own):
            of_draft.append(Edit(start, end, edit.text))
    return _Edits(of_source, of_draft)


def _all_alike(
    before: str, group: Sequence[Edit], source: _Text, target: _Text, category: Category
) -> _Edits:
    """Returns the edits of a text that becomes the same everywhere, if the draft has it as often.

    A number before a noun keeps its plural category.
    """
    after = group[0].text
    of_source = [Edit(*place, after) for place in source.places(before)]
    of_draft = target.edits(before, after)
    if before == source.text.strip() in after:
        of_draft = [Edit(0, len(target.text), after.replace(before, target.text.strip()))]
    if not (_is_one(group) and len(group) == len(of_source) == len(of_draft)):
        return _Edits()
    edits = _Edits(of_source, of_draft)
    is_agreeing = all(category(target.text[e.start : e.end]) == category(e.text) for e in of_draft)
    for text, side in zip((source.text, target.text), edits):
        if not is_agreeing and any(_NOUN.match(text, edit.end) for edit in side):
            return _Edits()
    return edits
