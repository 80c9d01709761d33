"""Numbers by value (``3.5`` and ``3,5``), and plural categories, which nouns beside them follow."""

import re
import unicodedata
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import NamedTuple

import regex
from babel import Locale, localedata
from babel.core import get_global
from babel.numbers import parse_decimal

from .lines import to_text
from .tokens import INSIDE, OTHER_LETTERS, SPACES

_GROUP = rf".,'’٬{SPACES}"  # parts thousands
NUMBER = regex.compile(
    rf"(?V1)(?<![.,_\d{OTHER_LETTERS}])\d+(?:{INSIDE}| \d+)*(?!\d)"
)  # fmt: skip
_GROUPED = re.compile(rf"(\d{{1,3}})(?:([{_GROUP}])\d{{3}})(?:\2\d{{3}})*")
_GROUPED_DECIMAL = re.compile(rf"\d{{1,3}}(?:([{_GROUP}])\d{{3}})+(?!\1)[.,٫]\d+")
THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")  # in English
_DATE = re.compile(r"(\d{1,4})([./\-])(\d{1,2})\2(\d{1,4})")
_SUFFIX = regex.compile(rf"(?V1)(?:\.?[ºª]|\.(?=\s)|[:'’\-]?{OTHER_LETTERS}+)?")
# the decimal sign that goes with a separator of thousands, if a text shows only one of them
_DECIMAL_OF = {".": ",", ",": ".", "'": ".", "’": ".", "٬": "٫", **dict.fromkeys(SPACES, ",")}
_GROUP_OF = {",": ".", ".": ",", "٫": "٬"}


class Written(NamedTuple):
    """A number in a text: its characters, and what follows an ordinal ("" if it is none)."""

    start: int
    end: int
    text: str
    suffix: str


def numbers(text: str) -> list[Written]:
    """Returns the numbers of a text, in order; a list or a range is several numbers."""
    written = []
    for match in NUMBER.finditer(text):
        for start, end in _parts(match[0], match.start()):
            suffix = _SUFFIX.match(text, end)
            written.append(Written(start, end, text[start:end], suffix[0] if suffix else ""))
    return written


def digits(text: str) -> str:
    """Returns the digits of a number but its zeros, sorted: the same however it is written."""
    return "".join(sorted(filter(str.isdecimal, plain(text)))).lstrip("0")


def _parts(written: str, start: int) -> list[tuple[int, int]]:
    """Returns the spans of numbers that are written together."""
    if " " in written and not (_GROUPED.fullmatch(written) or _GROUPED_DECIMAL.fullmatch(written)):
        sign = " "
    elif "-" in written and not _DATE.fullmatch(written):
        sign = "-"
    else:
        return [(start, start + len(written))]
    places = []
    for part in written.split(sign):
        places += _parts(part, start)
        start += len(part) + 1
    return places


def _groups(number: str) -> list[str]:
    return re.findall(r"\d+", number)


def _separated(old: str, new: str, like: str) -> str | None:
    """Returns a number with the separators that ``like`` has for those of ``old``."""
    signs, others = re.findall(r"\D", old), re.findall(r"\D", like)
    known = dict(zip(signs, others))
    if [known.get(sign) for sign in signs] != others:
        return None
    group, decimal = known.get(",", ","), known.get(".", ".")
    if group != "," and "." not in known:
        known["."] = _DECIMAL_OF.get(group, ".")
    elif decimal != "." and "," not in known:
        known[","] = _GROUP_OF.get(decimal, ",")
    return re.sub(r"\D", lambda sign: known.get(sign[0], sign[0]), new)


def as_written(old: str, new: str, like: str) -> str | None:
    """Returns ``new`` as a text writes it that has ``like`` for ``old``; None if these differ.

    ``as_written("3.5", "4.25", "3,5")`` is ``"4,25"``. Digits are those of ``like``.
    """
    zero = next((ord(sign) - int(sign) for sign in like if sign.isdecimal()), ord("0"))
    written = _as_written(plain(old), plain(new), plain(like))
    if written is None or zero == ord("0"):
        return written
    is_decimal = _GROUPED.fullmatch(written) or re.fullmatch(r"[\d,]+\.\d+", written)
    table = {ord("0") + digit: chr(zero + digit) for digit in range(10)}
    if is_decimal and zero in _ARABIC:
        table |= {ord("."): "٫", ord(","): "٬"}
    return written.translate(table)


_ARABIC = (0x660, 0x6F0)  # zero, in Arabic and in Persian


def plain(number: str) -> str:
    """Returns a number with the digits 0 to 9."""
    return "".join(str(unicodedata.decimal(sign, sign)) for sign in number)


def _as_written(old: str, new: str, like: str) -> str | None:
    if old == like:
        return new
    groups, others = _groups(old), _groups(like)
    if groups == others and (len(groups) < 3 or _both_grouped(old, like)):
        return _separated(old, new, like)
    if "".join(groups) != "".join(others):
        return None
    grouped = _GROUPED.fullmatch(like)
    if like.isdigit() and _GROUPED.fullmatch(old) and (new.isdigit() or _GROUPED.fullmatch(new)):
        return "".join(_groups(new))
    if grouped and old.isdigit() and new.isdigit():
        return f"{int(new):,}".replace(",", grouped[2])
    return None


def _both_grouped(*written: str) -> bool:
    forms = _GROUPED, _GROUPED_DECIMAL
    return any(all(form.fullmatch(number) for number in written) for form in forms)


def replacement(old: Written, new: Written, like: Written) -> str | None:
    """Returns the replacement of ``like``, the number ``old`` as the draft writes it, for ``new``;
    None if it is another number, or if its spelling is not known."""
    has_usual = like.suffix in ("", ".", old.suffix) or like.suffix[0] in ":'’-"
    is_known = old.suffix == new.suffix and has_usual
    return as_written(old.text, new.text, like.text) if is_known else None


# plural categories (one, few, many …) ------------------------------------------------------------

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
def counting(language: str, form_of: Callable[[int], int] | None = None) -> Category:
    """Returns the categories of a language by CLDR, else by the formula of a file (``form_of``).

    Where neither is known each number has a category of its own.
    """
    locale = locale_of(language)

    def category(written: str) -> Hashable:
        number = _GROUPING.sub("", plain(to_text(written))).replace("٫", ".")
        try:
            if locale:
                return locale.plural_form(parse_decimal(number, locale, strict=True))
            return form_of(int(number)) if form_of else number
        except (ValueError, ArithmeticError):
            return None

    return category
