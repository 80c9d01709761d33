"""Labels, values and tags of text, whatever computes the scores.

Shapes: B texts, S subwords, L decoder positions, N labels or classes, W words.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from ..batching import BUFFER, Pause, chunks, in_budget
from ..errors import UserError, require_count, require_number, strings
from .pieces import Encoding, Tokenizer
from .predictions import MANY, MULTILABEL, REGRESSION, TAGGING, Prediction, Wanted

Text = str | Sequence[str]


class Reading(NamedTuple):
    """Texts or words as the model reads them, in one window or several.

    truncated: whether an end was cut off.
    """

    texts: tuple[str, ...]
    windows: list[Encoding]
    truncated: bool


class TextLabeler(ABC):
    """A trained model with what cuts text for it; several threads may use one at once.

    Attributes:
        kind: what is predicted. labels: names in order; none for values.
        texts_per_example: 1, or 2 for pairs. max_length: subwords that are read at most.
        threshold: of many labels those whose probability is above this hold.
        batch_tokens: most subwords (or decoder positions, whichever are more) that are read at
            once, padding included; does not change the outcome.
    """

    kind: str
    labels: tuple[str, ...]
    texts_per_example: int
    max_length: int
    threshold: float
    batch_tokens: int
    tokenizer: Tokenizer

    @property
    def tags(self) -> bool:
        """Returns whether words are tagged."""
        return self.kind == TAGGING

    def predict(
        self, texts: Iterable[Text], top_k: int | None = None, threshold: float | None = None
    ) -> list[Prediction]:
        """Returns :meth:`stream` as a list."""
        return list(self.stream(texts, top_k, threshold))

    predict_tags = predict

    def stream(
        self,
        texts: Iterable[Text | Pause],
        top_k: int | None = None,
        threshold: float | None = None,
        buffer: int = BUFFER,
    ) -> Iterator[Prediction]:
        """Yields the class, the value, the labels or the tags of every text, in order.

        Args:
            texts: strings; or pairs of them, where the model was trained on two texts. An empty one
                is a text too. What is longer than the model reads is cut off as in training. To be
                tagged: lists of words, or strings that are cut at spaces; long ones are read in
                several windows of whole words.
            top_k: also list so many of the likeliest labels (of each word).
            threshold: of many labels those whose probability is above this hold; by default the
                best in validation, which the model keeps.
            buffer: texts that are taken, sorted by length and read at once; 1 answers each before
                the next is asked for, a :class:`.Pause` what came before it. Does not change the
                outcome.

        Raises:
            UserError: a single string; one text where there should be two, or two for one; a
                threshold outside [0, 1]; an option that the kind does not have.
        """
        answer = self._answer(top_k, threshold)
        read = self._read_sentence if self.tags else self._read_text
        for chunk in chunks(texts, buffer):
            readings = list(map(read, chunk))
            windows = [window for reading in readings for window in reading.windows]
            scores = iter(self._scores(windows))
            for reading in readings:
                own_scores = list(islice(scores, len(reading.windows)))
                yield answer.record(reading.texts, own_scores, reading.truncated)

    def _answer(self, top_k: int | None, threshold: float | None) -> Wanted:
        """Returns the caller's options; errors of :meth:`stream`."""
        if top_k is not None:
            require_count("top_k", top_k)
        if top_k is not None and self.kind == REGRESSION:
            raise UserError(f"top_k: has no meaning for {self.kind}; leave it out")
        if threshold is None:
            threshold = self.threshold
        elif self.kind not in MANY:
            raise UserError(f"threshold: has no meaning for {self.kind}; leave it out")
        threshold = require_number("threshold=", threshold, 0, 1)
        return Wanted(self.kind, self.labels, top_k, threshold)

    # text to subwords ---------------------------------------------------------------------------

    def _read_text(self, text: Text) -> Reading:
        """Reads a text or a pair."""
        pair = [text] if isinstance(text, str) else text
        texts = strings("texts", pair)
        if len(texts) != self.texts_per_example:
            trained_on = "single texts" if self.texts_per_example == 1 else "pairs of texts"
            raise UserError(f"{text!r:.60}: the model was trained on {trained_on}")
        encoding = self.tokenizer.encode_texts(texts, self.max_length)
        return Reading(tuple(texts), [encoding], encoding.truncated)

    def _read_sentence(self, text: Text) -> Reading:
        """Reads words in as many windows as they need."""
        if isinstance(text, str):
            text = text.split()
        words = strings("words", text)
        windows: list[Encoding] = []
        start, truncated = 0, False
        while start < len(words):
            # no more words than this fit: each has a subword at least
            following = words[start : start + self.max_length]
            window = self.tokenizer.encode_words(following, self.max_length)
            if window.num_kept == 1 and window.truncated:
                first_word = self.tokenizer.encode_words(following[:1], self.max_length)
                truncated = truncated or first_word.truncated
            windows.append(window)
            start += window.num_kept
        return Reading(tuple(words), windows, truncated)

    # the model ----------------------------------------------------------------------------------

    def num_positions(self, window: Encoding) -> int:
        """Returns how many decoder positions there are."""
        if self.kind == MULTILABEL:
            return len(self.labels)
        return window.num_kept if self.tags else 1

    def _scores(self, windows: Sequence[Encoding]) -> list[np.ndarray]:
        """Returns probabilities or values of each text, 1 × N, or of its words, W × N.

        Texts of similar length are read together, as many as the budget of a batch allows.
        """
        sizes = [(len(window.pieces), self.num_positions(window)) for window in windows]
        return in_budget(self.batch_scores, windows, sizes, self.batch_tokens)

    @abstractmethod
    def batch_scores(self, windows: Sequence[Encoding]) -> Iterable[np.ndarray]:
        """Returns of each window its probabilities or values, 1 × N, or W × N of its words."""
