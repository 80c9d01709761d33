"""Lists of text as callers in Python give them; raises :class:`UserError` for what is none."""

from collections.abc import Iterable
from typing import Any, TypeVar

from ..errors import UserError

T = TypeVar("T")


def listed(name: str, given: Iterable[T]) -> Iterable[T]:
    """What was given, which must not be a single string: its characters would be the texts."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise UserError(f"{name}: takes a list, not {given!r:.60}")
    return given


def strings(name: str, one: str, given: Iterable[Any], optional: bool = False) -> list[Any]:
    """A list of strings, or of strings and None; ``one`` is what a message calls one of them."""
    found = list(listed(name, given))
    for number, text in enumerate(found, start=1):
        if not isinstance(text, str) and not (optional and text is None):
            raise UserError(f"{one} {number}: {text!r:.60} is no text; give strings")
    return found
