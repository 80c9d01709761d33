"""Edits as people read them: of whole words, where a model may change a letter."""

from collections.abc import Sequence
from dataclasses import replace

from .corrector import Correction, Edit
from .edits import splice


def whole_words(correction: Correction) -> list[Edit]:
    """The edits of a line, each widened to the words that it touches, in order.

    Edits that touch the same word are one, with the smallest of their probabilities; those that
    were made and those that were not stay apart, and do not overlap among themselves. A word is a
    run of non-spaces; a byte order mark in front of a line belongs to none.
    """
    line, edits = correction.source, correction.edits
    found = [
        _joined(line, *one)
        for reason in {edit.reason for edit in edits}
        for one in _by_words(line, [edit for edit in edits if edit.reason == reason])
    ]
    return sorted(
        found, key=lambda edit: (edit.offset, edit.end, not edit.applied, edit.reason or "")
    )


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
    after = splice(line[:end], [(edit.offset, edit.end, edit.after) for edit in edits], start)
    sure = min(edit.probability for edit in edits)
    return replace(edits[0], offset=start, before=line[start:end], after=after, probability=sure)
