"""Damage to files, and what has to come of it: loaded, or refused in one line, in little memory."""

import random
import resource
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from refusals import refuses

from lev_plugins import UserError
from lev_plugins import fairseq_patches as patches

MEMORY = 512  # MiB that a refusal may take, and no file here holds a tenth of one
HUGE = 10**9  # a number that nothing here has
#: what a setting may be in a file of others
VALUES = (
    *(HUGE, 2**70, 2**24, 0, -1, 1.5, "x", None, [], {}, [[]], True),
    *(float("nan"), float("inf")),
)


def outcome(call: Callable[[], Any], *named: Any, stock: bool = False) -> str:
    """``loaded``, or what was said, which has one of ``named`` in it; within some memory.

    A ``UserError`` says it; with ``stock`` also an error of fairseq that commands say in one line.
    """
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        call()
        said = "loaded"
    except Exception as error:
        if not (stock or isinstance(error, UserError)):
            raise
        said = str(error) if isinstance(error, UserError) else patches.explain(error) or ""
        assert said and "\n" not in said and len(said) < 800, repr(error)
        assert not named or any(str(one) in said for one in named), said
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEMORY * 1024
    return said


def refused(call: Callable[[], Any], *said: Any) -> str:
    """The one line of a call that has to end in a ``UserError`` with all of ``said`` in it."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with refuses(*said) as caught:
        call()
    assert len(str(caught.value)) < 600
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEMORY * 1024
    return str(caught.value)


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


def garbled(whole: Path, outcome: Path, rng: random.Random) -> Path:
    """A checkpoint whose pickle has other bytes, and the right checksum nevertheless."""
    with zipfile.ZipFile(whole) as archive:
        parts = {one: archive.read(one) for one in archive.namelist()}
    name = next(one for one in parts if one.endswith("data.pkl"))
    bad = bytearray(parts[name])
    for _ in range(rng.choice((1, 1, 1, 3))):
        bad[rng.randrange(len(bad))] = rng.randrange(256)
    with zipfile.ZipFile(outcome, "w") as archive:
        for one, content in parts.items():
            archive.writestr(one, bytes(bad) if one == name else content)
    return outcome
