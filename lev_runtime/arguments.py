"""Lists of text as callers in Python give them."""

from collections.abc import Iterable
from typing import Any

from .errors import UserError


def strings(name: str, one: str, given: Iterable[Any], optional: bool = False) -> list[Any]:
    """A list of strings, or of strings and None; ``one`` is what a message calls one of them.

    Raises:
        UserError: it is none; a single string, whose characters would be the texts, included.
    """
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise UserError(f"{name}: takes a list, not {given!r:.60}")
    found = list(given)
    for number, text in enumerate(found, start=1):
        if not isinstance(text, str) and not (optional and text is None):
            raise UserError(f"{one} {number}: {text!r:.60} is no text; give strings")
    return found
