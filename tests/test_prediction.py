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

from lev_plugins import EncT5, UserError
from lev_plugins.inference.enct5 import Prediction, Tagged
from lev_plugins.systems.enct5 import EncT5Task, EncT5TaskConfig
from lev_plugins.systems.enct5.dataset import Example, collate
from lev_plugins.systems.enct5.entities import entities
from lev_plugins.systems.enct5.metadata import Metadata
from lev_plugins.systems.enct5.preparation.writing import trained_cutter
from lev_plugins.systems.enct5.problem_types import KINDS, ProblemType
from lev_plugins.systems.enct5.tokenizer import Tokenizer

SIZES = (
    "--encoder-embed-dim 16 --encoder-ffn-embed-dim 16 --encoder-layers 1 "
    "--encoder-attention-heads 2 --attention-head-dim 8"
)
LABELS = ["red", "green", "blue", "grey", "dark blue"]
LIMIT = 24
ODD = [
    "",
    " ",
    "\0",
    "a\0b",
    "a\tb",
    "a\u2028b\x85c",
    "\ufeffx",
    "👩‍👩‍👧 ☃",
    "</s> <pad>",
    "\ud800",
]
ODD += ["x" * 100_000, "word " * 2_000]


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


def save(
    path: Path, kind: str, of: Metadata | None = None, threshold: float | None = 0.4, rows: int = 0
) -> Path:
    """A checkpoint as fairseq-train writes it, of a model that was not trained."""
    of = metadata(kind) if of is None else of
    cfg = copy.deepcopy(configuration())
    cfg.task.kind, cfg.model.t5_rows = kind, rows
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


def numbers(found: Prediction | Tagged) -> list[float]:
    """All scores in it."""
    if isinstance(found, Tagged):
        return [*found.scores, *(one.score for word in found.top or () for one in word)]
    alone = [one for one in (found.score, found.value) if one is not None]
    return [*alone, *(found.scores or ()), *(one.score for one in found.top or ())]


def names(found: Prediction | Tagged) -> Any:
    """All of it but the scores."""
    if isinstance(found, Tagged):
        top = [[one.label for one in word] for word in found.top or ()]
        return found.words, found.tags, top, found.windows, found.cut
    top = [one.label for one in found.top or ()]
    return found.texts, found.label, found.labels, top, found.cut


def assert_same(one: list[Any], other: list[Any]) -> None:
    """The same answers; scores may differ in their last digits."""
    for first, second in zip(one, other, strict=True):
        assert names(first) == names(second)
        assert numbers(first) == near(numbers(second))


def answers(model: EncT5, texts: list[Any], **options: Any) -> list[Any]:
    tags = model.kind is ProblemType.TAGGING
    return list((model.stream_tags if tags else model.stream)(texts, **options))


def given_to(model: EncT5, texts: list[str]) -> list[Any]:
    """Pairs where the model reads pairs."""
    pairs = model.metadata.texts > 1
    return list(zip(texts, reversed(texts))) if pairs else texts


# loading ------------------------------------------------------------------------------------


def test_a_checkpoint_needs_neither_its_data_nor_its_t5(folder, models, tmp_path):
    def began_with_a_t5(state):
        folders = {"t5_dir": "/nowhere/t5", "bert_dir": "/nowhere/bert"}
        state["cfg"]["model"].update(folders, decoder_init="t5")
        state["cfg"]["task"]["data"] = "/nowhere/data"

    (tmp_path / "model.pt").write_bytes((folder / "tagging/checkpoint_best.pt").read_bytes())
    changed(tmp_path / "model.pt", began_with_a_t5)
    moved = EncT5.from_pretrained(str(tmp_path))
    assert_same(moved.predict_tags(["a bc d"]), models["tagging"].predict_tags(["a bc d"]))


def test_the_rows_that_a_t5_has_to_spare_come_back(tmp_path):
    path = save(tmp_path / "model.pt", "classification", rows=300)
    assert EncT5.from_pretrained(str(path)).model.embed.table.num_embeddings == 300


def test_options_that_came_after_its_training_have_their_defaults(models, folder, tmp_path):
    (tmp_path / "model.pt").write_bytes((folder / "tagging/checkpoint_best.pt").read_bytes())
    changed(tmp_path / "model.pt", lambda state: state["cfg"]["model"].pop("feed_forward"))
    older = EncT5.from_pretrained(str(tmp_path))
    assert_same(older.predict_tags(["a bc d"]), models["tagging"].predict_tags(["a bc d"]))


def test_without_a_tuned_threshold_it_is_a_half(tmp_path):
    path = save(tmp_path / "model.pt", "multilabel", threshold=None)
    assert "threshold" not in torch.load(path, weights_only=True)["task_state"]
    assert EncT5.from_pretrained(str(path)).threshold == 0.5


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda s: s.pop("task_state"), "not a description of EncT5's data"),
        (lambda s: s["task_state"].update(threshold="high"), "its threshold is 'high'"),
        (lambda s: s["task_state"].update(threshold=1.5), "its threshold is 1.5"),
        (
            lambda s: [s["task_state"]["description"][name].pop() for name in ("labels", "counts")],
            "size mismatch for head.weight",
        ),
        (lambda s: s["model"].pop("head.weight"), "head.weight"),
    ],
)
def test_a_checkpoint_that_does_not_serve_is_named(tmp_path, change, message):
    path = save(tmp_path / "model.pt", "tagging")
    with pytest.raises(UserError, match=message) as caught:
        EncT5.from_pretrained(changed(path, change))
    assert str(path) in str(caught.value)


