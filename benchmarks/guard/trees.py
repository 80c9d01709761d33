"""A tree's commands, as cases.toml writes them, over a folder of models."""

import sys
import tempfile
import tomllib
from pathlib import Path
from string import Template

ROOT = Path(__file__).resolve().parents[2]
TABLE = tomllib.loads(Path(__file__).with_name("cases.toml").read_text("utf-8"))


def written(command: str, words: dict[str, str]) -> str:
    """A command of the table with all that ``$NAME`` stands for."""
    while "$" in command:
        command = Template(command).substitute(TABLE["words"], **words)
    return command


class Tree:
    """Runs commands with the code of a checkout; fairseq is in memory already (warm.py)."""

    def __init__(self, code: Path, models: Path) -> None:
        sys.path[:0] = [str(ROOT / "tests" / "commands"), str(ROOT / "tests")]
        import conftest

        conftest.TIMEOUT = 3600
        self.code, self.models = code.resolve(), models.resolve()
        self.folder = tempfile.TemporaryDirectory()
        self.commands = conftest.Commands(Path(self.folder.name))

    def __call__(self, command: str, folder: str = ".", out: Path | None = None) -> str:
        """What it prints to standard output; ``folder``: of the models, in which it runs.

        Raises:
            RuntimeError: it failed.
        """
        words = {"tree": str(self.code), "out": str(out)}
        command, _, typed = written(command, words).partition(" < ")
        stdin = (self.models / typed).read_bytes() if typed else b""
        environ = {"PYTHONPATH": str(self.code)}
        done = self.commands(command, self.models / folder, stdin=stdin, environ=environ)
        if done.code:
            raise RuntimeError(f"status {done.code}: {(done.err or done.out).strip()[-300:]}")
        return done.out

    def train(self, name: str, save: str, more: str) -> str:
        """The log of a training, from the checkpoint in ``save`` on if there is one."""
        return self(f"fairseq-train {TABLE['train'][name]} $train --save-dir {save} {more}")
