"""EncT5 from Python: a checkpoint alone, answers in order, the same in any batch."""

import copy
import dataclasses
import functools
import itertools
import math
import os
from pathlib import Path
from typing import Any

import pytest
import saved
import torch
from closeness import near
from hypothesis import example, given, settings
from hypothesis import strategies as st
from refusals import refuses
from saved import write
from torch import Tensor

from lev_plugins import EncT5
from lev_plugins.inference.enct5 import Prediction, Tagged
from lev_plugins.systems.enct5 import EncT5Task, EncT5TaskConfig
from lev_plugins.systems.enct5.dataset import Example, collate
from lev_plugins.systems.enct5.metadata import Metadata
from lev_plugins.systems.enct5.metrics import entities
from lev_plugins.systems.enct5.problem_types import KINDS, ProblemType
from lev_plugins.systems.enct5.tokenizer import Tokenizer
from lev_plugins.systems.enct5.writing import trained_cutter

SIZES = (
    "--encoder-embed-dim 16 --encoder-ffn-embed-dim 16 --encoder-layers 1 "
    "--encoder-attention-heads 2 --attention-head-dim 8"
)
LABELS = ["red", "green", "blue", "grey", "dark blue"]
LIMIT = 24


def metadata(kind: str, texts: int = 1, pieces: bool = False, limit: int = LIMIT) -> Metadata:
    """Of data with five labels, in bytes or in 40 subwords."""
    tokenizer = Tokenizer(None)
    if pieces:
        words = ("one", "two", "three", "four", "five", "six")
        tokenizer = trained_cutter((" ".join(p) for p in itertools.permutations(words, 3)), 40)
    labels = [] if kind == "regression" else LABELS
    prepared = "multilabel" if kind == "multilabel_pooled" else kind
    return Metadata(
        prepared,
        labels,
        tokenizer.pieces,
        [1] * len(labels),
        texts=texts,
        max_length=limit,
        model=tokenizer.serialised,
    )


@functools.cache
def configuration() -> Any:
    """Settings as fairseq-train saves them."""
    words = (
        f"nowhere/data --task enct5 --kind tagging --arch enct5_tiny --criterion enct5 {SIZES} "
        "--optimizer adam"
    )
    return saved.configuration(words.split())


def save(path: Path, kind: str, of: Metadata | None = None, threshold: float | None = 0.4) -> Path:
    """A checkpoint as fairseq-train writes it, of a model that was not trained."""
    of = metadata(kind) if of is None else of
    cfg = copy.deepcopy(configuration())
    cfg.task.kind = kind
    torch.manual_seed(1)
    task = EncT5Task(EncT5TaskConfig(kind=kind), of)
    model = task.build_model(cfg.model)
    for parameter in model.head.parameters():  # so that answers differ from text to text
        torch.nn.init.normal_(parameter, std=0.5)
    kept = {**task.state_dict(), "threshold": threshold}
    told = {name: value for name, value in kept.items() if value is not None}
    return write(path, cfg, model, told)


