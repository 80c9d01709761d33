"""What the scripts of this folder share."""

import argparse
import importlib.resources
from collections.abc import Iterable
from pathlib import Path

from lev_runtime.errors import UserError
from lev_runtime.io.options import Parser

Pair = tuple[str, str]  #: noisy, clean


def parser_of(about: str | None) -> argparse.ArgumentParser:
    """Returns a parser whose help is the text over a script."""
    formatter = argparse.RawDescriptionHelpFormatter
    return Parser(description=about, formatter_class=formatter)


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Writes a file of lines, and its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


def write_pairs(path: Path, pairs: Iterable[Pair]) -> None:
    """Writes the sides of pairs as PATH.noisy and PATH.clean."""
    for side, lines in zip(("noisy", "clean"), zip(*pairs)):
        write_lines(Path(f"{path}.{side}"), lines)


def installed(package: str, module: str, *path: str) -> bytes:
    """Returns a file that a package brings.

    Raises:
        UserError: it is not installed.
    """
    try:
        return importlib.resources.files(module).joinpath(*path).read_bytes()
    except ModuleNotFoundError:
        raise UserError(
            f"{package} is not installed and its words are data: pip install {package}"
        ) from None
