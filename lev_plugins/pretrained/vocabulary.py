"""A checkpoint's vocabulary, and as a dictionary that fairseq reads.

fairseq's own four symbols stand for the checkpoint's: ``<s>`` for BERT's [CLS], ``</s>`` for its
[SEP] and so on. All others keep their spelling, but for those that a line of text could not hold.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from fairseq.data import Dictionary
from torch import Tensor

from ..errors import UserError
from .directory import CONFIG, Directory, few

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor

TOKENIZER, TOKENIZER_CONFIG = "tokenizer.json", "tokenizer_config.json"
SPECIALS = "special_tokens_map.json"
WORDPIECE, BYTES = "vocab.txt", "vocab.json"
PIECES = ("spiece.model", "sentencepiece.bpe.model", "tokenizer.model")
BOS, PAD, EOS, UNK = "<s>", "<pad>", "</s>", "<unk>"
#: ByT5's vocabulary behind the special subwords (Xue et al., 2022, §3.1)
BYTE_PIECES = [f"<0x{byte:02X}>" for byte in range(256)]
# fairseq fills a dictionary up with these, to a multiple of eight
_FILLER = re.compile(r"madeupword\d{4}")
_EXTRA = re.compile(r"▁?<extra_id_0>")
_SHOWN = 5


#: for each kind of model: fairseq's symbol → name of the setting whose token it stands for (T5's
#: decoder starts with the padding); and what the tokens are where nothing says otherwise
ROLES = {
    "bert": {BOS: "cls_token", PAD: "pad_token", EOS: "sep_token", UNK: "unk_token"},
    "bart": {BOS: "bos_token", PAD: "pad_token", EOS: "eos_token", UNK: "unk_token"},
    "t5": {PAD: "pad_token", EOS: "eos_token", UNK: "unk_token"},
}
USUAL = {
    "bert": {
        "cls_token": "[CLS]",
        "pad_token": "[PAD]",
        "sep_token": "[SEP]",
        "unk_token": "[UNK]",
        "mask_token": "[MASK]",
    },
    "bart": {
        "bos_token": "<s>",
        "pad_token": "<pad>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "mask_token": "<mask>",
    },
    "t5": {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"},
}


@dataclass
class Vocabulary:
    """Tokens and their rows.

    file: where they were read, for the errors. rows: row of every token, as the checkpoint spells
    it. specials: fairseq's symbol → the checkpoint's token. mask: token that stands for a hidden
    one, None where there is none.
    """

    file: str
    rows: dict[str, int]
    specials: dict[str, str]
    mask: str | None = None

    def __post_init__(self) -> None:
        missing = [token for token in self.specials.values() if token not in self.rows]
        if missing:
            raise UserError(
                f"{self.file}: lacks the special token {missing[0]!r}; see {TOKENIZER_CONFIG}"
            )
        self.symbols = {token: symbol for symbol, token in self.specials.items()}
        taken = set(self.symbols.values()) | {BOS, PAD, EOS, UNK}
        for token in sorted(self.rows, key=self.rows.__getitem__):
            if token in self.symbols:
                continue
            symbol = safe_symbol(token, token in (BOS, PAD, EOS, UNK))
            if symbol in taken:
                raise UserError(f"{self.file}: two tokens that would both be written {symbol!r}")
            taken.add(symbol)
            self.symbols[token] = symbol
        self.tokens = {symbol: token for token, symbol in self.symbols.items()}

    def __len__(self) -> int:
        return len(self.rows)

    def ordinary(self) -> Iterator[str]:
        """Symbols of a dictionary's file, in the checkpoint's order: all but the special four."""
        special = set(self.specials.values())
        for token in sorted(self.rows, key=self.rows.__getitem__):
            if token not in special:
                yield self.symbols[token]

    def dictionary(self) -> Dictionary:
        """All symbols, fairseq's four first, then in the checkpoint's order."""
        found = Dictionary()
        for symbol in self.ordinary():
            found.add_symbol(symbol)
        return found

    def mask_symbol(self) -> str | None:
        """The symbol of a hidden token, None where there is none."""
        return None if self.mask is None else self.symbols[self.mask]

    def rows_of(self, dictionary: Dictionary) -> Tensor:
        """Row of each symbol of a dictionary in any order; −1 for fairseq's fillers.

        ``<s>`` stands for the padding where the checkpoint has nothing else to begin with: T5's
        decoder starts with it.

        Raises:
            UserError: symbols that are none of the checkpoint's.
        """
        rows, unknown = [], []
        for symbol in dictionary.symbols:
            token = self.tokens.get(symbol)
            if token is None and symbol == BOS:
                token = self.specials[PAD]
            if token is None and not _FILLER.fullmatch(symbol):
                unknown.append(symbol)
            rows.append(-1 if token is None else self.rows[token])
        if unknown:
            raise UserError(
                f"{self.file}: the dictionary has symbols that the model does not know: "
                f"{few(list(map(repr, unknown)), _SHOWN, ' ')}; make one with "
                "lev-backbone and preprocess text that its tokenizer cut"
            )
        return torch.tensor(rows, dtype=torch.long)


def safe_symbol(token: str, reserved: bool = False) -> str:
    """A token as a word of a line: space and its like as ``<U+3000>``.

    ``reserved``: it is spelt like one of fairseq's symbols without being it.
    """
    if token == "":
        return "<U+>"
    if reserved:
        return f"<U+{ord(token[0]):04X}>{token[1:]}"
    return "".join(f"<U+{ord(c):04X}>" if c.isspace() else c for c in token)


def family(directory: Directory) -> str:
    """Which of the kinds a checkpoint is: bert, bart or t5.

    Raises:
        UserError: another one.
    """
    kind = {"mt5": "t5"}.get(directory.config.kind, directory.config.kind)
    if kind not in ROLES:
        raise UserError(
            f"{directory.file(CONFIG)}: model_type is {directory.config.kind!r}; known are "
            "bert, bart, t5 and mt5"
        )
    return kind


def read_vocabulary(directory: Directory) -> Vocabulary:
    """The vocabulary of a checkpoint's tokenizer.

    Raises:
        UserError: its files are missing or broken.
    """
    kind = family(directory)
    file, rows = _rows(directory, kind)
    for token, row in rows.items():
        if isinstance(row, bool) or not isinstance(row, int) or row < 0:
            raise UserError(f"{file}: the token {token!r} has no row but {row!r}")
    chosen = special_tokens(directory, kind)
    specials = {symbol: chosen[name] for symbol, name in ROLES[kind].items()}
    mask = chosen.get("mask_token")
    if kind == "t5":
        mask = next((token for token in rows if _EXTRA.fullmatch(token)), None)
    return Vocabulary(file, rows, specials, mask if mask in rows else None)


def special_tokens(directory: Directory, kind: str) -> dict[str, str]:
    """Name of a special token's setting → the token."""
    found = dict(USUAL[kind])
    for name in (TOKENIZER_CONFIG, SPECIALS):
        for setting, value in directory.optional_json(name).items():
            text = value.get("content") if isinstance(value, dict) else value
            if setting in found and isinstance(text, str):
                found[setting] = text
    return found


