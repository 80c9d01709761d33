"""Small objects of the Python interface, made without a file: untrained, and with opinions."""

import copy
from collections.abc import Sequence
from functools import cache
from typing import Any

import saved
import tiny
import torch
from fairseq import tasks
from fairseq.data.encoders.characters import Characters

from lev_plugins import Corrector, EncT5, LevenshteinEditor
from lev_plugins.inference.correction.autoregressive import Autoregressive
from lev_plugins.inference.correction.backends import TextProcessing
from lev_plugins.inference.correction.levenshtein import LevenshteinBackend
from lev_plugins.systems.enct5 import EncT5Config, EncT5Model, EncT5Task, EncT5TaskConfig
from lev_plugins.systems.enct5.metadata import Metadata
from lev_plugins.systems.enct5.tokenizer import Tokenizer

LABELS = ["red", "green", "blue"]
ENCT5: dict[str, Any] = {
    "encoder_embed_dim": 8,
    "encoder_ffn_embed_dim": 10,
    "encoder_layers": 1,
    "encoder_attention_heads": 2,
    "attention_head_dim": 3,
    "dropout": 0.0,
}
WRITING = (
    "nowhere --task {task} --arch {arch} --optimizer adam --source-lang src --target-lang tgt "
    "--encoder-embed-dim 8 --encoder-ffn-embed-dim 8 --encoder-layers 1 "
    "--encoder-attention-heads 2 --decoder-embed-dim 8 --decoder-ffn-embed-dim 8 "
    "--decoder-layers 1 --decoder-attention-heads 2 --dropout 0 "
    "--max-source-positions 40 --max-target-positions 40"
)


def editor(count: int = 1, characters: bool = False, **options: Any) -> LevenshteinEditor:
    """Of :func:`tiny.task`'s letters; with ``characters`` a space is a token too, unknown to it."""
    task = tiny.task()
    models = [tiny.sharpen(tiny.model(task, seed, **options)) for seed in range(3, 3 + count)]
    return LevenshteinEditor(models, task, bpe=Characters() if characters else None)


def edit_corrector(unit: str | None = None, window: int | None = None, **more: Any) -> Corrector:
    """A corrector with an edit model of characters; ``more``: options of its backend."""
    backend = LevenshteinBackend(editor(characters=True), knows_spaces=True, **more)
    return Corrector(backend, unit, window)


@cache
def _written(task: str, arch: str) -> Any:
    given = WRITING.format(task=task, arch=arch).split()
    if arch.startswith("pbd"):  # its decoder is as wide as its encoder
        own = {n for n, one in enumerate(given) if one.startswith("--decoder-") and "-dim" in one}
        own |= {given.index("--decoder-attention-heads")}
        given = [one for n, one in enumerate(given) if not {n, n - 1} & own]
    return saved.configuration(given)


def writing_corrector(
    task: str = "translation",
    unit: str | None = None,
    window: int | None = None,
    arch: str = "transformer",
) -> Corrector:
    """A corrector whose model writes from left to right; ``translation_concat`` has its own."""
    arch = arch if task == "translation" else "transformer_concat_char"
    cfg = copy.deepcopy(_written(task, arch))
    kind = tasks.TASK_REGISTRY[task]
    of = kind(cfg.task, tiny.dictionary(), tiny.dictionary())
    torch.manual_seed(3)
    model = of.build_model(cfg.model)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape))
    processing = TextProcessing(None, Characters())
    backend = Autoregressive(model, of, cfg, processing, knows_spaces=True, beam=2)
    return Corrector(backend, unit, window)


def enct5(kind: str, texts: int = 1, limit: int = 24, labels: Sequence[str] = LABELS) -> EncT5:
    """Reads bytes, at most so many; ``labels`` are its classes, labels or tags."""
    names = [] if kind == "regression" else list(labels)
    prepared, counts = kind.removesuffix("_pooled"), [1] * len(names)
    known = Metadata(prepared, names, Tokenizer(None).pieces, counts, texts=texts, max_length=limit)
    task = EncT5Task(EncT5TaskConfig(kind=kind), known)
    torch.manual_seed(1)
    model = EncT5Model.build_model(EncT5Config(**ENCT5), task)
    for parameter in model.head.parameters():  # so that answers differ from text to text
        torch.nn.init.normal_(parameter, std=0.5)
    return EncT5(model, task)
