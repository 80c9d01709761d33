"""Products in 8 bits: how exact they are, and that what else is in a batch changes nothing.

Of models that write from left to right: ``beam/test_exported_transformers.py``.
"""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import editors
import pytest
import tiny
import torch
from closeness import rounded
from exported import both_editors, with_biases

from lev_plugins.export import blocks
from lev_plugins.export.folder import labeler_writer, write_folder
from lev_plugins.export.graph import FLOAT, Graph, WeightFile
from lev_plugins.nn.transformer import ACTIVATIONS
from lev_runtime import Labeler, folder
from lev_runtime.folder import Session

#: with less, layers have too few weights for 8 bits
WIDE = {"encoder_embed_dim": 128, "encoder_ffn_embed_dim": 160}
EDITOR = {**WIDE, "decoder_embed_dim": 128, "decoder_ffn_embed_dim": 160}
PRE_NORM = {"encoder_normalize_before": True, "decoder_normalize_before": True}


Answer = Callable[[Sequence[str]], Sequence[Any]]


def edits(folder: Path, **options: Any) -> Answer:
    """Texts, iterations and scores of a LevT."""
    _, editor = both_editors(folder / "model", int8=True, **EDITOR, **options)

    def answer(texts: Sequence[str]) -> list[Any]:
        traces = editor.edit([*map(" ".join, texts)], batch_size=len(texts), max_iter=4)
        return [[trace.text, *trace.iterations, trace.score] for trace in traces]

    return answer


def labels(folder: Path, **options: Any) -> Answer:
    """Predictions of an EncT5."""
    model = editors.enct5(**options)
    with_biases(model.model)
    write_folder(folder / "model", labeler_writer(model, int8=True), int8=True)
    labeler = Labeler(folder / "model", threads=1, batch_tokens=10_000)

    def answer(texts: Sequence[str]) -> list[Any]:
        predictions = labeler.stream([" ".join(text.split("a")) for text in texts])
        return [prediction.to_dict() for prediction in predictions]

    return answer


MODELS: dict[str, tuple[Callable[..., Answer], dict[str, Any]]] = {
    "LevT": (edits, {}),
    "LevT, norms first": (edits, {"encoder_normalize_before": True, "rotary_positions": True}),
    "LevT, norms first on both sides": (edits, {**PRE_NORM, "deletion_trace": True}),
    "LevT, traces": (edits, {"activation_fn": "gelu", "deletion_trace": True}),
    "EncT5, a class": (labels, {"kind": "classification"}),
    "EncT5, labels": (labels, {"kind": "multilabel"}),
    "EncT5, tags": (labels, {"kind": "tagging"}),
}


@pytest.mark.parametrize("bits", [8, 7])
@pytest.mark.parametrize("name", MODELS)
def test_a_batch_gives_what_each_text_alone_gives(name, bits, tmp_path, monkeypatch):
    monkeypatch.setattr(folder, "overflows", lambda: bits == 7)
    for size, value in WIDE.items():
        monkeypatch.setitem(editors.ENCT5, size, value)
    make, options = MODELS[name]
    answer, rng = make(tmp_path, **options), random.Random(1)
    texts = ["".join(rng.choices(tiny.LETTERS, k=length)) for length in (*range(1, 12), 20) * 3]
    alone = {text: answer([text])[0] for text in texts}
    for size in (2, 7, len(texts)):
        batch = rng.sample(texts, size)
        for text, output in zip(batch, answer(batch), strict=True):
            assert output == rounded(alone[text])


@pytest.mark.parametrize(
    ("activation", "steps"), [("relu", 255), ("gelu", 191), ("silu", 191), (None, 127)]
)
def test_each_row_is_rounded_by_its_own_largest_number(activation, steps, tmp_path):
    graph = Graph(WeightFile(tmp_path), int8=True)
    x = graph.input("x", FLOAT, ["rows", 64])
    if activation:
        x = blocks.activated(graph, ACTIVATIONS[activation], x)
    weight = tiny.normal(1, 260, 64).mul(40).round().clamp(-127, 127)
    weight[:, 0], bias = 127, tiny.normal(2, 260)  # so that no weight is rounded
    graph.output("y", graph.linear(x, weight, bias), FLOAT, ["rows", 260])
    graph.save(tmp_path / "graph.onnx")
    rows = tiny.normal(3, 5, 64) * torch.tensor([[0.0], [0.8], [1.0], [3.0], [9.0]])
    (product,) = Session(tmp_path / "graph.onnx", 1, tmp_path)(["y"], {"x": rows.numpy()})
    read = ACTIVATIONS[activation](rows) if activation else rows
    error = torch.from_numpy(product) - (read @ weight.t() + bias)
    # evenly spread over a step; what is 0 is not rounded
    step = read.abs().amax(1, keepdim=True) / steps
    expected = step / 12**0.5 * (read.ne(0).float() @ weight.t().square()).sqrt()
    ratio = (error[1:] / expected[1:]).square().mean(1).sqrt()
    assert error[0].abs().max() < 1e-5
    assert ratio.max() < 1.35
