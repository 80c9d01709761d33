"""Which characters of a file are prose, by the grammar of its kind.

Pygments, which is loaded for the first such file, cuts source text into tokens. Comments, doc
strings and strings that are sentences are prose, everything else is code. Formats of text
(reStructuredText, TeX, man pages, .po, patches, ...) are in :mod:`.formats`.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ..repository.kinds import left_alone
from . import formats
from .markdown import (
    CODE,
    Markdown,
    is_markdown,
    read_markdown,
)
from .markup import is_prose

if TYPE_CHECKING:
    from pygments.lexer import Lexer

Token = tuple[int, Any, str]
#: Endings of files of prose, for some of which Pygments has lexers.
PROSE = {"", ".txt", ".text", ".csv", ".tsv", ".log", ".srt", ".vtt", ".en", ".eml"}
#: Modules of Pygments' lexers whose text is prose.
TEXTUAL = {"pygments.lexers." + name for name in ("html", "markup", "templates")}
_MAN_PAGE = re.compile(r".+\.(?:[1-9]\w{0,2}|man)")
_TEMPLATE = re.compile(r"(?<=\w)\.(?:in|tmpl|example|sample|dist|orig|bak)\Z")
_SHEBANG = re.compile(r"#!\s*\S*?(?:env\s+(?:-S\s+)?)?([A-Za-z]+)[\d.]*(?:\s|$)")

_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W\d_]{2,}")
_IN_FRONT = re.compile(r"^[^\S\n]*(?:[#/*;%!<>=+|-]|--|REM\b|dnl\b)+", re.MULTILINE)
_AT_END = re.compile(r"[*/<>-]+\s*\Z")
_FENCE = re.compile(r"[^\w\n]*(?:```|~~~)")
#: A line of a comment that may be code.
_CODE_SIGN = re.compile(
    r"[;{}]\s*$|[\w\])]\s*[:+*/|&^!<>=-]?=\s*\S|->|=>|::|&&|\|\||^\W*(?:>>>|\$) "
)
_QUOTES = re.compile(r"\A\s*[A-Za-z@$]{0,3}(?:'''|\"\"\"|['\"`])|(?:'''|\"\"\"|['\"`])\s*\Z")
_PLAIN = re.compile(r"[(\"'\[]*([^\W\d_]+(?:['\u2019-][^\W\d_]+)*)[.,;:!?)\"'\]]*")
_STATEMENT = re.compile(
    r"\s*(?:(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|WITH|PRAGMA|BEGIN|COMMIT)\s"
    r"|select\b.*\bfrom\b|insert into\b|update \w+ set\b|create (?:table|index)\b)"
)
#: Words that sentences have and lists of names have not.
_FUNCTION_WORDS = set(
    "a an and are as at be been but by can cannot could did do does for from had has have if in "
    "into is it its may more must no not of on only or should than that the then there these this "
    "to too was we were when which while will with without would you your".split()
)


def has_grammar(path: str | None) -> bool:
    """Returns whether a file of that name is read by a grammar."""
    if not path:
        return False
    by_ending = is_markdown(path) or formats.ending(path) in (".ipynb", *formats.READERS)
    return by_ending or bool(left_alone(path, "") or _lexer_name(path, ""))


def read_grammar(
    path: str | None, lines: Sequence[str], knows: Callable[[str], bool]
) -> Markdown | None:
    """Reads a whole text, of lines without their ends; None where its kind has no grammar.

    Args:
        knows: whether a word is a right one, so that an identifier may be that word.
    """
    if not path or path == "-" or not lines:
        return None
    text = "\n".join(lines)
    if left_alone(path, text):
        return Markdown([True] * len(lines), lines)
    if is_markdown(path):
        return read_markdown(lines)
    text = text.translate(_UNREADABLE)
    if formats.ending(path) == ".ipynb":
        return _lines_of(_notebook(text, knows), lines)
    if reader := formats.READERS.get(formats.ending(path)):
        return _lines_of(reader(text), lines)
    name = _lexer_name(path, lines[0])
    if name is None and formats.ending(path) not in PROSE and _looks_like_source(lines):
        name = "CLexer"
    return _lines_of(_Source(text, _lexer(name), knows).shown(), lines) if name else None


#: Letters of a line of reStructuredText, whose lexer takes the square of it.
LONGEST_LINE = 20_000
#: Share of lines that end like statements, from which a file of an unknown kind is source.
STATEMENTS = 0.15


def _looks_like_source(lines: Sequence[str]) -> bool:
    written = [line.rstrip() for line in lines if line.strip()]
    return sum(line[-1] in ";{}" for line in written) > STATEMENTS * len(written)


_UNREADABLE = dict.fromkeys(map(ord, "\r\0\ufeff"), " ")


def _lines_of(shown: str, lines: Sequence[str]) -> Markdown:
    """The lines of a text that is shown; those without a letter that are not empty are code."""
    parts = shown.split("\n")
    code = [
        bool(line.strip()) and not _LETTER.search(part)
        for part, line in zip(parts, lines, strict=True)
    ]
    return Markdown(code, parts)


@cache
def _patterns() -> dict[str, list[str]]:
    """Pygments' lexers by the patterns of file names."""
    from pygments.lexers._mapping import LEXERS

    names: dict[str, list[str]] = {}
    for name, (_, _, _, patterns, _) in LEXERS.items():
        for pattern in patterns:
            names.setdefault(pattern, []).append(name)
    return names


