"""Numbers by value (``3.5`` and ``3,5``), and plural categories, which nouns beside them follow."""

import re
import unicodedata
from collections.abc import Callable, Hashable
from functools import lru_cache

from babel import Locale, localedata
from babel.core import get_global
from babel.numbers import parse_decimal

from .lines import to_text

_SIGNS = re.compile(r"\D+")  # between digits


def digits(text: str) -> tuple[str, ...]:
    """Returns the groups of digits of a number: the same whatever parts them."""
    return (*_SIGNS.split(text),)


def as_written(old: str, new: str, like: str) -> str | None:
    """Returns ``new`` as a text writes it that has ``like`` for ``old``; None if that does not show
    how.

    ``as_written("3.5", "4.25", "3,5")`` is ``"4,25"``.
    """
    signs = dict(zip(_SIGNS.findall(old), _SIGNS.findall(like)))
    known = signs.keys() >= {*_SIGNS.findall(new)}
    return _SIGNS.sub(lambda sign: signs[sign[0]], new) if known else None


def plain(number: str) -> str:
    """Returns a number with the digits 0 to 9."""
    return "".join(str(unicodedata.decimal(sign, sign)) for sign in number)


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
