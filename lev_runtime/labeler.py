"""Labels, values and tags of text with an exported EncT5.

Shapes: B texts, S subwords, L decoder positions, N labels or classes, W words.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

from .arguments import strings
from .batching import by_budget
from .errors import UserError
from .folder import SUBWORDS, Folder
from .pieces import Encoding, FolderPieces, Pieces, SentencePieces
from .predictions import MANY, MULTILABEL, MULTILABEL_POOLED, REGRESSION, TAGGING, Wanted
from .predictions import Prediction as Prediction

MODEL = "enct5"
LABELER = "labeler.json"
Text = str | Sequence[str]
#: texts or words; as the model reads them: at once, or in windows; whether an end was cut off
Reading = tuple[tuple[str, ...], list[Encoding], bool]


class Labeler:
    """An exported model with what cuts text for it; several threads may use one at once.

    Args:
        path: a folder that ``lev-export`` has written, or what was read of it.
        threads: that a pass computes with, by default as many as there are cores.
        batch_tokens: most subwords (or decoder positions, whichever are more) that are read at
            once, padding included; does not change the outcome.

    Attributes:
        kind: what is predicted. labels: names in order; none for values. tags: whether it tags
            words. texts_per_example: 1, or 2 for pairs.

    Raises:
        UserError: no such folder, a damaged one, or one of another kind of model.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | Folder,
        threads: int | None = None,
        batch_tokens: int = 4096,
    ) -> None:
        folder = path if isinstance(path, Folder) else Folder(path)
        folder.require(MODEL, "Labeler")
        settings = folder.json(LABELER)
        self.kind: str = settings["kind"]
        self.labels = tuple(settings["labels"])
        self.tags = self.kind == TAGGING
        self.texts_per_example: int = settings["texts"]
        self.most: int = settings["max_length"]
        self.threshold: float = settings["threshold"]
        self.batch_tokens = batch_tokens
        self.pieces = _pieces(folder, settings["pieces"])
        self.session = folder.session(folder.description["graphs"]["labeler"], threads)

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
                best in validation.
            buffer: texts that are taken, sorted by length and read at once. Does not change the
                outcome.

        Raises:
            UserError: a single string; one text where there should be two, or two for one; a
                threshold outside [0, 1]; an option that the kind does not have.
        """
        if isinstance(texts, str):
            raise UserError(f"texts: takes a list, not {texts!r:.60}")
        wanted = self._wanted(top_k, threshold)
        readings = map(self._sentence if self.tags else self._text, texts)
        while chunk := list(islice(readings, max(1, buffer))):
            scores = iter(self._scores([part for _, parts, _ in chunk for part in parts]))
            for words, parts, cut in chunk:
                yield wanted.record(words, list(islice(scores, len(parts))), cut)

    def _wanted(self, top_k: int | None, threshold: float | None) -> Wanted:
        """The caller's options; errors of :meth:`stream`."""
        if top_k is not None and top_k < 1:
            raise UserError(f"top_k={top_k}: must be 1 or more")
        if top_k is not None and self.kind == REGRESSION:
            raise UserError(f"top_k: has no meaning for {self.kind}; leave it out")
        if threshold is not None and self.kind not in MANY:
            raise UserError(f"threshold: has no meaning for {self.kind}; leave it out")
        least = self.threshold if threshold is None else threshold
        if not 0 <= least <= 1:
            raise UserError(f"threshold {least}: must be between 0 and 1")
        return Wanted(self.kind, self.labels, top_k, least)

    # text to subwords ---------------------------------------------------------------------------

    def _text(self, example: Text) -> Reading:
        """A text or a pair."""
        texts = strings("texts", "text", [example] if isinstance(example, str) else example)
        if len(texts) != self.texts_per_example:
            trained = "single texts" if self.texts_per_example == 1 else "pairs of texts"
            raise UserError(f"{example!r:.60}: the model was trained on {trained}")
        encoding = self.pieces.texts(texts, self.most)
        return tuple(texts), [encoding], encoding.cut_off

    def _sentence(self, sentence: Text) -> Reading:
        """Words in as many windows as they need."""
        words = strings(
            "words", "word", sentence.split() if isinstance(sentence, str) else sentence
        )
        windows: list[Encoding] = []
        done, too_long = 0, False
        while done < len(words):
            # no more words than this fit: each has a subword at least
            window = self.pieces.words(words[done : done + self.most], self.most)
            if window.reached == 1 and window.cut_off:
                too_long |= self.pieces.words(words[done : done + 1], self.most).cut_off
            windows.append(window)
            done += window.reached
        return tuple(words), windows, too_long

    # the model ----------------------------------------------------------------------------------

    def _positions(self, part: Encoding) -> int:
        """How many decoder positions there are."""
        if self.kind == MULTILABEL:
            return len(self.labels)
        return part.reached if self.tags else 1

    def _scores(self, parts: Sequence[Encoding]) -> list[np.ndarray]:
        """Probabilities or values of each text, 1 × N, or of its words, W × N.

        Read together with others of alike length, as many as the budget of a batch allows.
        """
        sizes = [(len(part.pieces), self._positions(part)) for part in parts]
        order = sorted(range(len(parts)), key=sizes.__getitem__)
        scores: dict[int, np.ndarray] = {}
        for batch in by_budget([max(sizes[number]) for number in order], self.batch_tokens):
            numbers = [order[place] for place in batch]
            inputs = self._inputs([parts[number] for number in numbers])
            (logits,) = self.session(["logits"], inputs)
            for number, own in zip(numbers, logits):
                scores[number] = self._probabilities(own[: sizes[number][1]])
        return [scores[number] for number in range(len(parts))]

    def _inputs(self, parts: Sequence[Encoding]) -> dict[str, np.ndarray]:
        """What the graph takes, B × S and B × L, padded on the right with 0."""
        counts = [self._positions(part) for part in parts]
        places = [[*range(count)] if self.kind == MULTILABEL else [0] * count for count in counts]
        mask = _padded([[1] * len(part.pieces) for part in parts])
        latent_mask = _padded([[1] * count for count in counts])
        inputs = {
            "tokens": _padded([part.pieces for part in parts]),
            "mask": mask.astype(np.int32),
            "latents": _padded(places),
            "latent_mask": latent_mask.astype(np.int32),
        }
        if self.tags:
            inputs["spans"] = _padded([part.spans for part in parts])
            inputs["latent_spans"] = _padded([[*range(1, count + 1)] for count in counts])
        return inputs

    def _probabilities(self, logits: np.ndarray) -> np.ndarray:
        """Of classes or labels of each prediction, or its value, from logits, L × outputs."""
        if self.kind == REGRESSION:
            return logits
        if self.kind == MULTILABEL_POOLED:
            probabilities: np.ndarray = 1 / (1 + np.exp(-logits))
            return probabilities
        chances = np.exp(logits - logits.max(1, keepdims=True))
        chances /= chances.sum(1, keepdims=True)
        return chances[None, :, 1] if self.kind == MULTILABEL else chances


def _pieces(folder: Folder, kind: str) -> Pieces:
    """What cuts text for the model; ``kind``: bytes, sentencepiece or the name of a file."""
    if kind == "bytes":
        return Pieces()
    if kind == "sentencepiece":
        return SentencePieces(folder.path / SUBWORDS)
    content = folder.json(kind)
    return FolderPieces(content["wordpiece"], content["first"])


def _padded(rows: Sequence[Sequence[int]]) -> np.ndarray:
    padded = np.zeros((len(rows), max(map(len, rows), default=0)), np.int64)
    for number, row in enumerate(rows):
        padded[number, : len(row)] = row
    return padded
