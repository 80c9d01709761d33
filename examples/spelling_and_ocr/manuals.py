"""Makes registers of right text for fit_judge.py: a paragraph a line, 6,500 words of each folder.

    apt-get download git-doc && dpkg-deb -x git-doc_*.deb git-doc
    python examples/spelling_and_ocr/manuals.py git-doc … OUT

Of each folder the paragraphs of its pages (.html, .htm, .txt, and files without an ending), of
eight words or more, each once, are drawn at random; OUT gets FOLDER.txt.
"""

import random
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

from lists import parser_of, write_lines

#: words of a register, and the least of a paragraph
WORDS, LEAST = 6_500, 8
#: files of text
ENDINGS = {".html", ".htm", ".txt", ""}
_PARAGRAPH = re.compile(r"<p\b[^>]*>(.*?)</p>", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")


def paragraphs(path: Path) -> Iterator[str]:
    """Yields those of a file, each as one line."""
    text = path.read_text("utf-8", errors="replace")
    if path.suffix in (".html", ".htm"):
        texts = [unescape(_TAG.sub("", part)) for part in _PARAGRAPH.findall(text)]
    else:
        texts = re.split(r"\n\s*\n|\n%\n", text)
    yield from (" ".join(each.split()) for each in texts)


def main() -> None:
    """Runs the script."""
    parser = parser_of(__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("out", type=Path, metavar="OUT")
    args = parser.parse_args()
    for folder in args.folders:
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        pages = [path for path in files if path.suffix in ENDINGS and not path.is_symlink()]
        found = dict.fromkeys(text for path in pages for text in paragraphs(path))
        texts = [text for text in found if len(text.split()) >= LEAST and text.isascii()]
        random.Random(1).shuffle(texts)
        chosen, words = list[str](), 0
        while texts and words < WORDS:
            chosen.append(texts.pop())
            words += len(chosen[-1].split())
        write_lines(args.out / f"{folder.name}.txt", chosen)


if __name__ == "__main__":
    main()
