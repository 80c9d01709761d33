"""Damage to files, and what has to come of it: loaded, or refused in one line."""

import random
from collections.abc import Callable
from typing import Any

from lev_plugins import UserError

HUGE = 10**9  # a number that nothing here has


def outcome(call: Callable[[], Any], *named: Any) -> str:
    """``loaded``, or the one line that a ``UserError`` said, which has one of ``named`` in it."""
    try:
        call()
    except UserError as error:
        said = str(error)
        assert said and "\n" not in said and len(said) < 800, repr(error)
        assert not named or any(str(one) in said for one in named), said
        return said
    return "loaded"


def flipped(content: bytes, rng: random.Random) -> bytes:
    """With one other bit."""
    bad = bytearray(content)
    bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
    return bytes(bad)


def damaged(content: bytes, rng: random.Random) -> bytes:
    """A flipped bit, another byte, a part cut out, put twice or cut off."""
    bad, how = bytearray(content), rng.randrange(6)
    place = rng.randrange(len(bad))
    if how <= 1:
        return flipped(content, rng)
    if how == 2:
        bad[place] = rng.randrange(256)
    elif how == 3:
        del bad[place : place + rng.randint(1, 9)]
    elif how == 4:
        bad[place:place] = bad[place : place + rng.randint(1, 9)]
    else:
        del bad[place:]
    return bytes(bad)
