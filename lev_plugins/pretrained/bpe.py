"""The tokenizers of pre-trained models, for ``--bpe``.

Each cuts a line as the model's own tokenizer does, and writes the subwords as symbols of the
dictionary that ``lev-backbone`` makes. What looks like a special token in
the text ("[MASK]", "</s>") is text: it is cut like any other word.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from fairseq.data.encoders import register_bpe
from fairseq.dataclass import FairseqDataclass

from ..errors import UserError
from ..options import OptionalStr, option
from .directory import Directory, optional_library
from .vocabulary import (
    BYTES,
    TOKENIZER,
    TOKENIZER_CONFIG,
    UNK,
    WORDPIECE,
    Vocabulary,
    load_pieces,
    piece_model,
    read_vocabulary,
)

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MERGES = "merges.txt"
# a character that stands for none, at the end of what there is
_UNTYPED = "\U0010ffff"
#: name for ``--bpe`` → type of the model in ``tokenizer.json``
TYPES = {"hf_wordpiece": "WordPiece", "hf_gpt2_bpe": "BPE", "hf_sentencepiece": "Unigram"}


@dataclass
class PretrainedTokenizerConfig(FairseqDataclass):
    hf_directory: OptionalStr = option(
        None, "local Hugging Face directory that holds the tokenizer's files"
    )


class PretrainedTokenizer:
    """Text to a dictionary's symbols and back.

    Raises:
        UserError: there is no such directory, it lacks files, or has another kind of tokenizer.
    """

    name = ""

    def __init__(self, cfg: PretrainedTokenizerConfig) -> None:
        if not cfg.hf_directory:
            raise UserError(f"--bpe {self.name} needs the model's folder: --hf-directory DIR")
        directory = Directory(cfg.hf_directory)
        self.vocabulary: Vocabulary = read_vocabulary(directory)
        self.token_of = {row: token for token, row in self.vocabulary.rows.items()}
        self.tokenizer = self.open(directory)

    def open(self, directory: Directory) -> Any:
        """The tokenizer itself."""
        _check_type(directory, self.name)
        tokenizer = _whole(directory) if directory.has(TOKENIZER) else self.assembled(directory)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True
        return tokenizer

    def assembled(self, directory: Directory) -> "Tokenizer":
        """The tokenizer from the files of older models."""
        raise UserError(f"{directory.path}: no {TOKENIZER} in it")

    def ids(self, text: str) -> list[int]:
        """The checkpoint's rows for a text."""
        return list(self.tokenizer.encode(text, add_special_tokens=False).ids)

    def text(self, rows: list[int]) -> str:
        """A text of the checkpoint's rows."""
        return str(self.tokenizer.decode(rows, skip_special_tokens=False))

    def encode(self, text: str) -> str:
        """A line → symbols with spaces between them."""
        symbols = self.vocabulary.symbols
        return " ".join(symbols[self.token_of[row]] for row in self.ids(text))

    def decode(self, symbols: str) -> str:
        """Symbols with spaces between them → a line; unknown ones as the tokenizer writes them."""
        known, unknown = self.vocabulary.tokens, self.vocabulary.specials[UNK]
        tokens = [known.get(symbol, unknown) for symbol in symbols.split()]
        return self.text([self.vocabulary.rows[token] for token in tokens])

    def is_beginning_of_word(self, symbol: str) -> bool:
        """Whether a word begins with this symbol; fairseq's own do."""
        raise NotImplementedError


@register_bpe("hf_wordpiece", dataclass=PretrainedTokenizerConfig)
class HfWordpiece(PretrainedTokenizer):
    """BERT's WordPiece."""

    name = "hf_wordpiece"

    def assembled(self, directory: Directory) -> "Tokenizer":
        """From ``vocab.txt``, as BERT's first checkpoints have it."""
        library = optional_library("tokenizers", f"--bpe {self.name}")
        said = directory.optional_json(TOKENIZER_CONFIG)
        unknown = self.vocabulary.specials[UNK]
        model = library.models.WordPiece(self.vocabulary.rows, unk_token=unknown)
        tokenizer = library.Tokenizer(model)
        tokenizer.normalizer = library.normalizers.BertNormalizer(
            lowercase=bool(said.get("do_lower_case", True)),
            handle_chinese_chars=bool(said.get("tokenize_chinese_chars", True)),
            strip_accents=said.get("strip_accents"),
        )
        tokenizer.pre_tokenizer = library.pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = library.decoders.WordPiece()
        return tokenizer

    def is_beginning_of_word(self, symbol: str) -> bool:
        """Whether a word begins with this symbol."""
        return not symbol.startswith("##")


