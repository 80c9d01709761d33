"""Text to T5's pieces, in T5's own order: padding 0, ``</s>`` 1, ``<unk>`` 2, then all others."""

import base64
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from fairseq.data import Dictionary

from ...errors import UserError
from ...pretrained.vocabulary import load_pieces

PAD, EOS, UNK = "<pad>", "</s>", "<unk>"
SPECIAL = (PAD, EOS, UNK)
#: ByT5's vocabulary behind the special pieces (Xue et al., 2022, §3.1)
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
MARK = "▁"


class PieceDictionary(Dictionary):
    """fairseq's dictionary with T5's special symbols: padding 0, </s> 1, <unk> 2, no <s>.

    Where fairseq asks for <s> it gets the padding, with which T5's decoder starts.

    Args:
        pieces: all of them in order, the three special ones first.
    """

    def __init__(self, pieces: Sequence[str] = SPECIAL) -> None:
        self.bos_word, self.unk_word, self.pad_word, self.eos_word = PAD, UNK, PAD, EOS
        self.symbols: List[str] = []
        self.count: List[int] = []
        self.indices: Dict[str, int] = {}
        self.pad_index = self.bos_index = self.add_symbol(PAD)
        self.eos_index = self.add_symbol(EOS)
        self.unk_index = self.add_symbol(UNK)
        self.nspecial = len(self.symbols)
        for piece in list(pieces)[self.nspecial :]:
            self.add_symbol(piece)


class Cut(NamedTuple):
    """A text as the model reads it.

    pieces: indices, ``</s>`` at the end. spans: for tagging the word of each piece, from 1, and 0
    at ``</s>``; empty otherwise. reached: how many of the words are in it, whole or not.
    cut_off: whether something was too long.
    """

    pieces: List[int]
    spans: List[int]
    reached: int
    cut_off: bool


class Cutter:
    """Cuts text into pieces.

    Args:
        model: a serialised sentencepiece model, base64; None for bytes (ByT5).
        pieces: the whole vocabulary in order; None for all that the model has.
        name: of the model's file, for the errors.

    Raises:
        UserError: the model cannot be read, or has pieces that the vocabulary lacks.
    """

    def __init__(
        self,
        model: Optional[str],
        pieces: Optional[Sequence[str]] = None,
        name: str = "sentencepiece model",
    ) -> None:
        self.serialised = model
        self.model: Any = None
        own = list(BYTES)
        if model is not None:
            self.model = load_pieces(name, base64.b64decode(model))
            own = [self.model.id_to_piece(i) for i in range(len(self.model))]
        self.pieces = list(pieces) if pieces is not None else whole_vocabulary(own)
        row = {piece: index for index, piece in enumerate(self.pieces)}
        self.rows = [row.get(piece, -1) for piece in own]
        if model is not None:
            self.rows[self.model.unk_id()] = SPECIAL.index(UNK)
        normal = [not self._is_control(i) for i in range(len(own))]
        missing = [p for p, at, used in zip(own, self.rows, normal) if at < 0 and used]
        if missing:
            raise UserError(f"{name}: the vocabulary lacks its piece {missing[0]!r}")

    def _is_control(self, piece: int) -> bool:
        return self.model is not None and (self.model.is_control(piece))

    def cut(self, text: str) -> List[int]:
        """Indices of a text's pieces, without ``</s>``; none for an empty text."""
        if self.model is None:
            return [self.rows[byte] for byte in text.encode("utf-8", "replace")]
        return [self.rows[piece] for piece in self.model.encode(text.replace("\0", " "))]

    def texts(self, texts: Sequence[str], most: int) -> Cut:
        """One text, or two with ``</s>`` between them; the longer one is cut off first.

        Args:
            most: pieces in all, ``</s>`` included.
        """
        parts = [self.cut(text) for text in texts]
        room = most - len(parts)
        total = sum(map(len, parts))
        cut_off = total > room
        while total > room:
            longest = max(parts, key=len)
            second = sorted(map(len, parts))[-2] if len(parts) > 1 else 0
            spare = max(1, min(total - room, len(longest) - second))
            del longest[-spare:]
            total -= spare
        pieces = [index for part in parts for index in (*part, SPECIAL.index(EOS))]
        return Cut(pieces, [], len(texts), cut_off)

    def words(self, words: Sequence[str], most: int) -> Cut:
        """Words, each with pieces of its own, as far as they fit whole; at least the first.

        A word without pieces is ``<unk>``.

        Args:
            most: pieces in all, ``</s>`` included.
        """
        pieces: List[int] = []
        spans: List[int] = []
        reached, cut_off = 0, False
        for number, word in enumerate(words, start=1):
            blank = " " if self.model is None and number > 1 else ""
            found = self.cut(blank + word) or [SPECIAL.index(UNK)]
            if len(pieces) + len(found) > most - 1:
                cut_off = True
                if reached:
                    break
                found = found[: most - 1]
            pieces += found
            spans += [number] * len(found)
            reached = number
        return Cut([*pieces, SPECIAL.index(EOS)], [*spans, 0], reached, cut_off)


def whole_vocabulary(pieces: Sequence[str]) -> List[str]:
    """The special pieces, then all others in their order."""
    return [*SPECIAL, *(piece for piece in pieces if piece not in SPECIAL)]
