"""Cuts Python into comments, strings and code, as Pygments does, in a tenth of its time: most of a
tree of Python is code, of which names alone are asked for."""

import re
from collections.abc import Iterator

from .formats import as_code

#: What a token is, its place and its text.
Token = tuple[str, int, str]

#: What is put into a string, with what is put in there; a brace that is written twice.
_PUT_IN = r"\{\{|\{[^{}LINE]*(?:\{[^{}LINE]*\}[^{}LINE]*)*\}"
_STRINGS = [
    rf"{prefix}{quote}(?:{inner}\\(?s:.)|(?!{quote})[^\\{end}])*+(?:{quote}|(?=\n)|\Z)"
    for prefix, put_in in (
        (r"(?<!\w)(?i:r?[ft]r?)", f"{_PUT_IN}|"),
        (r"(?:(?<!\w)(?i:rb?|br|u|b))?", ""),
    )
    for quote, end in (('"""', ""), ("'''", ""), ('"', r"\n"), ("'", r"\n"))
    for inner in (put_in.replace("LINE", end),)
]
_DOC = r"^[^\S\n]*[rRuUbB]{,2}(?P<doc>\"\"\"[\s\S]*?\"\"\"|'''[\s\S]*?''')"
_COMMENT = r"#.*(?:\s+#.*)*+(?:\s*+(?![rRuUbB]{,2}(?:\"\"\"|''')))?"
#: What all of them begin with, which tells in a quarter of the time where there is none.
_BEGINS = r"(?=[#'\"]|(?i:[rbuft]{1,2}['\"])|^[^\S\n]*+[rRuUbB]{,2}(?:\"\"\"|'{3}))"
_TOKEN = re.compile(
    rf"{_BEGINS}(?:\A#!.+|(?P<comment>{_COMMENT})|{_DOC}|(?P<string>{'|'.join(_STRINGS)}))",
    re.MULTILINE,
)
#: How a string begins into which values are put, and these.
_FORMATTED = re.compile(r"(?i)r?[ft]r?['\"]")
_VALUE = re.compile(_PUT_IN.replace("LINE", ""))
_NAME = re.compile(r"(?<![\w@])(?!(?:and|in|is|not|or)\b)[^\W\d_]{2,}(?!\w)")


def python_tokens(text: str) -> Iterator[Token]:
    """Yields the comments, with the space after them, doc strings and strings of a text, code for
    the values that are put in; the names of its code at the end, each once."""
    code, place = list[str](), 0
    for match in _TOKEN.finditer(text):
        role = match.lastgroup or "code"
        start, end = match.span(match.lastgroup or 0)
        value = text[start:end]
        if role == "string" and _FORMATTED.match(value):
            value = _VALUE.sub(_hidden, value)
        if start > place:
            code.append(text[place:start])
            yield "code", place, ""  # two strings with code between them are two
        yield role, start, value
        place = end
    code.append(text[place:])
    yield from (("name", len(text), name) for name in set(_NAME.findall("\n".join(code))))


def _hidden(value: re.Match[str]) -> str:
    return value[0] if value[0] == "{{" else as_code(value)
