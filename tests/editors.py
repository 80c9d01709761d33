"""Small objects of the Python interface, made without a file: untrained, and with opinions."""

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import saved
import tiny
import torch
from fairseq import tasks
from fairseq.data.encoders.characters import Characters

from lev_plugins import EditTrace, EncT5, Iteration, LevenshteinEditor
from lev_plugins.inference.text_processing import TextProcessing
from lev_plugins.systems.enct5 import EncT5Config, EncT5Model, EncT5Task, EncT5TaskConfig
from lev_plugins.systems.enct5.dataset import Metadata
from lev_runtime.labels.pieces import Tokenizer

if TYPE_CHECKING:  # a product, which tests of systems do without
    from lev_correct import Corrector

LABELS = ["red", "green", "blue"]
ENCT5 = {
    "encoder_embed_dim": 8,
    "encoder_ffn_embed_dim": 10,
    "encoder_layers": 1,
    "encoder_attention_heads": 2,
    "attention_head_dim": 3,
    "dropout": 0.0,
}


def editor(count: int = 1, characters: bool = False, **options: Any) -> LevenshteinEditor:
    """Of :func:`tiny.task`'s letters; with ``characters`` a space is a token too, unknown to it."""
    task = tiny.task()
    models = [tiny.sharpen(tiny.model(task, seed, **options)) for seed in range(3, 3 + count)]
    return LevenshteinEditor(models, task, bpe=Characters() if characters else None)


def edit_corrector(unit: str | None = None, **more: Any) -> "Corrector":
    """A corrector with an edit model of characters; ``more``: options of its backend."""
    from lev_correct import Corrector
    from lev_correct.propose.editor import LevenshteinBackend

    backend = LevenshteinBackend(editor(characters=True), knows_spaces=True, **more)
    return Corrector(backend, unit)


def writing_corrector(kind: str = "stock", unit: str | None = None) -> "Corrector":
    """A corrector whose model, one of :data:`saved.KINDS`, writes from left to right."""
    from lev_correct import Corrector
    from lev_plugins.inference.correcting import Autoregressive

    cfg = copy.deepcopy(saved.parsed(Path("nowhere/bin"), kind))
    of = tasks.TASK_REGISTRY[cfg.task._name](cfg.task, tiny.dictionary(), tiny.dictionary())
    model, processing = saved.untrained(cfg, of), TextProcessing(None, Characters())
    return Corrector(Autoregressive(model, of, cfg, processing, True, beam=2), unit)


def trace(text: str) -> EditTrace:
    """A trace with a text at every place."""
    step = Iteration((text, "b"), (True, False), ("b", text), (False, True))
    return EditTrace(text, text, text, 0.0, (step,), "unchanged")


def enct5(kind: str, texts: int = 1, limit: int = 24, labels: Sequence[str] = LABELS) -> EncT5:
    """Reads bytes, at most so many; ``labels`` are its classes, labels or tags."""
    names = [] if kind == "regression" else list(labels)
    prepared, counts = kind.removesuffix("_pooled"), [1] * len(names)
    known = Metadata(
        prepared, names, Tokenizer(None).pieces, counts, texts_per_example=texts, max_length=limit
    )
    task = EncT5Task(EncT5TaskConfig(kind=kind), known)
    torch.manual_seed(1)
    model = EncT5Model.build_model(EncT5Config(**ENCT5), task)
    for parameter in model.head.parameters():  # so that answers differ from text to text
        torch.nn.init.normal_(parameter, std=0.5)
    return EncT5(model, task)
