"""Requests of ``lev-serve``, as FastAPI reads and describes them.

Places in a text are counted in characters (Unicode code points), from 0.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from lev_runtime.errors import UserError

#: of a request, and characters of each of its texts but lines to correct, which are read in parts:
#: a model must not be busy with one for long
MAX_ROWS, MAX_CHARS = 256, 10_000
Text = Annotated[str, Field(max_length=MAX_CHARS)]
Texts = Annotated[list[Text], Field(max_length=MAX_ROWS)]
Probability = Annotated[float, Field(ge=0, le=1)]
#: of a row, ready for JSON
Result = dict[str, Any]


class Asked(BaseModel):
    """A part of a request: no other fields, no other types."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class Mark(Asked):
    """A stretch of the draft: its first character, the one after it, and what is to happen.

    keep: it stays; drop: it goes; term: it stays, and nothing is inserted inside it.
    """

    start: int = Field(ge=0)
    end: int = Field(ge=1)
    kind: Literal["keep", "drop", "term"]


class Sentence(Asked):
    """A source, and the draft to edit; without a draft a new output is written.

    old_source: that the draft translates, for a model trained with ``--old-source``. marks: of the
    draft, in order, none inside another. terms: that its outputs have.
    """

    source: Text
    draft: Text | None = None
    old_source: Text | None = None
    marks: list[Mark] = []
    terms: list[Text] = []


class EditRequest(Asked):
    """Sentences for an edit model; penalty and threshold are the model's unless given."""

    sentences: list[Sentence] = Field(max_length=MAX_ROWS)
    nbest: int = Field(1, ge=1, le=16)
    max_iter: int = Field(10, ge=1, le=50)
    empty_penalty: Annotated[float, Field(ge=0, le=3)] | None = None
    delete_threshold: Probability | None = None


def size(row: str | tuple[str, ...] | Sentence) -> int:
    """Characters of a row, in all its texts."""
    if isinstance(row, Sentence):
        row = row.source, row.draft or "", row.old_source or "", *row.terms
    return len("".join(row))


class CorrectRequest(Asked):
    """Lines for a corrector, whose edits below ``min_confidence`` are not applied.

    before: what stands before them in the same text, where they are lines of one, and tells which
    of them are code. These lines are read and not corrected.
    """

    lines: list[str] = Field(max_length=MAX_ROWS)
    before: Texts | None = None
    min_confidence: Probability | None = None
    protect_words: list[Text] = []
    _document: Any = PrivateAttr(None)

    def document(self, corrector: Any) -> Any:
        """Returns the text of the lines, whose first ones are read; None if they are none."""
        if self.before is not None and self._document is None:
            self._document = corrector.document()
            corrector.read(self.before, self._document)
        return self._document


class PredictRequest(Asked):
    """Texts for an EncT5 and, where it was trained on pairs, as many second texts."""

    texts: Texts
    pairs: Texts | None = None
    top_k: int | None = Field(None, ge=1)
    threshold: Probability | None = None

    @property
    def rows(self) -> Sequence[Any]:
        """Texts, or pairs of them."""
        if self.pairs is None:
            return self.texts
        if len(self.pairs) != len(self.texts):
            raise UserError(f"{len(self.texts)} texts, {len(self.pairs)} pairs: send as many")
        return list(zip(self.texts, self.pairs))


# answers: described, not checked, as they are the package's own


class EditRecord(BaseModel):
    """An edit of a text, by the keys of lev-correct; message: why, in words; others: what else the
    word might be."""

    offset: int
    length: int
    before: str
    after: str
    probability: float
    applied: bool
    reason: str | None
    why: dict[str, float]
    message: str
    others: list[str]


class Corrected(BaseModel):
    """A line, what became of it, and whether it was left alone as code."""

    source: str
    text: str
    edits: list[EditRecord]
    code: bool


class Edited(BaseModel):
    """A sentence and its outputs, best first: text, score, terminated, edits and iterations."""

    source: str
    draft: str | None
    hypotheses: list[Result]


class Results(BaseModel):
    """A result for each row of a request, in order."""

    results: list[Corrected] | list[Edited] | list[Result]


class Failure(BaseModel):
    """Why a request was refused, in one line."""

    error: str


_FIELDS = (
    "language text data disabledRules disabledCategories enabledRules enabledCategories enabledOnly"
)
_SCHEMA = {"type": "object", "properties": dict.fromkeys(_FIELDS.split(), {"type": "string"})}
#: LanguageTool's form, as OpenAPI describes it.
FORM = {"requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": _SCHEMA}}}}
#: LanguageTool's names of what is found: an editor offers to add a word to its dictionary where a
#: name ends so. An edit that is not made is a doubt: a program that makes all can switch it off.
RULE = {
    "id": "LEV_CORRECT_SPELLER_RULE",
    "description": "Possible spelling mistake",
    "issueType": "misspelling",
    "category": {"id": "TYPOS", "name": "Possible typo"},
}
DOUBT = RULE | {
    "id": "LEV_CORRECT_DOUBT_SPELLER_RULE",
    "description": "Perhaps a spelling mistake",
    "issueType": "uncategorized",
}
