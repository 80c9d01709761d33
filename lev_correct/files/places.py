"""How an edit is written at its place in a file with a grammar, so that its code stays as it is."""

import re
from collections.abc import Callable
from os.path import commonprefix

from .markup import APOSTROPHES, HYPHENS

#: Where a string of a text begins and ends, and how an apostrophe is written there; empty: never.
String = tuple[int, int, str]
#: Languages with a backslash before an apostrophe in a string between apostrophes; with two of
#: them; and others where one in a text without quotes may begin a string.
_LANGUAGES = {
    "BACKSLASH": "actionscript3?|coffeescript|css|cython|dart|elixir|gdscript|groovy|haxe"
    "|javascript|json5|jsonnet|jsx|less|lua|meson|perl6?|php|puppet|python2?|qml|ruby|sass|scss|splus|tsx"
    "|typescript",
    "TWICE": r"\w*sql|cobol\w*|delphi|fortran\w*|idl|matlab|octave|powershell|sas|scilab|smalltalk"
    "|transact-sql|vim|yaml",
    "SHELL": "bash|batch|docker|fish|ini|make|properties|systemd|tcsh|toml",
}
#: How an apostrophe is written in a string, by the language and how the string begins; the first
#: rule that fits counts.
_RULES = {
    r"(?:TWICE)\s+'": "''",
    r"\S+\s+\w?'''|nixos\s": "'",
    r"(?:BACKSLASH)\s+(?i:[bfu]{,2}|e)'": r"\'",
    r"\S+\s+[\w@$#%~]{,3}'": "",
    r"\S+\s+[\w@$#%~]{,3}[\"`]|properties [^{]*\Z|yaml [^a-z]|\S+ %?[qQ]\w?[^\w\s]": "'",
    r"(?:BACKSLASH|TWICE|SHELL)\s": "",
    "": "'",
}
for _name, _languages in _LANGUAGES.items():
    _RULES = {rule.replace(_name, _languages): written for rule, written in _RULES.items()}
_PATTERNS = [(re.compile(rule), written) for rule, written in _RULES.items()]
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
    return next(how for rule, how in _PATTERNS if rule.match(f"{language} {string}"))


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
