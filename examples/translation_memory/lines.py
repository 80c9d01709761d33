"""Texts as lines for a model, and back; what a program needs of a text."""

import re
from collections import Counter

# whitespace that subwords would lose, and the sign that stands for it in a line
_SIGNS = {"\n": "␊", "\t": "␉", "\u00a0": "⍽", "\u202f": "⎵", "\r": "␍"}
_SPACES = {sign: space for space, sign in _SIGNS.items()}
_ESCAPE = "␛"  # before what stands for itself
_RARE = 0xF0000  # what other whitespace is moved by: to characters of nobody
_MARK = r"<(?=/?(?:del|ins)>)"  # of the change of a source
_TO_LINE = re.compile(rf"[{_ESCAPE}{''.join(_SPACES)}]|{_MARK}|[^\S ]|[\U000F0000-\U000F3000]")
_TO_TEXT = re.compile(rf"{_ESCAPE}(.)|([{''.join(_SPACES)}\U000F0000-\U000F3000])")

# what a program fills in: of printf in C (with gettext's own), Python, Objective-C and Qt
_WIDTH = r"(?:\*(?:\d+\$)?|\d+)?"
_PRINTF = (
    rf"%(?:\([^)]*\)|\d+\$)?[-+#0'I]*{_WIDTH}(?:\.{_WIDTH})?"
    r"(?:<PRI[a-zA-Z0-9]+>|(?:hh|h|ll|l|L|q|j|z|Z|t)?[diouxXeEfFgGaAcCsSpnmr@%])"
)
_OTHERS = (
    r"%L?\d+|%\{\w+\}"  # Qt, Ruby
    r"|\$\{[^{}]*\}|\$\(\w+\)|\$\w+"  # shells, make, PHP
    r"|\{\{[^{}]*\}\}|\{[^{}]*\}"  # format strings and templates
)
_PLACEHOLDER = re.compile(rf"%[A-Z_]{{2,}}%|(?P<printf>{_PRINTF})|{_OTHERS}")
_SPACED = re.compile(r"% [diouxXeEfFgGaAcCsSpn]")  # of C alone: "100 % de" is text
_TAG = re.compile(r"</?[a-zA-Z][\w:.-]*(?=[\s/>])[^<>]*>")


def to_line(text: str) -> str:
    """A text as one line, whose only whitespace are plain spaces."""

    def character(match: re.Match[str]) -> str:
        char = match[0]
        if char in _SIGNS:
            return _SIGNS[char]
        if char == "<":
            return f"<{_ESCAPE}"
        return chr(_RARE + ord(char)) if char.isspace() else _ESCAPE + char

    return _TO_LINE.sub(character, text)


def to_text(line: str) -> str:
    """The text that :func:`to_line` was given."""

    def character(match: re.Match[str]) -> str:
        if match[1]:
            return match[1]
        return _SPACES.get(match[2]) or chr(ord(match[2]) - _RARE)

    return _TO_TEXT.sub(character, line)


def placeholders(text: str, printf: bool = False) -> tuple[list[str], Counter[str]]:
    """What a program fills in: those that are told by their order, and the others, with tags.

    printf: a blank may stand after the per cent sign, as in C.
    """
    ordered: list[str] = []
    named: Counter[str] = Counter()
    for match in _PLACEHOLDER.finditer(text):
        numbered = re.match(r"%(?:\(|\d+\$)", match[0])
        if match["printf"] and not numbered:
            ordered.append(match[0])
        else:
            named[match[0]] += 1
    if printf:
        ordered += _SPACED.findall(text)
    named.update(_TAG.findall(text))
    return ordered, named


def same_placeholders(source: str, text: str, printf: bool = False) -> bool:
    """Whether a translation has what its source has for a program to fill in."""
    return placeholders(source, printf) == placeholders(text, printf)


def with_ends(text: str, like: str) -> str:
    """A text with the whitespace at both ends that another has."""
    body = like.strip()
    if not body:
        return text
    start = like.index(body)
    return like[:start] + text.strip() + like[start + len(body) :]
