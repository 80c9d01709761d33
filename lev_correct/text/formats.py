"""Formats of text by their grammar: what of a line of theirs is no prose.

Patterns find code and names; what they match is hidden. Pygments' tokens of reStructuredText, TeX,
man pages and HTML are told here, too.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .markdown import CODE, marks_of_html
from .units import Span

if TYPE_CHECKING:
    from pygments.lexer import Lexer

#: An escape of a string.
ESCAPE = re.compile(r"\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|[0-7]{1,3}|.)")
_NOT_END = re.compile(r"[^\n]")
_HIDDEN_SIGN = "\1"
_HIDDEN_RUN = re.compile(f"{_HIDDEN_SIGN}+")

#: Requests of man pages whose arguments are prose.
_PROSE_REQUESTS = set("B Dq Em I Nd Pq Qq SB SH SM SS Sh Sq Ss Sy".split())
#: reStructuredText: directives whose bodies are code or names, and those whose arguments are prose.
_CODE_BODIES = (
    "autosummary code code-block command-output csv-table digraph doctest graphviz highlight image "
    "include index ipython literalinclude math parsed-literal plot productionlist prompt raw "
    "sourcecode testcode testoutput testsetup toctree"
)
_PROSE_ARGUMENTS = (
    "admonition attention caution danger deprecated error hint important note rubric seealso "
    "sidebar tip topic versionadded versionchanged versionremoved warning list-table table"
)
_TEX_CODE = (
    "begin bibitem bibliography bibliographystyle cite citep citet DeclareMathOperator def "
    "documentclass end eqref geometry hypersetup include includegraphics input label "
    "lstinputlisting newcommand newenvironment pageref RequirePackage ref renewcommand setcounter "
    "setlength url usepackage verb vspace hspace"
)
_TEX_BLOCKS = "verbatim|lstlisting|minted|equation|align|eqnarray|gather|multline|tikzpicture"


def _alternatives(names: str) -> str:
    return "|".join(map(re.escape, names.split()))


#: The text of a link, and of a role with a target.
_TITLED = re.compile(r"`([^`<]+\s)(?:<[^`<>]+>`)?")

#: What is no prose, by format: all of a match.
_HIDDEN: Mapping[str, Sequence[str]] = {
    "RstLexer": (
        rf"^([ \t]*)\.\. (?:{_alternatives(_CODE_BODIES)})::.*(?:\n(?:\1[ \t]+\S.*|[ \t]*(?=\n)))*",
        rf"^[ \t]*\.\. (?!(?:{_alternatives(_PROSE_ARGUMENTS)})::)[\w:-]+::.*",
        r"^[ \t]*:[\w -]+:(?=\s|$)",
        r"^[ \t]*\.\. _[^:\n]+:.*",
    ),
    "TexLexer": (
        rf"\\begin\{{((?:{_TEX_BLOCKS})\*?)\}}(?:[^\\]|\\(?!end\{{\1\}}))*+",
        rf"\\(?:{_alternatives(_TEX_CODE)})\b\*?(?:\[[^\]]*\])*(?:\{{[^{{}}]*\}})*",
        r"\\href\{[^{}]*\}",
    ),
    "GroffLexer": (
        r"^\.(?:nf|EX)\b.*(?:\n(?!\.(?:fi|EE)).*)*",
        r"^\.Bd (?:-literal|-unfilled).*(?:\n(?!\.Ed).*)*",
    ),
    ".po": (
        r"^msgctxt .*(?:\n\".*)*",
        r"^#[,:|~].*",
        r"^msg(?:id|id_plural|str(?:\[\d+\])?)(?= )",
        r"^\"[A-Z][\w-]+: .*\\n\"$",
    ),
    ".diff": (r"^(?:(?!\+)|\+\+\+ ).+", r"^\+"),
    ".adoc": (
        r"^(-{4,}|\.{4,}|`{3,}|\+{4,}|/{4,})[ \t]*\n(?:.*\n)*?\1[ \t]*$",
        r"^:[\w!-]+:.*|^\[.*\]$|^\w+::\S.*",
    ),
    ".org": (
        r"(?i)^[ \t]*#\+begin_(?:src|example|export)\b.*(?:\n(?![ \t]*#\+end_).*)*+",
        r"(?i)^[ \t]*#\+(?!title|caption|description)\w+:?.*",
        r"^[ \t]*: .*|^[ \t]*:[\w-]+:.*",
        r"(?<!\w)[=~]\S(?:[^=~\n]*[^\s=~])?[=~](?!\w)",
        r"\[\[[^\[\]]*\]\[?|\]\]",
    ),
}
_PATTERNS = {
    name: [re.compile(pattern, re.MULTILINE) for pattern in patterns]
    for name, patterns in _HIDDEN.items()
}
_MSGSTR = re.compile(r"^msgstr.*(?:\n\".*)*", re.MULTILINE)
_ENGLISH = re.compile(r"^\"Language: en\b", re.MULTILINE)


def ending(path: str) -> str:
    """Returns the ending of a file's name, in small letters."""
    return os.path.splitext(path)[1].lower()


