"""How an edit is written at its place in a file with a grammar, so that its code stays as it is."""

import re
from collections.abc import Callable
from os.path import commonprefix

from .escapes import TWICE
from .markup import APOSTROPHES, HYPHENS

#: Where a string of a text begins and ends, and how an apostrophe is written there; empty: never.
String = tuple[int, int, str]
#: Languages with a backslash before an apostrophe in a string between apostrophes, and how those
#: begin; others where an apostrophe in a text without quotes may begin a string, and such texts in
#: which it does not.
_BACKSLASH = set(
    "actionscript actionscript3 coffeescript css cython dart elixir gdscript groovy haxe "
    "javascript json5 jsonnet jsx less lua meson perl perl6 php puppet python python2 qml ruby "
    "sass scss splus tsx typescript".split()
)
_PREFIXES = {*"bfue"}
_SHELLS = set("bash batch docker fish ini make properties systemd tcsh toml".split())
_NO_STRING = re.compile(r"properties [^{]*\Z|yaml [^a-z]|\S+ %?[qQ]\w?[^\w\s]")
_OPENING = re.compile(r"\s*(?P<prefix>[\w@$#%~]*)(?P<quote>'''|['\"`])?")
#: What stands before an attribute in JSX, whose strings have no escapes.
_ATTRIBUTE = re.compile(r"<[A-Za-z][^;]*\s[\w:-]+=\Z")
#: What an edit neither brings nor takes; a mark that is not inside a word; what stands between
#: apostrophes.
_ODD = re.compile(rf"[^{HYPHENS}{APOSTROPHES}\u0300-\u036f\w ,.!?]|_")
_MARK = re.compile(f"[{HYPHENS}{APOSTROPHES}]")
_LOOSE_MARK = re.compile(rf"(?<![^\W_]){_MARK.pattern}|{_MARK.pattern}(?!\w)")
_QUOTED = re.compile(r"(?<![\w'])'(?=[^\s'])(?:[^']|(?<=\w)'(?=\w))*+(?:'|\Z)")


def apostrophe(language: str, string: str, before: str) -> str:
    """Returns how an apostrophe is written in a string of a language, nothing where it is not.

    Args:
        before: what stands before the string.
    """
    if string[:1] == "'" and _ATTRIBUTE.search(before):
        return ""
    is_twice = language in TWICE or language.endswith("sql")
    opening = _OPENING.match(string)
    prefix, quote = (opening["prefix"], opening["quote"]) if opening else ("", "")
    if quote == "'" and language != "nixos":
        if is_twice and not prefix:
            return "''"
        return r"\'" if language in _BACKSLASH and {*prefix.lower()} <= _PREFIXES else ""
    if quote or _NO_STRING.match(f"{language} {string}"):
        return "'"
    return "" if is_twice or language in _BACKSLASH | _SHELLS else "'"


def fitted(line: str, patch: tuple[int, int, str], written: Callable[[int], str]) -> str | None:
    """Returns the new text of a change of a line as it is written at its place; None where it would
    bring or take more than words and the marks inside them.

    Args:
        written: returns how an apostrophe is written at a place of the line, as :data:`String`.
    """
    start, end, after = patch
    before = line[start:end]
    same = len(commonprefix([before, after]))
    alike = len(commonprefix([before[same:][::-1], after[same:][::-1]]))
    old, new = before[same : len(before) - alike], after[same : len(after) - alike]
    if _ODD.search(old + new):
        return None
    context = after[max(same - 1, 0) : len(after) - alike + 1]
    if _MARK.search(old + new) and _LOOSE_MARK.search(context):
        return None
    if {*old, *new}.isdisjoint(APOSTROPHES):
        return after
    place, mark = start + same, written(start + same)
    quoted = (part.span() for part in _QUOTED.finditer(line))
    if mark == "'":
        return None if any(first <= place < last for first, last in quoted) else after
    return after.replace("'", mark) if mark and "'" not in before else None
