"""Text to T5's subwords, in T5's own order: padding 0, ``</s>`` 1, ``<unk>`` 2, then all others."""

import base64
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple

from fairseq.data import Dictionary

from ...errors import UserError
from ...pretrained.directory import one_line, optional_library
from ...pretrained.vocabulary import BOS, BYTE_PIECES, EOS, PAD, UNK

SPECIAL = (PAD, EOS, UNK)


class SubwordDictionary(Dictionary):
    """fairseq's dictionary with T5's special symbols: padding 0, </s> 1, <unk> 2, no <s>.

    Where fairseq asks for <s> it gets the padding, with which T5's decoder starts.

    Args:
        pieces: all of them in order, all different, the three special ones first.
    """

    def __init__(self, pieces: Sequence[str] = SPECIAL) -> None:
        super().__init__(bos=PAD, pad=PAD, eos=EOS, unk=UNK, add_special_symbols=False)
        self.pad_index = self.bos_index = self.add_symbol(PAD)
        self.eos_index = self.add_symbol(EOS)
        self.unk_index = self.add_symbol(UNK)
        self.nspecial = len(self.symbols)
        for piece in list(pieces)[self.nspecial :]:
            self.add_symbol(piece)

    @classmethod
    def load(cls, f: str, add_special_symbols: bool = True) -> "SubwordDictionary":
        """A dictionary's file, which holds all but the special pieces."""
        found = cls()
        found.add_from_file(f)
        return found


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
    """Cuts text into pieces.

    Text that spells a special subword (``</s>``) is text like any other. Halves of surrogate pairs,
    which no file can hold, are question marks.

    Args:
        model: a serialised sentencepiece model, base64; None for bytes (ByT5).
        pieces: the whole vocabulary in order; None for all that the model has.
        name: where model and subwords come from, for the errors.

    Raises:
        UserError: the model cannot be read, or the vocabulary is not in T5's order.
    """

    #: what stands before every text; T5 has nothing there
    FIRST: ClassVar[Sequence[int]] = ()

    def __init__(
        self,
        model: str | None,
        pieces: Sequence[str] | None = None,
        name: str = "sentencepiece model",
    ) -> None:
        self.serialised, self.bytes = model, model is None
        self.wordpiece: str | None = None
        self.alpha = 0.0  # above 0: segmentations are sampled (see ``sampled``)
        self.model = None if model is None else _unpacked(model, name)
        own = list(BYTE_PIECES)
        if self.model is not None:
            own = [self.model.id_to_piece(piece) for piece in range(len(self.model))]
        self.pieces = [*SPECIAL, *(piece for piece in own if piece not in SPECIAL)]
        if pieces is not None:
            self.pieces = list(pieces)
            check_pieces(self.pieces, name)
        row = {piece: index for index, piece in enumerate(self.pieces)}
        row.update(dict.fromkeys(SPECIAL, SPECIAL.index(UNK)))
        self.rows = [row.get(piece, SPECIAL.index(UNK)) for piece in own]
        if self.model is not None:
            self.rows[self.model.unk_id()] = SPECIAL.index(UNK)

    @contextmanager
    def sampled(self, alpha: float, seed: int) -> Iterator[None]:
        """Within it every text gets a random segmentation (subword regularization; Kudo, 2018).

        Args:
            alpha: the sampled segmentation has a probability proportional to the model's to this
                power; the lower, the further from the likeliest one.
            seed: of sentencepiece's random numbers, one generator for the whole process.

        Raises:
            UserError: bytes and WordPiece have one segmentation only.
        """
        import sentencepiece

        if self.model is None:
            raise UserError("there is one segmentation only; leave --sampled-copies out")
        sentencepiece.set_random_generator_seed(seed)
        self.alpha = alpha
        try:
            yield
        finally:
            self.alpha = 0.0

    def cut(self, text: str) -> list[int]:
        """Indices of a text's subwords, without ``</s>``; none for an empty text."""
        encoded = text.encode("utf-8", "replace")
        if self.model is None:
            return [self.rows[byte] for byte in encoded]
        found = self.model.encode(
            encoded.decode(), enable_sampling=self.alpha > 0, alpha=self.alpha, nbest_size=-1
        )
        return [self.rows[piece] for piece in found]

    def texts(self, texts: Sequence[str], most: int) -> Encoding:
        """One text, or two with ``</s>`` between them; of the longer one more is cut off.

        Args:
            texts: one or two, each of which ``</s>`` follows.
            most: subwords in all, ``</s>`` included; no fewer than texts.
        """
        parts = [self.cut(text) for text in texts]
        kept = _shares([len(part) for part in parts], most - len(parts) - len(self.FIRST))
        pieces = list(self.FIRST)
        for part, length in zip(parts, kept):
            pieces += [*part[:length], SPECIAL.index(EOS)]
        return Encoding(pieces, [], len(texts), sum(kept) < sum(map(len, parts)))

    def words(self, words: Sequence[str], most: int) -> Encoding:
        """Words, each with subwords of its own, as far as they fit whole; at least the first.

        A word without subwords is ``<unk>``. As bytes all but the first begin with a space.

        Args:
            most: subwords in all, ``</s>`` included; 2 or more beside what stands first.
        """
        pieces = list(self.FIRST)
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


