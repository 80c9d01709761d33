"""A user directory for tests: the plug-in, in a process that may end within a write or a step.

CUT_SHORT is ``PREFIX:N:BYTES``: when the process opens a checkpoint whose name starts with PREFIX
for the N-th time to write it, only BYTES fit, and the system kills the process as SIGKILL would,
with nothing after them; BYTES -1 is all of them, and the end before the file gets its name.
It does not matter who writes, or how.

ASKED is ``SIGNAL:STEP:N``: the process gets this signal at the beginning of the N-th train_step or
valid_step.
"""

import os
import resource
import signal
import sys
from typing import Any

from fairseq.trainer import Trainer

import lev_plugins  # noqa: F401  (registers everything)


def look(event: str, arguments: tuple[object, ...]) -> None:
    """Ends this process within a write."""
    global opened
    if event not in ("open", "os.rename") or not isinstance(arguments[0], str):
        return
    name = os.path.basename(arguments[0])
    if not (name.startswith(prefix) and name.endswith((".pt", ".pt.tmp"))):
        return
    if event == "os.rename" and opened == int(number) and size == "-1":
        os.kill(os.getpid(), signal.SIGKILL)
    if event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR):
        opened += 1
        if opened == int(number) and size != "-1":
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # which ends the process
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), int(size)))


def asking(self: Trainer, *arguments: Any, **options: Any) -> Any:
    """Takes a step, at the beginning of which a signal may come."""
    global done
    done += 1
    if done == int(count):
        os.kill(os.getpid(), getattr(signal, signal_name))
    return take(self, *arguments, **options)


opened = done = 0
if "CUT_SHORT" in os.environ:
    prefix, number, size = os.environ["CUT_SHORT"].split(":")
    sys.addaudithook(look)
if "ASKED" in os.environ:
    signal_name, step, count = os.environ["ASKED"].split(":")
    take = getattr(Trainer, step)
    setattr(Trainer, step, asking)
