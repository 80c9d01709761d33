"""Which files are no prose, nor source with some, and in which encoding a file is."""

import os
import re

from ..files.formats import one_of

#: Bytes of a file that tell what it is.
HEAD = 8192
#: The kind of a file that is no text.
BINARY = "binary files"
_NAMES = (
    r"\.mailmap codeowners owners authors backers committers contributors credits maintainers "
    "sponsors thanks"
)
#: Kinds of files that stay as they are, by their names in small letters.
_NAMED = {
    "lock files": r".*\.lockb?|.*-lock\.(?:json|yaml)|go\.sum|npm-shrinkwrap\.json",
    "minified files": r".*\.min\.(?:m?js|css)|.*\.map",
    "images": r".*\.(?:svg|x[bp]m|p[bgnp]m)",
    "files of names": rf"(?:{one_of(_NAMES)})(?:\.(?:md|txt|rst|adoc|in))?",
    "word lists": r".*\.(?:dic|aff)|\.lev-correct-words\.txt",
}
_BY = r"(?:auto(?:matically)?[- ]?|machine[- ]|code |\S+ )?generated\b"
_HANDS_OFF = (
    r"do not (?:edit|modify|change)\b(?: this \w+| it| by hand| manually| directly)*+\s*(?![\s\w])"
)
#: A line that says so of its file: behind the sign of a comment, or with a capital.
_GENERATED = re.compile(
    r"@generated\b"
    rf"|^(?:[^\S\n]*+[^\w\s][^\w\n]*+|(?=(?-i:[A-Z])))(?:"
    rf"{_BY} (?:automatically |at \S+ )?(?:by|from|with|using|via|on)\b"
    rf"|this (?:\w+ ){{1,3}}(?:is|was|has been) (?:an? )?{_BY}"
    rf"|this is an? {_BY}"
    rf"|{_BY}[^\n]*\n?[^\n]*\b{_HANDS_OFF}|{_HANDS_OFF}[^\n]*\n?[^\n]*\bgenerated\b)",
    re.IGNORECASE | re.MULTILINE,
)
_BEGINNING = 600  # characters in which a file says that a program wrote it
_ONE_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
#: Lines of a list of words, at least.
WORD_LIST = 30
_MARKS = {
    b"\xff\xfe\0\0": "utf-32-le",
    b"\0\0\xfe\xff": "utf-32-be",
    b"\xff\xfe": "utf-16-le",
    b"\xfe\xff": "utf-16-be",
}


def left_alone(path: str, text: str) -> str:
    """Returns the kind of a file that stays as it is, else nothing; ``text``: its beginning."""
    name = os.path.basename(path).lower()
    for kind, pattern in _NAMED.items():
        if re.fullmatch(pattern, name):
            return kind
    if _GENERATED.search(text, 0, _BEGINNING):
        return "generated files"
    words = text[:HEAD].split("\n")[:-1]
    is_list = len(words) >= WORD_LIST and all(map(_ONE_WORD.fullmatch, words))
    return "word lists" if is_list else ""


def encoding_of(head: bytes) -> str | None:
    """Returns the encoding that a byte order mark names, if it is UTF-16 or UTF-32."""
    return next((name for mark, name in _MARKS.items() if head.startswith(mark)), None)
