"""EncT5 from Python: a checkpoint alone, answers in order, the same in any batch."""

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
from hypothesis import example, given, settings
from hypothesis import strategies as st
from refusals import NO_NUMBERS, refuses

from lev_plugins import EncT5
from lev_plugins.systems.enct5.dataset import Example, collate
from lev_plugins.systems.enct5.problem_types import KINDS, ProblemType
from lev_runtime.labels.predictions import entities

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
def models():
    """Of each kind, and one that reads pairs."""
    predictors = {kind: editors.enct5(kind, limit=LIMIT) for kind in KINDS}
    return {**predictors, "pairs": editors.enct5("classification", 2, LIMIT)}


def assert_same(first: list[Any], second: list[Any]) -> None:
    """The same records; scores may differ in their last digits."""
    assert first == rounded([record.to_dict() for record in second])


def given_to(model: EncT5, texts: list[str]) -> list[Any]:
    """Pairs where the model reads pairs."""
    return list(zip(texts, reversed(texts))) if model.metadata.texts_per_example > 1 else texts


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
    (moved,) = EncT5.from_pretrained(tmp_path).predict_tags(["a bc d"])
    assert_same([moved.to_dict()], models["tagging"].predict_tags(["a bc d"]))


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
    texts = given_to(model, ["one two", "", "six", "a b c d e f"])
    for text, prediction in zip(texts, model.predict(texts, 9 if ranks else None), strict=True):
        scores = scores_of(model, text if name == "pairs" else (text,))
        ranked = sorted(zip(scores, LABELS), reverse=True)
        record = {"value": scores[0]}
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


def test_a_score_that_equals_the_threshold_is_not_above_it(models, tmp_path):
    model = models["multilabel"]
    first = model.predict(["one"], threshold=0.0)[0]
    assert len(first.labels) == len(LABELS)
    hardly = first.scores[1] - 1e-12  # which single precision rounds up
    for threshold, count in ((first.scores[1], 1), (hardly, 2), (1.0, 0)):
        (prediction,) = model.predict(["one"], 3, threshold=threshold)
        assert prediction.labels == first.labels[:count]
    kept = EncT5.from_pretrained(save(tmp_path / "x.pt", "multilabel", threshold=hardly))
    assert kept.predict(["one"])[0].labels == first.labels[:2]


@settings(max_examples=8)
@given(
    texts=st.lists(st.text(st.sampled_from("ab ö☃\t"), max_size=LIMIT + 10), max_size=9),
    budget=st.integers(1, 120),
    buffer=st.integers(1, 9),
)
@pytest.mark.parametrize("name", [*KINDS, "pairs"])
def test_a_text_has_the_same_answer_alone_and_in_any_batch(models, name, texts, budget, buffer):
    model = models[name]
    inputs = given_to(model, texts)
    alone = [prediction.to_dict() for text in inputs for prediction in model.stream([text])]
    tight = EncT5(model.model, model.task, budget)
    assert_same(alone, list(tight.stream(inputs, buffer=buffer)))


def test_decoder_positions_count_against_the_budget(models, monkeypatch):
    """Three labels a text are three positions, however short the text is."""
    model, shapes = EncT5(models["multilabel"].model, models["multilabel"].task, 6), []
    forward = model.model.forward

    def noting(**columns):
        shapes.append(tuple(columns["latents"].shape))
        return forward(**columns)

    monkeypatch.setattr(model.model, "forward", noting)
    model.predict(["a"] * 5)
    assert shapes == [(2, 3), (2, 3), (1, 3)]


# tags ---------------------------------------------------------------------------------------


@settings(max_examples=25)
@example([1] * 40)
@given(lengths=st.lists(st.integers(1, LIMIT + 4), min_size=1, max_size=30))
def test_long_sentences_are_read_in_windows_of_whole_words(models, lengths):
    """Each window holds as many words as fit, and is tagged as a sentence of its own."""
    model = models["tagging"]
    words = ["x" * length for length in lengths]
    windows = []
    for word in words:
        if not windows or len(" ".join([*windows[-1], word])) > LIMIT - 1:
            windows.append([])
        windows[-1].append(word)
    (prediction,) = model.predict_tags([words])
    alone = model.predict_tags(windows)
    assert prediction.windows == len(windows) and all(part.windows == 1 for part in alone)
    assert prediction.tags == tuple(tag for part in alone for tag in part.tags)
    assert prediction.cut == any(length > LIMIT - 1 for length in lengths)


def test_entities_that_tags_mark_are_named(models):
    predictor = editors.enct5("tagging", labels=["O", "B-X", "I-X"])
    (prediction,) = predictor.predict_tags(["A B C D Z X Y"])
    assert prediction.entities == tuple(entities(prediction.tags)) and len(set(prediction.tags)) > 1
    (other,) = models["tagging"].predict_tags(["  a\u00a0b \n"], 2)
    assert other.entities is None and other.words == ("a", "b")
    assert [len(word) for word in other.top] == [2, 2]


@pytest.mark.parametrize(
    "name, inputs, message, options",
    [
        ("classification", "a b", "texts", {}),
        ("classification", ["a", ("a", "b")], "single texts", {}),
        ("pairs", [("a", "b"), "ab"], "'ab'", {}),
        ("tagging", [["a", 3]], "3", {}),
        *(
            (name, [], f"{option}", {option: value})
            for name, option, value in (
                *(("multilabel", "threshold", value) for value in NO_NUMBERS),
                ("classification", "threshold", 0.5),
                ("regression", "top_k", 1),
            )
        ),
    ],
)
def test_wrong_use_is_told_in_one_line(models, name, inputs, message, options):
    with refuses(message):
        models[name].predict(inputs, **options)
