"""The Python interface of EncT5: labels, values and tags for text.

>>> from lev_plugins import EncT5
>>> model = EncT5.from_pretrained("checkpoints")
>>> model.predict(["a text"])[0].label

A checkpoint is all that is needed, neither its data nor the T5 that it began with. Shapes: E texts,
N labels or classes, W words.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Self

import torch
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
from .arguments import listed
from .checkpoints import CheckpointState, device_named, find_checkpoint, load_model, load_state
from .predictions import Prediction, Reading, Tagged, Wanted

Text = str | Sequence[str]
BATCH_TOKENS = 4096
BUFFER = 1024


class EncT5:
    """A trained model with what cuts text for it; several threads may use one at once.

    Args:
        batch_tokens: most subwords (or decoder positions, whichever are more) that are read at
            once, padding included; does not change the outcome.
    """

    def __init__(
        self, model: EncT5Model, task: EncT5Task, batch_tokens: int = BATCH_TOKENS
    ) -> None:
        self.model, self.task = model.eval(), task
        quantize([self.model], "fp32")
        self.kind, self.metadata = task.kind, task.metadata
        self.batch_tokens = batch_tokens
        self.tokenizer = self.metadata.tokenizer("the checkpoint")

    @classmethod
    def from_pretrained(
        cls,
        path: str | os.PathLike[str],
        device: str | torch.device | None = None,
        batch_tokens: int = BATCH_TOKENS,
    ) -> Self:
        """Loads a checkpoint; arguments as of :meth:`.LevenshteinEditor.from_pretrained`.

        Raises:
            UserError: no checkpoint there, one that cannot be read, of another task or without the
                description of its data; a device that is not here.
        """
        place = device_named(device)
        path = find_checkpoint(os.fspath(path))
        state = load_state(path)
        with wrap_checkpoint_errors(path):
            task = _task(state, path)
        model = load_model(path, task, state, EncT5Model).to(place)
        with wrap_checkpoint_errors(path):
            return cls(model, task, batch_tokens)

    def __repr__(self) -> str:
        size = sum(parameter.numel() for parameter in self.model.parameters())
        labels = f"{len(self.labels)} labels, " if self.labels else ""
        return f"EncT5({self.kind.value}, {labels}{size:,} parameters, device {self.device})"

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.model.parameters()).device

    @property
    def labels(self) -> tuple[str, ...]:
        """Their names in order; none for values."""
        return tuple(self.metadata.labels)

    @property
    def max_length(self) -> int:
        """Most subwords of a text or window, ``</s>`` included."""
        return self.metadata.max_length

    def predict(
        self,
        texts: Iterable[Text],
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[Prediction]:
        """The class, the value or the labels of every text, in order.

        Args:
            texts: strings; or pairs of them, where the model was trained on two texts. An empty
                one is a text too. What is longer than the model reads is cut off as in training.
            top_k: also list so many of the likeliest labels, whatever the threshold.
            threshold: of many labels those whose probability is above this hold; by default the
                best in validation, which the checkpoint keeps.

        Raises:
            UserError: a model that tags; a single string; one text where there should be two, or
                two for one; a threshold outside [0, 1]; an option that the kind does not have.
        """
        if self.kind is ProblemType.TAGGING:
            raise UserError("the model tags words; use predict_tags(), which takes sentences")
        return list(self.stream(texts, top_k, threshold))

    def predict_tags(self, sentences: Iterable[Text], top_k: int | None = None) -> list[Tagged]:
        """The tag of every word of every sentence, in order.

        A sentence that is longer than the model reads is read in several windows of whole words,
        and only a word that alone is longer is cut off.

        Args:
            sentences: lists of words, or strings that are cut at spaces.
            top_k: as of :meth:`predict`, of each word.

        Raises:
            UserError: a model that does not tag, or a single string.
        """
        if self.kind is not ProblemType.TAGGING:
            raise UserError(f"the model is for {self.kind.value} and tags no words; use predict()")
        return list(self.stream(sentences, top_k))

    def stream(
        self,
        texts: Iterable[Text],
        top_k: int | None = None,
        threshold: float | None = None,
        buffer: int = BUFFER,
    ) -> Iterator[Any]:
        """:meth:`predict` or, of a model that tags, :meth:`predict_tags` for texts without an end.

        Args:
            buffer: texts that are taken, sorted by length and read at once; 1 answers each before
                the next is asked for. Does not change the outcome.

        Raises:
            UserError: as these, what concerns a text once it is reached.
        """
        wanted, tags = self._wanted(top_k, threshold), self.kind is ProblemType.TAGGING
        given = listed("sentences" if tags else "texts", texts)
        readings = map(self._sentence if tags else self._text, given)
        return self._answers(readings, max(1, buffer), wanted.tagged if tags else wanted.prediction)

    def _wanted(self, top_k: int | None, threshold: float | None) -> Wanted:
        ranked, many = self.kind is not ProblemType.REGRESSION, self.kind.many
        for name, value, has in (("top_k", top_k, ranked), ("threshold", threshold, many)):
            if value is not None and not has:
                raise UserError(f"{name}: has no meaning for {self.kind.value}; leave it out")
        threshold = self.task.threshold if threshold is None else threshold
        if not 0 <= threshold <= 1:
            raise UserError(f"threshold {threshold}: must be between 0 and 1")
        return Wanted(self.kind, self.labels, top_k, threshold)

    # text to subwords ---------------------------------------------------------------------------

    def _text(self, given: Text) -> Reading:
        """A text or a pair."""
        texts = _strings(given)
        wanted = self.metadata.texts
        if len(texts) != wanted:
            trained = "single texts" if wanted == 1 else "pairs of texts"
            raise UserError(f"{given!r:.60}: the model was trained on {trained}")
        cut = self.tokenizer.texts(texts, self.max_length)
        return Reading(texts, [cut], cut.cut_off)

    def _sentence(self, given: Text) -> Reading:
        """Words in as many windows as they need."""
        words = _strings(given.split() if isinstance(given, str) else given)
        windows: list[Encoding] = []
        done, too_long = 0, False
        while done < len(words):
            # no more words than this fit: each has a subword at least
            window = self.tokenizer.words(words[done : done + self.max_length], self.max_length)
            if window.reached == 1 and window.cut_off:
                too_long |= self.tokenizer.words(words[done : done + 1], self.max_length).cut_off
            windows.append(window)
            done += window.reached
        return Reading(words, windows, too_long)

    # subwords to scores -------------------------------------------------------------------------

    def _answers(
        self,
        readings: Iterator[Reading],
        buffer: int,
        answer: Callable[[Reading, list[Tensor]], Prediction | Tagged],
    ) -> Iterator[Prediction | Tagged]:
        """What ``answer`` makes of each text and its scores, in order."""
        while chunk := list(islice(readings, buffer)):
            scores = iter(self._scores([cut for reading in chunk for cut in reading.cuts]))
            for reading in chunk:
                yield answer(reading, list(islice(scores, len(reading.cuts))))

    @torch.inference_mode()
    def _scores(self, cuts: Sequence[Encoding]) -> list[Tensor]:
        """Probabilities or values of each text, 1 × N, or of its words, W × N.

        Read together with others of alike length, as many as the budget of a batch allows.
        """
        positions = [len(self.kind.latents(cut.reached, self.task.number)) for cut in cuts]
        sizes = [(len(cut.pieces), latents) for cut, latents in zip(cuts, positions)]
        order = sorted(range(len(cuts)), key=sizes.__getitem__)
        found = [torch.zeros(0)] * len(cuts)
        for batch in by_budget([max(sizes[i]) for i in order], self.batch_tokens):
            numbers = [order[place] for place in batch]
            rows = [[_example(cuts[i])] for i in numbers]
            columns = collate(rows, self.kind, self.task.number)
            logits = self.model(**{name: one.to(self.device) for name, one in columns.items()})
            scores = self.kind.scores(logits.float()).cpu()
            tags = self.kind is ProblemType.TAGGING
            parts = scores.split([cuts[i].reached if tags else 1 for i in numbers])
            for i, mine in zip(numbers, parts, strict=True):
                found[i] = mine
        return found


def _strings(given: Text) -> tuple[str, ...]:
    """One text or several."""
    texts = (given,) if isinstance(given, str) else given
    if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
        raise UserError(f"{given!r:.60} is no text; give strings, or lists of them")
    return tuple(texts)


def _example(cut: Encoding) -> Example:
    pieces, spans = (torch.tensor(one, dtype=torch.long) for one in (cut.pieces, cut.spans))
    return Example(pieces, spans, torch.zeros(0, dtype=torch.long))


def _task(state: CheckpointState, path: str) -> EncT5Task:
    """The task, of what the checkpoint keeps."""
    cfg = state["cfg"].task
    if cfg._name != TASK:
        raise UserError(f"{path} was trained with task {cfg._name}, not {TASK}")
    metadata = Metadata.of(state.get("task_state"), path)
    names = ("kind", "max_source_positions", "max_target_positions")
    return EncT5Task(EncT5TaskConfig(**{n: cfg[n] for n in names if n in cfg}), metadata)
