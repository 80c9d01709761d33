"""The command ``correct`` with a scripted model, and the files that it reads and writes."""

import io
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from fake_backend import FakeBackend

from lev_correct import Corrector
from lev_correct.cli import main as correct
from lev_plugins import UserError

TEH = {"teh": "the"}


def tree(folder: str = ".") -> dict[str, bytes]:
    """The files below a folder and their bytes."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }


def put(**files: bytes) -> None:
    """Files of the current folder; ``__`` stands for a slash."""
    for name, raw in files.items():
        path = Path(name.replace("__", "/"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)


def git(*words: str | Path) -> str:
    """What git prints, as a user with a name."""
    who = ["-c", "user.name=a", "-c", "user.email=a"]
    done = subprocess.run(["git", *who, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(message: str = "some", **files: bytes) -> None:
    """Commits all that is there after :func:`put`."""
    put(**files)
    git("add", "-A")
    git("commit", "-qm", message)


def places(printed: bytes) -> list[str]:
    """``file:line:column`` of what a check printed."""
    return [line.partition(": ")[0] for line in printed.decode().splitlines()]


def run_scripted(
    monkeypatch: pytest.MonkeyPatch,
    text: bytes,
    flags: str | Sequence[str] = "",
    words: Mapping[str, str] = TEH,
    status: int = 0,
) -> bytes:
    """Runs the command on bytes; returns standard output. Words are written for others, each with a
    probability of a half; an endless one has no end, where bad stands nothing goes, and odd is what
    nobody has thought of."""

    def written(unit: Sequence[str]) -> list[str] | None:
        if "bad" in unit:
            raise UserError("no memory")
        if "odd" in unit:
            raise RecursionError("too deep")
        new = [words.get(word, word) for word in unit]
        return None if "endless" in unit else [word for word in new if word]

    def load(args: object) -> Corrector:
        model = FakeBackend(written, limit=20, characters=False)
        return Corrector(model, args.unit, args.window)

    monkeypatch.setattr(correct, "load_corrector", load)
    out = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    monkeypatch.setattr(sys, "stdout", out)
    flags = flags.split() if isinstance(flags, str) else flags
    assert correct.main([*flags, "--path", "model.pt"]) == status
    return out.buffer.getvalue()