@lru_cache(1000)
def _lexer_name(path: str, first_line: str) -> str | None:
    """The name of the class of a file's lexer, by the file's name, else by its first line."""
    name = _TEMPLATE.sub("", os.path.basename(path))
    known, ending = _patterns(), os.path.splitext(name)[1].lower()
    if name not in known and ending in PROSE:
        return _by_shebang(first_line)
    ends = [name, *(f"*{name[place:]}" for place, char in enumerate(name) if char == "."),
            f"*{ending}"]  # fmt: skip
    for end in ends:
        if end in known:
            return max(known[end], key=lambda lexer: _class(lexer).priority)
    return "GroffLexer" if _MAN_PAGE.fullmatch(name) else _by_shebang(first_line)


def _by_shebang(line: str) -> str | None:
    if not (match := _SHEBANG.match(line)):
        return None
    from pygments.lexers._mapping import LEXERS

    named = (name for name, row in LEXERS.items() if match[1].lower() in row[2])
    return next(named, "BashLexer")


def _class(name: str) -> Any:
    import pygments.lexers

    return getattr(pygments.lexers, name)


@cache
def _lexer(name: str) -> "Lexer":
    lexer: Lexer = _class(name)()
    return lexer


@cache
def _role(kind: Any, textual: bool) -> str:
    """What a token is: comment, doc, string, text, name or code."""
    from pygments.token import Comment, Generic, Keyword, Literal, Name, String, Text

    if kind in Comment:
        return "code" if kind in Comment.Preproc or kind is Comment.Hashbang else "comment"
    if kind in Comment.PreprocFile or kind in String.Regex or kind in String.Symbol:
        return "code"
    if kind in String.Doc:
        return "doc"
    if kind in String or kind in Literal.Scalar:
        return "code" if kind is String.Char else "string"
    if textual and (kind is Text or kind in Generic and kind is not Generic.Output):
        return "text"
    return "name" if kind in Name or kind in Keyword else "code"


class _Source:
    """A text of source.

    Args:
        knows: as of :func:`read_grammar`.
    """

    def __init__(self, text: str, lexer: "Lexer", knows: Callable[[str], bool]) -> None:
        self._text, self._knows = text, knows
        self._lexer = lexer
        self._kind = type(lexer).__name__
        self._textual = type(lexer).__module__ in TEXTUAL
        self._names: set[str] = set()
        self._fenced = False

    def shown(self) -> str:
        """The text, with other characters for code and markup."""
        if self._kind == "RstLexer" and max(map(len, self._text.split("\n"))) > LONGEST_LINE:
            return self._text
        pieces, end, prose = [], 0, list[int]()
        for role, start, stop, shown in self._prose():
            pieces += [formats.hidden(self._text[end:start]), shown]
            end = stop
            if role != "text":
                prose.append(len(pieces) - 1)
        pieces.append(formats.hidden(self._text[end:]))
        names = {name for name in self._names if not self._knows(name)}
        if names and not self._textual:
            for number in prose:
                pieces[number] = _WORD.sub(
                    lambda word: CODE * len(word[0]) if word[0] in names else word[0],
                    pieces[number],
                )
        shown = "".join(pieces)
        if len(shown) != len(self._text):  # a lexer that has lost its place
            return formats.settled(formats.hidden(self._text))
        if self._textual:
            shown = formats.masked(shown, self._text, self._kind)
        return formats.settled(shown)

    def _prose(self) -> Iterator[tuple[str, int, int, str]]:
        """Role, begin, end and how it is shown, of each run of prose."""
        for role, group in groupby(self._roles(), key=lambda token: token[0]):
            tokens = [token for _, token in group]
            start, (last, _, value) = tokens[0][0], tokens[-1]
            end = last + len(value)
            if role == "name":
                self._names.update(value for _, _, value in tokens)
            elif role == "code":
                self._fenced &= not any(value.strip() for _, _, value in tokens)
            elif shown := self._shown_as(role, tokens):
                yield role, start, end, shown

    def _roles(self) -> Iterator[tuple[str, Token]]:
        """Each token with its role; what stands in a string to be put in belongs to the string."""
        from pygments.token import String

        inside = False
        for token in self._tokens():
            _, kind, value = token
            role = _role(kind, self._textual)
            if kind is String.Interpol:
                inside = value.endswith("{") and value != "{{"
            elif inside:
                role, token = "string", (token[0], String.Interpol, value)
            yield role, token

    def _tokens(self) -> Iterable[Token]:
        if not self._textual:
            return self._lexer.get_tokens_unprocessed(self._text)
        return formats.tokens(self._lexer, self._text)

    def _shown_as(self, role: str, tokens: Sequence[Token]) -> str:
        if role == "string":
            return self._string(tokens)
        text = "".join(value for _, _, value in tokens)
        if role == "doc":
            return self._doc(text)
        return self._comment(text) if role == "comment" else text

    def _comment(self, text: str) -> str:
        text = _AT_END.sub(_blank, _IN_FRONT.sub(_blank, text))
        return "\n".join(map(self._comment_line, text.split("\n")))

    def _comment_line(self, line: str) -> str:
        is_fence = bool(_FENCE.match(line))
        is_code = self._fenced or is_fence or (_CODE_SIGN.search(line) and not is_prose(line))
        self._fenced ^= is_fence
        return CODE * len(line) if is_code else line

    def _doc(self, text: str) -> str:
        text = _QUOTES.sub(_blank, text)
        if "::" in text or "``" in text:
            return _Source(text, _lexer("RstLexer"), self._knows).shown()
        return formats.ESCAPE.sub(_blank, text)

    def _string(self, tokens: Sequence[Token]) -> str:
        """A string that is a sentence, without its quotes and escapes; nothing for others."""
        from pygments.token import String

        parts = []
        for _, kind, value in tokens:
            if kind is String.Affix and "b" in value.lower():
                return ""
            parts.append(CODE * len(value) if kind is String.Interpol else value)
        text = formats.ESCAPE.sub(_blank, _QUOTES.sub(_blank, "".join(parts)))
        return text if is_sentence(text) else ""