def changed(path: Path, change: Any) -> str:
    """The checkpoint after ``change`` of its state."""
    state = torch.load(path, weights_only=True)
    change(state)
    torch.save(state, path)
    return str(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of each kind, and one of pairs in subwords."""
    made = tmp_path_factory.mktemp("predict")
    for kind in KINDS:
        save(made / kind / "checkpoint_best.pt", kind)
    pairs = metadata("classification", texts=2, pieces=True)
    save(made / "pairs" / "checkpoint_best.pt", "classification", pairs)
    tags = metadata("tagging", pieces=True)
    save(made / "pieces" / "checkpoint_best.pt", "tagging", tags)
    return made


@pytest.fixture(scope="module")
def models(folder: Path) -> dict[str, EncT5]:
    return {name: EncT5.from_pretrained(str(folder / name)) for name in os.listdir(folder)}


def without_scores(value: Any, scores: list[float]) -> Any:
    """A record as JSON without its scores, which are added to the list."""
    if isinstance(value, float):
        scores.append(value)
        return None
    if isinstance(value, dict):
        return {name: without_scores(one, scores) for name, one in value.items()}
    return [without_scores(one, scores) for one in value] if isinstance(value, list) else value


def assert_same(one: list[Any], other: list[Any]) -> None:
    """The same records, as objects or as JSON; scores may differ in their last digits."""
    sides: list[tuple[Any, list[float]]] = []
    for records in (one, other):
        plain = [each if isinstance(each, dict) else each.to_dict() for each in records]
        scores: list[float] = []
        sides.append((without_scores(plain, scores), scores))
    assert sides[0][0] == sides[1][0]
    assert sides[0][1] == near(sides[1][1])


def answers(model: EncT5, texts: list[Any], **options: Any) -> list[Any]:
    return list(model.stream(texts, **options))


def given_to(model: EncT5, texts: list[str]) -> list[Any]:
    """Pairs where the model reads pairs."""
    pairs = model.metadata.texts > 1
    return list(zip(texts, reversed(texts))) if pairs else texts


# loading ------------------------------------------------------------------------------------


def test_a_checkpoint_needs_neither_its_data_nor_its_t5(folder, models, tmp_path):
    def began_with_a_t5(state):
        state["cfg"]["model"].pop("dropout")  # as if the option had come later
        folders = {"t5_dir": "/nowhere/t5", "bert_dir": "/nowhere/bert"}
        state["cfg"]["model"].update(folders, decoder_init="t5", t5_rows=0)  # the last has gone
        state["cfg"]["task"]["data"] = "/nowhere/data"

    (tmp_path / "model.pt").write_bytes((folder / "tagging/checkpoint_best.pt").read_bytes())
    changed(tmp_path / "model.pt", began_with_a_t5)
    moved = EncT5.from_pretrained(str(tmp_path))
    assert_same(moved.predict_tags(["a bc d"]), models["tagging"].predict_tags(["a bc d"]))


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda s: s.pop("task_state"), "description"),
        (lambda s: s["task_state"]["description"].update(kind="x"), "--kind x"),
        (lambda s: s["task_state"]["description"].update(pieces=["a"]), "model.pt"),
        (lambda s: s["model"].pop("head.weight"), "head.weight"),
    ],
)
def test_a_checkpoint_that_does_not_serve_is_named(tmp_path, change, message):
    path = save(tmp_path / "model.pt", "tagging")
    with refuses(message):
        EncT5.from_pretrained(changed(path, change))


# what is found ------------------------------------------------------------------------------


def scores_of(model: EncT5, cut: Any) -> list[list[float]]:
    """By hand: the scores of one row that stands alone."""
    one = Example(torch.tensor(cut.pieces), torch.tensor(cut.spans).long(), torch.zeros(0))
    columns = collate([[one]], model.kind, model.task.number)
    with torch.no_grad():
        return model.kind.scores(model.model(**columns)).tolist()


@pytest.mark.parametrize("kind", ["classification", "pairs"])
def test_the_class_is_the_likeliest(models, kind):
    model = models[kind]
    texts = given_to(model, ["one two", "", "six", "three one"])
    for text, found in zip(texts, model.predict(texts, top_k=9)):
        parts = [text] if isinstance(text, str) else list(text)
        (scores,) = scores_of(model, model.tokenizer.texts(parts, LIMIT))
        ranked = sorted(zip(scores, LABELS), reverse=True)
        assert [one.label for one in found.top] == [label for _, label in ranked]
        assert [one.score for one in found.top] == pytest.approx([p for p, _ in ranked], abs=1e-5)
        assert (found.label, found.score) == found.top[0]
        assert found.texts == tuple(parts) and sum(scores) == pytest.approx(1)
        assert found.labels is None and found.value is None
    assert model.predict(texts)[0].top is None


def test_a_value_is_the_models(models):
    model, texts = models["regression"], ["one", "", "two three"]
    wanted = [scores_of(model, model.tokenizer.texts([text], LIMIT))[0][0] for text in texts]
    assert [one.value for one in model.predict(texts)] == pytest.approx(wanted)


@pytest.mark.parametrize("kind", ["multilabel", "multilabel_pooled"])
def test_labels_above_the_threshold_hold_the_likeliest_first(models, kind):
    model = models[kind]
    texts = ["one", "two three", "", "fourfour", "a b c d e f"]
    scores = [scores_of(model, model.tokenizer.texts([text], LIMIT))[0] for text in texts]
    lower, upper = sorted(row[0] for row in scores)[2:4]
    between = (lower + upper) / 2  # of two texts the first label is above it
    for threshold in (None, between):
        for row, found in zip(scores, model.predict(texts, 2, threshold)):
            ranked = sorted(zip(row, LABELS), reverse=True)
            above = 0.4 if threshold is None else threshold
            holding = [(label, score) for score, label in ranked if score > above]
            assert found.labels == tuple(label for label, _ in holding)
            assert found.scores == pytest.approx([score for _, score in holding], abs=1e-5)
            assert [one.label for one in found.top] == [label for _, label in ranked[:2]]
    found = model.predict(texts, threshold=between)
    assert sum(LABELS[0] in one.labels for one in found) == 2


def test_a_score_that_equals_the_threshold_is_not_above_it(models):
    model = models["multilabel"]
    first = model.predict(["one"], threshold=0.0)[0]
    assert len(first.labels) == len(LABELS)
    for top_k in (None, 5):
        second = model.predict(["one"], top_k, threshold=first.scores[1])[0]
        assert second.labels == first.labels[:1]
    hardly = model.predict(["one"], threshold=first.scores[1] - 1e-12)[0]
    assert hardly.labels == first.labels[:2], "the threshold was rounded"
    assert model.predict(["one"], threshold=1.0)[0].labels == ()
    lowest = model.predict(["one"], threshold=first.scores[-1])[0]
    assert lowest.labels == first.labels[:-1]


# the same in any batch ----------------------------------------------------------------------

TEXTS = st.lists(st.text(st.sampled_from("ab ö☃\t"), max_size=LIMIT + 10), max_size=9)


@settings(max_examples=8)
@given(texts=TEXTS, budget=st.integers(1, 120), buffer=st.integers(1, 9))
@pytest.mark.parametrize("name", [*KINDS, "pairs", "pieces"])
def test_a_text_has_the_same_answer_alone_and_in_any_batch(models, name, texts, budget, buffer):
    model = models[name]
    inputs = given_to(model, texts)
    options = {} if model.kind is ProblemType.REGRESSION else {"top_k": 1}
    alone = [answers(model, [text], **options)[0] for text in inputs]
    tight = EncT5(model.model, model.task, budget)
    assert_same(answers(tight, inputs, buffer=buffer, **options), alone)
    assert_same(answers(model, inputs, **options), alone)


def batch_shapes(model: EncT5, texts: list[str]) -> list[tuple[int, int]]:
    """Rows of each batch that the model reads, and its subwords or decoder positions."""
    seen = []

    def note(_: Any, __: Any, given: dict[str, Tensor]) -> None:
        columns = max(given[name].size(1) for name in ("tokens", "latents"))
        seen.append((len(given["tokens"]), columns))

    hook = model.model.register_forward_pre_hook(note, with_kwargs=True)
    model.predict(texts)
    hook.remove()
    return seen


def test_decoder_positions_count_against_the_budget(models):
    """Five labels a text are five positions, however short the text is."""
    model = EncT5(models["multilabel"].model, models["multilabel"].task, 10)
    assert batch_shapes(model, ["a"] * 5) == [(2, 5), (2, 5), (1, 5)]


# tags ---------------------------------------------------------------------------------------


@settings(max_examples=25)
@example([1] * 40)
@given(lengths=st.lists(st.integers(1, LIMIT + 4), min_size=1, max_size=30))
def test_long_sentences_are_read_in_windows_of_whole_words(models, lengths):
    """Each window holds as many words as fit, and is tagged as a sentence of its own."""
    model = models["tagging"]
    words = ["x" * length for length in lengths]
    windows, room = [], 0
    for word in words:
        if not windows or len(word) + 1 > room:  # a space stands before all but the first
            windows.append([])
            room = LIMIT - 1 + 1
        windows[-1].append(word)
        room -= len(word) + 1
    (found,) = model.predict_tags([words])
    alone = model.predict_tags(windows)
    assert found.windows == len(windows) and all(one.windows == 1 for one in alone)
    assert found.tags == tuple(tag for one in alone for tag in one.tags)
    assert found.scores == pytest.approx([p for one in alone for p in one.scores], abs=1e-5)
    assert found.cut == any(length > LIMIT - 1 for length in lengths)


def test_entities_that_tags_mark_are_named(tmp_path):
    of = dataclasses.replace(metadata("tagging"), labels=["O", "B-X", "I-X"], counts=[1] * 3)
    model = EncT5.from_pretrained(str(save(tmp_path / "model.pt", "tagging", of)))
    (found,) = model.predict_tags(["a b c d e f g h"])
    assert found.entities == tuple(entities(found.tags)) and len(set(found.tags)) > 1
    told = [{"label": one.label, "start": one.start, "end": one.end} for one in found.entities]
    assert found.to_dict()["entities"] == told
    (other,) = EncT5.from_pretrained(str(save(tmp_path / "other.pt", "tagging"))).predict_tags(
        ["  a\u00a0b \n"], 2
    )
    assert (
        other.entities is None
        and other.words == ("a", "b")
        and [len(word) for word in other.top] == [2, 2]
    )


# without an end -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["classification", "tagging"])
def test_a_stream_takes_no_more_than_its_buffer(models, kind):
    model, taken = models[kind], []

    def endless():
        for number in itertools.count():
            taken.append(number)
            yield "a b"

    stream = model.stream(endless(), buffer=4)
    assert not taken, "nothing is read before it is asked for"
    for number in range(1, 11):
        next(stream)
        assert len(taken) == 4 * math.ceil(number / 4)
    one = model.stream(endless(), buffer=1)
    for number in range(13, 16):
        next(one)
        assert len(taken) == number, "with a buffer of one each is answered at once"


# mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, call, message",
    [
        ("tagging", lambda m: m.predict(["a"]), "predict_tags()"),
        ("multilabel", lambda m: m.predict_tags(["a"]), "predict()"),
        ("classification", lambda m: m.predict("a b"), "texts: takes a list"),
        ("tagging", lambda m: m.predict_tags("a b"), "sentences: takes a list"),
        ("classification", lambda m: m.predict(["a", ("a", "b")]), "single texts"),
        ("pairs", lambda m: m.predict([("a", "b"), "ab"]), "'ab'"),
        ("classification", lambda m: m.predict(["a", None]), "None is no text"),
        ("tagging", lambda m: m.predict_tags([["a", 3]]), "3"),
        ("multilabel", lambda m: m.predict([], threshold=1.01), "threshold 1.01"),
        ("classification", lambda m: m.predict([], threshold=0.5), "threshold"),
        ("regression", lambda m: m.predict([], top_k=1), "top_k"),
    ],
)
def test_wrong_use_is_told_in_one_line(models, name, call, message):
    with refuses(message):
        call(models[name])


# records ------------------------------------------------------------------------------------


def test_records_have_what_the_kind_has():
    scored = Prediction(("a", "b"), label="red", score=0.12345678).to_dict()
    assert scored == {"texts": ["a", "b"], "label": "red", "score": 0.123457, "cut": False}
    valued = Prediction(("a",), value=1234.56789, cut=True).to_dict()
    assert valued == {"text": "a", "value": 1234.568, "cut": True}
    none = Prediction(("",), labels=(), scores=(), top=())
    assert none.to_dict() == {"text": "", "labels": [], "scores": [], "top": [], "cut": False}
    assert Tagged(("a",), ("red",), (0.5,)).to_dict() == {
        "words": ["a"],
        "tags": ["red"],
        "scores": [0.5],
        "windows": 1,
        "cut": False,
    }
