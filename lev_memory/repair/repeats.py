"""Words that a model should not have written: twice in a row, or made up."""

import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from typing import NamedTuple

import regex

from .scripts import SINGLE

LONGEST = 2  # words that are repeated together
USUAL = 5  # translations of a memory that repeat words, from which on it is the language's way
_WORD = re.compile(r"\S+")
_LETTERS = regex.compile(rf"(?V1)[{SINGLE}]|[[\p{{L}}\p{{M}}]--[{SINGLE}]]+")
_MARKS = ".,;:!?…)]»”"  # that may follow a word
_DOUBLE_MARKS = re.compile(r"([.,;:!?。、，！？])\1+")
Words = tuple[str, ...]


class Word(NamedTuple):
    """A word without the marks after it, in small letters, and where it stands in its text."""

    key: str
    start: int
    end: int


def words_of(text: str) -> list[Word]:
    """Returns the words of a text."""
    words = []
    for match in _WORD.finditer(text):
        core = match[0].rstrip(_MARKS)
        words.append(Word(core.casefold(), match.start(), match.start() + len(core)))
    return words


def repeats(text: str) -> Iterator[tuple[slice, Words]]:
    """Yields words that follow themselves: the span of the second ones, with the space before, and
    the words. Numbers and marks may well be repeated, and do not count."""
    words = words_of(text)
    for size in range(1, LONGEST + 1):
        for start in range(len(words) - 2 * size + 1):
            both = words[start : start + 2 * size]
            keys = tuple(word.key for word in both)
            if keys[:size] != keys[size:] or not any(map(str.isalpha, "".join(keys))):
                continue
            gaps = [text[left.end : right.start] for left, right in zip(both, both[1:])]
            if all(map(str.isspace, gaps)):
                yield slice(both[size - 1].end, both[-1].end), keys[size:]


def usual_repeats(translations: Iterable[str]) -> set[Words]:
    """Returns the words that a memory repeats often enough."""
    counts = Counter(words for text in translations for words in {w for _, w in repeats(text)})
    return {words for words, count in counts.items() if count >= USUAL}


def without_double_marks(text: str, *others: str) -> str:
    """Returns a text whose marks stand once if none of the other texts has as many in a row."""
    known = {match[0] for other in others for match in _DOUBLE_MARKS.finditer(other)}
    return _DOUBLE_MARKS.sub(lambda match: match[match[0] not in known], text)


def without_repeats(text: str, usual: Container[Words], *others: str) -> str:
    """Removes words of a text that follow themselves, unless that is usual or one of
    the other texts, which it was made from, has it too."""
    known = {words for other in others for _, words in repeats(other)}
    while place := next((p for p, w in repeats(text) if w not in known and w not in usual), None):
        text = text[: place.start] + text[place.stop :]
    return text


def folded(word: str) -> str:
    """Returns a word in a normal form: small, composed, the i of Turkish with a dot or without."""
    plain = unicodedata.normalize("NFC", word).casefold()
    return plain.replace("\u0307", "").replace("ı", "i")


def vocabulary(texts: Iterable[str]) -> set[str]:
    """Returns the words of texts, in small letters."""
    return {folded(word) for text in texts for word in _LETTERS.findall(text)}


def neighbours(texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yields the pairs of neighbouring words of texts, in small letters."""
    for text in texts:
        yield from itertools.pairwise(map(folded, _LETTERS.findall(text)))


def made_up(text: str, known: Container[str], *others: str) -> list[str]:
    """Returns the words of a text that are neither ``known`` nor in the other texts, which it was
    made from."""
    there = vocabulary(others)
    return [word for word in vocabulary([text]) if word not in known and word not in there]
