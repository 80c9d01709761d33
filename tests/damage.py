"""Damage to files, and what has to come of it: loaded, or refused in one line."""

import random
from collections.abc import Callable
from typing import Any

from lev_plugins import UserError


def outcome(call: Callable[[], Any], *named: Any) -> str:
    """``loaded``, or the one line that a ``UserError`` said, which has one of ``named`` in it."""
    try:
        call()
    except UserError as error:
        message = str(error)
        assert message and "\n" not in message and len(message) < 800, repr(error)
        assert not named or any(str(name) in message for name in named), message
        return message
    return "loaded"


def damaged(content: bytes, rng: random.Random) -> bytes:
    """A flipped bit, another byte, a part cut out, put twice or cut off."""
    bad, place = bytearray(content), rng.randrange(len(content))
    match rng.randrange(10):
        case 0:
            bad[place] = rng.randrange(256)
        case 1:
            del bad[place : place + rng.randint(1, 9)]
        case 2:
            bad[place:place] = bad[place : place + rng.randint(1, 9)]
        case 3:
            del bad[place:]
        case _:  # most of a file of numbers is noticed at once when bytes are missing
            bad[place] ^= 1 << rng.randrange(8)
    return bytes(bad)
