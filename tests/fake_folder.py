"""Exported models without their graphs: what answers in place of these is random, yet the same."""

import json
import zlib
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from fake_policy import BOS, EOS, PAD, UNK, FakePolicy, symbols_of

from lev_runtime import Editor, Labeler
from lev_runtime.folder import DESCRIPTION, DICTIONARIES, FORMAT, Folder
from lev_runtime.labels.labeler import LABELER
from lev_runtime.labels.predictions import MULTILABEL
from lev_runtime.refine import editor
from lev_runtime.refine.arrays import NUMPY

LABELS = ["red", "green", "blue"]


def write(folder: Path, model: str, name: str, content: Any, **described: Any) -> None:
    described |= {"format": FORMAT, "files": {}, "model": model}
    for file, written in ((DESCRIPTION, described), (name, content)):
        (folder / file).write_text(json.dumps(written))


def fake_editor(folder: Path) -> Editor:
    """Words are letters, and at most 62 of them are read."""
    symbols = symbols_of("abcdefgh")
    special = {"bos": BOS, "pad": PAD, "eos": EOS, "unk": UNK}
    words = {"source": symbols.names, "special": special, "nspecial": 4, "placeholder": True}
    settings = {"limits": [64, 64], "model_limit": 64, "max_target_positions": 64}
    settings |= {"delete_threshold": 0.5, "old_source": False}
    text = {"bpe": None, "tokenizer": None}
    described = {"graphs": {}, "settings": settings, "text": text}
    write(folder, "levenshtein_editor", DICTIONARIES, words, **described)
    policy = FakePolicy(NUMPY, growth=-2.0, symbols=symbols)
    with patch.object(editor, "ExportedPolicy", lambda *_: policy):
        return Editor(folder)


class FakeGraph:
    """Draws the logits of a text from what is read of it. shapes: of the batches."""

    def __init__(self, classes: int) -> None:
        self.classes = classes
        self.shapes: list[tuple[int, ...]] = []

    def __call__(self, outputs: Any, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
        shape = inputs["latents"].shape
        self.shapes.append(shape)
        logits = np.full((*shape, self.classes), 9.0, np.float32)  # at padding
        rows = zip(inputs["tokens"].tolist(), inputs["mask"].sum(1), inputs["latent_mask"].sum(1))
        for into, (pieces, size, count) in zip(logits, rows):
            key = zlib.crc32(str(pieces[:size]).encode())
            into[:count] = np.random.default_rng(key).standard_normal((count, self.classes))
        return [logits]


def fake_labeler(
    folder: Path, kind: str, labels: Any = LABELS, texts: int = 1, limit: int = 24, **options: Any
) -> Labeler:
    """Reads bytes, at most so many; ``labels`` are its classes, labels or tags."""
    settings = {"kind": kind, "labels": labels, "texts": texts, "max_length": limit}
    settings |= {"threshold": 0.4, "pieces": "bytes"}
    write(folder, "enct5", LABELER, settings, graphs={"labeler": None})
    graph = FakeGraph(2 if kind == MULTILABEL else max(1, len(labels)))
    with patch.object(Folder, "session", lambda *_: graph):
        return Labeler(folder, **options)
