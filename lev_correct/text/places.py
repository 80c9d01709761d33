"""How an edit is written at its place in a file with a grammar, so that its code stays as it is."""

import re
from collections.abc import Sequence
from os.path import commonprefix

from ..edits import Chance, Patch
from .formats import CODE
from .units import APOSTROPHES, HYPHENS

#: Signs of places, one for each character of a line: where an apostrophe is written as it is, in
#: code and in markup; after a backslash, in JSON too; twice; and where none is written.
PLAIN, TEXT, BACKSLASH, IN_JSON, TWICE, NEVER = " ~\\j'" + CODE
_WRITTEN = {PLAIN: "'", TEXT: "'", BACKSLASH: r"\'", IN_JSON: r"\\'", TWICE: "''"}

#: Lexers of languages with such an apostrophe in strings between apostrophes; the others get none.
_BACKSLASH = re.compile(
    "(?:ActionScript3?|CoffeeScript|Css|Cython|Dart|Elixir|GDScript|Groovy|Haxe|Javascript|Json5|"
    "Jsonnet|Jsx|LessCss|Lua|Meson|Perl6?|Php|Puppet|Python2?|Qml|Ruby|S|Sass|Scss|Tsx|TypeScript)"
    "Lexer"
)
_TWICE = re.compile(
    r"(?:\w*Sql|Cobol\w*|Delphi|Fortran\w*|IDL|Matlab|Octave|PowerShell|SAS|Scilab|Smalltalk|Vim|"
    "XQuery|Yaml)Lexer"
)
#: Others in which an apostrophe in a text without quotes may begin a string; what has none else.
_SHELLS = re.compile(
    r"(?:Bash|Batch|Docker|Fish\w*|Ini|Makefile|Properties|Systemd|TOML|Tcsh)Lexer"
)
_OF_PLAIN_TEXT = re.compile(r"PropertiesLexer [^{]*\Z|YamlLexer [^a-z]|\w+ %?[qQ]\w?[^\w\s'\"]")
_OPENING = re.compile(r"\s*((?i:[bfru]{1,3}|[en]|q[qwx]?)|[@$#%~]+)?('{1,3}|\"{1,3}|`)")
#: What stands between apostrophes in a string of other quotes, as of another language.
_QUOTED = re.compile(r"(?<!\w)'(?:[^']|(?<=\w)'(?=\w))*+(?:'|\Z)")
#: What stands before an attribute of JSX, whose strings have no escapes.
_ATTRIBUTE = re.compile(r"<[A-Za-z][^;]*\s[\w:-]+=\Z")

_ACCENTS = "\u0300-\u036f"
_ODD = re.compile(rf"[^{HYPHENS}{APOSTROPHES}{_ACCENTS} \w.,]|_")
_ODD_IN_TEXT = re.compile(r"[\\`*_\[\]<>{}|#$&~^%@=/+\n\r\t\0]")
_MARK = re.compile(f"[{HYPHENS}{APOSTROPHES}]")
#: A mark with no letter before, or before another sign.
_LOOSE_MARK = re.compile(rf"(?<![^\W_]){_MARK.pattern}|{_MARK.pattern}[^\w\s.,;:!?)]")


def places_of_string(lexer: str, text: str, before: str) -> str:
    """Returns the signs of the places in a string of a language; ``before``: what stands there."""
    opening = _OPENING.match(text)
    prefix, quote = opening.groups("") if opening else ("", "")
    sign = PLAIN
    if quote[:1] == "'":
        is_raw = "r" in prefix.lower() or "@" in prefix or _ATTRIBUTE.search(before)
        if _TWICE.fullmatch(lexer) and not prefix:
            sign = TWICE
        elif len(quote) != 3 and lexer != "NixLexer":
            sign = BACKSLASH if _BACKSLASH.fullmatch(lexer) and not is_raw else NEVER
    elif not quote and not _OF_PLAIN_TEXT.match(f"{lexer} {text}"):
        languages = (_BACKSLASH, _TWICE, _SHELLS)
        sign = NEVER if any(language.fullmatch(lexer) for language in languages) else PLAIN
    if sign != PLAIN:
        return sign * len(text)
    end = opening.end() if opening else 0
    return sign * end + marked(text[end:], _QUOTED)


def marked(text: str, pattern: re.Pattern[str]) -> str:
    """Returns the signs of the places of a text: none for an apostrophe where a pattern is found,
    else :data:`PLAIN`."""
    return re.sub(f"(?s)[^{NEVER}]", PLAIN, pattern.sub(lambda part: NEVER * len(part[0]), text))


def fitted(
    line: str, places: str, changes: Sequence[Chance]
) -> tuple[Sequence[Chance], Sequence[Chance]]:
    """Returns changes of a line as they are written at their places, and those of them that bring
    or take more than words and the marks inside them, which do not fit there.

    Args:
        places: a sign for each character of the line, empty where everything fits.
    """
    if not places:
        return changes, ()
    fitting, unfit = list[Chance](), list[Chance]()
    for patch, chance in changes:
        written = _written(line, places, patch)
        fitting.append((written or patch, chance))
        if written is None:
            unfit.append((patch, chance))
    return fitting, unfit


def _written(line: str, places: str, patch: Patch) -> Patch | None:
    start, end, after = patch
    before = line[start:end]
    same = len(commonprefix([before, after]))
    alike = len(commonprefix([before[same:][::-1], after[same:][::-1]]))
    old, new = before[same : len(before) - alike], after[same : len(after) - alike]
    first = start + same
    sign = places[min(first, len(places) - 1)]
    if (_ODD_IN_TEXT if sign == TEXT else _ODD).search(old + new):
        return None
    if not _MARK.search(old + new) or sign == TEXT:
        return patch
    written = f"{line[:start]}{after}{line[end:]}"
    if _LOOSE_MARK.search(written, first, first + len(new) + 1):
        return None
    if sign == NEVER and not {*new}.isdisjoint(APOSTROPHES) or sign != PLAIN and "'" in old:
        return None
    new = new.replace("'", _WRITTEN.get(sign, ""))
    return start, end, f"{after[:same]}{new}{after[len(after) - alike:]}"
