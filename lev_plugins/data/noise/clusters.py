"""Words and characters as a reader sees them.

A word is what stands between spaces (any Unicode whitespace). A character is a grapheme cluster:
a letter with its combining marks, an emoji with all that is joined to it.
"""

import re

import regex  # type: ignore[import-untyped]

_BLANKS = re.compile(r"(\s+)")
_CLUSTER = regex.compile(r"\X")


def split_words(text: str) -> list[str]:
    """Words at even places, the spaces between them at odd ones; joined they are ``text``.

    The first and the last word are empty where the text begins or ends with spaces.
    """
    return _BLANKS.split(text)


def clusters(word: str) -> list[str]:
    """The grapheme clusters of a word (Unicode Standard Annex 29); joined they are ``word``."""
    return list(word) if word.isascii() else _CLUSTER.findall(word)


def is_letter(cluster: str) -> bool:
    """Whether a cluster is a letter of any script, with its marks."""
    return cluster[0].isalpha()