def piece_model(directory: Directory) -> str | None:
    """The name of a sentencepiece model's file, None where there is none."""
    return next((name for name in PIECES if directory.has(name)), None)


def is_byte_t5(directory: Directory) -> bool:
    """Whether it is a ByT5, whose subwords are bytes and which has no file of them."""
    name = directory.optional_json(TOKENIZER_CONFIG).get("tokenizer_class")
    name = name or directory.config.text("tokenizer_class", "")
    return isinstance(name, str) and name.startswith("ByT5")


def _byte_rows(directory: Directory) -> dict[str, int]:
    """ByT5's: three special tokens, 256 bytes, and the extra ids (Xue et al., 2022, §3.1).

    A tokenizer that was loaded and saved again lists the extra ids among the tokens added later.
    """
    extra = [f"<extra_id_{number}>" for number in range(_extra_ids(directory, 125))]
    pieces = [PAD, EOS, UNK, *BYTE_PIECES, *extra]
    return {piece: row for row, piece in enumerate(pieces)} | _added(directory)


def _extra_ids(directory: Directory, usual: int) -> int:
    """How many extra ids a T5's tokenizer has."""
    extra = directory.optional_json(TOKENIZER_CONFIG).get("extra_ids", usual)
    if isinstance(extra, bool) or not isinstance(extra, int) or not 0 <= extra <= 10_000:
        raise UserError(f"{directory.file(TOKENIZER_CONFIG)}: extra_ids is {extra!r}")
    return extra


