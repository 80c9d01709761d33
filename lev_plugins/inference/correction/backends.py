"""What writes units anew, and how sure it is of each change."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from fairseq.data.encoders.characters import Characters

from ...data.batch import TextEncoder
from .edits import Change
from .units import UNREADABLE, Context

Tokens = tuple[str, ...]


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


class Backend(Protocol):
    """A model that corrects.

    limit: tokens of a unit at most. knows_spaces: one that does not reads single words. It may
    have ``words_learnt`` too: words of the units that it learnt to read, or None.
    """

    limit: int
    knows_spaces: bool

    def tokens(self, text: str) -> Tokens:
        """A text as the model's tokens, each as it is spelt, known to the model or not."""

    def text(self, tokens: Sequence[str | None]) -> str:
        """The text of tokens; :data:`~.units.UNREADABLE` for None."""

    def write(self, units: Sequence[Tokens], batch_size: int) -> list[Answer | None]:
        """An answer for each unit, in order, however they are batched.

        Args:
            units: of at least 1 token and at most ``limit``.
            batch_size: units at once.

        Returns:
            None for a unit whose answer did not come to an end.
        """


@runtime_checkable
class ContextBackend(Backend, Protocol):
    """A backend that can use the words around a unit.

    uses_context: whether it does.
    """

    uses_context: bool

    def write_in_context(
        self, units: Sequence[Tokens], contexts: Sequence[Context], batch_size: int
    ) -> list[Answer | None]:
        """:meth:`Backend.write`, for units in their contexts."""


class CharacterBackend:
    """What a backend whose tokens are characters makes of text."""

    def tokens(self, text: str) -> Tokens:
        """Characters."""
        return tuple(text)

    def text(self, tokens: Sequence[str | None]) -> str:
        """The characters, joined."""
        return "".join(token or "" for token in tokens)


class TextProcessing:
    """fairseq's tokenizer and subwords, one behind the other; either may be None."""

    def __init__(
        self, tokenizer: TextEncoder | None = None, bpe: TextEncoder | None = None
    ) -> None:
        self.tokenizer, self.bpe = tokenizer, bpe
        self.by_letter = tokenizer is None and isinstance(bpe, Characters)

    def tokens(self, text: str) -> Tokens:
        """See :class:`Backend`."""
        if self.by_letter and text.split() == [text]:
            return tuple(text)  # a lexicon has many words
        text = self.tokenizer.encode(text) if self.tokenizer else text
        return tuple((self.bpe.encode(text) if self.bpe else text).split())

    def text(self, tokens: Sequence[str | None]) -> str:
        """See :class:`Backend`."""
        text = " ".join(UNREADABLE if token is None else token for token in tokens)
        text = self.bpe.decode(text) if self.bpe else text
        return self.tokenizer.decode(text) if self.tokenizer else text