def hidden(text: str) -> str:
    """Returns a text as long that is hidden until it is :func:`settled`, with its white space where
    there is no other."""
    return text if text.isspace() else _NOT_END.sub(_HIDDEN_SIGN, text)


def settled(shown: str) -> str:
    """Returns a text with the signs of code for what is hidden, and spaces where prose touches it;
    but none inside a word, between letters at both sides."""
    return _HIDDEN_RUN.sub(_settled, shown)


def _settled(run: re.Match[str]) -> str:
    sign, (start, end) = CODE * len(run[0]), run.span()
    if run.string[start - 1 : start].isalpha() and run.string[end : end + 1].isalpha():
        return sign
    return f" {sign[2:]} " if len(sign) > 1 else " "


def tokens(lexer: "Lexer", text: str) -> Iterator[tuple[int, Any, str]]:
    """Yields Pygments' tokens of a text, those of prose that it has no sign for as Text."""
    from pygments.token import Keyword, Other, String, Text

    name, request = type(lexer).__name__, ""
    for place, kind, value in lexer.get_tokens_unprocessed(text):
        if name == "GroffLexer" and kind is Keyword:
            request = value
        elif name == "GroffLexer" and kind is String:
            kind = Text if request in _PROSE_REQUESTS else Other
        elif name == "RstLexer" and (titled := _TITLED.fullmatch(value)):
            yield place, Other, "`"
            yield place + 1, Text, titled[1]
            place, kind, value = place + titled.end(1), Other, value[titled.end(1) :]
        elif name == "RstLexer" and kind in String:
            kind = Other
        yield place, kind, value


def masked(shown: str, text: str, kind: str) -> str:
    """Returns what is shown of a text with what its format hides hidden."""
    if kind in _PATTERNS:
        found = (match.span() for rule in _PATTERNS[kind] for match in rule.finditer(text))
        return _without(shown, text, found)
    marks = marks_of_html(text) if "<" in text else ()
    return _without(shown, text, (mark[:2] for mark in marks if mark.shown == CODE))


def _without(shown: str, text: str, places: Iterable[Span]) -> str:
    pieces, last = [], 0
    for start, end in sorted(places):
        if end > last:
            start = max(start, last)
            pieces += [shown[last:start], hidden(text[start:end])]
            last = end
    return "".join([*pieces, shown[last:]])


def _po(text: str) -> str:
    places = [] if _ENGLISH.search(text) else [match.span() for match in _MSGSTR.finditer(text)]
    shown = _without(masked(text, text, ".po"), text, places)
    return settled(ESCAPE.sub(lambda match: " " * len(match[0]), shown))


def _reader(name: str) -> Callable[[str], str]:
    return lambda text: settled(masked(text, text, name))


#: How a text is shown, by the ending of its file.
READERS: Mapping[str, Callable[[str], str]] = {
    ".po": _po,
    ".pot": _po,
    ".diff": _reader(".diff"),
    ".patch": _reader(".diff"),
    ".adoc": _reader(".adoc"),
    ".asciidoc": _reader(".adoc"),
    ".org": _reader(".org"),
}