_CELL_TYPE = re.compile(r"\"cell_type\":\s*\"(\w+)\"")
_JSON_STRING = r"\"(?:[^\"\\\n]|\\.)*+\""
_STRING = re.compile(_JSON_STRING)
_CELL = re.compile(rf"\"source\":\s*+(?:{_JSON_STRING}|\[(?:\s*+{_JSON_STRING},?+)*+\s*+\])")
_CELL_LINE = re.compile(r"((?:[^\\]|\\[^n])*+)(?:\\n|\Z)")
_LANGUAGE = re.compile(r"\"language\":\s*\"(\w+)\"")


def _notebook(text: str, knows: Callable[[str], bool]) -> str:
    """A notebook: its cells of Markdown, and of source in their language."""
    language = _LANGUAGE.search(text)
    source = _by_shebang(f"#!/{language[1] if language else 'python'}\n")
    shown, place, kind = [], 0, ""
    for cell in _CELL.finditer(text):
        for named in _CELL_TYPE.finditer(text, place, cell.start()):
            kind = named[1]
        begin = cell.start() + len('"source":')
        spans = [
            line.span(1)
            for string in _STRING.finditer(text, begin, cell.end())
            for line in _CELL_LINE.finditer(text, string.start() + 1, string.end() - 1)
            if line[0]
        ]
        lines = [formats.ESCAPE.sub(_unescaped, text[start:end]) for start, end in spans]
        if kind == "markdown":
            read = read_markdown(lines)
        elif kind == "code" and source:
            read = _lines_of(_Source("\n".join(lines), _lexer(source), knows).shown(), lines)
        else:
            continue
        for (start, end), line, code in zip(spans, read.shown, read.code, strict=True):
            shown += [formats.hidden(text[place:start]), formats.hidden(line) if code else line]
            place = end
    return formats.settled("".join([*shown, formats.hidden(text[place:])]))


def _unescaped(match: re.Match[str]) -> str:
    """A character of JSON after a space for its sign."""
    return f" {match[0][1]}" if match[0][1] in '"\\/' else " " * len(match[0])


def _blank(match: re.Match[str]) -> str:
    """As many spaces, and the line ends; code for an escape inside a word."""
    text, end = match.string, match.end()
    if match[0][:1] == "\\" and match[0][1:] in "'\"" and text[end : end + 1].isalpha():
        return CODE * len(match[0])
    return re.sub(r"[^\n]", " ", match[0])


def is_sentence(text: str) -> bool:
    """Returns whether a string is for people to read: several words, mostly in small letters, with
    a word that sentences have, a capital in front or a mark at the end."""
    tokens = text.replace(CODE, " ").split()
    words = [match[1] for match in map(_PLAIN.fullmatch, tokens) if match]
    small = sum(word.islower() for word in words)
    if not small or len(words) < 2 or 2 * len(words) <= len(tokens) or _STATEMENT.match(text):
        return False
    is_opened = words[0][:1].isupper() and (words[0][1:].islower() or not words[0][1:])
    if len(words) == 2:
        return is_opened and words[1].islower() and len(tokens) <= 3
    if 2 * small < len(words) - is_opened:
        return False
    ends = tokens[-1][-1] in ".!?:" and not tokens[-1].startswith(".")
    return is_opened or ends or not _FUNCTION_WORDS.isdisjoint(words)
