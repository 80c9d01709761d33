"""Texts as lines for a model, and as tokens: words, numbers, code and marks."""

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from sys import intern
from typing import AnyStr, NamedTuple

import regex
from rapidfuzz.distance import Levenshtein

from .code import FIXED

# whitespace that subwords would lose, and the sign that stands for it in a line
_SIGNS = {"\n": "␊", "\t": "␉", "\u00a0": "⍽", "\u202f": "⎵", "\r": "␍"}
_SPACES = {sign: space for space, sign in _SIGNS.items()}
_ESCAPE = "␛"  # before what stands for itself
_RARE = 0xF0000  # what other whitespace is moved by: to characters of nobody
_MARK = r"<(?=/?(?:del|ins)>)"  # of the change of a source
_TO_LINE = re.compile(rf"[{_ESCAPE}{''.join(_SPACES)}]|{_MARK}|[^\S ]|[\U000F0000-\U000F3000]")
_TO_TEXT = re.compile(rf"{_ESCAPE}(.)|([{''.join(_SPACES)}\U000F0000-\U000F3000])")


def to_line(text: str) -> str:
    """Returns a text as one line, whose only whitespace are plain spaces."""

    def character(match: re.Match[str]) -> str:
        char = match[0]
        if char in _SIGNS:
            return _SIGNS[char]
        if char == "<":
            return f"<{_ESCAPE}"
        return chr(_RARE + ord(char)) if char.isspace() else _ESCAPE + char

    return _TO_LINE.sub(character, text)


def to_text(line: str) -> str:
    """Returns the text that :func:`to_line` was given."""

    def character(match: re.Match[str]) -> str:
        if match[1]:
            return match[1]
        return _SPACES.get(match[2]) or chr(ord(match[2]) - _RARE)

    return _TO_TEXT.sub(character, line)


def replaced(text: AnyStr, edits: Iterable[tuple[int, int, AnyStr]]) -> AnyStr:
    """Returns a text with other characters at some spans; of spans that overlap the first stays."""
    parts: list[AnyStr] = []
    position = 0
    for start, end, new in sorted(edits):
        if start >= position:
            parts += [text[position:start], new]
            position = end
    parts.append(text[position:])
    return text[:0].join(parts)


def with_ends(text: str, like: str) -> str:
    """Returns a text with the whitespace at both ends that another has."""
    body = like.strip()
    if not body:
        return text
    start = like.index(body)
    return like[:start] + text.strip() + like[start + len(body) :]


def changes(old: Sequence[Hashable], new: Sequence[Hashable]) -> Iterator[tuple[range, range]]:
    """Yields what differs between two sequences: places of the older one and of the new one."""
    i = k = 0
    for j, m, size in Levenshtein.opcodes(old, new).as_matching_blocks():
        if j > i or m > k:
            yield range(i, j), range(k, m)
        i, k = j + size, m + size


# tokens ------------------------------------------------------------------------------------------

