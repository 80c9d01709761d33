"""What callers in Python give: looked at before anything is computed, named as Python names it.

All functions raise :class:`UserError`, one line with the argument and the value.
"""

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, TypeVar

from ..errors import UserError

T = TypeVar("T")


def listed(name: str, given: Iterable[T]) -> Iterable[T]:
    """What was given, which has to be iterable and no single string."""
    if isinstance(given, str):
        raise UserError(f"{name}: takes a list, not a single string ({given[:40]!r})")
    if isinstance(given, bytes) or not isinstance(given, Iterable):
        raise UserError(f"{name}: takes a list, not {given!r:.60}")
    return given


def strings(name: str, one: str, given: Iterable[str]) -> list[str]:
    """A list of strings; ``name`` is that of the argument, ``one`` that of one of them."""
    return [_string(one, number, text) for number, text in enumerate(listed(name, given), start=1)]


def optional_strings(name: str, one: str, given: Iterable[str | None]) -> list[str | None]:
    """:func:`strings`, some of which may be None."""
    return [
        None if text is None else _string(one, number, text, ", or None for none")
        for number, text in enumerate(listed(name, given), start=1)
    ]


def _string(one: str, number: int, text: str, others: str = "") -> str:
    if not isinstance(text, str):
        raise UserError(f"{one} {number}: {text!r:.60} is no text; give strings{others}")
    return text


def check_whole(name: str, value: Any, least: float = 1) -> Any:
    """The value, which has to be a whole number of at least ``least``."""
    if not isinstance(value, Integral):
        raise UserError(f"{name} {value!r:.60}: must be a whole number")
    if value < least:
        raise UserError(f"{name} {value}: must be {least} or more")
    return value


def check_number(name: str, value: Any, most: float = math.inf) -> None:
    """Refuses what is no number from 0 to ``most``, infinity too."""
    if not isinstance(value, Real) or not 0 <= float(value) <= most or math.isinf(value):
        wanted = "a number, 0 or more" if math.isinf(most) else f"a number from 0 to {most:g}"
        raise UserError(f"{name} {value!r:.60}: must be {wanted}")