class WordpieceTokenizer(Tokenizer):
    """A BERT's WordPiece: ``<s>`` (its [CLS]) stands before every text.

    The two texts of a pair are told apart by the ``</s>`` between them alone.

    Args:
        content: JSON: the tokenizer as the library tokenizers writes it, and the checkpoint's row
            of each of the subwords.
        pieces: the whole vocabulary in order.
        name: where they come from, for the errors.

    Raises:
        UserError: it cannot be read.
    """

    FIRST = (len(SPECIAL),)

    def __init__(
        self, content: str, pieces: Sequence[str], name: str = "WordPiece tokenizer"
    ) -> None:
        library = optional_library("tokenizers", f"{name}: reading its WordPiece")
        self.serialised = self.model = None
        self.wordpiece, self.pieces, self.bytes = content, list(pieces), False
        check_pieces(self.pieces, name, (*SPECIAL, BOS))
        try:
            values = json.loads(content)
            self.tokenizer = library.Tokenizer.from_str(json.dumps(values["tokenizer"]))
            self.index = {row: at for at, row in enumerate(values["rows"])}
        except Exception as error:  # the library raises nothing more special
            said = f"its WordPiece tokenizer is damaged ({one_line(error)})"
            raise UserError(f"{name}: {said}") from error
        self.tokenizer.encode_special_tokens = True

    def cut(self, text: str) -> list[int]:
        """Indices of a text's subwords, without ``<s>`` and ``</s>``; none for an empty text."""
        text = text.encode("utf-8", "replace").decode()
        found = self.tokenizer.encode(text, add_special_tokens=False).ids
        return [self.index[row] for row in found]


def check_pieces(pieces: Sequence[str], where: str, first: Sequence[str] = SPECIAL) -> None:
    """Raises :class:`UserError` unless subwords begin with ``first``.

    Args:
        where: they were read, for the error.
    """
    if tuple(pieces[: len(first)]) != tuple(first):
        raise UserError(
            f"{where}: the vocabulary begins with {' '.join(pieces[: len(first)])!r}, and not with "
            f"{' '.join(first)!r}"
        )


def _unpacked(model: str, name: str) -> Any:
    """A sentencepiece model from base64."""
    import sentencepiece

    try:
        content = base64.b64decode(model)
        if not content:  # the library would take it for a model without subwords
            raise ValueError("it is empty")
        return sentencepiece.SentencePieceProcessor(model_proto=content)
    except (ValueError, RuntimeError) as error:
        raise UserError(f"{name}: not a sentencepiece model; copy it again") from error


def _shares(lengths: Sequence[int], room: int) -> list[int]:
    """How much of one part or of two stays, so that all fits: of the longer one less.

    Where both are too long for their half the first keeps one more than the second, or as many.
    """
    first, second = lengths if len(lengths) == 2 else (*lengths, 0)
    first = min(first, max(room - second, -(-room // 2)))
    return [first, min(second, room - first)][: len(lengths)]
