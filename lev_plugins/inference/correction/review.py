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
    found: list[Edit] = []
    first = len(line) - len(line.removeprefix("\ufeff"))
    for edit in edits:
        start, end = edit.offset, edit.end
        while start > first and not line[start - 1].isspace():
            start -= 1
        while end < len(line) and not line[end].isspace():
            end += 1
        if found and start <= found[-1].end:
            last = found.pop()
            # What stood behind the last edit of ``last`` is kept up to this one.
            kept = len(last.after) - (last.end - edit.offset)
            after = last.after[:kept] + edit.after + line[edit.end : end]
            before = line[last.offset : end]
            sure = min(last.probability, edit.probability)
            found.append(replace(last, before=before, after=after, probability=sure))
            continue
        after = line[start : edit.offset] + edit.after + line[edit.end : end]
        found.append(replace(edit, offset=start, before=line[start:end], after=after))
    return found
