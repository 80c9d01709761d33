"""Text as a model's tokens, and back."""

import re
from collections.abc import Sequence
from typing import Protocol

#: stands for what cannot be text: a byte that is not UTF-8, or a token that a model cannot spell
UNREADABLE = "\ufffd"
Tokens = tuple[str, ...]
_SPACE = re.compile(r"\s")


def plain_spaces(text: str) -> str:
    """Returns a text with a plain space for every character that Unicode calls white space.

    Subwords are cut from such a text alone: they know no other space, and ``str.split`` would
    drop one that had become a token, so that two words were one.
    """
    return _SPACE.sub(" ", text)


class TextEncoder(Protocol):
    """A tokenizer, or a kind of subwords."""

    def encode(self, text: str, /) -> str:
        """Text → tokens with spaces between them."""

    def decode(self, tokens: str, /) -> str:
        """Tokens with spaces between them → text."""


class TextProcessing:
    """A tokenizer and subwords, one behind the other; either may be None.

    by_letter: whether the subwords are characters, and words are cut into these alone.
    """

    def __init__(
        self,
        tokenizer: TextEncoder | None = None,
        bpe: TextEncoder | None = None,
        by_letter: bool = False,
    ) -> None:
        self.tokenizer = tokenizer
        self.bpe = bpe
        self.by_letter = tokenizer is None and by_letter

    def tokens(self, text: str) -> Tokens:
        """A text as the model's tokens, each as it is spelt, known to the model or not."""
        if self.by_letter and text.split() == [text]:
            return tuple(text)  # a lexicon has many words
        if self.tokenizer:
            text = self.tokenizer.encode(text)
        if self.bpe:
            text = self.bpe.encode(text)
        return tuple(text.split())

    def text(self, tokens: Sequence[str | None]) -> str:
        """The text of tokens; :data:`UNREADABLE` for None."""
        text = " ".join(UNREADABLE if token is None else token for token in tokens)
        if self.bpe:
            text = self.bpe.decode(text)
        if self.tokenizer:
            text = self.tokenizer.decode(text)
        return text
