"""The Python interface of EncT5: labels, values and tags for text.

>>> from lev_plugins import EncT5
>>> model = EncT5.from_pretrained("checkpoints")
>>> model.predict(["a text"])[0].label

A checkpoint is all that is needed, neither its data nor the T5 that it began with. Shapes: N labels
or classes, W words.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, Self

import numpy as np
import torch
from fairseq.dataclass.utils import merge_with_parent

from lev_runtime.predictions import Prediction as Prediction
from lev_runtime.predictions import Wanted

from ..data.batching import by_budget
from ..errors import UserError
from ..fairseq_patches.checkpoints import wrap_checkpoint_errors
from ..nn.precision import prepare_for_decoding
from ..systems.enct5 import EncT5Model, EncT5Task, EncT5TaskConfig
from ..systems.enct5.dataset import Example, collate
from ..systems.enct5.metadata import Metadata
from ..systems.enct5.problem_types import ProblemType
from ..systems.enct5.task import TASK
from ..systems.enct5.tokenizer import Encoding
from .arguments import strings
from .checkpoints import CheckpointState, device_named, find_checkpoint, load_model, load_state

Text = str | Sequence[str]


class Reading(NamedTuple):
    """Texts or words as the model reads them: at once, or in windows; whether an end was cut
    off."""

    texts: tuple[str, ...]
    windows: list[Example]
    truncated: bool


class EncT5:
    """A trained model with what cuts text for it; several threads may use one at once.

    Args:
        batch_tokens: most subwords (or decoder positions, whichever are more) that are read at
            once, padding included; does not change the outcome.
    """

    def __init__(self, model: EncT5Model, task: EncT5Task, batch_tokens: int = 4096) -> None:
        self.model, self.task = model.eval(), task
        prepare_for_decoding([self.model], "fp32")
        self.problem_type, self.metadata = task.problem_type, task.metadata
        #: names of the labels in order; none for values
        self.labels = tuple(self.metadata.labels)
        self.tags = self.problem_type is ProblemType.TAGGING
        self.batch_tokens = batch_tokens
        self.tokenizer = self.metadata.tokenizer("the checkpoint")

    @classmethod
    def from_pretrained(
        cls, path: str | os.PathLike[str], device: str | torch.device | None = None
    ) -> Self:
        """Loads a checkpoint; arguments as of :meth:`.LevenshteinEditor.from_pretrained`.

        Raises:
            UserError: no checkpoint there, one that cannot be read, of another task or without the
                description of its data; a device that is not here.
        """
        torch_device = device_named(device)
        path = find_checkpoint(path)
        state = load_state(path)
        with wrap_checkpoint_errors(path):
            task = _task(state, path)
            model = load_model(path, task, state, EncT5Model).to(torch_device)
            return cls(model, task)

    def predict(
        self, texts: Iterable[Text], top_k: int | None = None, threshold: float | None = None
    ) -> list[Prediction]:
        """:meth:`stream` as a list, of a model that does not tag."""
        return list(self.stream(texts, top_k, threshold))

    def predict_tags(self, sentences: Iterable[Text], top_k: int | None = None) -> list[Prediction]:
        """:meth:`stream` as a list, of a model that tags."""
        return list(self.stream(sentences, top_k))

    def stream(
        self,
        texts: Iterable[Text],
        top_k: int | None = None,
        threshold: float | None = None,
        buffer: int = 1024,
    ) -> Iterator[Prediction]:
        """The class, the value, the labels or the tags of every text, in order.

        Args:
            texts: strings; or pairs of them, where the model was trained on two texts. An empty one
                is a text too. What is longer than the model reads is cut off as in training. To be
                tagged: lists of words, or strings that are cut at spaces; long ones are read in
                several windows of whole words.
            top_k: also list so many of the likeliest labels (of each word).
            threshold: of many labels those whose probability is above this hold; by default the
                best in validation, which the checkpoint keeps.
            buffer: texts that are taken, sorted by length and read at once; 1 answers each before
                the next is asked for. Does not change the outcome.

        Raises:
            UserError: a single string; one text where there should be two, or two for one; a
                threshold outside [0, 1]; an option that the kind does not have.
        """
        if isinstance(texts, str):
            raise UserError(f"texts: takes a list, not {texts!r:.60}")
        self._check_options(top_k, threshold)
        if threshold is None:
            threshold = self.task.threshold
        answer = Wanted(self.problem_type.value, self.labels, top_k, threshold)
        readings = map(self._read_sentence if self.tags else self._read_text, texts)
        while chunk := list(islice(readings, max(1, buffer))):
            windows = [window for reading in chunk for window in reading.windows]
            scores = iter(self._scores(windows))
            for reading in chunk:
                own_scores = list(islice(scores, len(reading.windows)))
                yield answer.record(reading.texts, own_scores, reading.truncated)

    def _check_options(self, top_k: int | None, threshold: float | None) -> None:
        kind = self.problem_type.value
        if top_k is not None and top_k < 1:
            raise UserError(f"top_k={top_k}: must be 1 or more")
        if top_k is not None and self.problem_type is ProblemType.REGRESSION:
            raise UserError(f"top_k: has no meaning for {kind}; leave it out")
        if threshold is not None and not self.problem_type.is_multilabel:
            raise UserError(f"threshold: has no meaning for {kind}; leave it out")
        if threshold is not None and not 0 <= threshold <= 1:
            raise UserError(f"threshold {threshold}: must be between 0 and 1")

    # text to subwords ---------------------------------------------------------------------------

    def _read_text(self, text: Text) -> Reading:
        """A text or a pair."""
        texts = strings("texts", "text", [text] if isinstance(text, str) else text)
        if len(texts) != self.metadata.texts_per_example:
            singles = self.metadata.texts_per_example == 1
            trained_on = "single texts" if singles else "pairs of texts"
            raise UserError(f"{text!r:.60}: the model was trained on {trained_on}")
        encoding = self.tokenizer.encode_texts(texts, self.metadata.max_length)
        return Reading(tuple(texts), [_example(encoding)], encoding.truncated)

    def _read_sentence(self, text: Text) -> Reading:
        """Words in as many windows as they need."""
        words = strings("words", "word", text.split() if isinstance(text, str) else text)
        max_length = self.metadata.max_length
        windows: list[Example] = []
        start, truncated = 0, False
        while start < len(words):
            # no more words than this fit: each has a subword at least
            encoding = self.tokenizer.encode_words(words[start : start + max_length], max_length)
            if encoding.num_kept == 1 and encoding.truncated:
                first_word = self.tokenizer.encode_words(words[start : start + 1], max_length)
                truncated = truncated or first_word.truncated
            windows.append(_example(encoding))
            start += encoding.num_kept
        return Reading(tuple(words), windows, truncated)

    @torch.inference_mode()
    def _scores(self, examples: Sequence[Example]) -> list[np.ndarray]:
        """Probabilities or values of each text, 1 × N, or of its words, W × N.

        Read together with others of alike length, as many as the budget of a batch allows.
        """
        num_labels = self.task.num_labels
        device = next(self.model.parameters()).device
        sizes = []
        for example in examples:
            latents = self.problem_type.latents(example.num_words, num_labels)
            sizes.append((len(example.pieces), len(latents)))
        order = sorted(range(len(examples)), key=sizes.__getitem__)
        scores: dict[int, np.ndarray] = {}
        for batch in by_budget([max(sizes[index]) for index in order], self.batch_tokens):
            indices = [order[position] for position in batch]
            rows = [[examples[index]] for index in indices]
            columns = collate(rows, self.problem_type, num_labels)
            logits = self.model(**{name: column.to(device) for name, column in columns.items()})
            batch_scores = self.problem_type.scores(logits.float()).cpu()
            num_rows = [examples[index].num_words or 1 for index in indices]
            parts = [part.numpy() for part in batch_scores.split(num_rows)]
            scores |= zip(indices, parts, strict=True)
        return [scores[index] for index in range(len(examples))]


def _example(encoding: Encoding) -> Example:
    pieces = torch.tensor(encoding.pieces, dtype=torch.long)
    word_ids = torch.tensor(encoding.word_ids, dtype=torch.long)
    return Example(pieces, word_ids, labels=torch.zeros(0, dtype=torch.long))


def _task(state: CheckpointState, path: str) -> EncT5Task:
    """The task, of what the checkpoint keeps."""
    cfg = state["cfg"].task
    if cfg._name != TASK:
        raise UserError(f"{path} was trained with task {cfg._name}, not {TASK}")
    metadata = Metadata.from_state(state.get("task_state"), path)
    options = merge_with_parent(EncT5TaskConfig(), cfg, remove_missing=True)
    return EncT5Task(options, metadata)