def test_a_budget_that_cannot_be_is_told(folder):
    with pytest.raises(UserError, match="batch_tokens 0"):
        EncT5.from_pretrained(str(folder / "tagging"), batch_tokens=0)


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


def test_a_value_is_the_models(models):
    model = models["regression"]
    texts = ["one", "", "two three"]
    wanted = [scores_of(model, model.tokenizer.texts([text], LIMIT))[0] for text in texts]
    assert [[one.value] for one in model.predict(texts)] == [pytest.approx(w) for w in wanted]
    assert len({one.value for one in model.predict(texts)}) == 3


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


@pytest.mark.parametrize("kind", ["classification", "multilabel", "tagging"])
def test_a_subset_of_the_labels_keeps_the_scores_of_all(models, kind):
    model = models[kind]
    texts = ["one two", "three", "a b c"]
    wanted = ["dark blue", "red"]
    whole, part = (
        answers(model, texts, top_k=5, labels=labels) for labels in (None, [*wanted, "red"])
    )
    for one, other in zip(whole, part):
        pairs = zip(one.top, other.top) if kind == "tagging" else [(one.top, other.top)]
        for all_of_them, few in pairs:
            kept = [scored for scored in all_of_them if scored.label in wanted]
            assert list(few) == kept
        if kind == "classification":
            assert (other.label, other.score) == other.top[0]
        if kind == "tagging":
            assert list(zip(other.tags, other.scores)) == [word[0] for word in other.top]
        if kind == "multilabel":
            assert set(other.labels) == set(one.labels) & set(wanted)


def test_no_list_of_the_likeliest_unless_asked_for(models):
    assert models["classification"].predict(["a"])[0].top is None
    assert models["tagging"].predict_tags(["a"])[0].top is None
    assert [len(word) for word in models["tagging"].predict_tags(["a b"], 2)[0].top] == [2, 2]


@pytest.mark.parametrize("name", [*KINDS, "pairs", "pieces"])
def test_odd_texts_are_texts(models, name):
    model = models[name]
    texts = given_to(model, ODD)
    found = answers(model, texts)
    assert len(found) == len(ODD)
    if model.kind is ProblemType.TAGGING:
        assert all(len(one.tags) == len(text.split()) for one, text in zip(found, ODD))
        assert [one.cut for one in found] == [text.startswith("xx") for text in ODD]
    elif name == "pairs":
        assert found[-1].cut and found[0].cut and not found[3].cut
    else:
        assert [one.cut for one in found] == [len(text) > 100 for text in ODD]


def test_what_is_cut_off_does_not_count(models):
    model = models["classification"]
    long, short = model.predict(["a" * (LIMIT + 5), "a" * (LIMIT - 1)])
    assert (long.label, long.cut, short.cut) == (short.label, True, False)
    assert long.score == pytest.approx(short.score, abs=1e-6)


# the same in any batch ----------------------------------------------------------------------

TEXTS = st.lists(st.text(st.sampled_from("ab ö☃\t"), max_size=LIMIT + 10), max_size=9)


@settings(max_examples=12)
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


@settings(max_examples=30)
@given(lengths=st.lists(st.integers(1, LIMIT), max_size=30), budget=st.integers(1, 100))
def test_batches_keep_to_their_budget_and_hold_everything(models, lengths, budget):
    model = EncT5(models["classification"].model, models["classification"].task, budget)
    shapes = batch_shapes(model, ["a" * (length - 1) for length in lengths])
    assert sum(rows for rows, _ in shapes) == len(lengths)
    assert all(rows == 1 or rows * columns <= budget for rows, columns in shapes)


def test_decoder_positions_count_against_the_budget(models):
    """Five labels a text are five positions, however short the text is."""
    model = EncT5(models["multilabel"].model, models["multilabel"].task, 10)
    assert batch_shapes(model, ["a"] * 5) == [(2, 5), (2, 5), (1, 5)]


# tags ---------------------------------------------------------------------------------------

WORDS = st.lists(st.text(st.sampled_from("ab☃ "), max_size=LIMIT + 4), max_size=40)


@settings(max_examples=40)
@given(sentences=st.lists(WORDS, max_size=4))
@pytest.mark.parametrize("name", ["tagging", "pieces"])
def test_every_word_has_exactly_one_tag(models, name, sentences):
    for words, found in zip(sentences, models[name].predict_tags(sentences), strict=True):
        assert found.words == tuple(words)
        assert len(found.tags) == len(found.scores) == len(words)
        assert set(found.tags) <= set(LABELS)
        assert (found.windows == 0) == (not words)


@settings(max_examples=30)
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


