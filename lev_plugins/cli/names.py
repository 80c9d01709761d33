"""Commands by name: console scripts, ``python -m lev_plugins NAME``, and the list of all.

``python -m lev_plugins.cli.NAME`` needs none of this: there a command's module runs itself.
"""

import argparse
import ast
import difflib
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from ..errors import UserError
from ..fairseq_patches import run_cli
from ..io.output import standard_output
from ..io.program import CONSOLE_SCRIPTS as SCRIPTS

PACKAGE = (__package__ or "").rpartition(".")[0]
RUN = f"python -m {PACKAGE}"
SHELLS = ("bash", "zsh")


def run_script() -> NoReturn:
    """Run the command that the name of the running console script stands for, and exit."""
    run_cli(lambda: _main_of(os.path.basename(sys.argv[0]))())


def prog(command: str) -> str:
    """How ``command`` was typed, for its usage and example lines.

    That is its script or ``python -m lev_plugins NAME``, where one of them runs;
    ``python -m lev_plugins.cli.NAME`` elsewhere.
    """
    typed = os.path.basename(sys.argv[0]) if sys.argv else ""
    name = typed.removeprefix(f"{RUN} ")
    known = name != typed or typed in SCRIPTS
    return typed if known and command_of(name) == command else f"{RUN}.cli.{command}"


def command_of(name: str) -> str:
    """The command that ``name`` means: ``lev-predict``, ``predict`` or ``enct5-predict``."""
    return SCRIPTS.get(name) or SCRIPTS.get(f"lev-{name}") or name.replace("-", "_")


def summaries() -> dict[str, str]:
    """Every command and the first line of its docstring, read without importing it."""
    folder = Path(__file__).parent
    found = {}
    for file in (*folder.glob("*.py"), *folder.glob("*/__init__.py")):
        package = file.stem == "__init__"
        tree = ast.parse(file.read_text(encoding="utf-8"))
        functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        if "main" in functions and (package or isinstance(tree.body[-1], ast.If)):
            name = file.parent.name if package else file.stem
            found[name] = (ast.get_docstring(tree) or "").partition("\n")[0]
    return dict(sorted(found.items()))


def listing() -> str:
    """All commands, a line each: those with a console script first."""
    summary = summaries()
    others = [name for name in summary if name not in SCRIPTS.values()]
    width = max(map(len, (*SCRIPTS, *others)))
    lines = [f"console scripts, once installed (lev-NAME is also {RUN} NAME):"]
    lines += [f"  {script:{width}}  {summary[name]}" for script, name in SCRIPTS.items()]
    lines += ["", f"other commands, {RUN} COMMAND:"]
    lines += [f"  {name:{width}}  {summary[name]}" for name in others]
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int | None:
    """List the commands, or run one (default: with the arguments of the process)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments and not arguments[0].startswith("-"):
        run = _main_of(arguments[0])
        sys.argv[:] = [f"{RUN} {arguments[0]}", *arguments[1:]]
        return run()
    parser = build_parser()
    shell = parser.parse_args(arguments).completion
    standard_output().write(completion(shell) if shell else parser.format_help())
    return None


def build_parser() -> argparse.ArgumentParser:
    """The options without a command; the help has the list of all."""
    parser = argparse.ArgumentParser(
        prog=RUN,
        usage="%(prog)s [--help] [--version] [--completion SHELL] [COMMAND [ARGUMENT ...]]",
        description="Commands for edit models, correctors and EncT5. COMMAND --help has the rest.",
        epilog=listing().replace("%", "%%"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--completion",
        choices=SHELLS,
        metavar="SHELL",
        help=f"print what completes the options of the console scripts in {' or '.join(SHELLS)}",
    )
    version = f"{PACKAGE} {import_module(PACKAGE).__version__}"
    parser.add_argument("--version", action="version", version=version)
    return parser


def completion(shell: str) -> str:
    """A script that completes the console scripts' options, for :data:`SHELLS`.

    Raises:
        UserError: shtab is not installed.
    """
    try:
        import shtab
    except ImportError as error:
        raise UserError("--completion needs the library shtab: pip install shtab") from error
    typed, parts = sys.argv[0], []
    try:
        for script, command in SCRIPTS.items():
            sys.argv[0] = script  # the name that its parser goes by
            parser = import_module(f".{command}", __package__).build_parser()
            parts.append(shtab.complete(parser, shell))
    finally:
        sys.argv[0] = typed
    return "\n".join(parts)


def _main_of(name: str) -> Callable[[], int | None]:
    command = command_of(name)
    known = summaries()
    if command not in known:
        close = difflib.get_close_matches(name, (*known, *SCRIPTS), n=1)
        meant = f"did you mean {close[0]}? " if close else ""
        raise UserError(f"there is no command {name}; {meant}{RUN} lists all")
    run: Callable[[], int | None] = import_module(f".{command}", __package__).main
    return run
