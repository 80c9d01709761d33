"""What the scripts of this folder share."""

import argparse
from collections.abc import Iterable
from pathlib import Path

from lev_runtime.io.options import Parser


def parser_of(about: str | None) -> argparse.ArgumentParser:
    """Returns a parser whose help is the text over a script."""
    formatter = argparse.RawDescriptionHelpFormatter
    return Parser(description=about, formatter_class=formatter)


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Writes a file of lines, and its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
