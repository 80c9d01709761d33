"""A user directory for tests: the plug-in, in a process that may end within a write.

CUT_SHORT is ``PREFIX:N:BYTES``: when the process opens a checkpoint whose name starts with PREFIX
for the N-th time to write it, only BYTES fit, and the system kills the process as SIGKILL would,
with nothing after them; BYTES -1 is all of them, and the end before the file gets its name.
It does not matter who writes, or how.

ASKED is ``SIGNAL:STEP:N``: the process gets this signal at the beginning of the N-th train_step or
valid_step. Without CUT_SHORT and ASKED nothing happens.
"""

import os
import resource
import signal
import sys
from typing import Any

from fairseq.trainer import Trainer

import lev_plugins  # noqa: F401  (registers everything)


def cut_short(prefix: str, number: int, size: int) -> None:
    """Arrange for the end of this process."""
    opened = 0

    def look(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal opened
        if event not in ("open", "os.rename") or not isinstance(arguments[0], str):
            return
        name = os.path.basename(arguments[0])
        if not (name.startswith(prefix) and name.endswith((".pt", ".pt.tmp"))):
            return
        if event == "os.rename" and opened == number and size < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        if event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR):
            opened += 1
            if opened == number and size >= 0:
                signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # which ends the process
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    sys.addaudithook(look)


if "CUT_SHORT" in os.environ:
    told = os.environ["CUT_SHORT"].split(":")
    cut_short(told[0], int(told[1]), int(told[2]))


def ask(name: str, step: str, number: int) -> None:
    """Arrange for a signal."""
    done, take = 0, getattr(Trainer, step)

    def asking(self: Trainer, *arguments: Any, **options: Any) -> Any:
        nonlocal done
        done += 1
        if done == number:
            os.kill(os.getpid(), getattr(signal, name))
        return take(self, *arguments, **options)

    setattr(Trainer, step, asking)


if "ASKED" in os.environ:
    told = os.environ["ASKED"].split(":")
    ask(told[0], told[1], int(told[2]))
