"""The commands: console scripts ``lev-NAME``, or ``python -m lev_plugins NAME``."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import NoReturn

from lev_runtime.errors import UserError
from lev_runtime.io.commands import run_cli
from lev_runtime.io.output import standard_output

PACKAGE = (__package__ or "").partition(".")[0]
RUN = f"python -m {PACKAGE}"


#: what each does, in a line; its module has its name
COMMANDS = {
    "correct": "correct text, or tune a corrector",
    "serve": "serve a page and an HTTP interface for a model",
    "trace": "show what a model did: iterations of a LevT, or gates",
    "report": "score outputs of fairseq-generate, or plain text",
    "tune": "choose the empty penalty and deletion threshold of a LevT",
    "preprocess": "binarise source, target and drafts",
    "noise": "add noise to text, or make synthetic drafts",
    "enct5-prepare": "prepare labelled text for EncT5",
    "predict": "predict classes, values, labels or tags with an EncT5",
    "average": "average the parameters of checkpoints",
    "export": "export a trained model for lev_runtime (no torch, no fairseq)",
    "embeddings": "learn embeddings that a training starts from",
    "backbone": "inspect a pre-trained model, write its dictionary",
}


def run_script() -> NoReturn:
    """Run the command that the name of the running console script stands for, and exit."""
    run_cli(lambda: load(os.path.basename(sys.argv[0])).main())


def prog(command: str) -> str:
    """How ``command`` was typed, for its usage and example lines."""
    typed = sys.argv[0] if sys.argv else ""
    return typed if typed == f"{RUN} {command}" else f"lev-{command}"


def main(argv: Sequence[str] | None = None) -> int | None:
    """List the commands, or run one (default: with the arguments of the process)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments and not arguments[0].startswith("-"):
        command = load(arguments[0])
        sys.argv[:] = [f"{RUN} {arguments[0]}", *arguments[1:]]
        return command.main()
    lines = [f"  {name:14}{about}" for name, about in COMMANDS.items()]
    about = [
        f"Commands (lev-NAME is the same as {RUN} NAME; COMMAND --help shows the options):",
        *lines,
    ]
    usage, kind = f"{RUN} [--version] [COMMAND ...]", argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(RUN, usage, "\n".join(about), formatter_class=kind)
    parser.add_argument("--version", action="version", version=version())
    parser.parse_args(arguments)
    standard_output().write(parser.format_help())
    return None


def version() -> str:
    """The package and its version."""
    return f"{PACKAGE} {import_module(PACKAGE).__version__}"


def load(command: str) -> ModuleType:
    """The module of a command; raises :class:`UserError` where there is none."""
    name = command.removeprefix("lev-").replace("_", "-")
    if name not in COMMANDS:
        raise UserError(f"no command {command}; {RUN} lists them")
    return import_module(f".{name.replace('-', '_')}", __package__)
