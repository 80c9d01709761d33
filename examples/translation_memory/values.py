"""Numbers by value: ``3.5`` and ``3,5``, ``1,000`` and ``1 000``, dates in any order, ordinals."""

import itertools
import re
from typing import NamedTuple

_SPACES = "\u00a0\u202f⍽⎵ "  # signs of :mod:`lines` among them
NUMBER = re.compile(rf"(?<![\w.,])\d+(?:[.,:/\-{_SPACES}]\d+)*(?!\d)")
_GROUPED = re.compile(rf"(\d{{1,3}})(?:([.,{_SPACES}])\d{{3}})(?:\2\d{{3}})*")
_GROUPED_DECIMAL = re.compile(rf"\d{{1,3}}(?:([.,{_SPACES}])\d{{3}})+(?!\1)[.,]\d+")
_DATE = re.compile(r"(\d{1,4})([./\-])(\d{1,2})\2(\d{1,4})")
_SUFFIX = re.compile(r"(?:\.?[ºª]|\.(?=\s)|[^\W\d]+)?")
_ENGLISH = re.compile(r"st|[nr]d|th")  # what follows an ordinal
_SAME_FOR_ALL = {"º", "ª", ".º", ".ª", ".", ""}  # and in other languages, of any number
_ABOVE_ONE = {"e", "ème", "eme"}


class Written(NamedTuple):
    """A number in a text: its characters, and what follows an ordinal ("" if it is none)."""

    start: int
    end: int
    text: str
    suffix: str


def numbers(text: str) -> list[Written]:
    """The numbers of a text, in order; a list of numbers with blanks between is several."""
    found = []
    for match in NUMBER.finditer(text):
        parts, start = [match[0]], match.start()
        if " " in match[0] and not _GROUPED.fullmatch(match[0]):
            parts = match[0].split(" ")
        for part in parts:
            end = start + len(part)
            suffix = _SUFFIX.match(text, end)
            found.append(Written(start, end, part, suffix[0] if suffix else ""))
            start = end + 1
    return found


def _groups(number: str) -> list[str]:
    return re.findall(r"\d+", number)


def _order(number: str, other: str) -> list[int] | None:
    """For each field of a date its place in another date of the same day; None if it is not."""
    a, b = (list(map(int, _groups(one))) for one in (number, other))
    if not (_DATE.fullmatch(number) and _DATE.fullmatch(other)):
        return None
    orders = (order for order in itertools.permutations(range(3)) if [a[i] for i in order] == b)
    return list(next(orders, ())) or None


def _dated(new: str, order: list[int], like: str) -> str | None:
    """A date in the order and with the widths of another."""
    if not _DATE.fullmatch(new):
        return None
    fields, widths = _groups(new), [len(one) for one in _groups(like)]
    sign = re.findall(r"\D", like)[0]
    return sign.join(fields[i].lstrip("0").zfill(width) for i, width in zip(order, widths))


def _separated(old: str, new: str, like: str) -> str | None:
    """A number with the separators that ``like`` has for those of ``old``."""
    signs, others = (re.findall(r"\D", one) for one in (old, like))
    known = dict(zip(signs, others))
    if len(signs) != len(others) or any(known[a] != b for a, b in zip(signs, others)):
        return None
    if known.get(".") == "," and "," not in known:
        known[","] = "."
    elif known.get(",") == "." and "." not in known:
        known["."] = ","
    return re.sub(r"\D", lambda sign: known.get(sign[0], sign[0]), new)


def as_written(old: str, new: str, like: str) -> str | None:
    """``new`` as a text writes it that has ``like`` for ``old``; None where these differ.

    ``as_written("3.5", "4.25", "3,5")`` is ``"4,25"``.
    """
    if old == like:
        return new
    order = _order(old, like)
    if order:
        return _dated(new, order, like)
    if _groups(old) == _groups(like) and (len(_groups(old)) < 3 or _both_grouped(old, like)):
        return _separated(old, new, like)
    if "".join(_groups(old)) != "".join(_groups(like)):
        return None
    grouped, plain = _GROUPED.fullmatch(like), like.isdigit()
    if plain and _GROUPED.fullmatch(old) and (new.isdigit() or _GROUPED.fullmatch(new)):
        return "".join(_groups(new))
    if grouped and old.isdigit() and new.isdigit():
        return f"{int(new):,}".replace(",", grouped[2])
    return None


def _both_grouped(*written: str) -> bool:
    forms = _GROUPED, _GROUPED_DECIMAL
    return any(all(form.fullmatch(number) for number in written) for form in forms)


def replacement(old: Written, new: Written, like: Written) -> str | None:
    """What takes the place of ``like``, the number ``old`` as the draft writes it, for ``new``;
    None where it is another number, or how it would be written is not known."""
    ordinals = _ENGLISH.fullmatch(old.suffix) and _ENGLISH.fullmatch(new.suffix)
    if ordinals and old.suffix != like.suffix:
        same = like.suffix in _SAME_FOR_ALL
        if not same and not (like.suffix in _ABOVE_ONE and "1" not in (old.text, new.text)):
            return None
    elif old.suffix != new.suffix or like.suffix not in ("", ".", old.suffix):
        return None
    return as_written(old.text, new.text, like.text)
