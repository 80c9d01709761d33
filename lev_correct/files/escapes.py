"""Escapes of strings and entities of HTML: the characters that they mean."""

import re
from collections.abc import Sequence
from functools import cache
from html import unescape

from .markup import Span

#: What is shown for each character of an escape after the first, for which its meaning is shown.
REST = "\5"
_HEX = "[0-9A-Fa-f]"
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|[A-Za-z]\w{1,30});")
#: A path of Windows, whose separators may look like escapes.
_PATH = re.compile(r"(?<![\w\\])(?:[A-Za-z]:|\\)\\[^\s\"'<>|]+")
_BYTES = re.compile(rf"\\(?:x({_HEX}{{2}})|([0-3][0-7]{{2}}))")
_SIMPLE = dict.fromkeys("abefnrtv0", " ")
#: Escapes by family: a pattern, and how the digits of a character's number are read.
_COMMON = (
    rf"(?P<bytes>(?:\\x{_HEX}{{2}}|\\[0-3][0-7]{{2}})+)"
    rf"|\\u[dD][89abAB]{_HEX}{{2}}\\u[dD][c-fC-F]{_HEX}{{2}}"
    rf"|\\(?:u\{{|x\{{|[uU])(?P<hex>{_HEX}{{8}}|(?<=\{{){_HEX}{{1,8}}|(?<!\{{){_HEX}{{4}})\}}?"
    r"|\\N\{(?P<name>[A-Z][A-Z0-9 -]+)\}"
)
_ESCAPES = {
    "backslash": rf"{_COMMON}|(?P<end>\\)(?=\n)|\\(?P<char>[abefnrtv0\"'`\\/?$#%&])",
    "decimal": rf"\\(?P<number>\d{{2,3}})|{_COMMON}|\\(?P<char>[abefnrtv0\"'\\])",
    "quote": r"\\(?P<char>['\\])",
    "css": rf"\\(?P<hex>{_HEX}{{1,6}})\s?|\\(?P<char>[\"'\\])",
    "tick": rf"`u\{{(?P<hex>{_HEX}{{1,6}})\}}|`(?P<char>[abefnrtv0\"'`$])",
    "twice": r"(?P<char>['\"])(?P=char)",
}
#: Languages in which a quote is written twice in a string between apostrophes, besides SQL's.
TWICE = set(
    "cobol cobolfree delphi fortran fortranfixed idl matlab octave powershell sas scilab smalltalk "
    "vim yaml".split()
)
#: The family of a string's escapes, by its language and how it begins; the first rule that fits
#: counts. Empty: a raw string.
_RULES = {
    r"\S+ \w*[rR][bBfFtT]?#*[\"'(]|(?:go|d) `|swift #|ocaml \{|lua \[|julia \w*raw": "",
    r"(?:kotlin|scala|nim\w*|nimrod|csharp|fsharp) \$*\"\"\"|nixos ''|clojure #": "",
    r"(?:csharp|fsharp) (?:@|\$@|@\$)\"": "twice",
    rf"(?:{'|'.join(TWICE)}|\w*sql) '|(?:ada|delphi|fortran\w*|matlab|octave|vb\.net) \"": "twice",
    r"(?:bash|batch|docker|ini|make|systemd|tcsh|toml) '|\w*sql ": "",
    r"(?:crystal|elixir|fish|perl6?|php|puppet|rb|ruby) (?:'|%q|q\W)": "quote",
    r"powershell \"": "tick",
    r"(?:css|less|sass|scss) ": "css",
    r"(?:haskell|lua|ocaml|standard-ml|sml) ": "decimal",
    r"properties |\S+ (?:[\w$@#]*[\"'`]|%|qq)": "backslash",
    "": "",
}
#: What stands before a raw string, and before one that a program of the shell takes escapes out of.
_RAW = re.compile(r"(?:String\.raw|(?<![\w\"'])[bBfFuU]?[rR][bBfF]?)\Z")
_PRINTS = re.compile(r"(?:\bprintf|\becho -n?e|\$)\s*(?:-v \w+ )?\Z")


def unescaped(text: str, language: str, before: str = "") -> str:
    """Returns a string of source code as long as it is, in which each escape that its language has
    in such a string is what it means: a character and :data:`REST`.

    Args:
        before: what stands before the string.
    """
    if "\\" not in text and "''" not in text and '""' not in text and "`" not in text:
        return text
    begins = text.lstrip()
    if language == "bash" and _PRINTS.search(before):
        begins = '"'
    family = "" if _RAW.search(before) else _family(f"{language} {begins[:12]}")
    if family == "twice" or not family:
        quote = len(text) - len(begins) + 1  # the first one is the string's own
        text = _PATH.sub(_stays, text)
        return text[:quote] + _escapes("twice").sub(_meant, text[quote:]) if family else text
    return _escapes(family).sub(_meant, _PATH.sub(_stays, text))


