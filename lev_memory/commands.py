"""Commands of fairseq and lev_plugins, which train and export; nothing of them is imported here."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from lev_runtime.errors import UserError


def program(name: str) -> str:
    """Returns the path of a console script: on the PATH, else of this environment.

    Raises:
        UserError: it is not installed.
    """
    neighbour = Path(sys.executable).with_name(name)
    path = shutil.which(name)
    if path is None and not neighbour.is_file():
        raise UserError(
            f"{name} is not installed; a training needs it: pip install '.[train,export]'"
        )
    return path or str(neighbour)


def run_logged(name: str, arguments: Sequence[str], log: Path) -> None:
    """Runs a command to its end; what it prints is appended to a log.

    Raises:
        UserError: it is not installed or failed, with the last line that it printed.
    """
    command = [program(name), *arguments]
    with open(log, "a", encoding="utf-8") as file:
        status = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT).returncode
    if status:
        raise failure(name, log)


def failure(name: str, log: Path) -> UserError:
    """Returns the error of a command that failed: the last line of its log."""
    last = log.read_text("utf-8", "replace").rstrip().rpartition("\n")[2]
    return UserError(f"{name} failed: {last.strip().removeprefix('error: ')} (see {log})")
