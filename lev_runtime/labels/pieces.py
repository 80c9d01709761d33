"""Cuts text into the subwords of an EncT5.

They are in T5's own order: padding 0, ``</s>`` 1, ``<unk>`` 2, then all others.
"""

import importlib
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..errors import UserError

PAD, EOS, UNK = "<pad>", "</s>", "<unk>"
SPECIAL = (PAD, EOS, UNK)
EOS_ID, UNK_ID, BOS_ID = 1, 2, len(SPECIAL)
#: bytes as subwords, after the special ones (ByT5: Xue et al., 2022, §3.1)
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


class Encoding(NamedTuple):
    """A text as the model reads it.

    pieces: indices, ``</s>`` at the end. word_ids: for tagging the word of each subword, from 1,
    and 0 at ``</s>``; empty otherwise. num_kept: how many of the texts or words are in it; the last
    may lack its end. truncated: whether something was too long.
    """

    pieces: list[int]
    word_ids: list[int]
    num_kept: int
    truncated: bool


class Tokenizer:
    """Cuts text into pieces, by a sentencepiece model, or into bytes without one.

    Text that spells a special subword (``</s>``) is text like any other. Halves of surrogate pairs,
    which no file can hold, are question marks.

    Attributes:
        pieces: the vocabulary in order. model: what the tokenizer was made of.
    """

    #: indices that stand before every text
    prefix: Sequence[int] = ()
    #: what stands before every word of a sentence but the first
    word_separator = ""
    #: the tokenizer of a pre-trained folder, JSON
    hf_tokenizer: str | None = None

    def __init__(self, model: bytes | None = None) -> None:
        self.model = model
        self.processor = _processor(model)
        pieces = BYTES
        if self.processor is None:
            self.word_separator = " "
        else:
            numbers = range(len(self.processor))
            pieces = [self.processor.id_to_piece(number) for number in numbers]
        self.pieces = [*SPECIAL, *(piece for piece in pieces if piece not in SPECIAL)]
        index = {piece: number for number, piece in enumerate(self.pieces)}
        index.update(dict.fromkeys(SPECIAL, UNK_ID))
        #: the processor's number, or the byte → our index
        self.indices = [index[piece] for piece in pieces]
        if self.processor is not None:
            self.indices[self.processor.unk_id()] = UNK_ID

    def encode(self, text: str) -> list[int]:
        """Returns the indices of a text's subwords alone; none for an empty text."""
        encoded = text.encode("utf-8", "replace")
        if self.processor is None:
            return [self.indices[byte] for byte in encoded]
        return [self.indices[number] for number in self.processor.encode(encoded.decode())]

    def encode_texts(self, texts: Sequence[str], max_length: int) -> Encoding:
        """Returns one text, or two, each with ``</s>`` after it, of ``max_length`` subwords in all.

        Of the longer one more is cut off. Where both are too long for their half the first keeps
        one more than the second, or as many.
        """
        parts = [self.encode(text) for text in texts]
        room = max_length - len(parts) - len(self.prefix)
        first = len(parts[0])
        second = sum(map(len, parts[1:]))
        half = (room + 1) // 2
        kept = min(first, max(room - second, half))
        pieces = list(self.prefix)
        for part, length in zip(parts, (kept, room - kept)):
            pieces += [*part[:length], EOS_ID]
        return Encoding(pieces, [], len(texts), first + second > room)

    def encode_words(self, words: Sequence[str], max_length: int) -> Encoding:
        """Encodes words, each with subwords of its own, as many as fit whole; at least the first.

        A word without subwords is ``<unk>``. ``max_length``: subwords in all, ``</s>`` included.
        """
        pieces = list(self.prefix)
        word_ids = [0] * len(pieces)
        num_kept, truncated = 0, False
        for number, word in enumerate(words, start=1):
            room = max_length - 1 - len(pieces)
            separator = self.word_separator if number > 1 else ""
            subwords = (self.encode(separator + word) if word else []) or [UNK_ID]
            if len(subwords) > room:
                truncated = True
                if num_kept:
                    break
                subwords = subwords[:room]
            pieces += subwords
            word_ids += [number] * len(subwords)
            num_kept = number
        return Encoding([*pieces, EOS_ID], [*word_ids, 0], num_kept, truncated)


class FolderTokenizer(Tokenizer):
    """The tokenizer of a BERT's or T5's folder, by the library ``tokenizers``.

    A BERT's ``<s>``, which is its [CLS], stands before every text. Only the ``</s>`` between them
    separates the two texts of a pair.

    Args:
        content: JSON: the tokenizer as the library writes it, and its row of each of the subwords.
        has_bos: whether ``<s>`` stands before every text, after T5's special subwords.
        pieces: the vocabulary in order, for those who write it.

    Raises:
        UserError: the library is not installed.
    """

    def __init__(self, content: str, has_bos: bool, pieces: Sequence[str] = ()) -> None:
        try:
            library: Any = importlib.import_module("tokenizers")
        except ImportError:
            raise UserError("this model's tokenizer needs: pip install tokenizers") from None
        self.hf_tokenizer = content
        self.model = None
        self.pieces = list(pieces)
        self.prefix = [BOS_ID] if has_bos else []
        stored = json.loads(content)
        self.index = {row: index for index, row in enumerate(stored["rows"])}
        self.tokenizer = library.Tokenizer.from_str(json.dumps(stored["tokenizer"]))
        self.tokenizer.encode_special_tokens = True

    def encode(self, text: str) -> list[int]:
        """Returns the indices of a text's subwords alone; none for an empty text."""
        text = text.encode("utf-8", "replace").decode()
        rows = self.tokenizer.encode(text, add_special_tokens=False).ids
        return [self.index[row] for row in rows]


def _processor(model: bytes | None) -> Any:
    if model is None:
        return None
    from sentencepiece import SentencePieceProcessor

    return SentencePieceProcessor(model_proto=model)
