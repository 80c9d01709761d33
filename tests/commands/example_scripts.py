"""The scripts and modules of examples/: how tests run, load and refuse them."""

import importlib
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


def bash(
    words: Sequence[str], programs: Path | None = None, cwd: Path | None = None, **environ: str
) -> subprocess.CompletedProcess[str]:
    """Runs bash; programs in the folder ``programs`` are found before all others."""
    places = [str(programs or ""), str(Path(sys.executable).parent), os.environ["PATH"]]
    more = {"PATH": os.pathsep.join(filter(None, places)), "OMP_NUM_THREADS": "1"}
    streams = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    env = {**os.environ, **more, "LC_ALL": "C.UTF-8", **environ}
    return subprocess.run(["bash", *words], cwd=cwd, env=env, timeout=900, **streams)


def succeed(script: str, *arguments: object, programs: Path | None = None, **environ: str) -> str:
    """What a script prints, which has to succeed."""
    done = bash([str(EXAMPLES / script), *map(str, arguments)], programs, **environ)
    assert done.returncode == 0, f"{script}: {done.stdout[-800:]} {done.stderr[-2000:]}"
    return done.stdout


def refusal(script: str, *arguments: object, **environ: str) -> str:
    """The one line of a script that refuses, without ``error:``."""
    done = bash([str(EXAMPLES / script), *map(str, arguments)], **environ)
    assert done.returncode == 1 and done.stdout == "", done.stdout + done.stderr
    line = re.fullmatch(r"error: ([^\n]*)\n", done.stderr)
    assert line, done.stderr
    return line[1]


def modules(folder: str, *names: str) -> list[ModuleType]:
    """Modules of an example, which import each other by plain names.

    Other examples have modules of these names too: nothing is left where they would find it.
    """
    own = {path.stem for path in (EXAMPLES / folder).glob("*.py")}
    before = {name: sys.modules.pop(name, None) for name in own}
    sys.path.insert(0, str(EXAMPLES / folder))
    try:
        return [importlib.import_module(name) for name in names]
    finally:
        sys.path.remove(str(EXAMPLES / folder))
        for name, module in before.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module
