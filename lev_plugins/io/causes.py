"""Which exceptions are a user's mistake, and the one line that is printed for them.

fairseq's and Python's own errors are shown as they are, but for those that a user meets in the
first hour: no such file, data or checkpoint, another dictionary, options that fairseq refuses.
"""

import errno
import os
import re
import traceback
from pathlib import Path

from ..errors import UserError

_PATHS = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EACCES, errno.EPERM}
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}
#: What fairseq says → what a user can do.
_SAID_BY_FAIRSEQ = (
    (r"Model file not found: (.+)", "checkpoint {0} does not exist; check --path"),
    (r"--finetune-from-model (.+) does not exist", "--finetune-from-model {0} does not exist"),
    (
        r"Dataset not found: (\S+) \((.+)\)",
        "no data named {0} in {1}; check --gen-subset, --train-subset, --valid-subset, languages",
    ),
    (
        r"Could not infer language pair",
        "the data folder does not tell the languages; give --source-lang and --target-lang",
    ),
    (
        r"Cannot load model parameters from checkpoint (.+); please ensure",
        "checkpoint {0} does not fit: use the --arch, options and data that it was trained with",
    ),
    (
        r"Error\(s\) in loading state_dict for \S+:\s*([^\n]+)",
        "the checkpoint does not fit this model or dictionary ({0}); use the data that it was "
        "trained with",
    ),
)


def _our_own(error: BaseException) -> str | None:
    """A UserError, also one that a worker process or fairseq has wrapped."""
    if isinstance(error, UserError):
        return str(error)
    name = f"{UserError.__module__}.{UserError.__qualname__}: "
    if type(error).__name__ == "ProcessRaisedException" and name in str(error):
        return str(error).rpartition(name)[2]
    wrapped = str(error).startswith("Cannot load model parameters")
    cause = error.__context__
    return str(cause) if wrapped and isinstance(cause, UserError) else None


def _refused_by_system(error: BaseException) -> str | None:
    """A path that is not there or may not be read; a disk that is full."""
    if not isinstance(error, OSError) or error.errno not in _PATHS | _FULL:
        return None
    name = os.fsdecode(error.filename) if isinstance(error.filename, (str, bytes)) else None
    if error.errno in _FULL:
        return f"{name or 'the output'}: {error.strerror}; free some space or write elsewhere"
    return name and f"{name}: {error.strerror or os.strerror(error.errno)}; check the path"


def _said_by_fairseq(error: BaseException) -> str | None:
    """A known message; or what a command of fairseq asserts of its options, with words for it."""
    for pattern, line in _SAID_BY_FAIRSEQ:
        if found := re.match(pattern, str(error), re.DOTALL):
            return line.format(*found.groups())
    *_, last = ["", *(frame.filename for frame in traceback.extract_tb(error.__traceback__))]
    asserted = isinstance(error, AssertionError) and Path(last).parent.name == "fairseq_cli"
    return str(error) if asserted else None


def explain(error: BaseException) -> str | None:
    """The line to print for a user's mistake, or ``None`` where a traceback says more."""
    for cause in (_our_own, _refused_by_system, _said_by_fairseq):
        if line := cause(error):
            return " ".join(line.split())
    return None
