"""Cuts source into comments, strings and code, each language by one pattern: as Pygments does, in a
tenth of its time, since most of a tree is code, of which names alone are asked for.

languages.tsv has the tokens of each, in the order in which they are sought: a pattern, of which the
group ``token`` is the token, else all of it; a text, and the tokens of that, which are tested. What
has no end goes to the end of the text: else each beginning would be sought to there. What one of
their tokens begins with tells in a quarter of the time that there is none.
"""

import re
from collections.abc import Iterator
from functools import cache

from .formats import as_code, table_rows, with_parts

#: What a token is, its place and its text.
Token = tuple[str, int, str]

#: The rows of each kind of files that is cut here.
ROWS: dict[str, list[list[str]]] = {}
for _row in table_rows("languages.tsv"):
    for _name in _row[0].split(", "):
        ROWS.setdefault(_name, []).append(_row)
SCANNED = frozenset(ROWS)


@cache
def _tokens(language: str) -> re.Pattern[str]:
    """Returns the pattern of a language's tokens, with a group of each row's role and number."""
    begins, tokens = list[str](), list[str]()
    for number, (_, _, role, begin, pattern, *_) in enumerate(ROWS[language]):
        group = f"(?P<{role}{number}>"
        inner = pattern if "(?<token>" in pattern else f"(?<token>{pattern})"
        tokens.append(with_parts(inner.replace("(?<token>", group)))
        begins += [begin] if begin else []
    first = f"(?={'|'.join(begins)})" if begins else ""
    return re.compile(f"{first}(?:{'|'.join(tokens)})", re.MULTILINE)


#: How a string begins into which values are put, and these.
_FORMATTED = {"python": re.compile(r"(?i)r?[ft]r?['\"]"), "bash": re.compile('["<]')}
_FORMATTED |= dict.fromkeys(("javascript", "typescript"), re.compile("`"))
_VALUE = re.compile(with_parts("<PUT_IN>|<TEMPLATE>|<COMMAND>"))
_NAME = re.compile(r"(?<![\w@])(?!(?:and|in|instanceof|is|not|or|typeof)\b)[^\W\d_]{2,}(?!\w)")


def scanned(text: str, language: str) -> Iterator[Token]:
    """Yields the comments, with the space after them, doc strings and strings of a text in one of
    :data:`SCANNED`, code for the values that are put in; the names of its code at the end, each
    once."""
    code, place = list[str](), 0
    formatted = _FORMATTED.get(language)
    for match in _tokens(language).finditer(text):
        group = match.lastgroup or ""
        role = group.rstrip("0123456789")
        start, end = match.span(group)
        value = text[start:end]
        if role == "string" and formatted and formatted.match(value):
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
