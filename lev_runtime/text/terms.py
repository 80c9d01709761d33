"""Puts a term that an output has to contain at every place of a draft where it could stand."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from .markup import JOINED, Joining, in_word


class Draft(NamedTuple):
    """A draft as tokens: lists, tensors in the package's task.

    words: as they were typed, known to the model or not. tokens: their numbers, <s> and </s> with
    them. marks: the bits of the marks on each of these.
    """

    words: list[str]
    tokens: Any
    marks: Any


def holds(text: str, term: str) -> bool:
    """Returns whether a term stands in a text, not inside a longer word."""

    def is_border(place: int) -> bool:
        return not (in_word(text[:place][-1:]) and in_word(text[place : place + 1]))

    starts = [place for place in range(len(text)) if text.startswith(term, place)]
    return any(is_border(start) and is_border(start + len(term)) for start in starts)


def with_term(draft: Draft, term: Draft, joining: Joining) -> Iterator[Draft]:
    """Yields the draft with a term between any two words, and marked where it stands already."""
    nothing = (False, False)
    edges = [nothing, *map(joining.edges, draft.words), nothing]
    borders = []
    for place, ((_, goes_on), (continues, _)) in enumerate(pairwise(edges)):
        is_inside = goes_on and continues
        if not (is_inside or draft.marks[place] & JOINED):
            borders.append(place)
    size = len(term.words)
    for start in borders:
        end = start + size
        is_plain = end in borders and not any(draft.marks[start + 1 : end + 1])
        stands = is_plain and draft.words[start:end] == term.words
        for last in (start, end)[: 1 + stands]:
            yield Draft(
                draft.words[:start] + term.words + draft.words[last:],
                draft.tokens[: start + 1] + term.tokens[1:-1] + draft.tokens[last + 1 :],
                draft.marks[: start + 1] + term.marks[1:-1] + draft.marks[last + 1 :],
            )
