"""Commands that a benchmark runs, and the processor time that they took."""

import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from lev_plugins.errors import UserError


def run(command: Sequence[str], log: Path, **settings: str) -> str:
    """What a command printed, which ``log`` keeps too; one thread, and this Python's scripts.

    Args:
        settings: environment variables.

    Raises:
        UserError: it failed.
    """
    scripts = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PATH": scripts, **settings}
    with open(log, "w", encoding="utf-8") as file:
        code = subprocess.run(command, env=environment, stdout=file, stderr=file).returncode
    if code:
        raise UserError(f"{' '.join(command[:3])} failed: see {log}")
    return log.read_text(encoding="utf-8", errors="replace")


def spent() -> float:
    """Processor seconds of all commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
