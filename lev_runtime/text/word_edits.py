"""Edits of words: which were made, which were needed, and how many of them are the same.

As ERRANT counts (Bryant et al., 2017), but for any language: an edit is a span of the source and
the words that take its place, and it is right where the reference has the very same edit.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from .words import Words, aligned


class WordEdit(NamedTuple):
    """Words ``start`` … ``end`` − 1 of a source become ``words``; start = end: an insertion."""

    start: int
    end: int
    words: tuple[str, ...]


def word_edits(source: Words, target: Words) -> list[WordEdit]:
    """The edits that make ``target`` of ``source``, in order.

    Words are aligned by :func:`.words.aligned`. What stands between two equal words is one edit,
    but for spans of as many words on either side: there each word that is substituted is an edit
    of its own.
    """
    equal = [(i, j) for i, j in aligned(source, target) if source[i] == target[j]]
    edits = []
    i = j = 0
    for k, m in [*equal, (len(source), len(target))]:
        if k - i == m - j:
            words = enumerate(target[j:m], start=i)
            edits += [WordEdit(place, place + 1, (word,)) for place, word in words]
        else:
            edits.append(WordEdit(i, k, tuple(target[j:m])))
        i, j = k + 1, m + 1
    return edits


def edit_matches(source: str, output: str, reference: str) -> tuple[int, int, int]:
    """The edits from source to output against those from source to reference, of one line.

    Returns:
        how many were made and are right, were made and are wrong, were needed and are missing.
    """
    words = source.split()
    edits = Counter(word_edits(words, output.split()))
    needed = Counter(word_edits(words, reference.split()))
    right = (edits & needed).total()
    return right, edits.total() - right, needed.total() - right


def precision(matches: Sequence[float]) -> float:
    """Percent of the edits made that are right; 100 where none was made, as ERRANT has it."""
    right, wrong, _ = matches
    return 100 * right / (right + wrong) if wrong else 100.0


def recall(matches: Sequence[float]) -> float:
    """Percent of the edits needed that were made; 100 where none was needed, as ERRANT has it."""
    right, _, missing = matches
    return 100 * right / (right + missing) if missing else 100.0


def f_half(matches: Sequence[float]) -> float:
    """F0.5 of precision and recall, which counts precision twice; 0 where both are 0."""
    p, r = precision(matches), recall(matches)
    return 1.25 * p * r / (0.25 * p + r) if p + r else 0.0
