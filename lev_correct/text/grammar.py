"""Which characters of a file are prose, by the grammar of its kind.

Pygments, which is loaded for the first such file, cuts source text into tokens. Comments, doc
strings and strings that are sentences are prose, everything else is code. Formats of text
(reStructuredText, TeX, man pages, .po, patches, ...) are in :mod:`.formats`.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from ..repository.kinds import left_alone
from .formats import CODE, ESCAPE, FORMATS, hidden, masked, settled
from .markdown import ENDINGS, Markdown, read_markdown
from .markup import is_prose
from .units import Span

if TYPE_CHECKING:
    from pygments.lexer import Lexer

#: What a token is, its place and its text.
Token = tuple[str, int, str]
Knows = Callable[[str], bool]
#: Endings of files of prose, for some of which Pygments has lexers.
PROSE = {"", ".txt", ".text", ".csv", ".tsv", ".log", ".srt", ".vtt", ".en", ".eml"}
MARKDOWN, NOTEBOOK = "markdown", "notebook"
#: Kinds by the ending of a file's name, where Pygments does not know it, and by its lexer.
_BY_ENDING = dict.fromkeys(ENDINGS, MARKDOWN) | {
    ".ipynb": NOTEBOOK, ".po": "po", ".pot": "po", ".diff": "diff", ".patch": "diff",
    ".adoc": "adoc", ".asciidoc": "adoc", ".org": "org",
    ".m4": "BashLexer", ".y": "CLexer", ".cts": "TypeScriptLexer", ".mts": "TypeScriptLexer",
    ".ejs": "html", ".plist": "html", ".vcxproj": "html",
}  # fmt: skip
_BY_LEXER = {"RstLexer": "rst", "TexLexer": "tex", "GroffLexer": "man"} | {
    name: name for name in ("DtdLexer", "HamlLexer", "PugLexer", "ScamlLexer", "UrlEncodedLexer")
}
#: Modules of Pygments' other lexers of text between tags.
_TAGGED = {"pygments.lexers." + name for name in ("html", "markup", "templates")}
_MAN_PAGE = re.compile(r".+\.(?:[1-9]\w{0,2}|man)")
_TEMPLATE = re.compile(r"(?<=\w)\.(?:in|tmpl|example|sample|dist|orig|bak)\Z")
_SHEBANG = re.compile(r"#!\s*\S*?(?:env\s+(?:-S\s+)?)?([A-Za-z]+)[\d.]*(?:\s|$)")
_UNREADABLE = dict.fromkeys(map(ord, "\r\0\1\2\3\4\ufeff"), " ")

_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W\d_]{2,}")
_COMMENT_SIGNS = re.compile(
    r"^[^\S\n]*(?:[#/*;%!<>=+|-]|--|REM\b|dnl\b)+|[*/<>-]+[^\S\n]*$", re.MULTILINE
)
#: Lines of a comment between fences, and one that may be code.
_FENCED = re.compile(r"^[^\w\n]*(?:```|~~~)(?:.*\n)+?[^\w\n]*(?:```|~~~)", re.MULTILINE)
_CODE_SIGN = re.compile(r"[;{}]\s*$|[\w\])]\s*[:+*/|&^!<>=-]?=\s*\S|->|=>|&&|\|\||^\W*(?:>>>|\$) ")
_QUOTES = re.compile(r"\A\s*[A-Za-z@$]{0,3}(?:'''|\"\"\"|['\"`])|(?:'''|\"\"\"|['\"`])\s*\Z")
_BYTES = re.compile(r"[rR]?[bB][rR]?['\"]")
#: What is put into a string.
_PUT_IN = re.compile(r"\$?\{[^{}\n]*\}|%(?:\(\w+\))?[-#0 +]*\d*(?:\.\d+)?[a-zA-Z]")
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
    return path is not None and bool(left_alone(path, "") or _kind(path, ""))


def read_grammar(path: str | None, lines: Sequence[str], knows: Knows) -> Markdown | None:
    """Reads a whole text, of lines without their ends; None where its kind has no grammar.

    Args:
        knows: whether a word is a right one, so that an identifier may be that word.
    """
    if not path or path == "-" or not lines:
        return None
    if left_alone(path, "\n".join(lines)):
        return Markdown([True] * len(lines), lines)
    kind = _kind(path, lines[0])
    return _read(kind, lines, knows) if kind else None


def _read(kind: str, lines: Sequence[str], knows: Knows) -> Markdown:
    if kind == MARKDOWN:
        return read_markdown(lines)
    text = "\n".join(lines).translate(_UNREADABLE)
    if kind == NOTEBOOK:
        shown = _notebook(text, knows)
    else:
        shown = masked(text, kind) if kind in FORMATS else _source(text, kind, knows)
    parts = settled(shown).split("\n")
    pairs = zip(parts, lines, strict=True)
    code = [bool(line.strip()) and not _LETTER.search(part) for part, line in pairs]
    return Markdown(code, parts)


# kinds of files -----------------------------------------------------------------------------------


@lru_cache(1000)
def _kind(path: str, first_line: str) -> str:
    """Returns the kind of a file: a format, or the name of a lexer; by its name or first line."""
    name = _TEMPLATE.sub("", os.path.basename(path))
    ending = os.path.splitext(name)[1].lower()
    if ending in _BY_ENDING:
        return _BY_ENDING[ending]
    known = _lexers()
    if name in known or ending not in PROSE:
        ends = [f"*{name[place:]}" for place, char in enumerate(name) if char == "."]
        for end in (name, *ends, f"*{ending}"):
            if end in known:
                lexer = max(map(_class, known[end]), key=lambda lexer: lexer.priority)
                default = "html" if lexer.__module__ in _TAGGED else lexer.__name__
                return _BY_LEXER.get(lexer.__name__, default)
        if _MAN_PAGE.fullmatch(name):
            return "man"
    shebang = _SHEBANG.match(first_line)
    return _by_language(shebang[1]) if shebang else ""


def _by_language(language: str) -> str:
    from pygments.lexers._mapping import LEXERS

    named = (name for name, row in LEXERS.items() if language.lower() in row[2])
    return next(named, "BashLexer")


@cache
def _lexers() -> dict[str, list[str]]:
    """Returns the names of Pygments' lexers by the patterns of file names."""
    from pygments.lexers._mapping import LEXERS

    names: dict[str, list[str]] = {}
    for name, (_, _, _, patterns, _) in LEXERS.items():
        for pattern in patterns:
            names.setdefault(pattern, []).append(name)
    return names


