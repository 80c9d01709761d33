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

from ..errors import UserError
from ..io.text_files import few
from ..options import OptionalStr, option
from .directory import Directory

BOS, PAD, EOS, UNK = "<s>", "<pad>", "</s>", "<unk>"
#: settings of a tokenizer for each, the first that it has
ROLES = {
    BOS: ("cls_token", "bos_token"),
    PAD: ("pad_token",),
    EOS: ("sep_token", "eos_token"),
    UNK: ("unk_token",),
}
# what T5 and mT5 have in the place of a mask
_EXTRA = ("<extra_id_0>", "▁<extra_id_0>")
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
            self.symbols.setdefault(token, safe_symbol(token))
        self.tokens = {symbol: token for token, symbol in self.symbols.items()}

    def ordinary(self) -> list[str]:
        """Symbols of a dictionary's file, in the checkpoint's order: all but the special four."""
        return list(self.symbols.values())[len(self.specials) :]

    def dictionary(self) -> Dictionary:
        """All symbols, fairseq's four first, then in the checkpoint's order."""
        found = Dictionary()
        for symbol in self.ordinary():
            found.add_symbol(symbol)
        return found

    def rows_of(self, symbols: Sequence[str]) -> Tensor:
        """Row of each symbol of a dictionary in any order; one that is none of the checkpoint's
        raises :class:`UserError`. ``<s>`` is T5's padding, with which its decoder starts.
        """
        known = {symbol: self.rows[token] for symbol, token in self.tokens.items()}
        known.setdefault(BOS, known[PAD])
        unknown = [repr(one) for one in symbols if one not in known]
        if unknown:
            said = f"the model does not know these symbols of the dictionary: {few(unknown, 5)}"
            raise UserError(f"{self.where}: {said}; make one with lev-backbone")
        return torch.tensor([known[symbol] for symbol in symbols])


def safe_symbol(token: str) -> str:
    """A token as a word of a line: space and its like as ``<U+3000>``.

    So is the first character of what is spelt like one of fairseq's symbols without being it.
    """
    if token in (BOS, PAD, EOS, UNK):
        return f"<U+{ord(token[0]):04X}>{token[1:]}"
    return "".join(f"<U+{ord(c):04X}>" if c.isspace() else c for c in token) or "<U+>"


def read_vocabulary(directory: Directory) -> Vocabulary:
    """The vocabulary of a folder's tokenizer; a special token that it lacks raises UserError."""
    tokenizer, specials = directory.tokenizer, {}
    rows = own = tokenizer.get_vocab()
    if hasattr(tokenizer, "backend_tokenizer"):
        # transformers adds to a file of another kind what it lacks
        own = tokenizer.backend_tokenizer.get_vocab(with_added_tokens=False)
    for symbol, settings in ROLES.items():
        found = [token for name in settings if (token := getattr(tokenizer, name)) in own]
        if found:
            specials[symbol] = found[0]
        elif symbol != BOS or directory.kind != "t5":
            raise UserError(f"{directory.path}: its tokenizer lacks the {settings[0]}")
    mask = next((one for one in (tokenizer.mask_token, *_EXTRA) if one in rows), None)
    return Vocabulary(directory.path, rows, specials, mask and safe_symbol(mask))


def backend(directory: Directory) -> Any:
    """What cuts text: a tokenizer of the library ``tokenizers`` that knows no special tokens.

    It cuts nothing short. Unigram looks every part of a text up in its vocabulary, where they are
    like any other: there they are spelt as no text is.
    """
    found = directory.tokenizer.backend_tokenizer
    whole = json.loads(found.to_str())
    whole.update(truncation=None, padding=None)
    if whole["model"]["type"] == "Unigram":
        special = {one["content"] for one in whole["added_tokens"] if one["special"]}
        for one in whole["added_tokens"]:
            one["content"] = _UNTYPED * (one["content"] in special) + one["content"]
        for entry in whole["model"]["vocab"]:
            entry[0] = _UNTYPED * (entry[0] in special) + entry[0]
    made = type(found).from_str(json.dumps(whole))
    made.encode_special_tokens = True
    return made


@dataclass
class PretrainedTokenizerConfig(FairseqDataclass):
    """Options of ``--bpe hf``."""

    hf_directory: OptionalStr = option(
        None, "local Hugging Face directory that holds the tokenizer's files"
    )


@register_bpe("hf", dataclass=PretrainedTokenizerConfig)
class PretrainedTokenizer:
    """Text to a dictionary's symbols and back; raises :class:`UserError` without a tokenizer."""

    def __init__(self, cfg: PretrainedTokenizerConfig) -> None:
        if not cfg.hf_directory:
            raise UserError("--bpe hf needs the model's folder: --hf-directory DIR")
        directory = Directory(cfg.hf_directory)
        self.vocabulary = read_vocabulary(directory)
        self.symbol_of = {
            row: self.vocabulary.symbols[token] for token, row in self.vocabulary.rows.items()
        }
        self.encoder, self.decoder = backend(directory), directory.tokenizer.backend_tokenizer

    def __setstate__(self, state: dict[str, Any]) -> None:
        """In a worker that was sent it: what a pickle of a tokenizer leaves out is set again."""
        vars(self).update(state)
        self.encoder.encode_special_tokens = True

    def encode(self, text: str) -> str:
        """A line → symbols with spaces between them."""
        found = self.encoder.encode(text, add_special_tokens=False)
        return " ".join(self.symbol_of[row] for row in found.ids)

    def decode(self, symbols: str) -> str:
        """Symbols with spaces between them → a line; unknown ones as the tokenizer writes them."""
        known, unknown = self.vocabulary.tokens, self.vocabulary.specials[UNK]
        rows = [self.vocabulary.rows[known.get(symbol, unknown)] for symbol in symbols.split()]
        return str(self.decoder.decode(rows, skip_special_tokens=False))
