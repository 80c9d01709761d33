"""A checkpoint's vocabulary as a dictionary that fairseq reads, and its tokenizer as ``--bpe hf``.

fairseq's own four symbols stand for the checkpoint's: ``<s>`` for BERT's [CLS], ``</s>`` for its
[SEP] and so on. All others keep their spelling, but for those that a line of text could not hold.
What looks like a special token in a text ("[MASK]", "</s>") is cut like any other word.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from fairseq.data import Dictionary
from fairseq.data.encoders import register_bpe
from fairseq.dataclass import FairseqDataclass
from torch import Tensor

from lev_runtime.errors import UserError
from lev_runtime.io.text_files import few

from ..options import OptionalStr, option
from .directory import Directory
from .tokenizers import read_settings, read_tokenizer

BOS, PAD, EOS, UNK = "<s>", "<pad>", "</s>", "<unk>"
#: settings of a tokenizer for each, the first that it has
ROLES = {
    BOS: ("cls_token", "bos_token"),
    PAD: ("pad_token",),
    EOS: ("sep_token", "eos_token"),
    UNK: ("unk_token",),
}
# beginnings of what T5 and mT5 have instead of a mask
_EXTRA_IDS = ("<extra_id_", "▁<extra_id_")
# a character that stands for none, at the end of what there is
_UNTYPED = "\U0010ffff"


@dataclass
class Vocabulary:
    """Tokens and their rows.

    where: they were read. rows: of every token, as the checkpoint spells it. specials: fairseq's
    symbol → its token. mask: symbol for a hidden token. symbols, tokens: token → symbol and back.
    """

    where: str
    rows: dict[str, int]
    specials: dict[str, str]
    mask: str | None = None

    def __post_init__(self) -> None:
        self.symbols = {token: symbol for symbol, token in self.specials.items()}
        for token in sorted(self.rows, key=self.rows.__getitem__):
            if token not in self.symbols:
                self.symbols[token] = safe_symbol(token)
        self.tokens = {symbol: token for token, symbol in self.symbols.items()}

    def ordinary(self) -> list[str]:
        """Returns a dictionary's symbols, in the checkpoint's order, without the special four."""
        return list(self.symbols.values())[len(self.specials) :]

    def dictionary(self) -> Dictionary:
        """Returns all symbols, fairseq's four first, then in the checkpoint's order."""
        dictionary = Dictionary()
        for symbol in self.ordinary():
            dictionary.add_symbol(symbol)
        return dictionary

    def rows_of(self, symbols: Sequence[str]) -> Tensor:
        """Returns the row of each symbol of a dictionary in any order.

        ``<s>`` is T5's padding, with which its decoder starts. A symbol that is none of the
        checkpoint's raises :class:`UserError`.
        """
        rows = {symbol: self.rows[token] for symbol, token in self.tokens.items()}
        rows.setdefault(BOS, rows[PAD])
        unknown = [repr(symbol) for symbol in symbols if symbol not in rows]
        if unknown:
            message = f"the model does not know these symbols of the dictionary: {few(unknown, 5)}"
            raise UserError(f"{self.where}: {message}; make one with lev-backbone")
        return torch.tensor([rows[symbol] for symbol in symbols])


def safe_symbol(token: str) -> str:
    """Returns a token as a word of a line: space and its like as ``<U+3000>``.

    So is the first character of what is spelt like one of fairseq's symbols without being it.
    """
    if not token:
        return "<U+>"
    if token in (BOS, PAD, EOS, UNK):
        return _code_point(token[0]) + token[1:]
    return "".join(_code_point(char) if char.isspace() else char for char in token)


def _code_point(char: str) -> str:
    return f"<U+{ord(char):04X}>"


def read_vocabulary(directory: Directory) -> Vocabulary:
    """Returns the vocabulary of a folder's tokenizer; a special token that it lacks raises
    UserError."""
    settings = read_settings(directory)
    rows = read_tokenizer(directory).get_vocab()
    specials = {}
    for symbol, names in ROLES.items():
        tokens = [settings[name] for name in names if settings.get(name) in rows]
        if tokens:
            specials[symbol] = tokens[0]
        elif symbol != BOS or directory.kind != "t5":
            raise UserError(f"{directory.path}: its tokenizer lacks the {names[0]}")
    masks = [str(settings.get("mask_token")), *(f"{prefix}0>" for prefix in _EXTRA_IDS)]
    known = [token for token in masks if token in rows]
    mask = safe_symbol(known[0]) if known else None
    return Vocabulary(directory.path, rows, specials, mask)


def text_tokenizer(directory: Directory) -> Any:
    """Returns a tokenizer of the library ``tokenizers`` that cuts text and knows no special tokens.

    It cuts nothing short. Unigram looks every part of a text up in its vocabulary, where they are
    like any other: there they are spelt as no text is.
    """
    settings = read_settings(directory)
    tokenizer = read_tokenizer(directory)
    content = json.loads(tokenizer.to_str())
    content.update(truncation=None, padding=None)
    if content["model"]["type"] == "Unigram":
        special = {settings.get(name) for names in ROLES.values() for name in names}
        special |= {token["content"] for token in content["added_tokens"] if token["special"]}
        for entry in content["model"]["vocab"]:
            if entry[0] in special or entry[0].startswith(_EXTRA_IDS):
                special.add(entry[0])
                entry[0] = _UNTYPED + entry[0]
        for token in content["added_tokens"]:
            if token["content"] in special:
                token["content"] = _UNTYPED + token["content"]
    tokenizer = type(tokenizer).from_str(json.dumps(content))
    tokenizer.encode_special_tokens = True
    return tokenizer


@dataclass
class PretrainedTokenizerConfig(FairseqDataclass):
    """Options of ``--bpe hf``."""

    hf_directory: OptionalStr = option(
        None, "local Hugging Face directory with the tokenizer's files"
    )


@register_bpe("hf", dataclass=PretrainedTokenizerConfig)
class PretrainedTokenizer:
    """Text to a dictionary's symbols and back; raises :class:`UserError` without a tokenizer."""

    def __init__(self, cfg: PretrainedTokenizerConfig) -> None:
        if not cfg.hf_directory:
            raise UserError("--bpe hf needs the model's folder: --hf-directory FOLDER")
        directory = Directory(cfg.hf_directory)
        self.vocabulary = read_vocabulary(directory)
        symbols = self.vocabulary.symbols
        self.symbol_of_row = {row: symbols[token] for token, row in self.vocabulary.rows.items()}
        self.encoder = text_tokenizer(directory)
        self.decoder = read_tokenizer(directory)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Sets again, in a worker, what a pickle of a tokenizer leaves out."""
        vars(self).update(state)
        self.encoder.encode_special_tokens = True

    def encode(self, text: str) -> str:
        """Turns a line → symbols with spaces between them."""
        rows = self.encoder.encode(text, add_special_tokens=False).ids
        return " ".join(self.symbol_of_row[row] for row in rows)

    def decode(self, symbols: str) -> str:
        """Joins symbols with spaces between them to a line, as the tokenizer does."""
        vocabulary = self.vocabulary
        unknown = vocabulary.specials[UNK]
        tokens = [vocabulary.tokens.get(symbol, unknown) for symbol in symbols.split()]
        rows = [vocabulary.rows[token] for token in tokens]
        return str(self.decoder.decode(rows, skip_special_tokens=False))
