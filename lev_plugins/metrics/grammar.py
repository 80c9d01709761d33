"""ERRANT, the measure of grammatical error correction, where it is installed.

Bryant, Felice and Briscoe, 2017, "Automatic Annotation and Evaluation of Error Types for
Grammatical Error Correction". English alone; an optional extra of the package.
"""

import functools
import importlib
import importlib.metadata
from typing import Any

from ..errors import UserError
from .word_edits import EditMatches, matched

_INSTALL = "pip install 'lev_plugins[grammar]'"
_MODEL = "python -m spacy download en_core_web_sm"
# ERRANT's mark of edits that no-one can make, which its own scorer leaves out
_UNKNOWN = "UNK"
_REMEMBERED = 4096  # parsed sentences: a source is compared with reference and output

Span = tuple[int, int, str]


@functools.cache
def load_annotator() -> Any:
    """ERRANT's annotator for English.

    Raises:
        UserError: ERRANT, spaCy or spaCy's English model is not installed.
    """
    try:
        errant = importlib.import_module("errant")
    except ImportError as error:
        raise UserError(
            f"the errant_ metrics need the library errant ({error}); install it: {_INSTALL} and "
            f"{_MODEL}"
        ) from error
    try:
        return errant.load("en")
    except (ImportError, OSError) as error:
        raise UserError(
            f"the errant_ metrics need spaCy's English model en_core_web_sm; install it: {_MODEL}"
        ) from error


class ErrantCounts:
    """Edits as ERRANT finds them: right, wrong, missing, and sentences.

    As its command ``errant_compare`` counts by default (span-based correction): an edit is right
    where the reference has one of the same span and the same words. Text is taken as tokenised,
    tokens between spaces, as ERRANT's commands take it.

    Raises:
        UserError: ERRANT or its language model is not installed.
    """

    size = 4

    def __init__(self) -> None:
        self._annotator = load_annotator()
        self._parsed = functools.lru_cache(_REMEMBERED)(self._annotator.parse)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ErrantCounts)

    def __hash__(self) -> int:
        return hash(ErrantCounts)

    def statistics(self, source: str, hypothesis: str, reference: str) -> tuple[float, ...]:
        """The three numbers of one sentence, and 1 for the sentence."""
        return (*map(float, self.matches(source, hypothesis, reference)), 1.0)

    def matches(self, source: str, hypothesis: str, reference: str) -> EditMatches:
        """Edits of one sentence that are right, wrong and missing."""
        before, after, wanted = (" ".join(t.split()) for t in (source, hypothesis, reference))
        return matched(self._spans(before, after), self._spans(before, wanted))

    def _spans(self, before: str, after: str) -> list[Span]:
        if before == after:
            return []
        edits = self._annotator.annotate(self._parsed(before), self._parsed(after))
        return [
            (int(edit.o_start), int(edit.o_end), str(edit.c_str))
            for edit in edits
            if edit.type != _UNKNOWN
        ]

    def signature(self) -> str:
        """In sacrebleu's form, with the versions of ERRANT and spaCy."""
        versions = "|".join(
            f"{name}:{importlib.metadata.version(name)}" for name in ("errant", "spacy")
        )
        return f"nrefs:1|case:mixed|tok:whitespace|match:span-and-words|none:100|{versions}"
