"""The base of the commands' parsers, and the options that several of them have."""

import argparse
from collections.abc import Callable
from typing import Any, Protocol

from ..errors import UserError
from ..io.lines import TEXT_PROCESSING
from .names import prog

#: Adds an option, as of :func:`adder`.
Add = Callable[..., None]


class Group(Protocol):
    """What options are added to: a parser, or a group of one."""

    def add_argument(self, *flags: str, **settings: Any) -> argparse.Action:
        """As of argparse."""


def make_parser(command: str, description: str, example: str = "") -> argparse.ArgumentParser:
    """A command's parser; ``example`` is what may stand behind its name."""
    # else correct's --output FILE would be taken for --output-dir
    parser = argparse.ArgumentParser(
        prog=prog(command), description=description, allow_abbrev=False
    )
    if example:
        parser.epilog = f"example: {parser.prog} {example}"
    return parser


def adder(group: Group) -> Add:
    """What adds options as their help shows them.

    ``add("--beam N", "width of the search (default: 5)", 5)``: flags and the name of the value, the
    help, the default, whose type numbers have. Without a value it is a switch.
    """

    def add(shown: str, help: str, default: Any = None, **settings: Any) -> None:
        """Adds one option; ``settings`` as argparse has them."""
        *names, last = shown.split()
        if names and not last.startswith("-"):
            settings["metavar"] = last
        else:
            names.append(last)
        if isinstance(default, int | float):
            settings.setdefault("type", type(default))
        if default is not None:
            settings["default"] = default
        if last in names and last.startswith("-") and not settings:
            settings["action"] = "store_true"
        group.add_argument(*names, help=help, **settings)

    return add


def add_model_data(add: Add, none: str = "") -> None:
    """Where a model's dictionaries are, and fairseq's options of text processing.

    Args:
        none: says of two of them how they are switched off.
    """
    add("--data DIR", "folder with the dictionaries (default: as the model says)")
    for name, what in TEXT_PROCESSING.items():
        off = none if name in ("tokenizer", "bpe") else ""
        flag = "--" + name.replace("_", "-")
        add(f"{flag} NAME", f"{what}{off} (default: as the model was trained)")


def text_processing(args: argparse.Namespace) -> dict[str, str]:
    """The options of text processing that were given, by fairseq's names."""
    return {name: value for name in TEXT_PROCESSING if (value := getattr(args, name))}


def at_least_one(args: argparse.Namespace, *names: str) -> None:
    """Refuses options that were given and are below 1."""
    for name in names:
        value = getattr(args, name)
        if value is not None and value < 1:
            raise UserError(f"--{name.replace('_', '-')} {value}: must be 1 or more")