def _rows(directory: Directory, kind: str) -> "tuple[str, dict[str, int]]":
    pieces = piece_model(directory)
    if kind == "t5" and pieces is not None:
        return directory.file(pieces), _pieces(directory, pieces)
    if kind == "t5" and is_byte_t5(directory):
        return directory.file(TOKENIZER_CONFIG), _byte_rows(directory)
    if directory.has(TOKENIZER):
        return directory.file(TOKENIZER), _of_tokenizer(directory)
    if kind == "bert" and directory.has(WORDPIECE):
        return directory.file(WORDPIECE), _lines(directory.file(WORDPIECE)) | _added(directory)
    if kind == "bart" and directory.has(BYTES):
        return directory.file(BYTES), directory.json(BYTES) | _added(directory)
    wanted = {"bert": WORDPIECE, "bart": f"{BYTES} and merges.txt", "t5": PIECES[0]}[kind]
    raise UserError(f"{directory.path}: no vocabulary in it: {TOKENIZER} or {wanted}")


def _lines(file: str) -> dict[str, int]:
    try:
        with open(file, encoding="utf-8", newline="\n") as stream:
            return {line.rstrip("\r\n"): row for row, line in enumerate(stream)}
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file}: cannot be read ({error})") from error


def _of_tokenizer(directory: Directory) -> dict[str, int]:
    file, whole = directory.file(TOKENIZER), directory.json(TOKENIZER)
    model = whole.get("model")
    vocabulary: Any = model.get("vocab") if isinstance(model, dict) else None
    try:
        if isinstance(vocabulary, list):
            rows = {piece: row for row, (piece, _) in enumerate(vocabulary)}
        else:
            rows = dict(vocabulary)
        rows.update({one["content"]: one["id"] for one in whole.get("added_tokens") or []})
    except (TypeError, ValueError, KeyError) as error:
        raise UserError(f"{file}: no vocabulary in it that can be read") from error
    return rows


def _added(directory: Directory) -> dict[str, int]:
    """Tokens that were added to a tokenizer later."""
    rows = dict(directory.optional_json("added_tokens.json"))
    listed = directory.optional_json(TOKENIZER_CONFIG).get("added_tokens_decoder")
    for row, token in listed.items() if isinstance(listed, dict) else ():
        if row.isdecimal() and isinstance(token, dict) and isinstance(token.get("content"), str):
            rows[token["content"]] = int(row)
    return rows


def load_pieces(file: str, content: bytes | None = None) -> "SentencePieceProcessor":
    """A sentencepiece model, of a file or of its content, which then goes by that name.

    Raises:
        UserError: it cannot be read.
    """
    import sentencepiece

    try:
        if content is None:
            with open(file, "rb") as stream:
                content = stream.read()
        if not content:  # the library would take it for a model without subwords
            raise ValueError("it is empty")
        return sentencepiece.SentencePieceProcessor(model_proto=content)
    except (OSError, RuntimeError, ValueError) as error:
        raise UserError(f"{file}: not a sentencepiece model; copy it again") from error


def _pieces(directory: Directory, name: str) -> dict[str, int]:
    """The subwords, and behind them the extra ids, the last of which is number 0."""
    model = load_pieces(directory.file(name))
    rows = {model.id_to_piece(row): row for row in range(len(model))}
    added = _added(directory)
    if not added and directory.config.kind == "t5":
        extra = _extra_ids(directory, 100)
        added = {f"<extra_id_{extra - 1 - i}>": len(model) + i for i in range(extra)}
    return rows | added
