"""Findings of a check."""

from collections.abc import Iterator
from dataclasses import dataclass

from lev_runtime.errors import printable

from ..lines import WORTH, Correction, Edit
from .identifiers import Identifier


@dataclass(frozen=True)
class Finding:
    """A word of a file, or several side by side, that is to be another.

    line and column count from 1, columns in characters. before, after: without the punctuation that
    both have around them. edit: as it is made, or only reported; edit_column: where it begins.
    """

    file: str
    line: int
    column: int
    before: str
    after: str
    edit: Edit
    edit_column: int

    rule = "misspelling"

    @property
    def message(self) -> str:
        """``teh -> the (0.98)``."""
        after = printable(self.after) or "nothing"
        return f"{printable(self.before)} -> {after} ({self.edit.probability:.2f})"


def findings(
    file: str, line: int, correction: Correction, doubts: bool = False
) -> Iterator[Finding]:
    """The edits of a line of a file that are made, or only reported.

    Args:
        doubts: also those that are not sure enough, but worth a look.
    """
    # a byte order mark is no text
    hidden = line == 1 and correction.source.startswith("\ufeff")
    for edit in correction.edits:
        is_doubt = edit.reason == "confidence" and edit.probability >= WORTH
        if edit.applied or edit.reason == "reported" or (doubts and is_doubt):
            spaces = len(edit.before) - len(edit.before.lstrip())  # that go with a word
            before, after = edit.before.strip(), edit.after.strip()
            edit_column = edit.offset + 1 - hidden
            column = edit_column + spaces
            yield Finding(file, line, column, before, after, edit, edit_column)


Reported = Finding | Identifier
