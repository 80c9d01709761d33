"""Makes the text of prepare.sh: pieces of sentences, their characters, evenly spread test lines.

    python examples/denoising/prepare.py pieces SENTENCES PIECES --words 3 --lines 500 --lower-case
    python examples/denoising/prepare.py characters FILE … > CHARACTERS

pieces cuts each line after every so many words (0: not at all); of what comes out it takes so
many pieces, evenly spread over the text (0: all). characters writes characters with blanks between
them, a blank as ▁, as fairseq's --bpe characters does.
"""

import argparse
from pathlib import Path
from typing import Iterable, List, Optional, Sequence

from lev_plugins.compat import run_cli
from lev_plugins.errors import UserError


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Reads the command line, writes the text, returns 0."""
    args = _arguments(argv)
    if args.command == "characters":
        for path in args.files:
            for line in _lines(path):
                print(" ".join(line.replace(" ", "▁")))
        return 0
    pieces = list(cut(_lines(args.sentences), args.words))
    if args.lower_case:
        pieces = [piece.lower() for piece in pieces]
    pieces = spread(pieces, args.lines)
    if not pieces:
        raise UserError(f"{args.sentences}: there is no word in it")
    args.pieces.write_text("".join(piece + "\n" for piece in pieces), encoding="utf-8")
    return 0


def cut(lines: Iterable[str], words: int) -> Iterable[str]:
    """Pieces of so many words of each line, a last one of fewer; none of lines without a word."""
    for line in lines:
        found = line.split()
        size = words or len(found) or 1
        for first in range(0, len(found), size):
            yield " ".join(found[first : first + size])


def spread(lines: List[str], count: int) -> List[str]:
    """So many of the lines, in order, at equal distances; all where there are fewer, or for 0."""
    if not 0 < count < len(lines):
        return lines
    return [lines[number * len(lines) // count] for number in range(count)]


def _lines(path: Path) -> List[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise UserError(f"{path} is not UTF-8: convert it first") from None


def _arguments(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    pieces = commands.add_parser("pieces", help="pieces of sentences")
    pieces.add_argument("sentences", type=Path, help="one sentence a line")
    pieces.add_argument("pieces", type=Path, help="where the pieces are written")
    pieces.add_argument("--words", type=int, default=0, help="words in a piece; 0: do not cut")
    pieces.add_argument("--lines", type=int, default=0, help="how many pieces to take; 0: all")
    pieces.add_argument("--lower-case", action="store_true", help="write small letters only")
    characters = commands.add_parser("characters", help="text as characters, to standard output")
    characters.add_argument("files", type=Path, nargs="+", help="text")
    return parser.parse_args(argv)


if __name__ == "__main__":
    run_cli(main)
