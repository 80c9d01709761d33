"""The scripts and modules of examples/: how tests run, load and refuse them."""

import contextlib
import importlib
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from plain_files import ROOT

if TYPE_CHECKING:
    from conftest import Commands

EXAMPLES = ROOT / "examples"
STUB = """#!/bin/bash
if [ "$1" = -c ] || [ "$1" = - ]; then exec {home}/"$(basename "$0")" "$@"; fi
ask="{requests}/$BASHPID"
mkfifo "$ask.reply"
printf '%s\\0' "$PWD" "$(basename "$0")" "$@" > "$ask.words"
env -0 > "$ask.environ"
cat > "$ask.in"
echo "$BASHPID" > "{requests}/pipe"
read -r status < "$ask.reply"
cat "$ask.out"
cat "$ask.err" >&2
exit "$status"
"""
#: torchrun starts processes of its own: the real ones, with flags that make them small.
TORCHRUN = """#!/bin/bash
own=() small="$GUIDE_TORCHRUN"
until [[ "$1" == */fairseq-*train ]]; do own+=("$1"); shift; done
[[ "$1" == */fairseq-train ]] || small="$GUIDE_HYDRA"
exec {home}/torchrun "${{own[@]}}" "{home}/${{1##*/}}" "${{@:2}}" $small
"""
PROGRAMS = (
    "python fairseq-train fairseq-hydra-train fairseq-generate fairseq-interactive "
    "fairseq-preprocess fairseq-validate lev-preprocess lev-correct lev-trace lev-report "
    "lev-noise lev-enct5-prepare lev-predict lev-average lev-backbone lev-embeddings lev-export"
).split()
#: of a script's own environment, what says nothing to a program
OWN = {"_", "PATH", "PWD", "OLDPWD", "SHLVL"}


def answer(commands: "Commands", ask: Path, change: Callable[[list[str]], list[str]]) -> None:
    """Runs the program of a stub that has asked, and tells it the status."""
    folder, *words = ask.with_suffix(".words").read_text().split("\0")[:-1]
    if words[0].startswith("lev-"):
        words[:0] = ["python", "-m", "lev_plugins"]
    environ = ask.with_suffix(".environ").read_text("utf-8", "surrogateescape")
    pairs = [variable.split("=", 1) for variable in environ.split("\0")[:-1]]
    # what the script has set itself
    own = {a: b for a, b in pairs if a not in OWN and os.environ.get(a) != b}
    typed = ask.with_suffix(".in").read_bytes()
    done = commands(change(words), Path(folder), stdin=typed, environ=own)
    ask.with_suffix(".out").write_text(done.out, "utf-8", "surrogateescape")
    ask.with_suffix(".err").write_text(done.err, "utf-8")
    ask.with_suffix(".reply").write_text(f"{done.code}\n")


@contextlib.contextmanager
def programs(
    commands: "Commands", folder: Path, change: Callable[[list[str]], list[str]] = list
) -> Iterator[Path]:
    """Makes programs that are ours, for scripts that find their folder before all others.

    Each is a stub that leaves its arguments, folder and standard input in the folder, writes its
    number into a pipe and waits for its status. A thread reads the pipe and runs the programs one
    after the other (see warm.py), so nothing waits for torch. A script must not kill them.
    ``change`` sees every call.
    """
    os.mkfifo(pipe := folder / "pipe")
    home = Path(sys.executable).parent
    stub, torchrun = STUB.format(requests=folder, home=home), TORCHRUN.format(home=home)
    for name, text in {**dict.fromkeys(PROGRAMS, stub), "torchrun": torchrun}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)

    def serve() -> None:
        asked: list[str] = []
        while "end" not in asked:
            for number in asked:
                answer(commands, folder / number, change)
            asked = pipe.read_text().split()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield folder
    finally:
        pipe.write_text("end\n")
        thread.join(timeout=300)


def bash(
    words: Sequence[str], programs: Path | None = None, cwd: Path | None = None, **environ: str
) -> subprocess.CompletedProcess[str]:
    """Runs bash; programs in the folder ``programs`` are found before all others."""
    places = [str(programs or ""), str(Path(sys.executable).parent), os.environ["PATH"]]
    more = {"PATH": os.pathsep.join(filter(None, places)), "OMP_NUM_THREADS": "1"}
    streams = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    env = {**os.environ, **more, "LC_ALL": "C.UTF-8", **environ}
    return subprocess.run(["bash", *words], cwd=cwd, env=env, timeout=900, **streams)


def ran(words: Sequence[str], *places: Path | None, **environ: str) -> str:
    """Returns what :func:`bash` prints, which has to succeed."""
    done = bash(words, *places, **environ)
    assert done.returncode == 0, f"{words}: {done.stdout[-2000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def succeed(script: str, *arguments: object, programs: Path | None = None, **environ: str) -> str:
    """Returns what a script prints, which has to succeed."""
    return ran([f"{EXAMPLES}/{script}", *map(str, arguments)], programs, **environ)


def refusal(script: str, *arguments: object, **environ: str) -> str:
    """Returns the one line of a script that refuses, without ``error:``."""
    done = bash([str(EXAMPLES / script), *map(str, arguments)], **environ)
    assert done.returncode == 1 and done.stdout == "", done.stdout + done.stderr
    line = re.fullmatch(r"error: ([^\n]*)\n", done.stderr)
    assert line, done.stderr
    return line[1]


def module(folder: str, name: str) -> ModuleType:
    """Returns a module of an example."""
    sys.path.append(str(EXAMPLES / folder))
    return importlib.import_module(name)