def backslashes(text: str) -> str:
    """Returns the same of a text whose escapes begin with a backslash."""
    return _escapes("backslash").sub(_meant, _PATH.sub(_stays, text))


def entities(text: str) -> str:
    """Returns a text as long in which each entity of HTML is what it means, as an escape is."""
    return _ENTITY.sub(lambda entity: _shown(unescape(entity[0]), entity), text)


def without_rests(shown: str) -> tuple[str, Sequence[int]]:
    """Returns a text without :data:`REST`, and where in it each character stood, and its end."""
    if REST not in shown:
        return shown, range(len(shown) + 1)
    places = [place for place, char in enumerate(shown) if char != REST]
    return shown.replace(REST, ""), [*places, len(shown)]


def with_rests(shown: str, origins: Sequence[int]) -> str:
    """Returns a text with :data:`REST` for what each character stands for besides its first."""
    pairs = zip(shown, origins, origins[1:], strict=False)
    return "".join(char + REST * (end - start - 1) for char, start, end in pairs)


def as_escaped(after: str, form: tuple[str, Sequence[int]], written: str, span: Span) -> str | None:
    """Returns the new text of a part of a line with its escapes as they were written; None where
    one means a space, or the text begins with the letter of the one before it (*\\temperature*).

    Args:
        form: the line as its words are read, and where each of its characters stands.
    """
    (text, origins), (start, end) = form, span
    if start and origins[start] - origins[start - 1] > 1 and text[start - 1].isspace():
        if after[:1] == written[origins[start] - 1]:
            return None
    spelled = dict[str, str]()
    for place in range(start, end):
        escape = written[origins[place] : origins[place + 1]]
        if len(escape) > 1 and escape[0] in "\\&`'\"":
            if text[place].isspace():
                return None
            spelled[text[place]] = escape
    return after.translate({ord(char): escape for char, escape in spelled.items()})


@cache
def _family(string: str) -> str:
    return next(family for rule, family in _RULES.items() if re.match(rule, string))


@cache
def _escapes(family: str) -> re.Pattern[str]:
    return re.compile(_ESCAPES[family])


def _stays(path: re.Match[str]) -> str:
    return "\0" * len(path[0])


def _meant(escape: re.Match[str]) -> str:
    kind = escape.lastgroup or ""
    value = escape[kind or 0]
    if kind == "end":  # of a line in a string that goes on
        return " "
    if kind == "bytes":
        return _of_bytes(value)
    if kind == "char":
        return _character(value, escape)
    if kind == "number":
        value = f"{int(value):x}"
    code = rf"\N{{{value}}}" if kind == "name" else rf"\U{value:0>8}" if kind else value
    try:
        units = code.encode().decode("unicode_escape").encode("utf-16", "surrogatepass")
        return _shown(units.decode("utf-16"), escape)
    except UnicodeError:  # half a pair, no such number, no such name
        return escape[0]


def _character(value: str, escape: re.Match[str]) -> str:
    if value in ("'", '"'):  # one that stands inside a word belongs to it
        text, (start, end) = escape.string, escape.span()
        is_inside = text[start - 1 : start].isalpha() and text[end : end + 1].isalpha()
        return _shown("'" if value == "'" and is_inside else " ", escape)
    return _shown(_SIMPLE.get(value, value), escape)


def _of_bytes(value: str) -> str:
    """Returns the characters of bytes: of UTF-8 where they are, else of Latin-1."""
    parts = [*_BYTES.finditer(value)]
    numbers = bytes(int(part[1], 16) if part[1] else int(part[2], 8) for part in parts)
    try:
        characters, each = numbers.decode(), lambda char: len(char.encode())
    except UnicodeDecodeError:
        characters, each = numbers.decode("latin-1"), lambda char: 1
    shown, first = "", 0
    for char in characters:
        size = sum(len(part[0]) for part in parts[first : first + each(char)])
        shown += (char if char.isprintable() else " ") + REST * (size - 1)
        first += each(char)
    return shown


def _shown(character: str, written: re.Match[str]) -> str:
    """Returns a character in place of what is written for it; white space for one of no print."""
    if len(character) > 1:
        return written[0]
    seen = character if character.isprintable() else " "
    return seen + REST * (len(written[0]) - 1)
