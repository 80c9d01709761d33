"""A checkpoint's vocabulary, and as a dictionary that fairseq reads.

fairseq's own four symbols stand for the checkpoint's: ``<s>`` for BERT's [CLS], ``</s>`` for its
[SEP] and so on. All others keep their spelling, but for those that a line of text could not hold.
"""

import re
from dataclasses import dataclass

import torch
from fairseq.data import Dictionary
from torch import Tensor

from ..errors import UserError
from .directory import Directory, few

BOS, PAD, EOS, UNK = "<s>", "<pad>", "</s>", "<unk>"
#: settings of a tokenizer for each, the first that it has
ROLES = {
    BOS: ("cls_token", "bos_token"),
    PAD: ("pad_token",),
    EOS: ("sep_token", "eos_token"),
    UNK: ("unk_token",),
}
#: ByT5's vocabulary behind the special subwords (Xue et al., 2022, §3.1)
BYTE_PIECES = [f"<0x{byte:02X}>" for byte in range(256)]
# fairseq fills a dictionary up with these, to a multiple of eight
_FILLER = re.compile(r"madeupword\d{4}")
# what T5 and mT5 have in the place of a mask
_EXTRA = ("<extra_id_0>", "▁<extra_id_0>")
_SHOWN = 5


@dataclass
class Vocabulary:
    """Tokens and their rows.

    where: they were read, for the errors. rows: row of every token, as the checkpoint spells it.
    specials: fairseq's symbol → the checkpoint's token. mask: symbol that stands for a hidden
    token, None where there is none. symbols, tokens: token → symbol and back.
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
        if len(self.tokens) < len(self.symbols):
            raise UserError(f"{self.where}: two tokens that would be written as one symbol")

    def ordinary(self) -> list[str]:
        """Symbols of a dictionary's file, in the checkpoint's order: all but the special four."""
        return list(self.symbols.values())[len(self.specials) :]

    def dictionary(self) -> Dictionary:
        """All symbols, fairseq's four first, then in the checkpoint's order."""
        found = Dictionary()
        for symbol in self.ordinary():
            found.add_symbol(symbol)
        return found

    def rows_of(self, dictionary: Dictionary) -> Tensor:
        """Row of each symbol of a dictionary in any order; −1 for fairseq's fillers.

        ``<s>`` stands for the padding where the checkpoint has nothing else to begin with: T5's
        decoder starts with it.

        Raises:
            UserError: symbols that are none of the checkpoint's.
        """
        known = {symbol: self.rows[token] for symbol, token in self.tokens.items()}
        known.setdefault(BOS, known[PAD])
        strange = [one for one in dictionary.symbols if one not in known]
        unknown = [repr(symbol) for symbol in strange if not _FILLER.fullmatch(symbol)]
        if unknown:
            raise UserError(
                f"{self.where}: the dictionary has symbols that the model does not know: "
                f"{few(unknown, _SHOWN)}; make one with lev-backbone and preprocess text that its "
                "tokenizer cut"
            )
        return torch.tensor([known.get(symbol, -1) for symbol in dictionary.symbols])


def safe_symbol(token: str) -> str:
    """A token as a word of a line: space and its like as ``<U+3000>``.

    So is the first character of what is spelt like one of fairseq's symbols without being it.
    """
    if token in (BOS, PAD, EOS, UNK):
        return f"<U+{ord(token[0]):04X}>{token[1:]}"
    return "".join(f"<U+{ord(c):04X}>" if c.isspace() else c for c in token) or "<U+>"


def read_vocabulary(directory: Directory) -> Vocabulary:
    """The vocabulary of a checkpoint's tokenizer.

    Raises:
        UserError: its files are missing or broken, or it lacks a special token.
    """
    tokenizer, specials = directory.tokenizer, {}
    rows = own = tokenizer.get_vocab()
    if hasattr(tokenizer, "backend_tokenizer"):
        # transformers adds to a file of another kind what it lacks
        own = tokenizer.backend_tokenizer.get_vocab(with_added_tokens=False)
    if is_byte_t5(directory):  # which spells a byte as a character
        rows = {BYTE_PIECES[ord(t)] if len(t) == 1 else t: row for t, row in rows.items()}
    for symbol, settings in ROLES.items():
        found = [token for name in settings if (token := getattr(tokenizer, name)) in own]
        if found:
            specials[symbol] = found[0]
        elif symbol != BOS or directory.kind != "t5":
            raise UserError(f"{directory.path}: its tokenizer lacks the {settings[0]}")
    mask = next((one for one in (tokenizer.mask_token, *_EXTRA) if one in rows), None)
    return Vocabulary(directory.path, rows, specials, mask and safe_symbol(mask))


def is_byte_t5(directory: Directory) -> bool:
    """Whether it is a ByT5, whose subwords are bytes."""
    return type(directory.tokenizer).__name__.startswith("ByT5")