@register_bpe("hf_gpt2_bpe", dataclass=PretrainedTokenizerConfig)
class HfGpt2Bpe(PretrainedTokenizer):
    """GPT-2's byte-pair encoding of bytes, which BART shares."""

    name = "hf_gpt2_bpe"

    def assembled(self, directory: Directory) -> "Tokenizer":
        """From ``vocab.json`` and ``merges.txt``, as GPT-2 has it."""
        library = optional_library("tokenizers", f"--bpe {self.name}")
        if not directory.has(MERGES):
            raise UserError(f"{directory.path}: no {MERGES} beside its {BYTES}")
        try:
            model = library.models.BPE.from_file(directory.file(BYTES), directory.file(MERGES))
        except Exception as error:  # the library raises nothing more special
            raise UserError(
                f"{directory.path}: {BYTES} and {MERGES} make no tokenizer ({error})"
            ) from error
        tokenizer = library.Tokenizer(model)
        prefix = bool(directory.optional_json(TOKENIZER_CONFIG).get("add_prefix_space", False))
        tokenizer.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=prefix)
        tokenizer.decoder = library.decoders.ByteLevel()
        return tokenizer

    def is_beginning_of_word(self, symbol: str) -> bool:
        """Whether a word begins with this symbol; at the start of a line others do as well."""
        return symbol.startswith("Ġ") or symbol in self.vocabulary.specials


@register_bpe("hf_sentencepiece", dataclass=PretrainedTokenizerConfig)
class HfSentencepiece(PretrainedTokenizer):
    """sentencepiece, of T5 and mT5: ``spiece.model``, or the same in ``tokenizer.json``."""

    name = "hf_sentencepiece"

    def open(self, directory: Directory) -> Any:
        """The tokenizer itself."""
        pieces = piece_model(directory)
        self.plain = pieces is not None
        if pieces is not None:
            return load_pieces(directory.file(pieces))
        tokenizer = super().open(directory)
        self.cutter = _without_specials(tokenizer, self.vocabulary)
        return tokenizer

    def ids(self, text: str) -> list[int]:
        """The checkpoint's rows for a text."""
        if self.plain:
            return list(self.tokenizer.encode(text))
        return list(self.cutter.encode(text, add_special_tokens=False).ids)

    def text(self, rows: list[int]) -> str:
        """A text of the checkpoint's rows."""
        return " ".join(self._runs(rows)) if self.plain else super().text(rows)

    def _runs(self, rows: list[int]) -> Iterator[str]:
        """What the subwords say, and between them the extra ids, which sentencepiece has not."""
        size = len(self.tokenizer)
        for known, run in groupby(rows, key=lambda row: row < size):
            if known:
                yield str(self.tokenizer.decode(list(run)))
            else:
                yield from (self.token_of[row] for row in run)

    def is_beginning_of_word(self, symbol: str) -> bool:
        """Whether a word begins with this symbol."""
        return symbol.startswith("▁") or symbol in self.vocabulary.specials


def _whole(directory: Directory) -> "Tokenizer":
    file = directory.file(TOKENIZER)
    library = optional_library("tokenizers", f"{file}: reading it")
    try:
        return library.Tokenizer.from_file(file)
    except Exception as error:  # the library raises nothing more special
        raise UserError(f"{file}: not a tokenizer that can be read ({error})") from error


def _without_specials(tokenizer: "Tokenizer", vocabulary: Vocabulary) -> "Tokenizer":
    """A copy whose special tokens are spelt as no text is.

    Unigram looks every part of a text up in its vocabulary, and these are in it like any other.
    """
    whole = json.loads(tokenizer.to_str())
    added = whole["added_tokens"]
    special = {one["content"] for one in added if one["special"]}
    special.update(vocabulary.specials.values())
    for one in added:
        if one["content"] in special:
            one["content"] = _UNTYPED + one["content"]
    pieces = whole["model"]["vocab"]
    whole["model"]["vocab"] = [
        [_UNTYPED + piece if piece in special else piece, score] for piece, score in pieces
    ]
    copy = type(tokenizer).from_str(json.dumps(whole))
    copy.encode_special_tokens = True
    return copy


def tokenizer_name(directory: Directory) -> str:
    """The name for ``--bpe`` of a folder's tokenizer.

    Raises:
        UserError: it is none of those.
    """
    if piece_model(directory) is not None and not directory.has(TOKENIZER):
        return HfSentencepiece.name
    found = _type(directory)
    for name, kind in TYPES.items():
        if found == kind:
            return name
    raise UserError(
        f"{directory.path}: its tokenizer is of the type {found!r}; known are "
        f"{', '.join(TYPES.values())}"
    )


def open_tokenizer(directory: str) -> PretrainedTokenizer:
    """The tokenizer of a folder, whichever it is."""
    kinds = (HfWordpiece, HfGpt2Bpe, HfSentencepiece)
    wanted = tokenizer_name(Directory(directory))
    (kind,) = (one for one in kinds if one.name == wanted)
    return kind(PretrainedTokenizerConfig(hf_directory=directory))


def _type(directory: Directory) -> str | None:
    """Type of the tokenizer's model, as ``tokenizer.json`` names it; None where none is found."""
    if directory.has(TOKENIZER):
        model = directory.json(TOKENIZER).get("model")
        return model.get("type") if isinstance(model, dict) else None
    if directory.has(WORDPIECE):
        return TYPES[HfWordpiece.name]
    return TYPES[HfGpt2Bpe.name] if directory.has(BYTES) else None


def _check_type(directory: Directory, name: str) -> None:
    """That the tokenizer is of the kind that was asked for."""
    found = _type(directory)
    if found not in (None, TYPES[name]):
        raise UserError(
            f"{directory.path}: its tokenizer is a {found}, not for --bpe {name}; give "
            f"--bpe {tokenizer_name(directory)}"
        )
