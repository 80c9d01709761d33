"""Runs scripts as they stand: bash, with our programs in the process of ``commands``.

Each program is a stub that leaves its arguments, folder and standard input in a folder, writes its
number into a pipe and waits for its status. A thread reads the pipe and runs the programs one after
the other (see warm.py), so nothing waits for torch to be imported. A script must not kill them.
"""

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Commands

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
exec {home}/torchrun "${{@:1:2}}" {home}/fairseq-train "${{@:4}}" $GUIDE_TORCHRUN
"""
PROGRAMS = (
    "python fairseq-train fairseq-generate fairseq-interactive fairseq-preprocess fairseq-validate "
    "lev-preprocess lev-correct lev-trace lev-report lev-tune lev-noise lev-enct5-prepare "
    "lev-predict lev-average lev-backbone"
).split()
#: of a script's own environment, what says nothing to a program
OWN = {"_", "PATH", "PWD", "OLDPWD", "SHLVL"}


class Programs:
    """A folder of programs that are ours, for scripts that find it before all others."""

    def __init__(self, commands: "Commands", folder: Path) -> None:
        self.commands, self.folder = commands, folder
        os.mkfifo(folder / "pipe")
        home = Path(sys.executable).parent
        stub = STUB.format(requests=folder, home=home)
        torchrun = TORCHRUN.format(home=home)
        for name, text in {**dict.fromkeys(PROGRAMS, stub), "torchrun": torchrun}.items():
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)

    def _serve(self, change: Callable[[list[str]], list[str]]) -> None:
        while number := (self.folder / "pipe").read_text().split()[:1]:
            if number == ["end"]:
                return
            ask = self.folder / number[0]
            folder, *words = ask.with_suffix(".words").read_text().split("\0")[:-1]
            if words[0].startswith("lev-"):
                words[:0] = ["python", "-m", "lev_plugins"]
            environ = ask.with_suffix(".environ").read_text("utf-8", "surrogateescape")
            pairs = [one.split("=", 1) for one in environ.split("\0")[:-1]]
            # what the script has set itself
            own = {a: b for a, b in pairs if a not in OWN and os.environ.get(a) != b}
            typed = ask.with_suffix(".in").read_bytes()
            done = self.commands(change(words), Path(folder), stdin=typed, environ=own)
            ask.with_suffix(".out").write_text(done.out, "utf-8", "surrogateescape")
            ask.with_suffix(".err").write_text(done.err, "utf-8")
            ask.with_suffix(".reply").write_text(f"{done.code}\n")

    @contextlib.contextmanager
    def serving(self, change: Callable[[list[str]], list[str]] = list) -> Iterator[Path]:
        """Inside, the programs answer; ``change`` sees every call."""
        thread = threading.Thread(target=self._serve, args=(change,), daemon=True)
        thread.start()
        try:
            yield self.folder
        finally:
            (self.folder / "pipe").write_text("end\n")
            thread.join(timeout=300)
