"""Which characters stand beside one another: on a keyboard, and in a script."""

import random
import string
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache

from .rng import choose

_ROWS = {
    "keyboard": ("qwertyuiop", "asdfghjkl", "zxcvbnm"),
    "qwertz": ("qwertzuiopü", "asdfghjklöä", "yxcvbnm"),
    "azerty": ("azertyuiop", "qsdfghjklmù", "wxcvbn"),
    "jcuken": ("йцукенгшщзхъ", "фывапролджэ", "ячсмитьбю"),
}
# Letters that are one with their mark, and those for which people write another vowel behind.
_SPELT_OUT = {
    "ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "æ": "ae", "œ": "oe", "ø": "oe", "å": "aa",
    "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i",
}  # fmt: skip
_WITH_MARKS = ("LATIN", "GREEK", "CYRILLIC")
_BLOCK = 128  # scripts take up whole stretches of this many code points, or share one
_SPECIAL = "!@#$%^&*()_+"


def _neighbours(rows: Sequence[str]) -> dict[str, str]:
    """Keys that touch: beside, above to the right, below to the left (each row is set off)."""
    spots = ((0, -1), (0, 1), (-1, 0), (-1, 1), (1, -1), (1, 0))
    found = {}
    for row, keys in enumerate(rows):
        for place, key in enumerate(keys):
            near = ((row + down, place + right) for down, right in spots)
            found[key] = "".join(
                rows[r][p] for r, p in near if 0 <= r < len(rows) and 0 <= p < len(rows[r])
            )
    return found | {key.upper(): near.upper() for key, near in found.items()}


#: Keyboards (``keyboard`` is QWERTY): letter → the letters whose keys touch its key, in its case.
NEIGHBOURS: Mapping[str, Mapping[str, str]] = {
    name: _neighbours(rows) for name, rows in _ROWS.items()
}


@lru_cache(maxsize=4096)
def without_marks(cluster: str) -> tuple[str, ...]:
    """What is typed for a letter where its marks are left out; nothing for one that has none.

    ``é`` → ``e``; ``Ä`` → ``A`` or ``Ae``; of Latin, Greek and Cyrillic letters.
    """
    letter = unicodedata.normalize("NFC", cluster)
    if _script(letter[0]) not in _WITH_MARKS or letter in "йЙ":  # a letter of its own
        return ()
    apart = unicodedata.normalize("NFD", letter)
    bare = "".join(one for one in apart if not unicodedata.combining(one))
    spelt = _SPELT_OUT.get(letter.lower(), "")
    if letter != letter.lower():
        spelt = spelt.capitalize()
    return tuple(one for one in dict.fromkeys((bare, spelt)) if one and one != letter)


@lru_cache(maxsize=4096)
def alphabet(letter: str) -> str:
    """What may be typed by chance beside a letter.

    For Latin letters a–z, A–Z, digits and ``!@#$%^&*()_+``; for others the letters of the same
    script around it (the same 128 code points).
    """
    script = _script(letter)
    if script == "LATIN":
        return string.ascii_letters + string.digits + _SPECIAL
    start = ord(letter) // _BLOCK * _BLOCK
    near = map(chr, range(start, start + _BLOCK))
    return "".join(one for one in near if one.isalpha() and _script(one) == script)


def _script(letter: str) -> str:
    """The first word of the character's name, ``CYRILLIC`` of CYRILLIC SMALL LETTER A."""
    return unicodedata.name(letter, "").partition(" ")[0].partition("-")[0]


def other_letter(rng: random.Random, cluster: str) -> str:
    """A character of the script of ``cluster``, never ``cluster``; that itself without another."""
    choices = alphabet(cluster[0]).replace(cluster, "")
    return choose(rng, choices) if choices else cluster


def exchanged(left: str, right: str) -> tuple[str, str]:
    """Two characters in each other's place; a capital stays where it was (``The`` → ``Hte``)."""
    first, second = right, left
    if left.isupper() and right.islower():
        first, second = right.upper(), left.lower()
    elif left.islower() and right.isupper():
        first, second = right.lower(), left.upper()
    if len(first) != len(right) or len(second) != len(left):  # ß has no capital of one letter
        return right, left
    return first, second
