"""How commands refuse: one line, and the folder they run in as it was."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lev_plugins.errors import UserError


def files() -> dict[Path, Any]:
    """What the current folder holds."""
    return {path: path.is_file() and path.read_bytes() for path in Path().iterdir()}


def refusal(main: Callable[[list[str]], Any], *words: Any) -> str:
    """The one line of a command that has to leave the current folder as it was."""
    before = files()
    with pytest.raises(UserError) as error:
        main([str(word) for word in words])
    assert "\n" not in str(error.value)
    assert files() == before
    return str(error.value)
