"""Names that the files of a run use: strings that a test or script looks for, translation keys,
headings that links lead to, what a program is expected to print."""

import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from .file_kinds import HEAD, UNKNOWN, kind_of
from .keys import is_key

#: Files of what a program is expected to print.
EXPECTED = re.compile(
    r"(?i)(?<![a-z])(?:expect|golden|approved|snapshot)|\.(?:out|stdout|stderr|exp|snap)\Z"
)
#: A comment of what LLVM's FileCheck expects.
CHECKED = re.compile(r"\bCHECK[\w-]*:")
#: What a link leads to, a title; what stands before words that are looked for without quotes.
_TARGET = re.compile(
    r"[(<\"'\s\[][^\s()<>\"'#]*#[\w%-]+|(?<=:)`[^`<>\n]+`|`[^`<>\n]+`_|<<[^<>,\n]+|\[\[[*#][^\]|\n]+"
)
_NAMED_BEFORE = re.compile(rf"\b(?:[ef]?grep|sed|awk)\b|<source>|{CHECKED.pattern}")
#: A string of a line, or a pattern between strokes; quotes of texts of several lines.
_QUOTED = re.compile(r"(?<!\w)(?:[bBuUrRfFL@$]{,2}|[ms]|qr)([\"'`/])(?:\\.|(?!\1).)*\1")
_LONG_QUOTES = ('"""', "'''", "`")
#: Kinds of files whose lines begin with keys, and of tests, which code finds by their words; a key.
_SETTINGS, _TESTS = {"yaml", "toml", "ini", "properties", UNKNOWN}, {"gherkin", "robotframework"}
_KEY = re.compile(r"[^:=]*[:=]")
#: Characters before a word, at most, in which a prompt of Python stands whose answer has the word.
PARAGRAPH = 400
#: What of a pattern is text; all but letters.
_PIECE, _NO_LETTER = re.compile(r"[\w ',-]{4,}"), re.compile(r"[\W_]+")


class Names:
    """Finds where the files of a run name a misspelt word.

    Args:
        files: the path and the lines of each, which are read when the first word is asked for.
    """

    def __init__(self, files: Iterable[tuple[str, Iterable[str]]]) -> None:
        self._files = files
        self._found: dict[str, list[str]] = {}

    @cached_property
    def _texts(self) -> list[tuple[str, str, str]]:
        """Returns the path of each file, its text, and that in small letters."""
        texts = ((path, "\n".join([*lines, ""])) for path, lines in self._files)
        return [(path, text, text.lower()) for path, text in texts]

    def of(self, word: str) -> list[str]:
        """Returns the texts that name a word, or several."""
        if word not in self._found:
            self._found[word] = sorted({*self._named(word)} - {""})
        return self._found[word]

    def has(self, word: str, text: str, is_string: bool) -> bool:
        """Returns whether a text in which a word stands is named by it: a string by the word alone,
        since values are put into it, a line of prose by what stands around the word."""
        named = self.of(word)
        if is_string:
            return bool(named)
        letters = _squeezed(text)
        pieces = _PIECE.findall("\n".join(named).lower())
        return any(word in piece and _squeezed(piece) in letters for piece in pieces)

    def _named(self, word: str) -> Iterator[str]:
        words = _NO_LETTER.split(word)
        parts = r"[\W_]+".join(map(re.escape, words))
        pattern = re.compile(rf"(?i)(?<![^\W\d_]){parts}(?![^\W\d_])")
        for path, text, small in self._texts:
            if words[0] in small:  # in a tenth of the pattern's time
                kind = kind_of(path, [text[:HEAD]])
                for match in pattern.finditer(text):
                    yield _named_at(text, match.start(), path, kind)


def _named_at(text: str, place: int, path: str, kind: str) -> str:
    """Returns the text around a place if it is the name of another one, else nothing."""
    line = text.rfind("\n", 0, place) + 1, text.find("\n", place)
    key = _KEY.match(text, *line) if kind in _SETTINGS else None
    is_sought = kind in _TESTS or _NAMED_BEFORE.search(text, line[0], place)
    paragraph = max(text.rfind("\n\n", 0, place), place - PARAGRAPH)
    is_printed = ">>> " in text[paragraph:place] or EXPECTED.search(path)  # also by a doctest
    if is_sought or is_printed or (key and place < key.end()):
        return text[slice(*line)]
    for match in (*_TARGET.finditer(text, *line), *_QUOTED.finditer(text, *line)):
        if match.start() <= place < match.end():
            is_pattern = match.re is _TARGET or match[0].endswith("/")
            return match[0] * (is_pattern or is_key(text, match.span(), kind))
    for quote in _LONG_QUOTES:
        if text.count(quote, 0, place) % 2:
            span = text.rfind(quote, 0, place), text.find(quote, place) + len(quote)
            return text[slice(*span)] * is_key(text, span, kind)
    return ""


def _squeezed(text: str) -> str:
    return _NO_LETTER.sub("", text.lower())
