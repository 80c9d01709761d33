"""How a line is written beside its words: in capitals, where its sentences begin."""

import re

#: Words of two capitals or more that make a line one in capitals.
SHOUTED = 3
_LONG_WORD = re.compile(r"[^\W\d_]{2,}")
_OPENING = " \t\ufeff\"'([{<*_~#>-+\u2018\u201c\u00ab\u2022"
_CLOSING = "\"')]}*_\u2019\u201d\u00bb"
_ENDS_SENTENCE = re.compile(r"[.!?:]\Z")
_TITLE = re.compile(r"(?<!\w)[A-Z][a-z]{,2}\.\Z")  # Dr. and initials


def is_shouted(line: str) -> bool:
    """Whether a line is in capitals: several words, none of which has a small letter."""
    return line == line.upper() and len(_LONG_WORD.findall(line)) >= SHOUTED


def opens_sentence(line: str, start: int) -> bool:
    """Whether a word that begins there is the first of a line or a sentence."""
    before = line[:start].rstrip(_OPENING).rstrip(_CLOSING)
    return not before or bool(_ENDS_SENTENCE.search(before) and not _TITLE.search(before))
