"""Words and characters as a reader sees them, and keys that are neighbours.

A word is what stands between spaces (any Unicode whitespace). A character is a grapheme cluster:
a letter with its combining marks, an emoji with all that is joined to it.
"""

import random
import re
import string
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import regex  # type: ignore[import-untyped]

from .rng import choose

_BLANKS = re.compile(r"(\s+)")
_CLUSTER = regex.compile(r"\X")
_ROWS = {
    "keyboard": ("qwertyuiop", "asdfghjkl", "zxcvbnm"),
    "qwertz": ("qwertzuiopü", "asdfghjklöä", "yxcvbnm"),
    "azerty": ("azertyuiop", "qsdfghjklmù", "wxcvbn"),
    "jcuken": ("йцукенгшщзхъ", "фывапролджэ", "ячсмитьбю"),
}
# Letters that are one with their mark, and those for which people write another vowel after.
_SPELT_OUT = {
    "ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "æ": "ae", "œ": "oe", "ø": "oe", "å": "aa",
    "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i",
}  # fmt: skip
_WITH_MARKS = ("LATIN", "GREEK", "CYRILLIC")
_BLOCK = 128  # scripts take up whole stretches of this many code points, or share one
_SPECIAL = "!@#$%^&*()_+"


def split_words(text: str) -> list[str]:
    """Returns words at even places, the spaces between at odd ones; joined they are ``text``.

    The first and the last word are empty where the text begins or ends with spaces.
    """
    return _BLANKS.split(text)


def clusters(word: str) -> list[str]:
    """Returns the grapheme clusters of a word (Unicode Annex 29); joined they are ``word``."""
    return list(word) if word.isascii() else _CLUSTER.findall(word)


def is_letter(cluster: str) -> bool:
    """Returns whether a cluster is a letter of any script, with its marks."""
    return cluster[0].isalpha()


def _neighbours(rows: Sequence[str]) -> dict[str, str]:
    """Returns keys that touch: left and right, above, below (each row is set off)."""
    spots = ((0, -1), (0, 1), (-1, 0), (-1, 1), (1, -1), (1, 0))
    keys = {}
    for row, letters in enumerate(rows):
        for place, key in enumerate(letters):
            keys[row, place] = key
    neighbours = {}
    for (row, place), key in keys.items():
        near = [keys.get((row + down, place + right), "") for down, right in spots]
        neighbours[key] = "".join(near)
    capitals = {key.upper(): near.upper() for key, near in neighbours.items()}
    return neighbours | capitals


#: Keyboards (``keyboard`` is QWERTY): letter → the letters whose keys touch its key, in its case.
NEIGHBOURS = {name: _neighbours(rows) for name, rows in _ROWS.items()}


@lru_cache(maxsize=4096)
def without_marks(cluster: str) -> tuple[str, ...]:
    """Returns what is typed for a letter if its marks are left out; nothing for one that has none.

    ``é`` → ``e``; ``Ä`` → ``A`` or ``Ae``; of Latin, Greek and Cyrillic letters.
    """
    letter = unicodedata.normalize("NFC", cluster)
    if _script(letter[0]) not in _WITH_MARKS or letter in "йЙ":  # a letter of its own
        return ()
    apart = unicodedata.normalize("NFD", letter)
    bare = "".join(char for char in apart if not unicodedata.combining(char))
    spelt = _SPELT_OUT.get(letter.lower(), "")
    if letter != letter.lower():
        spelt = spelt.capitalize()
    ways = dict.fromkeys((bare, spelt))
    return tuple(way for way in ways if way and way != letter)


@lru_cache(maxsize=4096)
def alphabet(letter: str) -> str:
    """Returns what may be typed by chance instead of a letter.

    For Latin letters a–z, A–Z, digits and ``!@#$%^&*()_+``; for others the letters of the same
    script around it (the same 128 code points).
    """
    script = _script(letter)
    if script == "LATIN":
        return string.ascii_letters + string.digits + _SPECIAL
    start = ord(letter) // _BLOCK * _BLOCK
    near = map(chr, range(start, start + _BLOCK))
    return "".join(char for char in near if char.isalpha() and _script(char) == script)


def _script(letter: str) -> str:
    """Returns the first word of a character's name, ``CYRILLIC`` of CYRILLIC SMALL LETTER A."""
    return unicodedata.name(letter, "").partition(" ")[0].partition("-")[0]


def other_letter(rng: random.Random, cluster: str) -> str:
    """Returns another character of the script of ``cluster``; ``cluster`` if there is none."""
    choices = alphabet(cluster[0]).replace(cluster, "")
    return choose(rng, choices) if choices else cluster


def exchanged(left: str, right: str) -> tuple[str, str]:
    """Swaps two characters; a capital stays where it was (``The`` → ``Hte``)."""
    first, second = right, left
    if left.isupper() and right.islower():
        first, second = right.upper(), left.lower()
    elif left.islower() and right.isupper():
        first, second = right.lower(), left.upper()
    if len(first) != len(right) or len(second) != len(left):  # ß has no capital of one letter
        return right, left
    return first, second
