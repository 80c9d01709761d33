"""How a line is written apart from its words: its markup, capitals, where its sentences begin."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from os.path import commonprefix

from .formats import BREAK, masked, settled

#: Where a text stands in a line: its first character, and the one after its last.
Span = tuple[int, int]
#: Tells whether a list has a word, or which corrections it has for it.
Knows = Callable[[str], bool]
Listed = Callable[[str], Sequence[str]]
#: Marks that are written for an apostrophe, as :func:`.plain_apostrophes` has it.
APOSTROPHES = "'\u2019\u00b4\u02b9\u02bb\u02bc\u02c8\u2018\u201b\u2032\u2035\ua78c\uff07"
#: Marks that divide a word or join two, the soft one as far as it ends a line; recognisers of
#: print write U+00AC for it.
HYPHENS = "-\u2010\u2011\u00ad\u00ac"
#: Words of two capitals or more that make a line one in capitals.
SHOUTED = 3
#: A word in capitals that is too long for an acronym.
LONG_CAPITALS = re.compile(r"[A-Z]{7,}")
_LONG_WORD = re.compile(r"[^\W\d_]{2,}")
_OPENING = " \t\ufeff\"'([{<*_~#>-+\u2018\u201c\u00ab\u2022"
_CLOSING = "\"')]}*_\u2019\u201d\u00bb"
_ENDS_SENTENCE = ".!?:|" + BREAK
#: What stands before the first word of a line: no word, or the number of an item.
_NO_WORD = re.compile(r"[\W\d_]*(?:[A-Za-z][.)\]][\W_]*)?")
_TITLE = re.compile(r"(?<!\w)[A-Z][a-z]{,2}\.\Z")  # Dr. and initials


@lru_cache(64)
def is_shouted(line: str) -> bool:
    """Returns whether a line is in capitals: several words, none of which has a small letter."""
    line = without_markup(line)
    return line == line.upper() and len(_LONG_WORD.findall(line)) >= SHOUTED


def as_asked(line: str, places: Sequence[Span]) -> str:
    """A line as its words are asked for: in small letters where it is in capitals, and where a
    word begins a sentence, whose capital says nothing."""
    small = line.lower()
    if len(small) != len(line) or small == line:
        return line
    if is_shouted(line):
        return small
    letters = list(line)
    for start, end in places:
        word = line[start:end]
        if LONG_CAPITALS.fullmatch(word):
            letters[start:end] = small[start:end]
            continue
        opens = word[0].isupper() and word[1:] == small[start + 1 : end]
        if opens and end - start > 1 and opens_sentence(line, start):
            letters[start] = small[start]
    return "".join(letters)


def opens_sentence(line: str, start: int) -> bool:
    """Returns whether a word that begins there is the first of a line, cell or sentence."""
    before = without_markup(line)[:start].rstrip(_OPENING)
    if _NO_WORD.fullmatch(before):
        return True
    before = before.rstrip(_CLOSING)
    # a title and what it touches are no longer than that
    return before[-1] in _ENDS_SENTENCE and not _TITLE.search(before[-5:])


def case_of(line: str, start: int, end: int) -> str:
    """Returns ``small``, ``first`` (a capital that a sentence begins with), ``name`` or
    ``mixed``."""
    text = line[start:end]
    if text == text.lower():
        return "small"
    if text[1:] != text[1:].lower():
        return "mixed"
    return "first" if opens_sentence(line, start) else "name"


_SIGNS = re.compile(r"[*~<\[/&]")


@lru_cache(64)
def without_markup(line: str) -> str:
    """A line with spaces for the signs of emphasis, tags and comments, for what is around the text
    of links, and for a stroke between two words (*his/her*); characters for entities."""
    return settled(masked(line, "line")) if _SIGNS.search(line) else line


_PLAIN_WORD = re.compile(r"(?<!\S)\(?[^\W\d_]+[.,;:!?)]*(?!\S)")


def is_prose(line: str) -> bool:
    """Returns whether most of a line's tokens, and several, are words with no other signs nor
    quotes."""
    words = len(_PLAIN_WORD.findall(line))
    return words >= 4 and 2 * words > len(line.split())


def differing_part(before: str, after: str) -> tuple[int, str, str]:
    """Returns where two texts begin to differ, and what stands in either between what they begin
    and end with alike."""
    same = len(commonprefix([before, after]))
    gone, come = before[same:], after[same:]
    alike = len(commonprefix([gone[::-1], come[::-1]]))
    gone = gone[: len(gone) - alike]
    come = come[: len(come) - alike]
    return same, gone, come
