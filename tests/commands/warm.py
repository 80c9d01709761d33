"""Runs real commands without the seconds that each would take to import torch and fairseq.

A process that has imported both waits for requests, one JSON object a line on standard input, and
forks for each: the child gets its own folder, environment and files for its streams, runs the
console script (or ``python FILE``, ``python -m MODULE``) as the main program and ends as that does.
The plug-in is never imported here, so every command registers it anew.

    {"start": {"argv": […], "cwd": …, "environ": {…}, "streams": [stdin, stdout, stderr]}}  → pid
    {"wait": pid, "seconds": …}                                                             → status
"""

import atexit
import functools
import gc
import importlib
import json
import logging
import os
import runpy
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

IMPORTED = (
    "fairseq.tasks.translation_lev",
    "fairseq.models.nat.levenshtein_transformer",
    "fairseq.trainer",
    "fairseq.hub_utils",
    "fairseq.quantization_utils",
    "fairseq.libbleu",
    "hydra",
    "rapidfuzz",
    "regex",
    "sacrebleu",
    "sentencepiece",
    "torch._dynamo",
    "torch.utils.serialization",
)


def warm_up() -> None:
    """Import what commands need, and leave logging as it is in a process that has just begun."""
    for name in IMPORTED:
        importlib.import_module(name)
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf
    from fairseq.options import get_training_parser, parse_args_and_arch
    from hydra.core.override_parser.overrides_parser import OverridesParser

    # most of three hundred settings are as they always are
    parse = functools.cache(OverridesParser.create().parse_rule)
    OverridesParser.parse_rule = lambda _, text, rule: parse(text, rule)
    words = "data --task translation --arch transformer --optimizer adam --clip-norm 0.1 --cpu"
    convert_namespace_to_omegaconf(parse_args_and_arch(get_training_parser(), words.split()))
    # at the end of a command it may collect readers, which then wait five seconds for each other
    atexit.unregister(sys.modules["torch._dynamo.utils"].dump_compile_times)
    gc.collect()
    gc.freeze()  # no collection of garbage goes through what stands here
    root = logging.getLogger()
    root.handlers.clear()
    root.setLevel(logging.WARNING)


def wait(pid: int, seconds: float) -> int:
    """Exit status of a child; it is killed when it takes too long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def serve() -> dict[str, Any] | None:
    """Answer requests; in a child, return what it is to run, and None once there are no more."""
    for line in sys.stdin:
        request = json.loads(line)
        if "end" in request:
            break
        if "wait" in request:
            answer = wait(request["wait"], request["seconds"])
        else:
            answer = os.fork()
            if answer == 0:
                return request["start"]
        os.write(1, f"{answer}\n".encode())
    return None


def become(request: dict[str, Any]) -> None:
    """Run a command in the place of this program."""
    modes = (os.O_RDONLY, os.O_WRONLY | os.O_APPEND, os.O_WRONLY | os.O_APPEND)
    for number, (path, mode) in enumerate(zip(request["streams"], modes, strict=True)):
        os.dup2(os.open(path, mode), number)
    sys.stdin = open(0, encoding="utf-8")
    os.chdir(request["cwd"])
    os.environ.update(request["environ"])
    program, *arguments = request["argv"]
    home = str(Path(sys.executable).parent)
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    if program == "python" and arguments[0] != "-m":
        sys.path[:1] = [str(Path(arguments[0]).parent), *paths]
        sys.argv = arguments
        runpy.run_path(arguments[0], run_name="__main__")
    elif program == "python":
        sys.path[:1] = [request["cwd"], *paths]
        sys.argv = ["-m", *arguments[2:]]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.path[:1] = [home, *paths]
        sys.argv = [f"{home}/{program}", *arguments]
        runpy.run_path(sys.argv[0], run_name="__main__")


def status_of(main: Callable[[], None]) -> int:
    """Run to the end of a program, as Python does; what it would exit with."""
    status = 0
    try:
        main()
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else int(left.code is not None)
        if status and not isinstance(left.code, int):
            print(left.code, file=sys.stderr)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            stream.flush()
    return status & 255


if __name__ == "__main__":
    warm_up()
    os.write(1, b"ready\n")
    if (command := serve()) is not None:
        os._exit(status_of(lambda: become(command)))
