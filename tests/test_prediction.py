"""EncT5 from Python: a checkpoint alone, and answers in order."""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import editors
import pytest
import saved
import torch
from closeness import rounded
from editors import LABELS
from refusals import refuses

from lev_plugins import EncT5
from lev_plugins.systems.enct5.dataset import Example, collate
from lev_plugins.systems.enct5.problem_types import KINDS, ProblemType

LIMIT = 24


@functools.cache
def configuration(kind: str) -> Any:
    """Settings as fairseq-train saves them, of :data:`editors.ENCT5`."""
    words = f"nowhere/data --task enct5 --kind {kind} --arch enct5_tiny --criterion enct5"
    sizes = [f"--{name.replace('_', '-')}={value}" for name, value in editors.ENCT5.items()]
    return saved.configuration([*words.split(), *sizes, "--optimizer", "adam"])


def save(
    path: Path, kind: str, texts: int = 1, labels: Sequence[str] = LABELS, threshold: float = 0.4
) -> Path:
    """A checkpoint as fairseq-train writes it, of a model that was not trained."""
    model = editors.enct5(kind, texts, LIMIT, labels)
    kept = {**model.task.state_dict(), "threshold": threshold}
    return saved.write(path, configuration(kind), model.model, kept)


@pytest.fixture(scope="module")
def models() -> dict[str, EncT5]:
    """Of each kind, and one that reads pairs."""
    predictors = {kind: editors.enct5(kind, limit=LIMIT) for kind in KINDS}
    return {**predictors, "pairs": editors.enct5("classification", 2, LIMIT)}


def assert_same(first: list[Any], second: list[Any]) -> None:
    """The same records; scores may differ in their last digits."""
    assert first == rounded([record.to_dict() for record in second])


# loading ------------------------------------------------------------------------------------


def changed(path: Path, change: Callable[[dict[str, Any]], Any]) -> str:
    """The checkpoint after ``change`` of its state."""
    state = torch.load(path, weights_only=True)
    change(state)
    torch.save(state, path)
    return str(path)


def test_a_checkpoint_needs_its_data_no_more_and_knows_other_options(tmp_path, models):
    def older(state):
        state["cfg"]["model"].pop("dropout")  # as if the option had come later
        state["cfg"]["model"].update(t5_rows=0)  # which has gone

    changed(save(tmp_path / "model.pt", "tagging"), older)
    moved = EncT5.from_pretrained(tmp_path)
    assert_same(
        [moved.predict_tags(["a bc d"])[0].to_dict()], models["tagging"].predict_tags(["a bc d"])
    )
    assert moved.threshold == 0.4


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda state: state.pop("task_state"), "description"),
        (lambda state: state["task_state"]["description"].update(kind="x"), "--kind x"),
        (lambda state: state["task_state"]["description"].update(pieces=["a"]), "model.pt"),
        (lambda state: state["model"].pop("head.weight"), "head.weight"),
    ],
)
def test_a_checkpoint_that_does_not_serve_is_named(tmp_path, change, message):
    path = changed(save(tmp_path / "model.pt", "tagging"), change)
    with refuses(message):
        EncT5.from_pretrained(path)


# answers ------------------------------------------------------------------------------------


@torch.no_grad()
def scores_of(model: EncT5, parts: Sequence[str]) -> list[float]:
    """By hand: the scores of one text, or two, in a batch of its own."""
    cut = model.tokenizer.encode_texts(parts, LIMIT)
    example = Example(torch.tensor(cut.pieces), torch.zeros(0).long(), torch.zeros(0))
    columns = collate([[example]], model.problem_type, model.task.num_labels)
    return model.problem_type.scores(model.model(**columns))[0].tolist()


@pytest.mark.parametrize("name", [*(kind for kind in KINDS if kind != "tagging"), "pairs"])
def test_answers_follow_from_the_scores(models, name):
    model = models[name]
    ranks = model.problem_type is not ProblemType.REGRESSION
    many = model.problem_type.is_multilabel
    texts: list[Any] = ["one two", "", "six", "a b c d e f"]
    if name == "pairs":
        texts = list(zip(texts, reversed(texts)))
    for text, prediction in zip(texts, model.predict(texts, 9 if ranks else None), strict=True):
        scores = scores_of(model, text if name == "pairs" else (text,))
        ranked = sorted(zip(scores, LABELS), reverse=True)
        record: dict[str, Any] = {"value": scores[0]}
        if ranks:
            record = {"top": [{"label": label, "score": score} for score, label in ranked]}
        if many:
            holding = [pair for pair in ranked if pair[0] > 0.5]
            record["labels"] = [label for _, label in holding]
            record["scores"] = [score for score, _ in holding]
        elif ranks:
            record["score"], record["label"] = ranked[0]
        read = {"texts": list(text)} if name == "pairs" else {"text": text}
        assert prediction.to_dict() == rounded({**read, **record, "cut": False})
