"""Which characters of a file are prose, by the grammar of its kind.

Common languages are cut into tokens by :mod:`.scanner`, others by Pygments, which is loaded for the
first such file. Comments, doc strings and strings that are sentences are prose, everything else is
code. Formats of text (reStructuredText, TeX, man pages, .po, patches, ...) are in :mod:`.formats`.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Any

from .escapes import of_json, without_backslashes, without_escapes
from .file_kinds import (
    DIFF,
    MARKDOWN,
    NOTEBOOK,
    PROSE,
    TABLE,
    TEMPLATES,
    UNKNOWN,
    by_language,
    kind_of,
)
from .formats import CODE, FORMATS, as_code, hidden, masked, one_of, settled
from .markdown import Prose, read_markdown
from .markup import Knows, Span, is_prose
from .scanner import SCANNED, Token, scanned

_UNREADABLE = dict.fromkeys(map(ord, "\r\0\1\2\3\4\5\ufeff"), " ")
#: Lexers that have prose for text.
_TEXT_LEXERS = {"tid", "typst", "wikitext"}
#: What a template puts in: code, of which no lexer of its base language knows.
_TEMPLATE = re.compile(rf"\.(?:{TEMPLATES}|sls|sql)\b")
_TEMPLATE_TAG = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|<%.*?%>|\$\{[^{}]*\}")
_LETTER, _HIDDEN = re.compile(r"[^\W\d_]"), f"{CODE} "
_WORD = re.compile(r"[^\W\d_]{2,}")
_COMMENT_SIGNS = re.compile(
    r"^[^\S\n]*(?:[#/*;%!<>=+|-]|--|REM\b|dnl\b)+|[*/<>-]+[^\S\n]*$", re.MULTILINE
)
#: A sign of all that a comment hides but directives: 95 of 3,400 of Go and Python have one.
_MARKUP = re.compile(r"[@\\<\[]|::")
#: Lines of a comment between fences, and one that may be code.
_FENCED = re.compile(r"^[^\w\n]*(?:```|~~~)(?:.*\n)+?[^\w\n]*(?:```|~~~)", re.MULTILINE)
_CODE_SIGN = re.compile(
    r"[;{}]\s*$|[\w\])]\s*[:+*/|&^!<>=-]?=\s*\S|->|=>|&&|\|\||^\W*(?:>>>|\$) "
    r"|^\W*(?:include|define|undef|ifn?def|pragma)\s+[<\"\w]"
)
#: What a string begins with and ends with.
_QUOTES = re.compile(
    r"\A(?:<<.*\n|%[qQ]?[\[({<|!/]|\s*[A-Za-z@$]{0,3}#{,3}(?:'''|\"\"\"|['\"`]))"
    r"|(?:'''|\"\"\"|['\"`])#{,3}\s*\Z|[\])}>|!/]\Z"
)
#: The beginning of a string in which an apostrophe is a character like others.
_TAKES_APOSTROPHES = re.compile(r"<<|\s*[\w@#$%~]*[\"`]")
_BYTES = re.compile(r"[rR]?[bB][rR]?['\"]")
#: What is put into a string.
_PUT_IN = re.compile(r"\$?\{[^{}\n]*\}|\$\w+|%(?:\(\w+\))?[-#0 +]*\d*(?:\.\d+)?[a-zA-Z]")
#: What comes after a string that is a list of words.
_IS_SPLIT = re.compile(r"(?:\s*\"[^\"\n]*\")*\s*\)?\.split\(\)")
#: What a string has that is no single word.
_SEVERAL = re.compile(rf"[\s%{{$&\\{CODE}]")
_PLAIN = re.compile(r"[(\"'\[]*([^\W\d_]+(?:['\u2019-][^\W\d_]+)*)[.,;:!?)\"'\]]*")
_SQL = one_of("SELECT INSERT UPDATE DELETE CREATE ALTER DROP WITH PRAGMA BEGIN COMMIT")
_STATEMENT = re.compile(
    rf"\s*(?:(?:{_SQL})\s"
    r"|select\b.*\bfrom\b|insert into\b|update \w+ set\b|create (?:table|index)\b)"
)
#: Characters before a string, in which a call may be that says it to people.
BEFORE = 200
_CALLS = (
    r"\w*print\w* echo puts say \w*log\w* log\w*[.:>-]+\w+ console\.\w+ info warn\w* debug trace "
    r"\w*[Ee]rr(?:or)?s?(?:f|ln|New)? errors\.New \w*(?:Error|Exception|Message|Warning) fatal\w* "
    r"critical notice die croak confess carp fail\w* abort panic bail ensure expect context raise "
    r"throw usage help description option flags?\.\w+ message n?gettext\w* trans\w* tr N?_ __ i18n "
    r"alert"
)
_FIELDS = r"help desc\w* message msg summary usage epilog tooltip hint error warning reason"
_SAYS = re.compile(
    rf"(?:\b(?:{one_of(_CALLS)})!?[^\S\n]*"
    r"(?:\(\s*(?:[^(){};]*[,\s])?|\s\s*(?:[^(){};\"'\n]*[,\s])?)"
    rf"|(?i:\b(?:{one_of(_FIELDS)})[\"']?\s*(?:=>?|:)\s*))\Z"
)
#: Words that sentences have and lists of names have not.
_FUNCTION_WORDS = set(
    "a an and are as at be been but by can cannot could did do does for from had has have if in "
    "into is it its may more must no not of on only or should than that the then there these this "
    "to too was we were when which while will with without would you your".split()
)


def read_grammar(path: str, kind: str, lines: Sequence[str], knows: Knows) -> Prose:
    """Reads a whole text, of lines without their ends.

    Args:
        kind: of :func:`.kind_of`, but prose, which has no grammar.
        knows: whether a word is a right one, so that an identifier may be that word.
    """
    if _TEMPLATE.search(path):
        lines = [_TEMPLATE_TAG.sub(as_code, line) for line in lines]
    if kind == TABLE:
        return Prose([True] * len(lines), lines, left_out="tables of data")
    if kind == UNKNOWN:
        left_out = f"unknown kind {os.path.splitext(path)[1]}".strip()
        return _read(kind, lines, knows)._replace(left_out=left_out)
    return _read(kind, lines, knows)


def _read(kind: str, lines: Sequence[str], knows: Knows) -> Prose:
    if kind in (PROSE, MARKDOWN):
        return read_markdown(lines) if kind == MARKDOWN else Prose([False] * len(lines), lines)
    text, strings = "\n".join(lines).translate(_UNREADABLE), list[Span]()
    literals: list[Span] | None = None
    if kind == NOTEBOOK:
        shown = _notebook(text, knows)
    elif kind == DIFF:
        shown = _diff(lines, knows)
    elif kind in FORMATS:
        shown = masked(text, kind)
        is_android = "<resources" in text
        if is_android:
            strings.append((0, len(text)))
        if is_android or kind == "po":
            shown = without_backslashes(shown)
    else:
        shown, strings, literals = _source(text, kind, knows)
    parts = settled(shown).split("\n")
    pairs = zip(parts, lines, strict=True)
    code = [
        bool(line.strip()) and not (part.strip(_HIDDEN) and _LETTER.search(part))
        for part, line in pairs
    ]
    return Prose(code, parts, kind, strings, literals)


# source -------------------------------------------------------------------------------------------


def _source(text: str, lexer: str, knows: Knows) -> tuple[str, list[Span], list[Span]]:
    """Returns a text in which all but prose is hidden, also names in prose, where strings stand to
    which no apostrophe comes, and all strings that are prose."""
    pieces, strings, place, names = list[str](), list[Span](), 0, set[str]()
    literals = list[Span]()
    for role, group in groupby(_tokens(text, lexer), key=itemgetter(0)):
        run = [(start, value) for _, start, value in group]
        if role == "name":
            names.update(value for _, value in run)
        elif role in _PROSE:
            start, value = run[0][0], "".join(value for _, value in run)
            before = text[max(0, start - BEFORE) : start]
            piece = _PROSE[role](value, lexer, before)
            if role == "string" and _IS_SPLIT.match(text, start + len(value)):
                piece = hidden(piece)
            pieces += [hidden(text[place:start]), piece]
            place = start + len(value)
            if role not in ("string", "doc"):
                continue
            is_prose = bool(_LETTER.search(piece))
            if is_prose and not _TAKES_APOSTROPHES.match(value):
                strings.append((start, place))
            if role == "string" and is_prose:
                literals.append((start, place))
    shown = "".join([*pieces, hidden(text[place:])])
    if len(shown) != len(text):  # a lexer that has lost its place
        return hidden(text), [], []
    if unknown := {name for name in names.intersection(_WORD.findall(shown)) if not knows(name)}:
        shown = _WORD.sub(lambda word: as_code(word) if word[0] in unknown else word[0], shown)
    return shown, strings, literals


def _tokens(text: str, lexer: str) -> Iterator[Token]:
    """Yields the tokens of a language. Space after a comment belongs to it, and to a string what is
    to be put in."""
    if lexer in SCANNED:
        yield from scanned(text, lexer)
        return
    from pygments.token import Generic, Name, String, Text

    role, is_put_in = "", False
    # some lexers know the end of a comment by the line's
    for place, kind, value in _lexer(lexer).get_tokens_unprocessed(text + "\n"):
        is_blank = not value.strip()
        if kind is String.Interpol:
            is_put_in = value.endswith("{") and value != "{{"
        if is_put_in:
            role, value = "string", re.sub(r"[^\n]", CODE, value)
        elif lexer in _TEXT_LEXERS and (kind in Text or kind in Generic):
            role = "text"
        elif not (is_blank and (role == "comment" or kind in Name)):
            role = _role(kind)
        yield role, place, value[: len(text) - place]


@cache
def _lexer(name: str) -> Any:
    from pygments.lexers import get_lexer_by_name

    return get_lexer_by_name(name)


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
    if text.startswith("="):
        return masked(text, "pod")
    text = masked(text, "comment" if _MARKUP.search(text) else "directive")
    text = _COMMENT_SIGNS.sub(_blank, _FENCED.sub(as_code, text))
    return "\n".join(map(_comment_line, text.split("\n")))


def _comment_line(line: str) -> str:
    return hidden(line) if _CODE_SIGN.search(line) and not is_prose(line) else line


def _doc(text: str, language: str, before: str) -> str:
    if not _QUOTES.match(text):
        return _comment(text)
    return masked(_QUOTES.sub(_blank, without_escapes(text, language, before)), "docstring")


def _string(text: str, language: str, before: str) -> str:
    """Returns a string that is a sentence, without its quotes and escapes; others hidden."""
    if not _SEVERAL.search(text):
        return hidden(text)
    shown = _PUT_IN.sub(as_code, _QUOTES.sub(_blank, without_escapes(text, language, before)))
    is_read = is_sentence(shown) or (is_sentence(shown, is_said=True) and _SAYS.search(before))
    return shown if is_read and not _BYTES.match(text) else hidden(text)


#: What is read of a token of each role, by its language and what stands before it.
_PROSE: dict[str, Callable[[str, str, str], str]] = {
    "comment": lambda text, *_: _comment(text),
    "doc": _doc,
    "text": lambda text, *_: text,
    "string": _string,
}


def _blank(match: re.Match[str]) -> str:
    """Returns as many spaces, and the line ends."""
    return re.sub(r"[^\n]", " ", match[0])


def is_sentence(text: str, is_said: bool = False) -> bool:
    """Returns whether a string is for people to read: several words, mostly in small letters, with
    a word that sentences have, a capital in front or a mark at the end.

    Args:
        is_said: whether a call prints it, so that two small words are enough, or one with a value.
    """
    tokens = settled(text).replace(CODE, " ").split()
    words = [match[1] for match in map(_PLAIN.fullmatch, tokens) if match]
    small = sum(word.islower() for word in words)
    if not small or 2 * len(words) <= len(tokens) or _STATEMENT.match(text):
        return False
    is_opened = words[0][:1].isupper() and words[0][1:].islower()
    if is_said and len(words) + (CODE in text) > 1:
        return 2 * small >= len(words) - is_opened
    if len(words) == 1:
        return False
    if len(words) == 2:
        return is_opened and words[1].islower() and len(tokens) <= 3
    if 2 * small < len(words) - is_opened:
        return False
    ends = tokens[-1][-1] in ".!?:" and not tokens[-1].startswith(".")
    return is_opened or ends or not _FUNCTION_WORDS.isdisjoint(words)


# patches ------------------------------------------------------------------------------------------

_HUNK = re.compile(r"\+\+\+ (?P<path>[^\t]*)|@@ |diff |--- |-- $")


def _diff(lines: Sequence[str], knows: Knows) -> str:
    """Returns a patch in which all is hidden but the prose of the lines that it adds, by the
    grammar of the files that it names."""
    shown, path = [*map(hidden, lines)], ""
    headers = [(n, match) for n, line in enumerate(lines) if (match := _HUNK.match(line))]
    ends = [number for number, _ in headers[1:]]
    for (number, header), end in zip(headers, [*ends, len(lines)], strict=True):
        path, first = header["path"] or path, number + 1
        new = [f" {line[1:]}" if line[:1] in ("+", " ") else "" for line in lines[first:end]]
        kind = kind_of(path, new)
        if not new or kind == UNKNOWN or not _is_whole(new):
            continue
        read = _read(kind, new, knows)
        for place, is_code, seen in zip(range(first, end), read.code, read.shown, strict=True):
            if lines[place][:1] == "+" and not is_code:
                shown[place] = seen
    return "\n".join(shown)


def _is_whole(lines: Sequence[str]) -> bool:
    """Returns whether no string or comment seems to begin before the lines or to end after them."""
    text = "\n".join(lines)
    if any(text.count(quote) % 2 for quote in ('"""', "'''", "`")):
        return False
    is_paired = text.count("/*") == text.count("*/")
    return is_paired and text.find("/*") <= text.find("*/")


# notebooks ----------------------------------------------------------------------------------------

_JSON_STRING = r"\"(?:[^\"\\\n]|\\.)*+\""
_CELL = re.compile(
    r"\"cell_type\":\s*\"(?P<kind>\w+)\"|\"source\":\s*+(?P<source>"
    rf"{_JSON_STRING}|\[(?:\s*+{_JSON_STRING},?+)*+\s*+\])"
)
_STRING = re.compile(_JSON_STRING)
_CELL_LINE = re.compile(r"((?:[^\\]|\\[^n])*+)(?:\\n|\Z)")
_JSON_ESCAPES = re.compile(r"(?P<code>(?:\\u[\dA-Fa-f]{4}|\\\\[uUxN][\dA-Fa-f{])+)|(?:\\[^u])+")
_LANGUAGE = re.compile(r"\"language\":\s*\"(\w+)\"")


def _notebook(text: str, knows: Knows) -> str:
    """Returns a notebook in which all but prose is hidden: each cell is a text of its kind."""
    language = _LANGUAGE.search(text)
    kinds = {"markdown": MARKDOWN, "code": by_language(language[1] if language else "python")}
    pieces, place, kind = list[str](), 0, ""
    for cell in _CELL.finditer(text):
        kind = cell["kind"] or kind
        spans = _lines_of(text, *cell.span("source")) if cell["source"] else []
        if not spans or kind not in kinds:
            continue
        lines = [_JSON_ESCAPES.sub(of_json, text[start:end]) for start, end in spans]
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
