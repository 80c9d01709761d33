"""What an EncT5 says of a text: the records, and how they are made of scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from torch import Tensor

from ..systems.enct5.entities import Entity, entities, marks_entities
from ..systems.enct5.problem_types import ProblemType


class Scored(NamedTuple):
    """A label and its probability, in [0, 1]."""

    label: str
    score: float


def _plain(value: Any) -> Any:
    """Ready for JSON: records as objects, tuples as lists, probabilities with six digits."""
    if isinstance(value, Scored | Entity):
        value = value._asdict()
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, tuple):
        return list(map(_plain, value))
    return round(value, 6) if isinstance(value, float) else value


@dataclass(frozen=True)
class Prediction:
    """What a model says of one text, or of a pair; None is what its kind does not say.

    label, score: the best class and its probability. labels, scores: of many labels those above the
    threshold, the likeliest first. value: of regression. top: the likeliest labels (of each word),
    where they were asked for. cut: whether the text, or a word, was longer than the model reads, so
    that its end was not.

    Of a sentence that was tagged, which has words in the place of texts: tags, scores: of each
    word. entities: that the tags mark; None where they are of another kind. windows: how many parts
    the sentence was read in.
    """

    texts: tuple[str, ...] = ()
    words: tuple[str, ...] | None = None
    label: str | None = None
    score: float | None = None
    tags: tuple[str, ...] | None = None
    labels: tuple[str, ...] | None = None
    scores: tuple[float, ...] | None = None
    value: float | None = None
    top: tuple[Any, ...] | None = None
    entities: tuple[Entity, ...] | None = None
    windows: int | None = None
    cut: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON: what the kind has; probabilities have six digits, values seven."""
        record: dict[str, Any] = _plain(vars(self))
        texts = record.pop("texts")
        if self.value is not None:
            record["value"] = float(f"{self.value:.7g}")
        if self.words is not None:
            return record
        source = {"text": texts[0]} if len(texts) == 1 else {"texts": texts}
        return source | record


class Answer(NamedTuple):
    """How predictions are made of scores: problem type, names of labels, the caller's options."""

    problem_type: ProblemType
    names: Sequence[str]
    top_k: int | None
    threshold: float

    def prediction(
        self, texts: tuple[str, ...], scores: Sequence[Tensor], truncated: bool
    ) -> Prediction:
        """Of texts, or words, from the scores of each window, W × N; of what is not tagged there is
        one, 1 × N.
        """
        if self.problem_type is ProblemType.REGRESSION:
            return Prediction(texts, value=scores[0].item(), cut=truncated)
        ranked = [row for window in scores for row in self._ranked(window)]
        tops = tuple(tuple(row[: self.top_k]) for row in ranked) if self.top_k else None
        if self.problem_type is ProblemType.TAGGING:
            tags = tuple(row[0].label for row in ranked)
            return Prediction(
                words=texts,
                tags=tags,
                scores=tuple(row[0].score for row in ranked),
                top=tops,
                entities=tuple(entities(tags)) if marks_entities(self.names) else None,
                windows=len(scores),
                cut=truncated,
            )
        (row,) = ranked
        top = tops[0] if tops else None
        if not self.problem_type.is_multilabel:
            label, score = row[0]
            return Prediction(texts, label=label, score=score, top=top, cut=truncated)
        holding = [scored for scored in row if scored.score > self.threshold]
        labels = tuple(scored.label for scored in holding)
        probabilities = tuple(scored.score for scored in holding)
        return Prediction(texts, labels=labels, scores=probabilities, top=top, cut=truncated)

    def _ranked(self, scores: Tensor) -> list[list[Scored]]:
        """Row by row the labels, the likeliest first; of equals the one that comes first."""
        # doubles: the threshold is one, and singles would be compared with it rounded
        values, labels = scores.double().sort(descending=True, stable=True)
        num_above = int((values > self.threshold).sum()) if self.problem_type.is_multilabel else 1
        count = max(self.top_k or 1, num_above)  # there may be thousands of labels
        ranked = []
        for row in zip(values[:, :count].tolist(), labels[:, :count].tolist()):
            ranked.append([Scored(self.names[label], value) for value, label in zip(*row)])
        return ranked
