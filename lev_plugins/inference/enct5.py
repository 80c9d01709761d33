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
from typing import Self

import torch
from fairseq.dataclass.utils import merge_with_parent
from torch import Tensor

from ..data.batching import by_budget
from ..errors import UserError
from ..fairseq_patches.checkpoints import wrap_checkpoint_errors
from ..nn.precision import quantize
from ..systems.enct5 import EncT5Model, EncT5Task, EncT5TaskConfig
from ..systems.enct5.dataset import Example, collate
from ..systems.enct5.metadata import Metadata
from ..systems.enct5.problem_types import ProblemType
from ..systems.enct5.task import TASK
from ..systems.enct5.tokenizer import Encoding
from .arguments import strings
from .checkpoints import CheckpointState, device_named, find_checkpoint, load_model, load_state
from .predictions import Prediction, Wanted

Text = str | Sequence[str]


#: texts or words; as the model reads them: at once, or in windows; whether an end was cut off
Reading = tuple[tuple[str, ...], list[Example], bool]


class EncT5:
    """A trained model with what cuts text for it; several threads may use one at once.

    Args:
        batch_tokens: most subwords (or decoder positions, whichever are more) that are read at
            once, padding included; does not change the outcome.
    """

    def __init__(self, model: EncT5Model, task: EncT5Task, batch_tokens: int = 4096) -> None:
        self.model, self.task = model.eval(), task
        quantize([self.model], "fp32")
        self.kind, self.metadata = task.kind, task.metadata
        #: names of the labels in order; none for values
        self.labels = tuple(self.metadata.labels)
        self.tags = self.kind is ProblemType.TAGGING
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
        place, path = device_named(device), find_checkpoint(path)
        state = load_state(path)
        with wrap_checkpoint_errors(path):
            task = _task(state, path)
            model = load_model(path, task, state, EncT5Model).to(place)
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
        if top_k is not None and top_k < 1:
            raise UserError(f"top_k={top_k}: must be 1 or more")
        if isinstance(texts, str):
            raise UserError(f"texts: takes a list, not {texts!r:.60}")
        ranked = self.kind is not ProblemType.REGRESSION
        for name, value, has in (
            ("top_k", top_k, ranked),
            ("threshold", threshold, self.kind.many),
        ):
            if value is not None and not has:
                raise UserError(f"{name}: has no meaning for {self.kind.value}; leave it out")
        threshold = self.task.threshold if threshold is None else threshold
        if not 0 <= threshold <= 1:
            raise UserError(f"threshold {threshold}: must be between 0 and 1")
        wanted = Wanted(self.kind, self.labels, top_k, threshold)
        readings = map(self._sentence if self.tags else self._text, texts)
        while chunk := list(islice(readings, max(1, buffer))):
            scores = iter(self._scores([one for _, parts, _ in chunk for one in parts]))
            for words, parts, cut in chunk:
                yield wanted.record(words, list(islice(scores, len(parts))), cut)

    # text to subwords ---------------------------------------------------------------------------

    def _text(self, given: Text) -> Reading:
        """A text or a pair."""
        texts = strings("texts", "text", [given] if isinstance(given, str) else given)
        wanted = self.metadata.texts
        if len(texts) != wanted:
            trained = "single texts" if wanted == 1 else "pairs of texts"
            raise UserError(f"{given!r:.60}: the model was trained on {trained}")
        cut = self.tokenizer.texts(texts, self.metadata.max_length)
        return tuple(texts), [_example(cut)], cut.cut_off

    def _sentence(self, given: Text) -> Reading:
        """Words in as many windows as they need."""
        words = strings("words", "word", given.split() if isinstance(given, str) else given)
        most, windows = self.metadata.max_length, list[Example]()
        done, too_long = 0, False
        while done < len(words):
            # no more words than this fit: each has a subword at least
            window = self.tokenizer.words(words[done : done + most], most)
            if window.reached == 1 and window.cut_off:
                too_long |= self.tokenizer.words(words[done : done + 1], most).cut_off
            windows.append(_example(window))
            done += window.reached
        return tuple(words), windows, too_long

    @torch.inference_mode()
    def _scores(self, parts: Sequence[Example]) -> list[Tensor]:
        """Probabilities or values of each text, 1 × N, or of its words, W × N.

        Read together with others of alike length, as many as the budget of a batch allows.
        """
        positions = [len(self.kind.latents(one.words, self.task.number)) for one in parts]
        sizes = [(len(one.pieces), latents) for one, latents in zip(parts, positions)]
        order = sorted(range(len(parts)), key=sizes.__getitem__)
        found, device = dict[int, Tensor](), next(self.model.parameters()).device
        for batch in by_budget([max(sizes[i]) for i in order], self.batch_tokens):
            numbers = [order[place] for place in batch]
            columns = collate([[parts[i]] for i in numbers], self.kind, self.task.number)
            logits = self.model(**{name: one.to(device) for name, one in columns.items()})
            scores = self.kind.scores(logits.float()).cpu()
            rows = scores.split([parts[i].words or 1 for i in numbers])
            found |= zip(numbers, rows, strict=True)
        return [found[i] for i in range(len(parts))]


def _example(cut: Encoding) -> Example:
    pieces, spans = (torch.tensor(one, dtype=torch.long) for one in (cut.pieces, cut.spans))
    return Example(pieces, spans, torch.zeros(0, dtype=torch.long))


def _task(state: CheckpointState, path: str) -> EncT5Task:
    """The task, of what the checkpoint keeps."""
    cfg = state["cfg"].task
    if cfg._name != TASK:
        raise UserError(f"{path} was trained with task {cfg._name}, not {TASK}")
    metadata = Metadata.of(state.get("task_state"), path)
    return EncT5Task(merge_with_parent(EncT5TaskConfig(), cfg, remove_missing=True), metadata)
