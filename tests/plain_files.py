"""Files of text, a line each."""

from collections.abc import Iterable
from pathlib import Path


def put(path: str | Path, lines: Iterable[str], end: str = "\n") -> Path:
    """A file of these lines, in a folder that is made if need be."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line + end for line in lines), encoding="utf-8", newline="")
    return path


def read(path: str | Path) -> list[str]:
    """Its lines again."""
    return Path(path).read_text(encoding="utf-8").split("\n")[:-1]
