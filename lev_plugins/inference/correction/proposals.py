"""From what a model wrote to edits of characters that stand or fall together."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .backends import Answer, Backend, TextProcessing, Tokens
from .edits import Change, Rewrite, rewrites
from .fitting import calibrated

#: Edits of one word with fewer kept characters between them stand or fall together.
TOGETHER = 8


@dataclass(frozen=True)
class Proposal:
    """Edits of a line that stand or fall together: (start, end, new text) each."""

    edits: tuple[tuple[int, int, str], ...]
    probability: float


def proposals(
    backend: Backend | TextProcessing,
    text: str,
    tokens: Tokens,
    answer: Answer,
    temperature: float = 1.0,
) -> list[Proposal]:
    """What a model wants to change in a unit, in characters of its text."""
    if not answer.changes:
        return []
    read = _single_spaces(backend.text(tokens))
    written = _single_spaces(backend.text(answer.tokens))
    wanted = rewrites(text, read, written)
    if not wanted:
        return []
    before = _token_places(backend, tokens, read)
    after = _token_places(backend, answer.tokens, written)
    changes = [
        part
        for change in answer.changes
        for part in _by_words(change, _word_starts(before, read), _word_starts(after, written))
    ]
    places = [_place(change, before, len(read)) for change in changes]
    groups = _together(wanted, read, [_touched(rewrite, places) for rewrite in wanted])
    return [
        Proposal(
            tuple((one.start, one.end, one.after) for one in group),
            calibrated(min(1.0, math.exp(sum(map(answer.log_probability, made)))), temperature),
        )
        for group, causes in groups
        for made in [[changes[number] for number in causes]]
    ]


def _by_words(change: Change, before: Sequence[bool], after: Sequence[bool]) -> Iterator[Change]:
    """A change of several words into as many others, as one change a word."""
    i, j, k, m = change
    cuts = [[place for place in range(i, j) if before[place]]]
    cuts += [[place for place in range(k, m) if after[place]]]
    if len(cuts[0]) != len(cuts[1]) or not cuts[0] or cuts[0][0] != i or cuts[1][0] != k:
        yield change
        return
    ends = zip([*cuts[0][1:], j], [*cuts[1][1:], m], strict=True)
    for start, begin, (end, stop) in zip(*cuts, ends, strict=True):
        yield start, end, begin, stop


def _word_starts(places: Sequence[tuple[int, int]], text: str) -> list[bool]:
    """Which tokens begin a word."""
    return [start < end and (start == 0 or text[start - 1] == " ") for start, end in places]


def _place(change: Change, tokens: Sequence[tuple[int, int]], size: int) -> tuple[int, int]:
    """Where a change of tokens is in their text; an insertion, between two of them."""
    i, j, _, _ = change
    if i < j:
        return tokens[i][0], tokens[j - 1][1]
    return tokens[i - 1][1] if i else 0, tokens[i][0] if i < len(tokens) else size


def _single_spaces(text: str) -> str:
    return " ".join(text.split())


def _token_places(
    backend: Backend | TextProcessing, tokens: Sequence[str | None], text: str
) -> list[tuple[int, int]]:
    """Where each token begins and ends in the text of all, spaces before it left out."""
    places = []
    start = 0
    for number in range(1, len(tokens) + 1):
        # whatever joins tokens, the text of the first few is the beginning of the whole
        end = max(start, min(len(_single_spaces(backend.text(tokens[:number]))), len(text)))
        while start < end and text[start] == " ":
            start += 1
        places.append((start, end))
        start = end
    return places


def _touched(rewrite: Rewrite, changed: Sequence[tuple[int, int]]) -> frozenset[int]:
    """The changes of tokens that a rewrite is made of: those it meets, or else the nearest."""

    def distance(number: int) -> int:
        start, end = changed[number]
        return max(start - rewrite.stop, rewrite.begin - end, 0)

    least = min(map(distance, range(len(changed))))
    return frozenset(number for number in range(len(changed)) if distance(number) == least)


def _together(
    wanted: Sequence[Rewrite], read: str, causes: Sequence[frozenset[int]]
) -> list[tuple[list[Rewrite], frozenset[int]]]:
    """Groups of rewrites that make no sense without each other, and the changes behind each.

    Those with the same change behind them, and those of one word that are near each other: half a
    correction breaks a word that may have been right.
    """
    groups: list[tuple[list[Rewrite], frozenset[int]]] = []
    for rewrite, cause in zip(wanted, causes, strict=True):
        if groups:
            last, before = groups[-1]
            between = read[last[-1].stop : rewrite.begin]
            near = len(between) < TOGETHER and " " not in between
            if near or cause & before:
                groups[-1] = ([*last, rewrite], before | cause)
                continue
        groups.append(([rewrite], cause))
    return groups
