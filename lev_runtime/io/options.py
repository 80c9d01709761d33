"""The base of the commands' parsers, and the options that several of them have.

A command's help fits a screen: what few people need is added with ``advanced=True``, works as the
others do, and is shown by ``--help-all`` alone.
"""

import argparse
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any, NoReturn

from .. import __version__
from ..errors import UserError, flag

#: Adds an option, as of :func:`adder`.
Add = Callable[..., None]
#: fairseq's options of text processing: what each takes, and its help
TEXT_PROCESSING = {
    "tokenizer": "NAME fairseq's tokenizer, such as moses",
    "bpe": "NAME fairseq's subword scheme, such as sentencepiece, subword_nmt or characters",
    "sentencepiece_model": "FILE model for --bpe sentencepiece",
    "bpe_codes": "FILE codes for --bpe subword_nmt",
    "hf_directory": "FOLDER pre-trained model's folder, for --bpe hf",
}
HELP_ALL = "--help-all"
EXAMPLE = "example: "
RUN = "python -m lev_plugins"  #: runs a command by its name


def prog(command: str) -> str:
    """Returns how ``command`` was typed, for its usage and example lines."""
    typed = sys.argv[0] if sys.argv else ""
    return typed if typed == f"{RUN} {command}" else f"lev-{command}"


def version() -> str:
    """Returns the distribution and its version."""
    return f"lev_plugins {__version__}"


_CHOICE = re.compile(r"'([^']*)' \(choose from '(.*)'\)")


def typing_error(message: str, options: Iterable[str]) -> str:
    """Returns a message of argparse's with the option or choice nearest to what was typed."""
    typed, known = re.split("[ =]", message.partition("unrecognized arguments: ")[2])[0], options
    if choice := _CHOICE.search(message):
        typed, known = choice[1], choice[2].split("', '")
    nearest = get_close_matches(typed, known, 1)
    about = message.partition(" (choose from")[0]
    return f"{about}; did you mean {nearest[0]}?" if nearest else message


class Parser(argparse.ArgumentParser):
    """Prints a mistake in one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        """Exits with status 2."""
        self.exit(2, f"error: {typing_error(message, self._option_string_actions)}\n")


class _Help(argparse.Action):
    """``--help`` as of argparse, and ``--help-all`` with the advanced options."""

    def __call__(self, parser: argparse.ArgumentParser, *arguments: Any) -> None:
        if arguments[-1] == HELP_ALL:
            show_all(parser)
        parser.print_help()
        parser.exit()


class _Formatter(argparse.HelpFormatter):
    """Wraps an example at spaces alone, so that it can be pasted."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if not text.startswith(EXAMPLE):
            return super()._fill_text(text, width, indent)
        lines = textwrap.wrap(text, width - 2, subsequent_indent="    ", break_on_hyphens=False)
        return " \\\n".join(lines)


def make_parser(
    command: str, description: str, example: str = "", usage: str = ""
) -> argparse.ArgumentParser:
    """Makes a command's parser, with ``--help``, ``--help-all`` and ``--version``.

    Args:
        example: what may follow the command's name, shown at the end of the help.
        usage: the same for the first lines (default: argparse's list of the options shown).
            A line of it each, where there are several ways to call the command.
    """
    # else an option that has gone would be taken for a longer one
    parser = Parser(
        prog=prog(command),
        description=description,
        allow_abbrev=False,
        add_help=False,
        formatter_class=_Formatter,
    )
    if usage:
        parser.usage = "\n       ".join(f"%(prog)s {way}" for way in usage.splitlines())
    if example:
        parser.epilog = f"{EXAMPLE}{parser.prog} {example}"
    flags, about = ("-h", "--help", HELP_ALL), "show the main options, or all options, and exit"
    parser.add_argument(*flags, action=_Help, nargs=0, dest=argparse.SUPPRESS, help=about)
    shown = {"action": "version", "version": version(), "advanced": True}
    adder(parser)("--version", "show the version and exit", **shown)
    return parser


def show_all(parser: argparse.ArgumentParser) -> None:
    """Lets the parser's help show the advanced options too."""
    for action in parser._actions:
        action.help = getattr(action, "advanced_help", action.help)


def adder(group: argparse._ActionsContainer) -> Add:
    """Returns ``add``, a short form of ``add_argument`` of a parser or group.

    ``add("--beam N", "width of the search (default: 5)", 5)``: flags and the name of the value, the
    help, the default, whose type numbers have. Without a value it is a switch. ``advanced``: for
    ``--help-all`` alone. Other settings are argparse's.
    """

    def add(
        shown: str, help: str, default: Any = None, advanced: bool = False, **settings: Any
    ) -> None:
        *names, last = shown.split()
        if names and not last.startswith("-"):
            settings["metavar"] = last
        else:
            names.append(last)
        if isinstance(default, int | float):
            settings.setdefault("type", type(default))
        if default is not None:
            settings["default"] = default
        if last.startswith("-") and not settings:
            settings["action"] = "store_true"
        action = group.add_argument(*names, help=help, **settings)
        if advanced:
            action.advanced_help, action.help = help, argparse.SUPPRESS  # type: ignore[attr-defined]

    return add


def add_model_data(add: Add, none: str = "", advanced: bool = False) -> None:
    """Adds the folder of dictionaries, and fairseq's options of text processing.

    ``none``: says of tokenizer and bpe how they are switched off.
    """
    folder = "folder with the dictionaries (default: the model's)"
    add("--data FOLDER", folder, advanced=advanced)
    for name, about in TEXT_PROCESSING.items():
        takes, what = about.split(maxsplit=1)
        off = none if takes == "NAME" else ""
        about = f"{what}{off} (default: as in training)"
        add(f"{flag(name)} {takes}", about, advanced=advanced)


def text_processing(args: argparse.Namespace) -> dict[str, str]:
    """Returns the options of text processing that were given, by fairseq's names."""
    return {name: value for name in TEXT_PROCESSING if (value := getattr(args, name))}


@contextmanager
def as_flags(args: argparse.Namespace) -> Iterator[None]:
    """Rewords errors of the Python interface with flags: ``beam=0`` is ``--beam 0``."""
    try:
        yield
    except UserError as error:
        flags = {name: f"{flag(name)} " for name in vars(args)}
        message = re.sub(r"\b([a-z_]+)=", lambda match: flags.get(match[1], match[0]), str(error))
        raise UserError(message) from None


def say(*lines: object) -> None:
    """Prints lines on standard error."""
    for line in lines:
        print(line, file=sys.stderr)


def refuse_options(options: Mapping[str, str | None], why: str) -> None:
    """Refuses options of the Python interface that were given."""
    for name, value in options.items():
        if value:
            raise UserError(f"{flag(name)}: {why}; leave it out")


def at_least_one(args: argparse.Namespace, *names: str) -> None:
    """Refuses options that were given and are below 1."""
    for name in names:
        value = getattr(args, name)
        if value is not None and value < 1:
            raise UserError(f"{flag(name)} {value}: must be 1 or more")
