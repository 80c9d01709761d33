"""Text as a model's tokens, and back."""

from collections.abc import Sequence

from fairseq.data.encoders.characters import Characters

from ..data.batch import TextEncoder
from ..io.lines import UNREADABLE

Tokens = tuple[str, ...]


class TextProcessing:
    """fairseq's tokenizer and subwords, one behind the other; either may be None."""

    def __init__(
        self, tokenizer: TextEncoder | None = None, bpe: TextEncoder | None = None
    ) -> None:
        self.tokenizer, self.bpe = tokenizer, bpe
        self._by_letter = tokenizer is None and isinstance(bpe, Characters)

    def tokens(self, text: str) -> Tokens:
        """A text as the model's tokens, each as it is spelt, known to the model or not."""
        if self._by_letter and text.split() == [text]:
            return tuple(text)  # a lexicon has many words
        text = self.tokenizer.encode(text) if self.tokenizer else text
        return tuple((self.bpe.encode(text) if self.bpe else text).split())

    def text(self, tokens: Sequence[str | None]) -> str:
        """The text of tokens; :data:`UNREADABLE` for None."""
        text = " ".join(UNREADABLE if token is None else token for token in tokens)
        text = self.bpe.decode(text) if self.bpe else text
        return self.tokenizer.decode(text) if self.tokenizer else text
