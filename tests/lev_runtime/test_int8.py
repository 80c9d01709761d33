"""Products in 8 bits: what else is in a batch changes nothing.

Of models that write from left to right: ``beam/test_exported_transformers.py``.
"""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import editors
import numpy as np
import pytest
import tiny
import torch
from closeness import rounded
from exported import both_editors, with_biases

from lev_plugins import LevenshteinEditor
from lev_plugins.export.checked import near_norms
from lev_plugins.export.folder import editor_writer, labeler_writer, write_folder
from lev_runtime import Editor, Labeler, folder

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
    write_folder(folder / "model", labeler_writer(model), int8=True)
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


@pytest.fixture(params=[True, False])
def precise(request, monkeypatch):
    """Whether products of large factors are computed as CPUs without VNNI have to."""
    if folder.overflows() and not request.param:
        pytest.skip("products of eight bits overflow on this processor")
    monkeypatch.setattr(folder, "overflows", lambda: request.param)


@pytest.mark.parametrize("name", MODELS)
def test_a_batch_gives_what_each_text_alone_gives(name, precise, tmp_path, monkeypatch):
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


def test_rows_that_reach_beyond_the_fixed_scale_have_their_own(tmp_path, precise):
    """One channel lies at eleven standard deviations, where the fixed scale ends at eight."""
    task = tiny.task()
    model = with_biases(tiny.model(task, 3, **EDITOR, **PRE_NORM))
    with torch.no_grad():
        model.encoder_embed.weight[:, 7] += 40
    norms = {part for part in model.modules() if isinstance(part, torch.nn.LayerNorm)}
    assert near_norms(model, task) < norms
    editor, source = LevenshteinEditor([model], task), np.array([[0, 4, 5, 6, 7, 2]])
    states = []
    for int8 in (False, True):
        place = tmp_path / str(int8)
        write_folder(place, editor_writer(editor), int8)
        encoder_out = Editor(place, threads=1).policy.encode(source).encoder_out
        states.append(encoder_out.arrays["states"])
    exact, small = states
    assert np.sqrt(np.mean((small - exact) ** 2)) < 0.002 * exact.std()


@pytest.mark.parametrize("shift", [0.0, 40.0])
def test_embeddings_have_8_bits_or_16_where_a_channel_lies_far_out(tmp_path, shift):
    task = tiny.task()
    model = tiny.model(task, 3, **EDITOR)
    with torch.no_grad():
        model.encoder_embed.weight[:, 7] += shift
    table = model.encoder_embed.weight.detach().numpy()
    writer = editor_writer(LevenshteinEditor([model], task))
    write_folder(tmp_path / "model", writer, int8=True)
    read = folder.Folder(tmp_path / "model")
    described = read.description["graphs"]["tables"]["source"]
    assert described["type"] == ("float16" if shift else "int8 rows")
    assert np.std(read.table(described) - table) < 0.01 * np.std(table)
