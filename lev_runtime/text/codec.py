"""From text to the numbers of tokens, and back, as fairseq does it."""

import re
from collections.abc import Sequence
from typing import Any

from ..folder import DICTIONARIES, SUBWORDS, Folder
from .text_processing import plain_spaces

_SPACE = "\u2581"  # in characters and in SentencePiece's subwords
_FILLER = "madeupword"
_SPACES = re.compile(r"\s+")


class Dictionary:
    """Symbols and their numbers; words that are not known are ``<unk>``.

    ``special``: numbers of bos, pad, eos and unk. ``control``: symbols that a text cannot spell,
    besides the placeholder, which is the last one where there is one.
    """

    def __init__(
        self, symbols: Sequence[str], special: dict[str, int], control: int, placeholder: bool
    ) -> None:
        self.symbols = list(symbols)
        self.bos = special["bos"]
        self.pad = special["pad"]
        self.eos = special["eos"]
        self.unk = special["unk"]
        self.placeholder = len(self.symbols) - 1
        numbered = [*enumerate(self.symbols)]
        self.index = {symbol: number for number, symbol in reversed(numbered)}
        unspeakable = self.symbols[:control]
        if placeholder:
            unspeakable += self.symbols[-1:]
        self.unspeakable = frozenset(unspeakable)
        self.index |= dict.fromkeys(unspeakable, self.unk)

    def text_symbols(self) -> dict[int, str]:
        """The symbols that stand for text, by their numbers; not fairseq's to fill up a table."""
        return {
            number: symbol
            for number, symbol in enumerate(self.symbols)
            if symbol not in self.unspeakable and not symbol.startswith(_FILLER)
        }

    def encode(self, words: Sequence[str]) -> list[int]:
        """<s>, the words and </s>."""
        numbers = [self.index.get(word, self.unk) for word in words]
        return [self.bos, *numbers, self.eos]


def read_dictionaries(folder: Folder) -> tuple[Dictionary, Dictionary]:
    """Those of source and target."""
    content = folder.json(DICTIONARIES)
    source = content["source"]
    target = content.get("target", source)
    shared = content["special"], content["nspecial"], content["placeholder"]
    return Dictionary(source, *shared), Dictionary(target, *shared)


class TextCodec:
    """Cuts text into tokens with spaces between them, and joins them again.

    Raises:
        UserError: the folder's subword model cannot be read.
    """

    def __init__(self, folder: Folder) -> None:
        settings: dict[str, Any] = folder.description["text"]
        self.bpe: str | None = settings["bpe"]
        self.spaces = settings["tokenizer"] == "space"
        #: whether it cuts text into characters alone
        self.by_letter = self.bpe == "characters" and not self.spaces
        self.model: Any = None
        if self.bpe == "sentencepiece":
            from sentencepiece import SentencePieceProcessor

            self.model = SentencePieceProcessor(model_file=str(folder.path / SUBWORDS))

    def encode(self, text: str) -> str:
        """A text as tokens; half of a surrogate pair is a question mark."""
        if self.bpe or self.spaces:
            text = text.encode("utf-8", "replace").decode()
        if self.spaces:
            text = _SPACES.sub(" ", text)
        if self.bpe:
            text = plain_spaces(text)
        if self.bpe == "characters":
            return " ".join(text.replace(" ", _SPACE))
        if self.model is None:
            return text
        return " ".join(self.model.encode(text, out_type=str))

    def decode(self, tokens: str) -> str:
        """Tokens with spaces between them as a text."""
        if self.bpe is None:
            return tokens
        text = tokens.replace(" ", "").replace(_SPACE, " ")
        return text if self.model is None else text.strip()