def _class(name: str) -> Any:
    import pygments.lexers

    return getattr(pygments.lexers, name)


@cache
def _lexer(name: str) -> "Lexer":
    lexer: Lexer = _class(name)()
    return lexer


# source -------------------------------------------------------------------------------------------


def _source(text: str, lexer: str, knows: Knows) -> str:
    """Returns a text in which all but prose is hidden, also names in prose."""
    pieces, place, names = list[str](), 0, set[str]()
    for role, group in groupby(_tokens(text, lexer), key=itemgetter(0)):
        run = [(start, value) for _, start, value in group]
        if role == "name":
            names.update(value for _, value in run)
        elif role in _PROSE:
            start, value = run[0][0], "".join(value for _, value in run)
            pieces += [hidden(text[place:start]), _PROSE[role](value)]
            place = start + len(value)
    shown = "".join([*pieces, hidden(text[place:])])
    if len(shown) != len(text):  # a lexer that has lost its place
        return hidden(text)
    unknown = {name for name in names if not knows(name)}
    return _WORD.sub(lambda word: _as_code(word) if word[0] in unknown else word[0], shown)


def _tokens(text: str, lexer: str) -> Iterator[Token]:
    """Yields Pygments' tokens. Space after a comment belongs to it, and to a string what is to be
    put in."""
    from pygments.token import String

    role, is_put_in = "", False
    for place, kind, value in _lexer(lexer).get_tokens_unprocessed(text):
        if kind is String.Interpol:
            is_put_in = value.endswith("{") and value != "{{"
        if is_put_in:
            role = "string"
        elif role != "comment" or value.strip():
            role = _role(kind)
        yield role, place, value


