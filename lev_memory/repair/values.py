"""Numbers by value: ``3.5`` and ``3,5``, ``1,000`` and ``1 000``."""

import re
import unicodedata
from typing import NamedTuple

import regex

from .scripts import OTHER_LETTERS

_SPACES = "\u00a0\u202f\u2009⍽⎵ "  # signs of :mod:`lines` among them
_GROUP = rf".,'’٬{_SPACES}"  # parts thousands
#: of a number, separators with the digits after them
INSIDE = rf"[.,٫٬:/\-{_SPACES.replace(' ', '')}]\d+|['’]\d{{3}}(?!\d)|[hH]\d\d(?!\w)"
NUMBER = regex.compile(
    rf"(?V1)(?<![.,_\d{OTHER_LETTERS}])\d+(?:{INSIDE}| \d+)*(?!\d)"
)  # fmt: skip
_GROUPED = re.compile(rf"(\d{{1,3}})(?:([{_GROUP}])\d{{3}})(?:\2\d{{3}})*")
_GROUPED_DECIMAL = re.compile(rf"\d{{1,3}}(?:([{_GROUP}])\d{{3}})+(?!\1)[.,٫]\d+")
THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")  # in English
_DATE = re.compile(r"(\d{1,4})([./\-])(\d{1,2})\2(\d{1,4})")
_SUFFIX = regex.compile(rf"(?V1)(?:\.?[ºª]|\.(?=\s)|[:'’\-]?{OTHER_LETTERS}+)?")
# the decimal sign that goes with a separator of thousands, if a text shows only one of them
_DECIMAL_OF = {".": ",", ",": ".", "'": ".", "’": ".", "٬": "٫", **dict.fromkeys(_SPACES, ",")}
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
