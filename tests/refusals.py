"""How a user's mistake is told: in one line, and by a command with its folder as it was."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lev_runtime.errors import UserError

#: values that no numeric option takes
NO_NUMBERS = (math.nan, math.inf, -(10**30), True, "1", 3.5)


@contextmanager
def refuses(*parts: object, match: str | None = None) -> Iterator[pytest.ExceptionInfo[UserError]]:
    """What stands inside ends in one line with all of ``said``, where the pattern is found."""
    with pytest.raises(UserError, match=match) as caught:
        yield caught
    message = str(caught.value)
    assert message and "\n" not in message
    for part in parts:
        assert str(part) in message, message


def files(folder: str | Path = ".") -> dict[str, Any]:
    """What a folder holds, but logs; False for a folder in it."""
    return {
        str(path.relative_to(folder)): path.is_file() and path.read_bytes()
        for path in Path(folder).rglob("*")
        if path.suffix != ".log"
    }


def refusal(main: Callable[[list[str]], Any], *words: Any) -> str:
    """The one line of a command that has to leave the current folder as it was."""
    before = files()
    with refuses() as caught:
        main([str(word) for word in words])
    assert files() == before
    return str(caught.value)