# scripts without spaces, and Korean, whose endings are countless: each character is a word
SINGLE = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
# scripts whose small words stand in front of names and numbers without a space
PREFIXING = r"\p{Hebrew}\p{Arabic}"
_PART = rf"[\w--[{SINGLE}{PREFIXING}]]"  # of an identifier or an address
_JOINT = r"[./\\:@+=~#?&%\-]"
# what tells these from words: a_b, a@b, C:\a, a://b, a::b, aB, a1, a.b, a=b, a/b/c, a(), /a, -a
_SIGN = (
    rf"(?:{_PART}|{_JOINT})*?(?:[_@\\]|:[:/]|->|\p{{Ll}}\p{{Lu}}|[a-zA-Z]=|[a-zA-Z]{{2}}\d|(?<!\d)[a-zA-Z]\d"
    rf"|{_PART}{{2}}\.[a-zA-Z]|[a-zA-Z]\.{_PART}{{2}}|/[a-zA-Z]{_PART}*/|{_PART}\(\))"
    r"|[~.]{0,2}/[a-zA-Z]|--[a-zA-Z]|-[a-zA-Z](?!\w)"
)
_CODE = (
    r"(?<![\w:`])(?::[\w:+.\-]+:)?(?:``[^`]++``|`[^`]++`_{0,2})"
    rf"|(?<!{_PART}|{_JOINT})(?={_SIGN}){_JOINT}*+(?:{_PART}++"
    rf"(?:(?:(?!:(?![:/\\])|-\p{{Lu}}){_JOINT})++(?={_PART})|/)?)+(?:\(\))?"
    r"|\d+(?:(?: ?[+*=<>×÷] ?| [/\-] )\d+){2,}"  # a sum
)
#: a part of a text that is replaced whole, or not at all
WHOLE = regex.compile(rf"(?V1){FIXED}|{_CODE}")
SPACES = "\u00a0\u202f\u2009⍽⎵ "  # in numbers; signs of :mod:`lines` among them
#: of a number, separators with the digits after them
INSIDE = rf"[.,٫٬．:/\-{SPACES.replace(' ', '')}]\d+|['’]\d{{3}}(?!\d)|[hH]\d\d(?!\w)"
# a word that spaces or marks surround, which is no code; an entity; code; a number with what parts
# it (a version and a date are numbers too); a currency; a word, an article before an apostrophe is
# one (``l'``); a mark
_TOKEN = regex.compile(
    rf"(?V1)\s*(?:(?P<word>(?![{SINGLE}])\p{{L}}[\p{{Ll}}\p{{Lo}}\p{{M}}]*+(?=[\s,;]|[.:!?)](?:\s|$)|$))|(?P<mark>&\w+;)"
    rf"|(?P<code>(?=[%$<{{@\[~#])(?!\$\d){FIXED}|{_CODE})"
    rf"|(?P<number>\d+-\d+-\d+|\d+(?:(?!-){INSIDE})*(?:[a-zA-Z][a-zA-Z\d]*)?)"
    rf"|(?P<currency>\p{{Sc}})"
    rf"|(?P<word>[{SINGLE}]|[{PREFIXING}]+(?=\d)|(?:(?![{SINGLE}])[\w\p{{M}}])+(?:['’](?=\p{{L}}))?)|(?P<mark>[^\w\s]))"
)
QUOTES = regex.compile(r"[\"'\p{Pi}\p{Pf}„‚]")
_WORD = regex.compile(r"[\w\p{M}]")
_SINGLE = regex.compile(rf"[{SINGLE}]")
_PREFIXING = regex.compile(rf"(?V1)[[\p{{L}}\p{{M}}]&&[{PREFIXING}]]")
_DECIMAL = regex.compile(r"\d[.,٫٬]\d")


def goes_on(left: str, right: str) -> bool:
    """Returns whether two adjacent characters, either of which may be "", are of one word."""
    both = left, right
    if not all(map(_WORD.match, both)) or any(map(_SINGLE.match, both)):
        return False
    return bool(_PREFIXING.match(left)) == bool(_PREFIXING.match(right))


def places(text: str, part: str) -> list[tuple[int, int]]:
    """Returns the spans of a part in a text, not inside a word or a number."""
    spans = []
    start = text.find(part)
    while start >= 0 and part:
        end = start + len(part)
        before, after = text[max(start - 2, 0) : start], text[end : end + 2]
        is_within = (
            goes_on(before[-1:], part[0])
            or goes_on(part[-1], after[:1])
            or _DECIMAL.fullmatch(before + part[0])
            or _DECIMAL.fullmatch(part[-1] + after)
        )
        if not is_within:
            spans.append((start, end))
        start = text.find(part, end if not is_within else start + 1)
    return spans


class Token(NamedTuple):
    """A part of a text, and where it stands; ``key``: a word in small letters."""

    start: int
    end: int
    text: str
    key: str
    kind: str


def tokens_of(text: str) -> list[Token]:
    """Returns the tokens of a text."""
    tokens = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        start, end = match.span(kind)
        part = intern(text[start:end])
        key = intern(part.lower()) if kind == "word" else part
        tokens.append(Token(start, end, part, key, kind))
    return tokens


def is_word(token: str) -> bool:
    return token[:1].isalpha()


def span(tokens: Sequence[Token], there: range) -> tuple[int, int]:
    """Returns where some tokens stand in their text."""
    return tokens[there.start].start, tokens[there.stop - 1].end