def test_a_string_is_cut_at_spaces(models):
    model = models["tagging"]
    text = "  one\u00a0two\tthree  four \n"
    assert_same(model.predict_tags([text]), model.predict_tags([["one", "two", "three", "four"]]))
    assert model.predict_tags(["", " "]) == [Tagged((), (), (), windows=0)] * 2


def test_entities_that_tags_mark_are_named(tmp_path):
    of = dataclasses.replace(metadata("tagging"), labels=["O", "B-X", "I-X"], counts=[1] * 3)
    model = EncT5.from_pretrained(str(save(tmp_path / "model.pt", "tagging", of)))
    (found,) = model.predict_tags(["a b c d e f g h"])
    assert found.entities == tuple(entities(found.tags)) and len(set(found.tags)) > 1
    told = [{"label": one.label, "start": one.start, "end": one.end} for one in found.entities]
    assert found.to_dict()["entities"] == told


def test_tags_of_another_kind_name_no_entities(models):
    (found,) = models["tagging"].predict_tags(["a b"])
    assert found.entities is None and "entities" not in found.to_dict()


# without an end -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["classification", "tagging"])
def test_a_stream_takes_no_more_than_its_buffer(models, kind):
    model, taken = models[kind], []

    def endless():
        for number in itertools.count():
            taken.append(number)
            yield "a b"

    stream = (model.stream_tags if kind == "tagging" else model.stream)(endless(), buffer=4)
    assert not taken, "nothing is read before it is asked for"
    for number in range(1, 11):
        next(stream)
        assert len(taken) == 4 * math.ceil(number / 4)


def test_with_a_buffer_of_one_each_is_answered_at_once(models):
    asked = []

    def texts():
        for text in "abc":
            asked.append(text)
            yield text

    for number, found in enumerate(models["classification"].stream(texts(), buffer=1), start=1):
        assert len(asked) == number and found.texts == (asked[-1],)


# mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, call, message",
    [
        ("tagging", lambda m: m.predict(["a"]), r"tags words; use predict_tags\(\)"),
        ("multilabel", lambda m: m.predict_tags(["a"]), r"for multilabel .* use predict\(\)"),
        ("classification", lambda m: m.predict("a b"), "a list, not a single string"),
        ("tagging", lambda m: m.predict_tags("a b"), "a list, not a single string"),
        ("tagging", lambda m: m.predict_tags(None), "predict_tags: takes a list, not None"),
        ("classification", lambda m: m.predict(["a", ("a", "b")]), "text 2: 2 given; .* single"),
        ("pairs", lambda m: m.predict([("a", "b"), "ab"]), "text 2: 1 given; .* pairs"),
        ("pairs", lambda m: m.predict([("a", "b", "c")]), "text 1: 3 given; .* pairs"),
        ("classification", lambda m: m.predict(["a", None]), "text 2: None is no text"),
        ("classification", lambda m: m.predict([b"a"]), "text 1: b'a' is no text"),
        ("tagging", lambda m: m.predict_tags([["a", 3]]), "sentence 1: .* is no text"),
        ("classification", lambda m: m.predict([], labels=["red", "pink"]), "knows no 'pink'"),
        ("tagging", lambda m: m.predict_tags([], labels=["pink"]), "it has 5: red, green"),
        ("multilabel", lambda m: m.predict([], labels="red"), "labels: takes a list"),
        ("multilabel", lambda m: m.predict([], labels=[]), "labels: name one at least"),
        ("multilabel", lambda m: m.predict([], threshold=1.01), "threshold 1.01: must be between"),
        ("multilabel", lambda m: m.predict([], threshold=math.nan), "threshold nan: must be"),
        ("classification", lambda m: m.predict([], threshold=0.5), "threshold: has no meaning"),
        ("regression", lambda m: m.predict([], top_k=1), "top_k: has no meaning for regression"),
        ("regression", lambda m: m.predict([], labels=["red"]), "labels: has no meaning"),
        ("classification", lambda m: m.predict([], top_k=0), "top_k 0: must be 1 or more"),
        ("classification", lambda m: m.stream([], buffer=0), "buffer 0: must be 1 or more"),
        ("classification", lambda m: m.predict([], top_k="3"), "top_k '3': must be a whole number"),
    ],
)
def test_wrong_use_is_told_in_one_line(models, name, call, message):
    with refuses(match=message):
        call(models[name])


# records ------------------------------------------------------------------------------------


def test_records_have_what_the_kind_has():
    scored = Prediction(("a", "b"), label="red", score=0.12345678)
    assert scored.to_dict() == {
        "texts": ["a", "b"],
        "label": "red",
        "score": 0.123457,
        "cut": False,
    }
    assert Prediction(("a",), value=1234.56789, cut=True).to_dict() == {
        "text": "a",
        "value": 1234.568,
        "cut": True,
    }
    none = Prediction(("",), labels=(), scores=(), top=())
    assert none.to_dict() == {"text": "", "labels": [], "scores": [], "top": [], "cut": False}
    assert Tagged(("a",), ("red",), (0.5,)).to_dict() == {
        "words": ["a"],
        "tags": ["red"],
        "scores": [0.5],
        "windows": 1,
        "cut": False,
    }
