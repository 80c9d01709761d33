"""Escapes of strings: what stands for space or a mark parts words, others make a word code."""

import re

from .formats import as_code, one_of

#: A path of Windows, whose separators may look like escapes.
_PATH = re.compile(r"(?<![\w\\])(?:[A-Za-z]:|\\)\\[^\s\"'<>|]+")
_ESCAPE = re.compile(
    r"\\(?P<blank>[abefnrtv\n\"'`])|\\(?:[xuU][\dA-Fa-f]+|[uxN]\{[^{}\n]*\}|[0-7]{1,3}|.)"
)
#: A quote that is written twice, inside a word.
_TWICE = re.compile(r"(?<=[^\W\d_])(?:''|\"\")(?=[^\W\d_])")
_IN_WORD = re.compile(r"(?<=[^\W\d_])\\'(?=[^\W\d_])")
#: Languages in which a quote is written twice in a string between apostrophes, besides SQL's.
_BY_TWO = one_of(
    "cobol cobolfree delphi fortran fortranfixed idl matlab octave powershell sas scilab smalltalk "
    r"vim yaml \w*sql"
)
#: A language and the beginning of a string in which a backslash is a character like others.
_RAW = re.compile(
    r"\S+ \w*[rR][bBfFtT]?#*[\"'(]|(?:go|d) `|swift #|ocaml \{|lua \[|julia \w*raw"
    r"|(?:kotlin|scala|nim\w*|nimrod|csharp|fsharp) \$*\"\"\"|nixos ''|clojure #"
    r"|(?:csharp|fsharp) (?:@|\$@|@\$)\"|(?:ada|delphi|fortran\w*|matlab|octave|vb\.net) \""
    rf"|(?:{_BY_TWO}|bash|batch|docker|ini|make|systemd|tcsh|toml) '|powershell \"|\w*sql "
    r"|(?:crystal|elixir|fish|perl6?|php|puppet|rb|ruby) (?:'|%q|q\W)|(?:css|less|sass|scss) "
)
#: That of others.
_STRING = re.compile(r"properties |\S+ (?:[\w$@#]*[\"'`]|%|qq)")
#: What stands before a raw string, and before one that a program of the shell takes escapes out of.
_BEFORE_RAW = re.compile(r"(?:String\.raw|(?<![\w\"'])[bBfFuU]?[rR][bBfF]?)\Z")
_PRINTS = re.compile(r"(?:\bprintf|\becho -n?e|\$)\s*(?:-v \w+ )?\Z")


def without_escapes(text: str, language: str, before: str = "") -> str:
    """Returns a string of source code as long as it is, with spaces or signs of code for its
    escapes, as its language has them.

    Args:
        before: what stands before the string.
    """
    text, begins = _TWICE.sub(as_code, text), f"{language} {text.lstrip()[:12]}"
    if language == "bash" and _PRINTS.search(before):
        return without_backslashes(text)
    is_raw = _BEFORE_RAW.search(before) or _RAW.match(begins) or not _STRING.match(begins)
    return text if is_raw else without_backslashes(text)


def without_backslashes(text: str) -> str:
    """Returns the same of a text whose escapes begin with a backslash."""
    return _ESCAPE.sub(_shown, _IN_WORD.sub(as_code, _PATH.sub(as_code, text)))


def of_json(escapes: re.Match[str]) -> str:
    """Returns what escapes of JSON mean after as many spaces as they are longer; signs of code for
    letters by their numbers."""
    text = escapes[0]
    if escapes["code"]:
        return "\ufffd" * len(text)  # no letter
    meant = {"b": " ", "f": " ", "n": " ", "r": " ", "t": " "}
    return "".join(meant.get(sign, sign) for sign in text[1::2]).rjust(len(text))


def _shown(escape: re.Match[str]) -> str:
    if escape["blank"] == "\n":  # of a line in a string that goes on
        return " \n"
    return "  " if escape["blank"] else as_code(escape)
