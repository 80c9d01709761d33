"""What ``lev-serve`` is asked: the fields of ``/edit``, ``/correct`` and ``/predict``.

Places in a text are counted in characters (Unicode code points), from 0.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields
from typing import Literal

from ..errors import UserError
from .fields import described

MarkKind = Literal["keep", "drop", "term", "replace"]


@dataclass(frozen=True)
class Mark:
    """What a person wants of a stretch of the draft."""

    start: int = described("its first character", minimum=0)
    end: int = described("the character behind its last", minimum=1)
    kind: MarkKind = described(
        "keep: it stays; drop: it goes; replace: another word is wanted; term: it stays, whole"
    )


@dataclass(frozen=True)
class Sentence:
    """A source, and what there is of its output."""

    source: str = described("the source, one sentence")
    draft: str | None = described("the text to edit; without it the output is written anew", None)
    marks: tuple[Mark, ...] = described("of the draft, in order, none inside another", ())
    terms: tuple[str, ...] = described("without a draft: terms that the output has to have", ())


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a model is asked: rows, and options; requests with the same options share batches."""

    @property
    def rows(self) -> Sequence[object]:
        """What the model reads, one after the other."""
        raise NotImplementedError

    @property
    def options(self) -> Hashable:
        """The fields that are told of every row, as the class above the request has them."""
        kind = type(self).__bases__[0]
        return kind(**{one.name: getattr(self, one.name) for one in fields(kind)})


@dataclass(frozen=True, kw_only=True)
class EditOptions(Request):
    """How sentences are edited."""

    nbest: int = described("hypotheses for each sentence at most", 1, minimum=1, maximum=16)
    max_iter: int = described("iterations at most", 10, minimum=1, maximum=50)
    empty_penalty: float | None = described(
        "makes longer outputs likelier (default: the model's)", None, minimum=0, maximum=3
    )
    delete_threshold: float | None = described(
        "probability above which a token is deleted (default: the model's)",
        None,
        minimum=0,
        maximum=1,
    )


@dataclass(frozen=True, kw_only=True)
class EditRequest(EditOptions):
    """Sentences for an edit model."""

    sentences: tuple[Sentence, ...] = described("what to edit")

    @property
    def rows(self) -> tuple[Sentence, ...]:
        """The sentences."""
        return self.sentences


@dataclass(frozen=True, kw_only=True)
class CorrectOptions(Request):
    """How lines are corrected."""

    min_confidence: float | None = described(
        "edits below this probability are not applied (default: as the model was tuned)",
        None,
        minimum=0,
        maximum=1,
    )
    protect_words: tuple[str, ...] = described("words that stay as they are", ())


@dataclass(frozen=True, kw_only=True)
class CorrectRequest(CorrectOptions):
    """Lines for a corrector."""

    lines: tuple[str, ...] = described("what to correct, a line each")

    @property
    def rows(self) -> tuple[str, ...]:
        """The lines."""
        return self.lines


@dataclass(frozen=True, kw_only=True)
class PredictOptions(Request):
    """How texts are labelled."""

    top_k: int | None = described("also the N likeliest labels", None, minimum=1)
    threshold: float | None = described(
        "many labels: those above this probability hold (default: the best in validation)",
        None,
        minimum=0,
        maximum=1,
    )
    labels: tuple[str, ...] | None = described("look at these labels alone", None)


@dataclass(frozen=True, kw_only=True)
class PredictRequest(PredictOptions):
    """Texts for an EncT5."""

    texts: tuple[str, ...] = described("what to predict of")
    pairs: tuple[str, ...] | None = described(
        "the second texts, as many, where the model was trained on pairs", None
    )

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """
        Raises:
            UserError: not as many second texts as first ones.
        """
        if self.pairs is None:
            return tuple((text,) for text in self.texts)
        if len(self.pairs) != len(self.texts):
            raise UserError(f"{len(self.texts)} texts but {len(self.pairs)} pairs; send as many")
        return tuple(zip(self.texts, self.pairs, strict=True))
