"""Edits as people read them: of whole words, where a model may change a letter."""

from collections.abc import Sequence
from dataclasses import replace

from .corrector import Correction, Edit


def whole_words(correction: Correction) -> list[Edit]:
    """The edits of a line, each widened to the words that it touches, in order.

    Edits that touch the same word are one, with the smallest of their probabilities; those that
    were made and those that were not stay apart, and do not overlap among themselves. A word is a
    run of non-spaces; a byte order mark in front of a line belongs to none.
    """
    kinds = {edit.reason for edit in correction.edits}
    found = [
        edit
        for reason in kinds
        for edit in _widened(
            correction.source, [edit for edit in correction.edits if edit.reason == reason]
        )
    ]
    return sorted(
        found, key=lambda edit: (edit.offset, edit.end, not edit.applied, edit.reason or "")
    )


def _widened(line: str, edits: Sequence[Edit]) -> list[Edit]:
    return [_joined(line, *one) for one in _by_words(line, edits)]


def _by_words(line: str, edits: Sequence[Edit]) -> list[tuple[int, int, list[Edit]]]:
    """Where the words begin and end that edits touch, and the edits of each."""
    found: list[tuple[int, int, list[Edit]]] = []
    first = len(line) - len(line.removeprefix("\ufeff"))
    for edit in edits:
        if found and edit.offset <= found[-1][1]:
            start, end, some = found.pop()
        else:
            start, end, some = edit.offset, edit.end, []
            while start > first and not line[start - 1].isspace():
                start -= 1
        end = max(end, edit.end)
        while end < len(line) and not line[end].isspace():
            end += 1
        some.append(edit)
        found.append((start, end, some))
    return found


def _joined(line: str, start: int, end: int, edits: Sequence[Edit]) -> Edit:
    """The edit of ``line[start:end]`` that makes all of these."""
    parts, place = [], start
    for edit in edits:
        parts += [line[place : edit.offset], edit.after]
        place = edit.end
    after = "".join([*parts, line[place:end]])
    sure = min(edit.probability for edit in edits)
    before = line[start:end]
    return replace(edits[0], offset=start, before=before, after=after, probability=sure)
