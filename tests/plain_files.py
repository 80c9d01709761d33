"""Files of text, a line each, and lines that break programs."""

from collections.abc import Iterable
from pathlib import Path

#: the folder that holds the packages
ROOT = Path(__file__).resolve().parents[1]


def put(path: str | Path, lines: Iterable[str], end: str = "\n") -> Path:
    """A file of these lines, in a folder that is made if need be."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line + end for line in lines), encoding="utf-8", newline="")
    return path


def read(path: str | Path) -> list[str]:
    """Its lines again."""
    return Path(path).read_text(encoding="utf-8").split("\n")[:-1]


#: lines that break programs; each stays a single line, read as words and spaces
SEPARATORS = "\u2028\u2029\x0b\x0c\x1c\x1d\x1e\x1f\x85\u00a0\u3000"
HOSTILE = [
    "",
    " ",
    f"  a{SEPARATORS}b  ",
    SEPARATORS,
    "a\0b \0",
    "e\u0301 " + "\u0301" * 200,
    "\u05d0\u05d1 \u202eabc\u202c \u2067d",
    "\u200b a\u200db \u2060 \ufeff",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0010ffff \ufdd0",
    "<unk> </s>. <script>alert('a')</script> & \"",
    "\\[= [- =] [+x+] @@ ## \u2581 \u2581a",
    "H-0 -1 x",
    "x" * 100_000,
    "\u00df\u0130\ufb01\ufdfa " * 30,
    "a" + " " * 100_000 + "b",
    "\x1b[31m \x07\x08\x7f",
    "a b c",
]
