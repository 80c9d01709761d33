"""Predictions of an EncT5, and how they are made of scores.

Shapes: W words, N labels or classes.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

CLASSIFICATION, REGRESSION, TAGGING = "classification", "regression", "tagging"
MULTILABEL, MULTILABEL_POOLED = "multilabel", "multilabel_pooled"
MANY = (MULTILABEL, MULTILABEL_POOLED)  #: kinds where any number of labels may hold
OUTSIDE = "O"
FIRST = frozenset("BSU")  #: prefixes that always begin an entity
LAST = frozenset("ELSU")  #: … and that always end one
_TAG = re.compile(r"[BIELSU]-.+", re.DOTALL)


class Scored(NamedTuple):
    """A label and its probability, in [0, 1]."""

    label: str
    score: float


class Entity(NamedTuple):
    """Words ``start`` … ``end`` (exclusive) of a sentence, and what they are."""

    label: str
    start: int
    end: int


def marks_entities(labels: Sequence[str]) -> bool:
    """Returns whether the labels are tags of entities, B-PER and the like, and O."""
    others = [label for label in labels if label != OUTSIDE]
    return 0 < len(others) < len(labels) and all(_TAG.fullmatch(label) for label in others)


def entities(tags: Sequence[str]) -> list[Entity]:
    """Returns the entities of one sentence, in order."""
    ended = []
    start, prefix, kind = 0, OUTSIDE, ""
    for place, tag in enumerate([*tags, OUTSIDE]):
        before, kind_before = prefix, kind
        prefix, _, kind = tag.partition("-")
        inside = before != OUTSIDE and before not in LAST and kind == kind_before
        begins = prefix in FIRST or (prefix != OUTSIDE and not inside)
        if before != OUTSIDE and (begins or prefix == OUTSIDE):
            ended.append(Entity(kind_before, start, place))
        if begins:
            start = place
    return ended


def _plain(value: Any) -> Any:
    """Returns a value for JSON: records as objects, tuples as lists, floats in six digits."""
    if isinstance(value, Scored | Entity):
        value = value._asdict()
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items() if part is not None}
    if isinstance(value, tuple):
        return list(map(_plain, value))
    return round(value, 6) if isinstance(value, float) else value


@dataclass(frozen=True)
class Prediction:
    """The prediction for a text, or a pair; None is what its kind does not have.

    >>> from lev_runtime.labels.predictions import Prediction
    >>> Prediction(("a text",), label="news", score=0.91).to_dict()
    {'text': 'a text', 'label': 'news', 'score': 0.91, 'cut': False}

    label, score: the best class and its probability. labels, scores: of many labels those above the
    threshold, the likeliest first. value: of regression. top: the likeliest labels (of each word),
    where they were asked for. cut: whether the text, or a word, was longer than the model reads, so
    that its end was not.

    Of a sentence that was tagged, which has words instead of texts: tags, scores: of each
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
        """Returns what the kind has, for JSON; probabilities have six digits, values seven."""
        record: dict[str, Any] = _plain(vars(self))
        texts = record.pop("texts")
        if self.value is not None:
            record["value"] = float(f"{self.value:.7g}")
        if self.words is None:
            inputs = {"text": texts[0]} if len(texts) == 1 else {"texts": texts}
            record = inputs | record
        return record


class Wanted(NamedTuple):
    """The kind, names of labels and the caller's options, which scores are read by."""

    kind: str
    names: Sequence[str]
    top_k: int | None
    threshold: float

    def record(self, texts: tuple[str, ...], scores: Sequence[np.ndarray], cut: bool) -> Prediction:
        """Returns the prediction for texts, or words, from the scores of each window, W × N.

        There is one window, 1 × N, unless words are tagged.
        """
        if self.kind == REGRESSION:
            return Prediction(texts, value=scores[0].item(), cut=cut)
        ranked = [row for window in scores for row in self._ranked(window)]
        tops = tuple(tuple(row[: self.top_k]) for row in ranked) if self.top_k else None
        if self.kind == TAGGING:
            tags = tuple(row[0].label for row in ranked)
            chances = tuple(row[0].score for row in ranked)
            phrases = tuple(entities(tags)) if marks_entities(self.names) else None
            return Prediction(
                words=texts,
                tags=tags,
                scores=chances,
                top=tops,
                entities=phrases,
                windows=len(scores),
                cut=cut,
            )
        best = ranked[0]
        top = tops and tops[0]
        if self.kind not in MANY:
            label, score = best[0]
            return Prediction(texts, label=label, score=score, top=top, cut=cut)
        holding = [scored for scored in best if scored.score > self.threshold]
        labels, chances = tuple(zip(*holding)) or ((), ())
        return Prediction(texts, labels=labels, scores=chances, top=top, cut=cut)

    def _ranked(self, scores: np.ndarray) -> list[list[Scored]]:
        """Returns the labels of each row, the likeliest first; of equal ones the first."""
        # doubles: the threshold is one, and singles would be compared with it rounded
        values = scores.astype(np.float64)
        order = np.argsort(-values, axis=1, kind="stable")
        above = int((values > self.threshold).sum()) if self.kind in MANY else 1
        count = max(self.top_k or 1, above)  # there may be thousands of labels
        order = order[:, :count]
        best = np.take_along_axis(values, order, 1)
        ranked = []
        for row, places in zip(best.tolist(), order.tolist()):
            labels = [self.names[place] for place in places]
            ranked.append([*map(Scored, labels, row)])
        return ranked
