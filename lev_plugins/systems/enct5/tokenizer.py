"""Text to T5's subwords, in T5's own order: padding 0, ``</s>`` 1, ``<unk>`` 2, then all others."""

import base64
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...pretrained.directory import optional_library
from ...pretrained.vocabulary import BOS, EOS, PAD, UNK

SPECIAL = (PAD, EOS, UNK)
#: bytes as subwords, behind the special ones (ByT5: Xue et al., 2022, §3.1)
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


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


class Tokenizer:
    """Cuts text into pieces, by a sentencepiece model (base64), or into bytes without one.

    Text that spells a special subword (``</s>``) is text like any other. Halves of surrogate pairs,
    which no file can hold, are question marks.
    """

    #: what stands before every text
    first: Sequence[int] = ()
    wordpiece: str | None = None
    #: above 0: each text gets a random segmentation, of a probability proportional to the model's
    #: to this power (subword regularization; Kudo, 2018)
    alpha = 0.0

    def __init__(self, model: str | None) -> None:
        self.serialised, self.bytes, own = model, model is None, BYTES
        self.model: Any = None
        if model is not None:
            from sentencepiece import SentencePieceProcessor

            self.model = SentencePieceProcessor(model_proto=base64.b64decode(model))
            own = [self.model.id_to_piece(piece) for piece in range(len(self.model))]
        self.pieces = [*SPECIAL, *(piece for piece in own if piece not in SPECIAL)]
        unknown = SPECIAL.index(UNK)
        row = {piece: index for index, piece in enumerate(self.pieces)}
        row.update(dict.fromkeys(SPECIAL, unknown))
        self.rows = [row[piece] for piece in own]
        if self.model is not None:
            self.rows[self.model.unk_id()] = unknown

    def cut(self, text: str) -> list[int]:
        """Indices of a text's subwords alone; none for an empty text."""
        encoded = text.encode("utf-8", "replace")
        if self.model is None:
            return [self.rows[byte] for byte in encoded]
        found = self.model.encode(
            encoded.decode(), enable_sampling=self.alpha > 0, alpha=self.alpha, nbest_size=-1
        )
        return [self.rows[piece] for piece in found]

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
            pieces += [*part[:length], SPECIAL.index(EOS)]
        return Encoding(pieces, [], len(texts), first + second > room)

    def words(self, words: Sequence[str], most: int) -> Encoding:
        """Words, each with subwords of its own, as far as they fit whole; at least the first.

        A word without subwords is ``<unk>``. As bytes all but the first begin with a space.
        ``most``: subwords in all, ``</s>`` included.
        """
        pieces = list(self.first)
        spans = [0] * len(pieces)
        reached, cut_off = 0, False
        for number, word in enumerate(words, start=1):
            space = " " if self.bytes and number > 1 else ""
            found = (self.cut(space + word) if word else []) or [SPECIAL.index(UNK)]
            if len(pieces) + len(found) > most - 1:
                cut_off = True
                if reached:
                    break
                found = found[: most - 1 - len(pieces)]
            pieces += found
            spans += [number] * len(found)
            reached = number
        return Encoding([*pieces, SPECIAL.index(EOS)], [*spans, 0], reached, cut_off)


class FolderTokenizer(Tokenizer):
    """The tokenizer of a BERT's or T5's folder, by the library ``tokenizers``.

    A BERT's ``<s>``, which is its [CLS], stands before every text; the two texts of a pair are told
    apart by the ``</s>`` between them alone.

    Args:
        content: JSON: the tokenizer as the library writes it, and its row of each of the subwords.
        pieces: the whole vocabulary in order, ``<s>`` behind T5's special ones where there is one.
        name: where they come from, for the error where the library is not installed.
    """

    serialised, bytes = None, False

    def __init__(self, content: str, pieces: Sequence[str], name: str) -> None:
        library = optional_library("tokenizers", f"{name}: reading its tokenizer")
        self.wordpiece, self.pieces = content, list(pieces)
        self.first = [len(SPECIAL)] if BOS in self.pieces else []
        values = json.loads(content)
        self.index = {row: at for at, row in enumerate(values["rows"])}
        self.tokenizer = library.Tokenizer.from_str(json.dumps(values["tokenizer"]))
        self.tokenizer.encode_special_tokens = True

    def cut(self, text: str) -> list[int]:
        """Indices of a text's subwords alone; none for an empty text."""
        text = text.encode("utf-8", "replace").decode()
        found = self.tokenizer.encode(text, add_special_tokens=False).ids
        return [self.index[row] for row in found]