@cache
def _role(kind: Any) -> str:
    """Returns whether a token is a comment, doc, string, name or code."""
    from pygments.token import Comment, Keyword, Literal, Name, String

    code = [Comment.Preproc, Comment.PreprocFile, Comment.Hashbang]
    code += [String.Regex, String.Symbol, String.Char]
    roles = dict.fromkeys(code, "code") | {Comment: "comment", String.Doc: "doc"}
    roles |= dict.fromkeys((String, Literal.Scalar), "string")
    roles |= dict.fromkeys((Name, Keyword), "name")
    return next((role for parent, role in roles.items() if kind in parent), "code")


def _comment(text: str) -> str:
    text = _COMMENT_SIGNS.sub(_blank, _FENCED.sub(_as_code, masked(text, "comment")))
    return "\n".join(map(_comment_line, text.split("\n")))


def _comment_line(line: str) -> str:
    return hidden(line) if _CODE_SIGN.search(line) and not is_prose(line) else line


def _doc(text: str) -> str:
    if not _QUOTES.match(text):
        return _comment(text)
    return ESCAPE.sub(_blank, masked(_QUOTES.sub(_blank, text), "docstring"))


def _string(text: str) -> str:
    """Returns a string that is a sentence, without its quotes and escapes; others hidden."""
    shown = ESCAPE.sub(_blank, _QUOTES.sub(_blank, _PUT_IN.sub(_as_code, text)))
    return hidden(text) if _BYTES.match(text) or not is_sentence(shown) else shown


_PROSE = {"comment": _comment, "doc": _doc, "string": _string}


def _as_code(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", CODE, match[0])


def _blank(match: re.Match[str]) -> str:
    """Returns as many spaces, and the line ends; code for an escape inside a word."""
    text, end = match.string, match.end()
    is_inside = match[0] in ("\\'", '\\"') and text[end : end + 1].isalpha()
    return _as_code(match) if is_inside else re.sub(r"[^\n]", " ", match[0])


def is_sentence(text: str) -> bool:
    """Returns whether a string is for people to read: several words, mostly in small letters, with
    a word that sentences have, a capital in front or a mark at the end."""
    tokens = settled(text).replace(CODE, " ").split()
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


# notebooks ----------------------------------------------------------------------------------------

_JSON_STRING = r"\"(?:[^\"\\\n]|\\.)*+\""
_CELL = re.compile(
    r"\"cell_type\":\s*\"(?P<kind>\w+)\"|\"source\":\s*+(?P<source>"
    rf"{_JSON_STRING}|\[(?:\s*+{_JSON_STRING},?+)*+\s*+\])"
)
_STRING = re.compile(_JSON_STRING)
_CELL_LINE = re.compile(r"((?:[^\\]|\\[^n])*+)(?:\\n|\Z)")
_LANGUAGE = re.compile(r"\"language\":\s*\"(\w+)\"")


def _notebook(text: str, knows: Knows) -> str:
    """Returns a notebook in which all but prose is hidden: each cell is a text of its kind."""
    language = _LANGUAGE.search(text)
    kinds = {"markdown": MARKDOWN, "code": _by_language(language[1] if language else "python")}
    pieces, place, kind = list[str](), 0, ""
    for cell in _CELL.finditer(text):
        kind = cell["kind"] or kind
        spans = _lines_of(text, *cell.span("source")) if cell["source"] else []
        if not spans or kind not in kinds:
            continue
        lines = [ESCAPE.sub(_unescaped, text[start:end]) for start, end in spans]
        read = _read(kinds[kind], lines, knows)
        for (start, end), shown, is_code in zip(spans, read.shown, read.code, strict=True):
            pieces += [hidden(text[place:start]), hidden(shown) if is_code else shown]
            place = end
    return "".join([*pieces, hidden(text[place:])])


def _lines_of(text: str, start: int, end: int) -> list[Span]:
    """Returns where the lines in strings of JSON begin and end."""
    strings = (string.span() for string in _STRING.finditer(text, start, end))
    return [
        line.span(1)
        for begin, close in strings
        for line in _CELL_LINE.finditer(text, begin + 1, close - 1)
        if line[0]
    ]


def _unescaped(match: re.Match[str]) -> str:
    """Returns a character of JSON after a space for its sign."""
    return f" {match[0][1]}" if match[0][1] in '"\\/' else " " * len(match[0])
