"""Text that must stay as it is: patterns, words of a list, and what is no prose: code, names of
things, other languages."""

import re
from collections.abc import Iterable, Iterator

from lev_runtime.errors import UserError, strings

from ..files.markup import is_prose, is_shouted, without_markup
from ..files.places import differing_part
from .units import Span, composed

#: Why a character stays, from the weakest reason on: a word of the corrector's own list, between
#: whose parts spaces come and go; what is protected, or hidden in what a model reads; another
#: language; a misspelling that the line mentions.
FREE, LISTED, PROTECTED, FOREIGN, MENTIONED = range(5)

#: What is code, an address or a name inside a line of prose. A run of characters is read once,
#: from its beginning: a long line would else take the square of its length.
CODE = "|".join(
    (
        r"(?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)",  # `backticks` of any number
        r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]*+://[^\s<>]+",  # addresses
        r"\bwww\.[^\s<>]+",
        r"(?<![\w.+%-])[\w.+%-]++@[\w-]++(?:\.[\w-]++)+",  # of people
        r"(?<![\w/])(?:~|\.{1,2})?(?:/[\w.@%+-]+)+/?",  # /a/path ./a/path ~/a/path
        r"(?<![\w.-])[\w.-]++(?:/[\w.-]++){2,}/?",  # a/longer/path
        r"\b[A-Za-z]:\\\S+|\\\\\S+",  # C:\a\path
        r"(?<![\w-])--?[A-Za-z][\w-]*(?:=\S*)?",  # --flags
        r"\b\w++(?:\.\w++)*+\((?!(?:e?s|[A-Z]\w*)\))[^\s()]*\)?",  # calls(), but not word(s)
        r"\b\w+(?:\.\w+)+\b|(?<!\w)\.\w+",  # a.b .ending
        r"%\(\w+\)[-#0 +]*\w|%[-#0 +]*+\d*+(?:\.\d*+)?[a-zA-Z]\b",  # %(x)s %5d
        r"\$?\{[^{}\s]*\}",  # {x} ${x}
        r"[$@\\#]\w+",  # $HOME @name \command #tag
        r"<(?P<tag>code|kbd|pre|samp|tt|var)\b[^<>]*>[^<]*</(?P=tag)>",  # <code>x</code>
        r"<[/!?]?[A-Za-z][^<>]*>",  # <tags>
        r"(?<![\w\]])\[[\w.-]+\](?![\w(\[])",  # [label] of a link
        r"(?<![^\s>])\[[^\[\]]+\]:(?=\s)",  # [the label]: of its target
        r":[\w:]+:",  # :roles:
        r"\b\w+=\S*",  # name=value
        r"\b\w*(?:_|\d)\w*\b",  # snake_case, b2, utf8
        r"\b[A-Za-z]*[a-z][A-Z]\w*\b",  # camelCase
        r"\b\w+(?:-\w+){3,}\b",  # four-words-with-hyphens
        r"(?<![\w/])s/[^/\n]+/[^/\n]*/(?!\w{4})",  # s/a/b/
        # base64
        r"(?<![\w+/])(?=[A-Za-z+/]*(?:[a-z][A-Z]|[\d+]))[A-Za-z0-9+/]{24,}={,2}(?![\w+/])",
    )
)

#: What is a name where a line is no prose, or has small letters too.
QUOTED = r"(?<![\w\"])\"\w+\"|(?<![\w'])'\w+'(?!\w)"  # "one" 'word'
CAPITALS = r"\b[A-Z]{2,6}s?\b"  # NATO, URLs

_FIRST_TOKEN = re.compile(r"\w+|[^\w\s]")
_NO_LETTER = re.compile(r"(?<!\w)|(?!\w)")  # before or after


class Protection:
    """Finds what an edit may not touch.

    Args:
        patterns: regular expressions of Python's ``re``; what they match is protected.
        words: words or phrases, protected where they stand as whole words, in this spelling.

    Raises:
        UserError: no lists of strings, a pattern that is none.
    """

    def __init__(self, patterns: Iterable[str] = (), words: Iterable[str] = ()) -> None:
        self.patterns: list[re.Pattern[str]] = []
        for pattern in strings("protect", patterns):
            try:
                self.patterns.append(re.compile(pattern))
            except (re.error, OverflowError) as error:
                raise UserError(
                    f"protect={pattern!r} is not a valid regular expression: {error}"
                ) from None
        self.words = {composed(word.strip())[0] for word in strings("protect_words", words)}
        # by their first token all lengths: a line is then read once, however long the list
        self._lengths: dict[str, set[int]] = {}
        for word in self.words:
            if first := _FIRST_TOKEN.match(word):
                self._lengths.setdefault(first.group(), set()).add(len(word))

    def spans(self, line: str) -> list[Span]:
        """Returns where protected text stands in a line, in characters; none is empty."""
        matches = (match for pattern in self.patterns for match in pattern.finditer(line))
        matched = [match.span() for match in matches if match.group()]
        return [*matched, *self._words(line)]

    def in_line(self, line: str, shown: str) -> list[Span]:
        """Returns the spans of a line of a file; ``shown``: as its words are read."""
        return self.spans(line)

    def _words(self, line: str) -> Iterator[Span]:
        for match in _FIRST_TOKEN.finditer(line) if self.words else ():
            start = match.start()
            lengths = sorted(self._lengths.get(match.group(), ()), reverse=True)
            for end in (start + n for n in lengths):
                if line[start:end] in self.words and _NO_LETTER.match(line, end):
                    yield start, end
                    break


class CodeProtection(Protection):
    """Finds code and the like in a line: :data:`CODE`, a single word in quotes unless the line is
    prose, and words in capitals unless all are."""

    def __init__(self) -> None:
        super().__init__([CODE])
        self._quoted, self._capitals = Protection([QUOTED]), Protection([CAPITALS])

    def spans(self, line: str) -> list[Span]:
        spans = super().spans(line)
        if not is_prose(line):
            spans += self._quoted.spans(line)
        if not is_shouted(line):
            spans += self._capitals.spans(line)
        return spans

    def in_line(self, line: str, shown: str) -> list[Span]:
        """Returns the spans but for those of markup alone, such as tags, which end at words: an
        edit may write a letter there."""
        words = without_markup(shown)
        return [(start, end) for start, end in self.spans(shown) if not words[start:end].isspace()]


def mark(stays: bytearray, spans: Iterable[Span], reason: int) -> None:
    """Notes why the characters of spans stay; the strongest reason of a character counts."""
    for start, end in spans:
        stays[start:end] = bytes(max(reason, noted) for noted in stays[start:end])


def differing(line: str, shown: str) -> list[Span]:
    """Returns the characters of a line that are shown as others."""
    pairs = enumerate(zip(line, shown, strict=True))
    return [(place, place + 1) for place, (written, read) in pairs if written != read]


def touched(stays: bytearray, start: int, before: str, after: str) -> int:
    """Returns the strongest reason of the characters that an edit changes, or between which or onto
    which it writes; 0 for none.

    Args:
        stays: of each character of the line, as of :func:`mark`.
        start: where ``before`` stands. What both begin and end with is not touched.
    """
    same, old, new = differing_part(before, after)
    first = start + same
    if old:
        return max(stays[first : first + len(old)])
    at_end = max(stays[max(first - 1, 0) : first], default=FREE)
    at_start = max(stays[first : first + 1], default=FREE)
    is_onto = (at_end and not new[0].isspace()) or (at_start and not new[-1].isspace())
    return max(at_end, at_start) if is_onto or (at_end and at_start) else FREE
