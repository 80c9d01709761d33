"""Plural categories (one, few, many …): a noun beside a number has another form in each."""

import re
from collections.abc import Callable, Hashable
from functools import lru_cache

from babel import Locale, localedata
from babel.core import get_global
from babel.numbers import parse_decimal

from .lines import to_text
from .values import plain

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
