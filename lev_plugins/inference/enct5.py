"""The Python interface of EncT5: predicts labels, values and tags of text.

Only the checkpoint is needed, neither its data nor the T5 that it began with.
"""

import os
from collections.abc import Sequence
from typing import Self

import numpy as np
import torch
from fairseq.dataclass.utils import merge_with_parent

from lev_runtime.errors import UserError
from lev_runtime.labels.labeling import TextLabeler
from lev_runtime.labels.pieces import Encoding
from lev_runtime.labels.predictions import Prediction as Prediction

from ..fairseq_patches.checkpoints import wrap_checkpoint_errors
from ..nn.precision import prepare_for_decoding
from ..systems.enct5 import EncT5Model, EncT5Task, EncT5TaskConfig
from ..systems.enct5.dataset import Example, Metadata, collate
from ..systems.enct5.task import TASK
from .checkpoints import CheckpointState, device_named, find_checkpoint, load_model, load_state


class EncT5(TextLabeler):
    """A trained model with its tokenizer; several threads may use one at once.

    >>> from lev_plugins import EncT5
    >>> model = EncT5.from_pretrained("enct5.pt")
    >>> [prediction] = model.predict(["a text"])
    >>> prediction.label in model.labels
    True

    Args:
        batch_tokens: most subwords (or decoder positions, whichever are more) of a batch, padding
            included; does not change the predictions.
    """

    def __init__(self, model: EncT5Model, task: EncT5Task, batch_tokens: int = 4096) -> None:
        self.model = model.eval()
        self.task = task
        prepare_for_decoding([self.model], "fp32")
        self.problem_type = task.problem_type
        self.metadata = task.metadata
        self.kind = self.problem_type.value
        self.labels = tuple(self.metadata.labels)
        self.texts_per_example = self.metadata.texts_per_example
        self.max_length = self.metadata.max_length
        self.threshold = task.threshold
        self.batch_tokens = batch_tokens
        self.tokenizer = self.metadata.tokenizer("the checkpoint")

    @classmethod
    def from_pretrained(
        cls, path: str | os.PathLike[str], device: str | torch.device | None = None
    ) -> Self:
        """Loads a checkpoint; arguments as of :meth:`.LevenshteinEditor.from_pretrained`.

        Raises:
            UserError: no checkpoint, one that cannot be read, of another task or without the
                description of its data; no such device.
        """
        torch_device = device_named(device)
        path = find_checkpoint(path)
        state = load_state(path)
        with wrap_checkpoint_errors(path):
            task = _task(state, path)
            model = load_model(path, task, state, EncT5Model).to(torch_device)
            return cls(model, task)

    @torch.inference_mode()
    def batch_scores(self, windows: Sequence[Encoding]) -> list[np.ndarray]:
        """Returns the scores of a batch, see :meth:`.TextLabeler.batch_scores`."""
        device = next(self.model.parameters()).device
        rows = [[_example(window)] for window in windows]
        columns = collate(rows, self.problem_type, self.task.num_labels)
        inputs = {name: column.to(device) for name, column in columns.items()}
        logits = self.model(**inputs)
        scores = self.problem_type.scores(logits.float()).cpu()
        num_rows = [window.num_kept if self.tags else 1 for window in windows]
        return [part.numpy() for part in scores.split(num_rows)]


def _example(encoding: Encoding) -> Example:
    pieces = torch.tensor(encoding.pieces, dtype=torch.long)
    word_ids = torch.tensor(encoding.word_ids, dtype=torch.long)
    return Example(pieces, word_ids, labels=torch.zeros(0, dtype=torch.long))


def _task(state: CheckpointState, path: str) -> EncT5Task:
    """Returns the task, made from the description of data that the checkpoint keeps."""
    cfg = state["cfg"].task
    if cfg._name != TASK:
        raise UserError(f"{path} was trained with task {cfg._name}, not {TASK}")
    metadata = Metadata.from_state(state.get("task_state"), path)
    options = merge_with_parent(EncT5TaskConfig(), cfg, remove_missing=True)
    return EncT5Task(options, metadata)
