"""Text to the subwords of an EncT5: padding 0, ``</s>`` 1, ``<unk>`` 2, then all others."""

import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .errors import UserError

PAD, EOS, UNK = "<pad>", "</s>", "<unk>"
SPECIAL = (PAD, EOS, UNK)
#: bytes as subwords, behind the special ones (ByT5: Xue et al., 2022, §3.1)
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
_END, _UNKNOWN = SPECIAL.index(EOS), SPECIAL.index(UNK)


class Encoding(NamedTuple):
    """A text as the model reads it.

    pieces: indices, ``</s>`` at the end. spans: for tagging the word of each subword, from 1, and 0
    at ``</s>``; empty otherwise. reached: how many of the texts or words are in it; the last may
    lack its end. cut_off: whether something was too long.
    """

    pieces: list[int]
    spans: list[int]
    reached: int
    cut_off: bool


class Pieces:
    """Cuts text into bytes.

    Text that spells a special subword (``</s>``) is text like any other. Halves of surrogate pairs,
    which no file can hold, are question marks.
    """

    #: what stands before every text
    first: Sequence[int] = ()
    #: what stands before every word of a sentence but the first
    space = " "

    def cut(self, text: str) -> list[int]:
        """Indices of a text's subwords alone; none for an empty text."""
        return [len(SPECIAL) + byte for byte in text.encode("utf-8", "replace")]

    def texts(self, texts: Sequence[str], most: int) -> Encoding:
        """One text, or two, each with ``</s>`` behind it, of ``most`` subwords in all.

        Of the longer one more is cut off. Where both are too long for their half the first keeps
        one more than the second, or as many.
        """
        parts = [self.cut(text) for text in texts]
        room = most - len(parts) - len(self.first)
        first, second = len(parts[0]), sum(map(len, parts[1:]))
        kept = min(first, max(room - second, -(-room // 2)))
        pieces = list(self.first)
        for part, length in zip(parts, (kept, room - kept)):
            pieces += [*part[:length], _END]
        return Encoding(pieces, [], len(texts), first + second > room)

    def words(self, words: Sequence[str], most: int) -> Encoding:
        """Words, each with subwords of its own, as far as they fit whole; at least the first.

        A word without subwords is ``<unk>``. ``most``: subwords in all, ``</s>`` included.
        """
        pieces = list(self.first)
        spans = [0] * len(pieces)
        reached, cut_off = 0, False
        for number, word in enumerate(words, start=1):
            space = self.space if number > 1 else ""
            own = (self.cut(space + word) if word else []) or [_UNKNOWN]
            if len(pieces) + len(own) > most - 1:
                cut_off = True
                if reached:
                    break
                own = own[: most - 1 - len(pieces)]
            pieces += own
            spans += [number] * len(own)
            reached = number
        return Encoding([*pieces, _END], [*spans, 0], reached, cut_off)


class SentencePieces(Pieces):
    """Cuts text by a SentencePiece model."""

    space = ""

    def __init__(self, path: Path) -> None:
        from sentencepiece import SentencePieceProcessor

        self.model: Any = SentencePieceProcessor(model_file=str(path))
        own = [self.model.id_to_piece(piece) for piece in range(len(self.model))]
        known = [*SPECIAL, *(piece for piece in own if piece not in SPECIAL)]
        row = {piece: index for index, piece in enumerate(known)}
        row.update(dict.fromkeys(SPECIAL, _UNKNOWN))
        self.rows = [row[piece] for piece in own]
        self.rows[self.model.unk_id()] = _UNKNOWN

    def cut(self, text: str) -> list[int]:
        """See the base class."""
        return [self.rows[piece] for piece in self.model.encode(_printable(text))]


class FolderPieces(Pieces):
    """Cuts text as the tokenizer of a BERT or T5 does, by the library ``tokenizers``.

    content: JSON, the tokenizer and the row of each piece. first: whether ``<s>`` stands before
    every text.

    Raises:
        UserError: the library is not installed.
    """

    space = ""

    def __init__(self, content: str, first: bool) -> None:
        try:
            library: Any = importlib.import_module("tokenizers")
        except ImportError as error:
            raise UserError("this model's tokenizer needs: pip install tokenizers") from error
        self.first = [len(SPECIAL)] if first else []
        values = json.loads(content)
        self.index = {row: place for place, row in enumerate(values["rows"])}
        self.tokenizer = library.Tokenizer.from_str(json.dumps(values["tokenizer"]))
        self.tokenizer.encode_special_tokens = True

    def cut(self, text: str) -> list[int]:
        """See the base class."""
        encoded = self.tokenizer.encode(_printable(text), add_special_tokens=False)
        return [self.index[row] for row in encoded.ids]


def _printable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
