"""What writes units anew, and how sure it is of each change."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from fairseq.data.encoders.characters import Characters
from torch import Tensor

from ...data.batch import TextEncoder
from ...data.batching import in_batches
from .edits import Change
from .units import UNREADABLE, Context

Tokens = tuple[str, ...]
#: A unit, and a text that it may become.
Pair = tuple[Tokens, Tokens]
#: Texts that a model wrote, and their log-probabilities where writing has told them.
Written = Mapping[Tokens, float | None]


@dataclass(frozen=True)
class Answer:
    """A unit as a model wrote it, and how sure it was; probabilities are logarithms, in nats.

    tokens: None where it wrote what has no spelling (``<unk>``). changes: a script of tokens
    (:mod:`.edits`), which need not be minimal; outside of it tokens are those of the unit.
    delete_log_probs: for each token of the unit the probability with which it was deleted.
    insert_log_probs: for each of ``tokens`` the probability with which it was written.
    boundary_log_probs: the probability with which a change ends before each of them, and before
    the end.

    A change ``(i, j, k, l)`` has the sum of ``delete_log_probs[i:j]``, ``insert_log_probs[k:l]``
    and ``boundary_log_probs[l]``.
    """

    tokens: tuple[str | None, ...]
    changes: tuple[Change, ...]
    delete_log_probs: tuple[float, ...]
    insert_log_probs: tuple[float, ...]
    boundary_log_probs: tuple[float, ...]

    def log_probability(self, change: Change) -> float:
        """Of a change, or of a part of one."""
        i, j, k, m = change
        return math.fsum(
            [*self.delete_log_probs[i:j], *self.insert_log_probs[k:m], self.boundary_log_probs[m]]
        )


class TextProcessing:
    """fairseq's tokenizer and subwords, one behind the other; either may be None."""

    def __init__(
        self, tokenizer: TextEncoder | None = None, bpe: TextEncoder | None = None
    ) -> None:
        self.tokenizer, self.bpe = tokenizer, bpe
        self.by_letter = tokenizer is None and isinstance(bpe, Characters)

    def tokens(self, text: str) -> Tokens:
        """A text as the model's tokens, each as it is spelt, known to the model or not."""
        if self.by_letter and text.split() == [text]:
            return tuple(text)  # a lexicon has many words
        text = self.tokenizer.encode(text) if self.tokenizer else text
        return tuple((self.bpe.encode(text) if self.bpe else text).split())

    def text(self, tokens: Sequence[str | None]) -> str:
        """The text of tokens; :data:`~.units.UNREADABLE` for None."""
        text = " ".join(UNREADABLE if token is None else token for token in tokens)
        text = self.bpe.decode(text) if self.bpe else text
        return self.tokenizer.decode(text) if self.tokenizer else text


class Backend:
    """A model that corrects.

    limit: tokens of a unit at most. knows_spaces: one that does not reads single words.
    words_learnt: words of the units that it learnt to read, where that is known. uses_context:
    whether :meth:`write` is to be told the words around each unit.
    """

    limit: int
    knows_spaces: bool
    words_learnt: int | None = None
    uses_context = False
    processing: TextProcessing

    def tokens(self, text: str) -> Tokens:
        """:meth:`TextProcessing.tokens`."""
        return self.processing.tokens(text)

    def text(self, tokens: Sequence[str | None]) -> str:
        """:meth:`TextProcessing.text`."""
        return self.processing.text(tokens)

    def stays(self, text: str) -> bool:
        """Whether a text is known to stay as it is, so that it need not be read."""
        return False

    def write(
        self, units: Sequence[Tokens], batch_size: int, contexts: Sequence[Context] = ()
    ) -> list[Answer | None]:
        """An answer for each unit, in order, however they are batched.

        Args:
            units: of at least 1 token and at most ``limit``.
            batch_size: units at once.
            contexts: of each unit, where ``uses_context``.

        Returns:
            None for a unit whose answer did not come to an end.
        """
        raise NotImplementedError


class ScoringBackend(Backend):
    """A backend whose model can be asked about texts that it did not write.

    scores: whether this one can. words: of a lexicon, among which :meth:`nbest` searches too, where
    it searches.
    """

    scores = True
    words: Sequence[str] = ()

    def knows(self, tokens: Tokens) -> bool:
        """Whether all tokens are in the dictionary."""
        raise NotImplementedError

    def nbest(
        self, units: Sequence[Tokens], batch_size: int, others: Sequence[Sequence[Tokens]] = ()
    ) -> list[Written]:
        """What the model writes for each unit: several texts, or one.

        ``others``: of each unit texts whose probabilities will be asked for; where that takes
        little more time they are among what is returned.
        """
        raise NotImplementedError

    def score(self, pairs: Sequence[Pair], batch_size: int) -> list[float]:
        """Log-probability, in nats, of (unit, text): that the model turns one into the other."""

        @torch.no_grad()
        def scored(some: Sequence[Pair]) -> list[float]:
            return self.log_probabilities(some).tolist()

        # by the length of the unit: its texts, which are about as long, stay together
        return in_batches(scored, pairs, (len(unit) for unit, _ in pairs), batch_size)

    def log_probabilities(self, pairs: Sequence[Pair]) -> Tensor:
        """:meth:`score` of one batch, in double precision."""
        raise NotImplementedError
