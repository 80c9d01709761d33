"""Labels, values and tags of text with an exported EncT5.

Shapes: B texts, S subwords, L decoder positions, N labels or classes.
"""

import os
from collections.abc import Iterator, Sequence

import numpy as np

from ..errors import require_count
from ..folder import SUBWORDS, Folder
from ..refine.arrays import padded
from .labeling import TextLabeler
from .pieces import Encoding, FolderTokenizer, Tokenizer
from .predictions import MULTILABEL, MULTILABEL_POOLED, REGRESSION
from .predictions import Prediction as Prediction

MODEL = "enct5"
LABELER = "labeler.json"


class Labeler(TextLabeler):
    """An exported model with what cuts text for it; several threads may use one at once.

    >>> from lev_runtime import Labeler
    >>> labeler = Labeler("enct5")
    >>> labeler.labels
    ('red', 'green', 'blue')
    >>> [prediction] = labeler.predict(["a text"], top_k=2)
    >>> prediction.label, len(prediction.top)
    ('blue', 2)

    Args:
        path: a folder that ``lev-export`` has written, or what was read of it.
        threads: that a pass computes with, by default as many as there are cores.
        batch_tokens: most subwords (or decoder positions, whichever are more) that are read at
            once, padding included; does not change the outcome.

    Raises:
        UserError: no such folder, a damaged one, or one of another kind of model.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | Folder,
        threads: int | None = None,
        batch_tokens: int = 4096,
    ) -> None:
        folder = Folder.holding([MODEL], path, type(self).__name__)
        settings = folder.json(LABELER)
        self.kind = settings["kind"]
        self.labels = tuple(settings["labels"])
        self.texts_per_example = settings["texts"]
        self.max_length = settings["max_length"]
        self.threshold = settings["threshold"]
        self.batch_tokens = require_count("batch_tokens", batch_tokens)
        self.tokenizer = _tokenizer(folder, settings["pieces"])
        self.session = folder.session(folder.description["graphs"]["labeler"], threads)

    # the model ----------------------------------------------------------------------------------

    def batch_scores(self, windows: Sequence[Encoding]) -> Iterator[np.ndarray]:
        """See the base class."""
        (logits,) = self.session(["logits"], self._inputs(windows))
        for window, rows in zip(windows, logits):
            count = self.num_positions(window)
            yield self._probabilities(rows[:count])

    def _inputs(self, windows: Sequence[Encoding]) -> dict[str, np.ndarray]:
        """Returns the inputs of the graph, B × S and B × L, padded on the right with 0."""
        pieces = [window.pieces for window in windows]
        counts = [self.num_positions(window) for window in windows]
        latents = [[0] * count for count in counts]
        if self.kind == MULTILABEL:
            latents = [[*range(count)] for count in counts]
        inputs = {
            "tokens": padded(pieces, 0),
            "mask": _mask(pieces),
            "latents": padded(latents, 0),
            "latent_mask": _mask(latents),
        }
        if self.tags:
            inputs["spans"] = padded([window.word_ids for window in windows], 0)
            inputs["latent_spans"] = padded([[*range(1, count + 1)] for count in counts], 0)
        return inputs

    def _probabilities(self, logits: np.ndarray) -> np.ndarray:
        """Returns probabilities of each prediction, or its value, from logits, L × outputs."""
        if self.kind == REGRESSION:
            return logits
        if self.kind == MULTILABEL_POOLED:
            probabilities: np.ndarray = 1 / (1 + np.exp(-logits))
            return probabilities
        chances = np.exp(logits - logits.max(1, keepdims=True))
        chances /= chances.sum(1, keepdims=True)
        return chances[None, :, 1] if self.kind == MULTILABEL else chances


def _tokenizer(folder: Folder, kind: str) -> Tokenizer:
    """Returns the tokenizer; ``kind``: bytes, sentencepiece or the name of a file."""
    if kind == "bytes":
        return Tokenizer()
    if kind == "sentencepiece":
        return Tokenizer((folder.path / SUBWORDS).read_bytes())
    content = folder.json(kind)
    return FolderTokenizer(content["wordpiece"], content["first"])


def _mask(rows: Sequence[Sequence[int]]) -> np.ndarray:
    """Returns 1 where the rows have a number, 0 after them."""
    return padded([[1] * len(row) for row in rows], 0).astype(np.int32)
