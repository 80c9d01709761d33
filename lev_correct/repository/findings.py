"""Findings of a check."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lev_runtime.errors import printable

from ..lines import WORTH, Correction, Edit
from ..text.units import Listed, with_case
from .identifiers import Identifier


@dataclass(frozen=True)
class Finding:
    """A word of a file, or several side by side, that is to be another.

    line and column count from 1, columns in characters. before, after: without the punctuation that
    both have around them. edit: as it is made, or only reported; edit_column: where it begins.
    offers: of a question, which fails no check, the words that a person may choose. written: into
    the file.
    """

    file: str
    line: int
    column: int
    before: str
    after: str
    edit: Edit
    edit_column: int
    offers: Sequence[str] = ()
    written: bool = False

    rule = "misspelling"

    @property
    def message(self) -> str:
        """``teh -> the (0.98)``, or ``alot ?  a lot, allot``."""
        before = printable(self.before)
        if self.offers:
            return f"{before} ?  {printable(', '.join(self.offers))}"
        after = printable(self.after) or "nothing"
        written = ", written" if self.written else ""
        return f"{before} -> {after} ({self.edit.probability:.2f}){written}"

    @property
    def level(self) -> str:
        """Returns how much it counts: as a ``warning`` or a ``note``."""
        return "note" if self.offers or self.written else "warning"


def findings(
    file: str, line: int, correction: Correction, doubts: bool = False,
    listed: Listed = lambda word: (),
) -> Iterator[Finding]:  # fmt: skip
    """The edits of a line of a file that are made, or only reported.

    Args:
        doubts: also those that are not sure enough, but worth a look.
        listed: the corrections that a list has for a word.
    """
    # a byte order mark is no text
    hidden = line == 1 and correction.source.startswith("\ufeff")
    for edit in correction.edits:
        is_doubt = doubts and edit.reason == "confidence" and edit.probability >= WORTH
        if edit.reason in (None, "unsure", "reported") or is_doubt:
            spaces = len(edit.before) - len(edit.before.lstrip())  # that go with a word
            before, after = edit.before.strip(), edit.after.strip()
            edit_column = edit.offset + 1 - hidden
            column = edit_column + spaces
            words = [with_case(word, before) for word in listed(before)] or [after]
            offers = words if edit.reason == "unsure" else ()
            yield Finding(file, line, column, before, after, edit, edit_column, offers)


Reported = Finding | Identifier
