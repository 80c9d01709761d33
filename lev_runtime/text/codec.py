"""Turns text into tokens and their numbers and back, as fairseq does; trains SentencePiece."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from ..errors import UserError
from ..folder import DICTIONARIES, SUBWORDS, Folder

LARGEST = 2**31 - 1  #: what SentencePiece can count to
_TOO_SMALL = re.compile(r"smaller than required_chars\. \d+ vs (\d+)")


def train_sentencepiece(
    sentences: Iterator[str], size: int, flag: str = "--vocab-size", **options: Any
) -> None:
    """Trains a SentencePiece model that has every character of the sentences.

    Args:
        size: how many subwords it has; fewer where the sentences do not give so many.
        flag: by which the user gives the size, for messages.
        options: more of SentencePiece's own: ``model_prefix`` or ``model_writer`` among them.

    Raises:
        UserError: no text, or a size that it does not allow.
    """
    import sentencepiece

    if not 0 < size <= LARGEST:
        raise UserError(f"{flag} {size}: give a number of subwords, such as 4000")
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=sentences,
            vocab_size=size,
            hard_vocab_limit=False,
            character_coverage=1.0,
            minloglevel=2,
            **options,
        )
    except (RuntimeError, ValueError) as error:
        if least := _TOO_SMALL.search(str(error)):
            raise UserError(
                f"{flag} {size}: this text needs at least {least[1]} subwords, one for each "
                "character and special symbol; give more"
            ) from None
        reason = str(error).strip().rpartition("\n")[2]
        fault = f"SentencePiece cannot be trained on this text ({reason})"
        raise UserError(f"{flag} {size}: {fault}") from None


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
        """Returns a text as tokens with spaces between them."""

    def decode(self, tokens: str, /) -> str:
        """Joins tokens with spaces between them to a text."""


class TextProcessing:
    """A tokenizer and then subwords; either may be None.

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
        """Cuts a text into the model's tokens, as they are spelt, known to it or not."""
        if self.by_letter and text.split() == [text]:
            return tuple(text)  # a lexicon has many words
        if self.tokenizer:
            text = self.tokenizer.encode(text)
        if self.bpe:
            text = self.bpe.encode(text)
        return tuple(text.split())

    def text(self, tokens: Sequence[str | None]) -> str:
        """Joins tokens to a text; None is :data:`UNREADABLE`."""
        text = " ".join(UNREADABLE if token is None else token for token in tokens)
        if self.bpe:
            text = self.bpe.decode(text)
        if self.tokenizer:
            text = self.tokenizer.decode(text)
        return text


_WRITTEN_SPACE = "\u2581"  # in characters and in SentencePiece's subwords
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
        """Returns the symbols of text by their numbers, without those that only fill up a table."""
        return {
            number: symbol
            for number, symbol in enumerate(self.symbols)
            if symbol not in self.unspeakable and not symbol.startswith(_FILLER)
        }

    def encode(self, words: Sequence[str]) -> list[int]:
        """Returns the numbers of <s>, the words and </s>."""
        numbers = [self.index.get(word, self.unk) for word in words]
        return [self.bos, *numbers, self.eos]


def read_dictionaries(folder: Folder) -> tuple[Dictionary, Dictionary]:
    """Reads the dictionaries of source and target."""
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
        """Cuts a text into tokens; half of a surrogate pair is a question mark."""
        if self.bpe or self.spaces:
            text = text.encode("utf-8", "replace").decode()
        if self.spaces:
            text = _SPACES.sub(" ", text)
        if self.bpe:
            text = plain_spaces(text)
        if self.bpe == "characters":
            return " ".join(text.replace(" ", _WRITTEN_SPACE))
        if self.model is None:
            return text
        return " ".join(self.model.encode(text, out_type=str))

    def decode(self, tokens: str) -> str:
        """Joins tokens with spaces between them to a text."""
        if self.bpe is None:
            return tokens
        text = tokens.replace(" ", "").replace(_WRITTEN_SPACE, " ")
        return text if self.model is None else text.strip()
