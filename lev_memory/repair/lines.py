"""Texts as lines for a model, and back."""

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import AnyStr

from rapidfuzz.distance import Levenshtein

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
