"""The runtime labels as the package does: same labels, probabilities close by."""

import base64
import dataclasses
from pathlib import Path
from typing import Any

import editors
import pytest
import tiny
from closeness import rounded

from lev_plugins import EncT5
from lev_plugins.export.folder import labeler_writer, write_folder
from lev_plugins.pretrained.bert_bart import BertBartConfig
from lev_plugins.systems.enct5 import EncT5Config, EncT5Model, EncT5Task, EncT5TaskConfig
from lev_plugins.systems.enct5.model import sizes
from lev_runtime import Labeler
from lev_runtime.labels.pieces import Tokenizer

KINDS = ("classification", "regression", "multilabel", "multilabel_pooled", "tagging")
TEXTS = ["one two", "", "a much longer text, which is cut off at its end", "x", "Häß \ud800 </s>"]
TEXTS += [f"one{blank}two{blank}" for blank in "\t\f\x85\u00a0\u202f\u2028\u3000\u200b"]


def exported(folder: Path, model: EncT5) -> tuple[EncT5, Labeler]:
    """A model and its export."""
    write_folder(folder, labeler_writer(model), int8=False)
    return model, Labeler(folder, threads=1)


def both(folder: Path, kind: str, **options: Any) -> tuple[EncT5, Labeler]:
    """A small model of a kind and its export."""
    return exported(folder, editors.enct5(kind, **options))


def assert_alike(ours: EncT5, theirs: Labeler, texts: list[Any], **options: Any) -> None:
    predictions = zip(ours.stream(texts, **options), theirs.stream(texts, **options), strict=True)
    for prediction, other in predictions:
        assert other.to_dict() == rounded(prediction.to_dict())


WORDS = ["some words of a sentence in windows", ["one", "", "x" * 30], []]
PAIRS = [("a", "b"), ("", "a long text that is cut off"), ("c" * 40, "d")]
#: kind, how it is made, what is read and asked for
ASKED = [
    *((kind, {}, TEXTS, {} if kind == "regression" else {"top_k": 2}) for kind in KINDS),
    *((kind, {}, TEXTS, {"threshold": 0.2}) for kind in ("multilabel", "multilabel_pooled")),
    ("classification", {"texts": 2}, PAIRS, {}),
    ("tagging", {"labels": ["B-PER", "I-PER", "O"], "limit": 12}, WORDS, {"top_k": 3}),
]


@pytest.mark.parametrize("kind, made, texts, asked", ASKED)
def test_every_kind_is_predicted_as_by_the_package(kind, made, texts, asked, tmp_path):
    """Texts, pairs, and long sentences in windows with their entities."""
    ours, theirs = both(tmp_path / "model", kind, **made)
    assert_alike(ours, theirs, texts, **asked)
    theirs.batch_tokens = 1
    assert_alike(ours, theirs, texts, **asked)


def test_several_decoder_blocks_have_the_places_of_the_latents(tmp_path, monkeypatch):
    monkeypatch.setitem(editors.ENCT5, "decoder_layers", 2)
    for kind in ("tagging", "multilabel"):
        assert_alike(*both(tmp_path / kind, kind), TEXTS)


def test_a_berts_encoder_labels_as_in_the_package(tmp_path):
    ours = editors.enct5("classification")
    plan = BertBartConfig(dim=8, heads=2, hidden=12, layers=2, positions=24, activation="gelu")
    size, _ = sizes(EncT5Config(**editors.ENCT5))
    rows = len(ours.metadata.pieces)
    model = EncT5Model(size, rows, ours.problem_type, len(ours.labels), bert=plan)
    assert_alike(*exported(tmp_path / "model", EncT5(model, ours.task)), TEXTS)


def test_a_sentencepiece_model_cuts_as_in_the_package(tmp_path):
    path = tiny.sentencepiece_model(tmp_path / "spm", ["one two three", "a b c"] * 9, vocab_size=16)
    model = path.read_bytes()
    metadata = editors.enct5("classification").metadata
    metadata = dataclasses.replace(
        metadata, model=base64.b64encode(model).decode(), pieces=Tokenizer(model).pieces
    )
    task = EncT5Task(EncT5TaskConfig(kind="classification"), metadata)
    ours = EncT5(EncT5Model.build_model(EncT5Config(**editors.ENCT5), task), task)
    assert_alike(*exported(tmp_path / "model", ours), TEXTS)
