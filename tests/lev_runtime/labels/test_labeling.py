"""Labels and tags of text, whatever computes the scores."""

import numpy as np
import pytest
from fake_folder import LABELS, fake_labeler
from hypothesis import example, given, settings
from hypothesis import strategies as st
from refusals import NO_NUMBERS, refuses

from lev_runtime.labels.predictions import entities

LIMIT = 24
#: of the labels, and the logarithms of their odds
CHANCES = np.array([[0.2, 0.5, 0.3]])
ODDS = np.log(CHANCES / (1 - CHANCES))
TOP = [{"label": "green", "score": 0.5}, {"label": "blue", "score": 0.3}]
TOP += [{"label": "red", "score": 0.2}]
MANY = {"labels": ["green", "blue"], "scores": [0.5, 0.3], "top": TOP}


@pytest.mark.parametrize(
    "kind, logits, asked, record",
    [
        ("regression", np.array([[1.5]]), {}, {"value": 1.5}),
        ("classification", np.log(CHANCES), {"top_k": 3}, {**TOP[0], "top": TOP}),
        ("multilabel", np.stack([0 * ODDS, ODDS], 2)[0], {"top_k": 3, "threshold": 0.25}, MANY),
        ("multilabel_pooled", ODDS, {"top_k": 3, "threshold": 0.25}, MANY),
    ],
)
def test_an_answer_follows_from_the_logits(tmp_path, kind, logits, asked, record):
    """The package answers alike: test_labeler.py."""
    model = fake_labeler(tmp_path, kind)
    model.session = lambda *_: [logits[None]]
    (prediction,) = model.predict(["a b"], **asked)
    assert prediction.to_dict() == {"text": "a b", **record, "cut": False}


def test_a_score_that_equals_the_threshold_is_not_above_it(tmp_path):
    model = fake_labeler(tmp_path, "multilabel")
    first = model.predict(["one"], threshold=0.0)[0]
    assert len(first.labels) == len(LABELS)
    hardly = first.scores[1] - 1e-12  # which single precision rounds up
    for threshold, count in ((first.scores[1], 1), (hardly, 2), (1.0, 0)):
        (prediction,) = model.predict(["one"], 3, threshold=threshold)
        assert prediction.labels == first.labels[:count]


def test_decoder_positions_count_against_the_budget_and_batches_change_no_answer(tmp_path):
    """Three labels a text are three positions, however short the text is."""
    model = fake_labeler(tmp_path, "multilabel", batch_tokens=6)
    texts = ["a", "bcdefg", "", "h", "ij"]
    answers = model.predict(texts)
    assert model.session.shapes == [(2, 3), (2, 3), (1, 3)]
    assert answers == [model.predict([text])[0] for text in texts] and len({*answers}) == 5


@settings(max_examples=25)
@example([1] * 40)
@given(lengths=st.lists(st.integers(1, LIMIT + 4), min_size=1, max_size=30))
def test_long_sentences_are_read_in_windows_of_whole_words(tmp_path_factory, lengths):
    """Each window holds as many words as fit, and is tagged as a sentence of its own."""
    model = fake_labeler(tmp_path_factory.getbasetemp(), "tagging", limit=LIMIT)
    words = ["x" * length for length in lengths]
    windows: list[list[str]] = []
    for word in words:
        if not windows or len(" ".join([*windows[-1], word])) > LIMIT - 1:
            windows.append([])
        windows[-1].append(word)
    (prediction,) = model.predict_tags([words])
    alone = model.predict_tags(windows)
    assert prediction.windows == len(windows) and all(part.windows == 1 for part in alone)
    assert prediction.tags == tuple(tag for part in alone for tag in part.tags)
    assert prediction.cut == any(length > LIMIT - 1 for length in lengths)


def test_entities_that_tags_mark_are_named(tmp_path):
    model = fake_labeler(tmp_path, "tagging", ["O", "B-X", "I-X"])
    (prediction,) = model.predict_tags(["A B C D Z X Y"])
    assert prediction.entities == tuple(entities(prediction.tags)) and len(set(prediction.tags)) > 1
    (other,) = fake_labeler(tmp_path, "tagging").predict_tags(["  a\u00a0b \n"], 2)
    assert other.entities is None and other.words == ("a", "b")
    assert [len(word) for word in other.top] == [2, 2]


@pytest.mark.parametrize(
    "kind, inputs, message, options",
    [
        ("classification", "a b", "texts", {}),
        ("classification", ["a", ("a", "b")], "single texts", {}),
        ("multilabel", [("a", "b"), "ab"], "'ab'", {"texts": 2}),
        ("tagging", [["a", 3]], "3", {}),
        *(
            (kind, [], f"{option}", {option: value})
            for kind, option, value in (
                *(("multilabel", "threshold", value) for value in NO_NUMBERS),
                ("classification", "threshold", 0.5),
                ("regression", "top_k", 1),
            )
        ),
    ],
)
def test_wrong_use_is_told_in_one_line(tmp_path, kind, inputs, message, options):
    model = fake_labeler(tmp_path, kind, texts=options.pop("texts", 1))
    with refuses(message):
        model.predict(inputs, **options)
