"""Runs a guide's commands as they stand: bash, with our programs in the process of ``commands``.

Each program is a stub that leaves its arguments, folder and standard input in a folder, writes its
number into a pipe and waits for its status. A thread reads the pipe and runs the programs one after
the other (see warm.py), so nothing waits for torch to be imported. A script must not kill them.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from conftest import Commands

STUB = """#!/bin/bash
ask="$GUIDE_REQUESTS/$BASHPID"
mkfifo "$ask.reply"
printf '%s\\0' "$PWD" "$(basename "$0")" "$@" > "$ask.words"
cat > "$ask.in"
echo "$BASHPID" > "$GUIDE_REQUESTS/pipe"
read -r status < "$ask.reply"
cat "$ask.out"
cat "$ask.err" >&2
exit "$status"
"""
#: torchrun starts processes of its own: the real ones, with flags that make them small.
TORCHRUN = """#!/bin/bash
exec {home}/torchrun "${{@:1:2}}" {home}/fairseq-train "${{@:4}}" $GUIDE_TORCHRUN
"""
PROGRAMS = (
    "python fairseq-train fairseq-generate fairseq-interactive fairseq-preprocess fairseq-validate "
    "lev-preprocess lev-correct lev-trace lev-report lev-tune lev-gates lev-noise lev-predict"
).split()


class Shell:
    """bash in a folder, in which these programs are ours."""

    def __init__(self, commands: Commands, folder: Path, requests: Path) -> None:
        self.commands, self.folder, self.requests = commands, folder, requests
        os.mkfifo(requests / "pipe")
        torchrun = TORCHRUN.format(home=Path(sys.executable).parent)
        for name, text in {**dict.fromkeys(PROGRAMS, STUB), "torchrun": torchrun}.items():
            (requests / name).write_text(text)
            (requests / name).chmod(0o755)

    def _serve(self, change: Callable[[list[str]], list[str]]) -> None:
        while number := (self.requests / "pipe").read_text().split()[:1]:
            if number == ["end"]:
                return
            ask = self.requests / number[0]
            folder, *words = ask.with_suffix(".words").read_text().split("\0")[:-1]
            words[:1] = self._program(words[0])
            done = self.commands(
                change(words), Path(folder), stdin=ask.with_suffix(".in").read_bytes()
            )
            ask.with_suffix(".out").write_text(done.out, "utf-8", "surrogateescape")
            ask.with_suffix(".err").write_text(done.err, "utf-8")
            ask.with_suffix(".reply").write_text(f"{done.code}\n")

    @staticmethod
    def _program(name: str) -> Sequence[str]:
        return ["python", "-m", "lev_plugins", name] if name.startswith("lev-") else [name]

    def run(
        self, script: str, change: Callable[[list[str]], list[str]], environ: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """Run a script until the first command that fails; ``change`` sees every call of ours."""
        thread = threading.Thread(target=self._serve, args=(change,), daemon=True)
        thread.start()
        found = f"{self.requests}{os.pathsep}{os.environ['PATH']}"
        extra = {"GUIDE_REQUESTS": str(self.requests), "PATH": found, "LC_ALL": "C.UTF-8"}
        try:
            return subprocess.run(
                ["bash", "-euo", "pipefail", "-c", script],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                env={**os.environ, **extra, **environ},
                timeout=300,
            )
        finally:
            (self.requests / "pipe").write_text("end\n")
            thread.join(timeout=300)
