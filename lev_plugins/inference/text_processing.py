"""Text as a model's tokens, and back: the runtime's, with fairseq's tokenizers and subwords."""

from fairseq.data.encoders.characters import Characters

from lev_runtime.text import codec
from lev_runtime.text.codec import Tokens as Tokens

from ..data.batch import TextEncoder


class TextProcessing(codec.TextProcessing):
    """fairseq's tokenizer and subwords, one after the other; either may be None."""

    def __init__(
        self, tokenizer: TextEncoder | None = None, bpe: TextEncoder | None = None
    ) -> None:
        super().__init__(tokenizer, bpe, isinstance(bpe, Characters))
