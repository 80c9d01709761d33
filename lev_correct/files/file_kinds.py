"""Which grammar a file is read by: a format of text, a language of Pygments, or none."""

import os
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from .formats import one_of

#: Kinds that are neither a format of :mod:`.formats` nor a language of Pygments: prose; files with
#: comments after a ``#`` that begins a line; files of which nothing is known; tables of data.
PROSE, HASH, UNKNOWN, TABLE = "prose", "hash", "unknown", "table"
MARKDOWN, NOTEBOOK, DIFF, HTML = "markdown", "notebook", "diff", "html"
#: Characters by which a file's kind is told, at most.
HEAD = 8192

#: Kinds, the endings of their files in small letters, and a pattern of their text where others have
#: such names, too: what Pygments has not, or cannot tell. The first row that fits counts. ``=x``:
#: the whole name; ``name.``: what it begins with. After an empty line the same for names that
#: Pygments has not either, as they are written; ``*``: any.
_BY_NAME, _OTHERS = Path(__file__).with_name("kinds.txt").read_text("utf-8").split("\n\n")
#: What the names of other files of prose begin with.
_PROSE_NAMES = (
    "README Readme readme NEWS CHANGE Change changes changel COPYING LICENSE LICENCE TODO INSTALL "
    "HACKING COPYRIGHT BUGS FAQ NOTICE HISTORY History RELEASE UPGRAD UPDAT".split()
)
#: Kinds of languages of Pygments by other names: formats, and those that are no text between tags.
_BY_LANGUAGE = {"restructuredtext": "rst", "groff": "man", "text": ""} | {
    name: name for name in ("tex", "dtd", "haml", "pug", "scaml", "tid")
}
_TAGGED = {"pygments.lexers." + name for name in ("html", "markup", "templates")}
#: Endings of templates, which have code of their own; and of others beside a file's own ending.
TEMPLATES = one_of("ejs erb hbs j2 jinja2? liquid mustache te?mpl tpl twig")
_OF_COPIES = one_of("in template example sample dist orig bak old save")
_TEMPLATE = re.compile(rf"(?<=\w)\.(?:{TEMPLATES}|{_OF_COPIES})\Z")
_SHEBANG = re.compile(r"#!\s*\S*?(?:env\s+(?:-S\s+)?)?@?([A-Za-z]+)[\d.@]*(?:\s|$)")
_NO_ENDING = re.compile(r"[^.]+(?:\.\d+)*")
_PLAIN_TOKEN = re.compile(r"[(\"'\[*_-]*(?:[^\W\d_]+(?:['\u2019/-][^\W\d_]+)*|\d[\d.,]*)?[\W_]{,4}")
#: Names of which Pygments says that they are of no language.
_TEXT = re.compile(r"(?i)(?!(?:cmakelists|meson_options|todo)\.).*\.txt")
#: A row of a table: a code point and what is said of it; columns of single words; fragments.
_ROW = re.compile(
    r"^\W{,2}(?:U\+|0x)?[\dA-F]{4,6}\b.*[;\t].*"
    r"|^ *\S+(?:(?: {2,}| *[\t;|,] *)[^\s;|,]+){2,} *\r?$|^(?: *[^\s\d]{1,3}(?!\S)){4,} *\r?$",
    re.MULTILINE,
)
#: Rows of such a table, at least, and half of its lines.
ROWS = 5
_COMMENT = re.compile(r"^\s*(?:#|//|;|/\*|--)", re.MULTILINE)
#: A text without an ending is prose if so many of its tokens are words and numbers, and no more of
#: its lines look like comments: of 470 such files in 14 source trees none of code or settings is.
WORDS, COMMENTS = 0.75, 1 / 3


def kind_of(path: str, lines: Sequence[str]) -> str:
    """Returns the kind of a file, by its name and its lines: a format of text, a language, or one
    of those above."""
    name, text = os.path.basename(path), "\n".join(lines)[:HEAD]
    inner = _TEMPLATE.sub("", name)
    kind = _by_name(inner, text) or _by_name(name, text)
    if not kind and (shebang := _SHEBANG.match(text)):
        kind = by_language(shebang[1])
    if not kind and inner.startswith(tuple(_PROSE_NAMES)):
        return PROSE
    kind = kind or _listed(_OTHERS, inner, text)
    if not kind and _NO_ENDING.fullmatch(name) and _looks_like_prose(text):
        kind = PROSE
    if kind == PROSE and len(_ROW.findall(text)) >= max(ROWS, text.count("\n") / 2):
        return TABLE
    return kind or UNKNOWN


def by_language(name: str) -> str:
    """Returns the kind of a language or an interpreter."""
    from pygments.lexers import find_lexer_class_by_name
    from pygments.util import ClassNotFound

    try:
        language: str = find_lexer_class_by_name(name).aliases[0]
    except ClassNotFound:
        return "bash" if name.endswith("sh") else HASH
    return language


def _looks_like_prose(text: str) -> bool:
    tokens = text.split()
    words = sum(bool(_PLAIN_TOKEN.fullmatch(token)) for token in tokens)
    comments = len(_COMMENT.findall(text))
    return words >= WORDS * len(tokens) > 0 and comments <= COMMENTS * len(text.splitlines())


@cache
def _rows(table: str) -> list[tuple[str, set[str], re.Pattern[str]]]:
    """Returns the kinds of a table, each with its names and a pattern of its text."""
    rows = (f"{line}  ".split("  ") for line in table.strip().splitlines())
    return [(kind, {*names.split()}, re.compile(text, re.M)) for kind, names, text, *_ in rows]


def _listed(table: str, name: str, text: str) -> str:
    """Returns the first kind of a table that a file may be, else nothing."""
    ending = name.rpartition(".")[2] if "." in name else ""
    section = ending[:1] if ending[:1].isdigit() else ""  # of a manual: printf.3, Foo.3pm
    stem = name[:1] + name[1:].partition(".")[0]
    names = {"*", f"={name}", f"{stem}.", ending, section}
    for kind, listed, has in _rows(table):
        if names & listed and has.search(text):
            return kind
    return ""


def _by_name(name: str, text: str) -> str:
    """Returns the kind of a file whose name the table or Pygments has, else nothing."""
    kind = _listed(_BY_NAME, name.lower(), text)
    if kind or _TEXT.fullmatch(name):
        return kind
    from pygments.lexers import find_lexer_class_for_filename  # slow to import

    names = dict.fromkeys((name, name.lower()))  # 10 ms each
    lexers = (find_lexer_class_for_filename(written, text) for written in names)
    if not (lexer := next(filter(None, lexers), None)):
        return ""
    language = lexer.aliases[0]
    return _BY_LANGUAGE.get(language, HTML if lexer.__module__ in _TAGGED else language)
