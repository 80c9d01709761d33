"""Which characters of a file are prose, by the grammar of its kind.

Pygments, which is loaded for the first such file, cuts source text into tokens. Comments, doc
strings and strings that are sentences are prose, everything else is code. Formats of text
(reStructuredText, TeX, man pages, .po, patches, ...) are in :mod:`.formats`.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import accumulate, groupby
from operator import itemgetter
from typing import Any

from ..repository.kinds import left_alone
from .file_kinds import (
    DIFF,
    HASH,
    HTML,
    MARKDOWN,
    NOTEBOOK,
    PROSE,
    UNKNOWN,
    by_language,
    is_template,
    kind_of,
    lexer_of,
)
from .formats import CODE, ESCAPE, FORMATS, hidden, masked, settled
from .markdown import Markdown, read_markdown
from .markup import is_prose
from .places import BACKSLASH, IN_JSON, NEVER, PLAIN, TEXT, marked, places_of_string
from .units import Span

#: What a token is, its place and its text.
Token = tuple[str, int, str]
Knows = Callable[[str], bool]
_UNREADABLE = dict.fromkeys(map(ord, "\r\0\1\2\3\ufeff"), " ")
#: Formats whose marks of punctuation are free, and lexers that have prose for text.
_TEXTS = {"rst", "tex", "adoc", "org"}
_TEXT_LEXERS = {"TiddlyWiki5Lexer", "TypstLexer", "WikitextLexer"}
#: What may have quotes: tags, links with a title.
_IN_TAG = re.compile(r"<[A-Za-z!/][^<>]*>|\]\([^()\s]*\s+'[^'\n]*'\)|^[ >]*\[[^\]\n]+\]:\s.*'.*")
#: What a template puts in: code, of which no lexer of its base language knows.
_TEMPLATE_TAG = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|<%.*?%>|\$\{[^{}]*\}")
#: Comments as they look: in files whose comments begin so, and in those of which nothing is known.
_DIRECTIVE = r"(?!\s*(?:include|define|undef|ifn?def|if|el\w+|endif|error|pragma|import)\b)"
_BY_LOOK = {
    HASH: re.compile(rf"(?m)(?P<comment>^[^\S\n]*(?:#{_DIRECTIVE}|dnl\b).*)|\w+|\W"),
    UNKNOWN: re.compile(
        rf"(?m)(?P<comment>^[^\S\n]*(?:#{_DIRECTIVE}|//|--(?!\w)|;|%+(?=\s)|(?:dnl|REM)\b|[\"'!*]\s).*"
        r"|\s(?://|#)\s.*|/\*(?s:.{,9999}?)\*/|<!--(?s:.{,9999}?)-->)|\w+|\W"
    ),
}

_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W\d_]{2,}")
_COMMENT_SIGNS = re.compile(
    r"^[^\S\n]*(?:[#/*;%!<>=+|-]|--|REM\b|dnl\b)+|[*/<>-]+[^\S\n]*$", re.MULTILINE
)
#: Lines of a comment between fences, and one that may be code.
_FENCED = re.compile(r"^[^\w\n]*(?:```|~~~)(?:.*\n)+?[^\w\n]*(?:```|~~~)", re.MULTILINE)
_CODE_SIGN = re.compile(
    r"[;{}]\s*$|[\w\])]\s*[:+*/|&^!<>=-]?=\s*\S|->|=>|::|&&|\|\||^\W*(?:>>>|\$) "
    r"|^\W*(?:include|define|undef|ifn?def|pragma)\s+[<\"\w]"
)
_QUOTES = re.compile(r"\A\s*[A-Za-z@$]{0,3}(?:'''|\"\"\"|['\"`])|(?:'''|\"\"\"|['\"`])\s*\Z")
_BYTES = re.compile(r"[rR]?[bB][rR]?['\"]")
#: What is put into a string.
_PUT_IN = re.compile(r"\$?\{[^{}\n]*\}|%(?:\(\w+\))?[-#0 +]*\d*(?:\.\d+)?[a-zA-Z]")
_PLAIN = re.compile(r"[(\"'\[]*([^\W\d_]+(?:['\u2019-][^\W\d_]+)*)[.,;:!?)\"'\]]*")
_STATEMENT = re.compile(
    r"\s*(?:(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|WITH|PRAGMA|BEGIN|COMMIT)\s"
    r"|select\b.*\bfrom\b|insert into\b|update \w+ set\b|create (?:table|index)\b)"
)
#: Characters before a string, in which a call may be that says it to people.
BEFORE = 200
_SAYS = re.compile(
    r"(?:\b(?:\w*print\w*|echo|puts|say|\w*log\w*|log\w*[.:>-]+\w+|console\.\w+|info|warn\w*|debug|trace"
    r"|\w*[Ee]rr(?:or)?s?(?:f|ln|New)?|fatal\w*|critical|notice|\w*(?:Error|Exception|Warning)"
    r"|errors\.New|die|croak|confess|carp|fail\w*|abort|panic|bail|ensure|expect|context|raise|throw"
    r"|usage|help|description|option|flags?\.\w+|message|gettext\w*|ngettext|trans\w*|tr|N?_|__?|i18n|alert"
    r")!?[^\S\n]*(?:\(|\s)\s*(?:[^(){};]*[,\s])?"
    r"|(?i:\b(?:help|desc\w*|message|msg|summary|usage|epilog|tooltip|hint|error|warning|reason)"
    r"[\"']?\s*(?:=>?|:)\s*))\Z"
)
#: Words that sentences have and lists of names have not.
_FUNCTION_WORDS = set(
    "a an and are as at be been but by can cannot could did do does for from had has have if in "
    "into is it its may more must no not of on only or should than that the then there these this "
    "to too was we were when which while will with without would you your".split()
)


def read_grammar(path: str | None, lines: Sequence[str], knows: Knows) -> Markdown | None:
    """Reads a whole text, of lines without their ends; None where its kind has no grammar.

    Args:
        knows: whether a word is a right one, so that an identifier may be that word.
    """
    if not path or path == "-" or not lines:
        return None
    if kind := left_alone(path, "\n".join(lines)):
        return Markdown([True] * len(lines), lines, left_out=kind)
    kind = kind_of(path, lines)
    if kind == PROSE:
        return None
    if is_template(path):
        lines = [_TEMPLATE_TAG.sub(_as_code, line) for line in lines]
    read = _read(kind, lines, knows)
    ending = os.path.splitext(path)[1]
    return read._replace(left_out=f"unknown kind {ending}".strip()) if kind == UNKNOWN else read


def _read(kind: str, lines: Sequence[str], knows: Knows) -> Markdown:
    if kind in (PROSE, MARKDOWN):
        read = read_markdown(lines) if kind else Markdown([False] * len(lines), lines)
        places = [marked(line, _IN_TAG).replace(PLAIN, TEXT) for line in lines]
        return read._replace(places=places)
    text = "\n".join(lines).translate(_UNREADABLE)
    if kind == NOTEBOOK:
        shown, places = _notebook(text, knows)
    elif kind == DIFF:
        shown, places = _diff(text, knows)
    elif kind in FORMATS:
        sign = TEXT if kind in _TEXTS else BACKSLASH if "<resources" in text else PLAIN  # Android
        shown, places = masked(text, kind), marked(text, _IN_TAG).replace(PLAIN, sign)
    else:
        shown, places = _source(text, kind, knows)
    parts = settled(shown).split("\n")
    pairs = zip(parts, lines, strict=True)
    code = [bool(line.strip()) and not _LETTER.search(part) for part, line in pairs]
    ends = accumulate(len(line) + 1 for line in lines)
    signs = [places[end - 1 - len(line) : end - 1] for line, end in zip(lines, ends, strict=True)]
    return Markdown(code, parts, signs)


# source -------------------------------------------------------------------------------------------


def _source(text: str, lexer: str, knows: Knows) -> tuple[str, str]:
    """Returns a text in which all but prose is hidden, also names in prose, and the signs of its
    places."""
    pieces, places, place, names = list[str](), list[str](), 0, set[str]()
    for role, group in groupby(_tokens(text, lexer), key=itemgetter(0)):
        run = [(start, value) for _, start, value in group]
        if role == "name":
            names.update(value for _, value in run)
        elif role in _PROSE:
            start, value = run[0][0], "".join(value for _, value in run)
            before = text[max(0, start - BEFORE) : start]
            prose = _string(value, before) if role == "string" else _PROSE[role](value)
            is_string = role in ("string", "doc")
            signs = places_of_string(lexer, value, before) if is_string else PLAIN * len(value)
            pieces += [hidden(text[place:start]), prose]
            places += [PLAIN * (start - place), signs]
            place = start + len(value)
    shown = "".join([*pieces, hidden(text[place:])])
    if len(shown) != len(text):  # a lexer that has lost its place
        return hidden(text), NEVER * len(text)
    unknown = {name for name in names if not knows(name)}
    shown = _WORD.sub(lambda word: _as_code(word) if word[0] in unknown else word[0], shown)
    return shown, "".join([*places, PLAIN * (len(text) - place)])


def _tokens(text: str, lexer: str) -> Iterator[Token]:
    """Yields the tokens of a lexer, or of comments by their look. Space after a comment belongs to
    it, and to a string what is to be put in."""
    from pygments.token import Generic, Name, String, Text

    if lexer in _BY_LOOK:
        for match in _BY_LOOK[lexer].finditer(text):
            role = "name" if match[0].isidentifier() else "code"
            yield "comment" if match["comment"] else role, match.start(), match[0]
        return
    role, is_put_in = "", False
    # some lexers know the end of a comment by the line's
    for place, kind, value in lexer_of(lexer).get_tokens_unprocessed(text + "\n"):
        is_blank = not value.strip()
        if kind is String.Interpol:
            is_put_in = value.endswith("{") and value != "{{"
        if is_put_in:
            role = "string"
        elif lexer in _TEXT_LEXERS and (kind in Text or kind in Generic):
            role = "text"
        elif not (is_blank and (role == "comment" or kind in Name)):
            role = _role(kind)
        yield role, place, value[: len(text) - place]


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
    text = _COMMENT_SIGNS.sub(_blank, _FENCED.sub(_as_code, text))
    return "\n".join(map(_comment_line, text.split("\n")))


def _comment_line(line: str) -> str:
    return hidden(line) if _CODE_SIGN.search(line) and not is_prose(line) else line


def _doc(text: str) -> str:
    text = _QUOTES.sub(_blank, text)
    return masked(text, "rst") if "::" in text or "``" in text else ESCAPE.sub(_blank, text)


def _string(text: str, before: str) -> str:
    """Returns a string that is a sentence, without its quotes and escapes; others hidden."""
    shown = ESCAPE.sub(_blank, _QUOTES.sub(_blank, _PUT_IN.sub(_as_code, text)))
    is_said = bool(_SAYS.search(before))
    return hidden(text) if _BYTES.match(text) or not is_sentence(shown, is_said) else shown


_PROSE: dict[str, Callable[[str], str]]
_PROSE = {"comment": _comment, "doc": _doc, "text": str, "string": str}


def _as_code(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", CODE, match[0])


def _blank(match: re.Match[str]) -> str:
    """Returns as many spaces, and the line ends; code for an escape inside a word."""
    text, end = match.string, match.end()
    is_inside = match[0] in ("\\'", '\\"') and text[end : end + 1].isalpha()
    return _as_code(match) if is_inside else re.sub(r"[^\n]", " ", match[0])


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
    is_opened = words[0][:1].isupper() and (words[0][1:].islower() or not words[0][1:])
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

_HUNK = re.compile(
    r"^(?:--- .*\n\+\+\+ (?P<path>[^\t\n]*).*|@@ .*)\n"
    r"(?P<hunk>(?:(?!--- .*\n\+\+\+ )[ +\\-].*(?:\n|\Z)|\n)*)",
    re.MULTILINE,
)
#: The first lines of a part of a file that a comment began before, and quotes of several lines.
_IN_COMMENT = re.compile(r"\s*\*(?:[ /]|$)", re.MULTILINE)
_LONG_QUOTES = ('"""', "'''", "`")


def _diff(text: str, knows: Knows) -> tuple[str, str]:
    """Returns a patch in which all is hidden but the prose of the lines that it adds, by the
    grammar of the files that it names, and the signs of its places."""
    pieces, places, place, path = list[str](), list[str](), 0, ""
    for part in _HUNK.finditer(text):
        path = part["path"] or path
        if not part["hunk"]:
            continue
        start, lines = part.start("hunk"), part["hunk"].split("\n")
        new = iter(_hunk(path, [line[1:] for line in lines if line[:1] in "+ "], knows))
        pairs = [next(new) if line[:1] in "+ " else ("", "") for line in lines]
        rows = [
            (f" {shown}", PLAIN + signs) if line[:1] == "+" else (hidden(line), PLAIN * len(line))
            for line, (shown, signs) in zip(lines, pairs, strict=True)
        ]
        pieces += [hidden(text[place:start]), "\n".join(shown for shown, _ in rows)]
        places += [PLAIN * (start - place), "\n".join(signs for _, signs in rows)]
        place = part.end("hunk")
    return "".join([*pieces, hidden(text[place:])]), "".join([*places, PLAIN * len(text[place:])])


def _hunk(path: str, lines: Sequence[str], knows: Knows) -> list[tuple[str, str]]:
    """Returns the lines of a part of a file, each as it is read, and the signs of its places; all
    hidden where a string or comment began before, but for one that is seen."""
    text, kind = "\n".join(lines), kind_of(path, lines)
    is_source = kind not in FORMATS and kind not in (PROSE, MARKDOWN)
    is_inside = is_source and bool(_IN_COMMENT.match(text))
    opened, closed = text.find("/*"), text.find("*/")
    is_torn = closed >= 0 and not 0 <= opened < closed and not is_inside
    is_torn = is_torn or any(text.count(quote) % 2 for quote in _LONG_QUOTES)
    if kind in (UNKNOWN, NOTEBOOK, DIFF) or is_source and is_torn:
        return [(hidden(line), PLAIN * len(line)) for line in lines]
    read = _read(kind, ["/*", *lines, "*/"] if is_inside else lines, knows)
    rows = zip(read.shown, read.code, read.places, strict=True)
    pairs = [(hidden(shown) if is_code else shown, signs) for shown, is_code, signs in rows]
    return pairs[1:-1] if is_inside else pairs


# notebooks ----------------------------------------------------------------------------------------

_JSON_STRING = r"\"(?:[^\"\\\n]|\\.)*+\""
_CELL = re.compile(
    r"\"cell_type\":\s*\"(?P<kind>\w+)\"|\"source\":\s*+(?P<source>"
    rf"{_JSON_STRING}|\[(?:\s*+{_JSON_STRING},?+)*+\s*+\])"
)
_STRING = re.compile(_JSON_STRING)
_CELL_LINE = re.compile(r"((?:[^\\]|\\[^n])*+)(?:\\n|\Z)")
_LANGUAGE = re.compile(r"\"language\":\s*\"(\w+)\"")


def _notebook(text: str, knows: Knows) -> tuple[str, str]:
    """Returns a notebook in which all but prose is hidden, each cell a text of its kind, and the
    signs of its places."""
    language = _LANGUAGE.search(text)
    kinds = {"markdown": MARKDOWN, "code": by_language(language[1] if language else "python")}
    pieces, places, place, kind = list[str](), list[str](), 0, ""
    for cell in _CELL.finditer(text):
        kind = cell["kind"] or kind
        spans = _lines_of(text, *cell.span("source")) if cell["source"] else []
        if not spans or kind not in kinds:
            continue
        lines = [ESCAPE.sub(_unescaped, text[start:end]) for start, end in spans]
        read = _read(kinds[kind], lines, knows)
        rows = zip(spans, read.shown, read.code, read.places, strict=True)
        for (start, end), shown, is_code, signs in rows:
            pieces += [hidden(text[place:start]), hidden(shown) if is_code else shown]
            places += [PLAIN * (start - place), signs.replace(BACKSLASH, IN_JSON)]
            place = end
    return "".join([*pieces, hidden(text[place:])]), "".join([*places, PLAIN * len(text[place:])])


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
