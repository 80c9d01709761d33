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
from lev_runtime.io.options import RUN, Parser, version
from lev_runtime.io.output import standard_output

#: the commands of other packages, and their modules; those of this one have their names
ELSEWHERE = {
    "correct": "lev_correct.cli.main",
    "serve": "lev_serve.cli",
    "memory": "lev_memory.cli",
}
#: what each does, in a line
COMMANDS = {
    "correct": "correct text, or tune a corrector",
    "serve": "serve a page and an HTTP interface for a model",
    "trace": "show what a LevT did, iteration by iteration",
    "report": "score outputs of fairseq-generate, or plain text",
    "preprocess": "binarise source, target and drafts",
    "noise": "add noise to text, or make synthetic drafts",
    "enct5-prepare": "prepare labelled text for EncT5",
    "predict": "predict classes, values, labels or tags with an EncT5",
    "average": "average the parameters of checkpoints",
    "export": "export a trained model for lev_runtime (no torch, no fairseq)",
    "memory": "update a translation memory after its sources have changed",
    "embeddings": "learn embeddings that a training starts from",
    "backbone": "inspect a pre-trained model, write its dictionary",
}


def run_script() -> NoReturn:
    """Runs the command that the name of the running console script stands for, and exit."""
    run_cli(lambda: load(os.path.basename(sys.argv[0])).main())


def main(argv: Sequence[str] | None = None) -> int | None:
    """Lists the commands, or run one (default: with the arguments of the process)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments and not arguments[0].startswith("-"):
        command = load(arguments[0])
        sys.argv[:] = [f"{RUN} {arguments[0]}", *arguments[1:]]
        return command.main()
    lines = [f"  {name:14}{about}" for name, about in COMMANDS.items()]
    about = [
        f"Commands (lev-NAME is {RUN} NAME; --help shows its options):",
        *lines,
    ]
    usage, kind = f"{RUN} [--version] [COMMAND ...]", argparse.RawDescriptionHelpFormatter
    parser = Parser(RUN, usage, "\n".join(about), formatter_class=kind)
    parser.add_argument("--version", action="version", version=version())
    parser.parse_args(arguments)
    standard_output().write(parser.format_help())
    return None


def load(command: str) -> ModuleType:
    """Returns the module of a command; raises :class:`UserError` where there is none."""
    name = command.removeprefix("lev-").replace("_", "-")
    if name not in COMMANDS:
        raise UserError(f"no command {command}; {RUN} lists them")
    own = f"{__package__}.{name.replace('-', '_')}"
    return import_module(ELSEWHERE.get(name, own))
