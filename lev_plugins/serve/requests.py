"""What ``lev-serve`` is asked: the fields of ``/edit``, ``/correct`` and ``/predict``.

Places in a text are counted in characters (Unicode code points), from 0.
"""

from dataclasses import dataclass
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


@dataclass(frozen=True)
class EditOptions:
    """How sentences are edited; sentences with the same options may share a batch."""

    nbest: int = 1
    max_iter: int = 10
    empty_penalty: float | None = None
    delete_threshold: float | None = None


@dataclass(frozen=True)
class EditRequest:
    """Sentences for an edit model."""

    sentences: tuple[Sentence, ...] = described("what to edit")
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

    @property
    def rows(self) -> tuple[Sentence, ...]:
        return self.sentences

    @property
    def options(self) -> EditOptions:
        return EditOptions(self.nbest, self.max_iter, self.empty_penalty, self.delete_threshold)


@dataclass(frozen=True)
class CorrectOptions:
    """How lines are corrected."""

    min_confidence: float | None = None
    protect_words: tuple[str, ...] = ()


@dataclass(frozen=True)
class CorrectRequest:
    """Lines for a corrector."""

    lines: tuple[str, ...] = described("what to correct, a line each")
    min_confidence: float | None = described(
        "edits below this probability are not applied (default: as the model was tuned)",
        None,
        minimum=0,
        maximum=1,
    )
    protect_words: tuple[str, ...] = described("words that stay as they are", ())

    @property
    def rows(self) -> tuple[str, ...]:
        return self.lines

    @property
    def options(self) -> CorrectOptions:
        return CorrectOptions(self.min_confidence, self.protect_words)


@dataclass(frozen=True)
class PredictOptions:
    """How texts are labelled."""

    top_k: int | None = None
    threshold: float | None = None
    labels: tuple[str, ...] | None = None


@dataclass(frozen=True)
class PredictRequest:
    """Texts for an EncT5."""

    texts: tuple[str, ...] = described("what to predict of")
    pairs: tuple[str, ...] | None = described(
        "the second texts, as many, where the model was trained on pairs", None
    )
    top_k: int | None = described("also the N likeliest labels", None, minimum=1)
    threshold: float | None = described(
        "many labels: those above this probability hold (default: the best in validation)",
        None,
        minimum=0,
        maximum=1,
    )
    labels: tuple[str, ...] | None = described("look at these labels alone", None)

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

    @property
    def options(self) -> PredictOptions:
        return PredictOptions(self.top_k, self.threshold, self.labels)
