"""The tokenizers of pre-trained models, for ``--bpe hf``.

It cuts a line as the model's own tokenizer does, and writes the subwords as symbols of the
dictionary that ``lev-backbone`` makes. What looks like a special token in the text ("[MASK]",
"</s>") is text: it is cut like any other word.
"""

import json
from dataclasses import dataclass
from typing import Any

from fairseq.data.encoders import register_bpe
from fairseq.dataclass import FairseqDataclass

from ..errors import UserError
from ..options import OptionalStr, option
from .directory import Directory
from .vocabulary import UNK, read_vocabulary

# a character that stands for none, at the end of what there is
_UNTYPED = "\U0010ffff"


@dataclass
class PretrainedTokenizerConfig(FairseqDataclass):
    hf_directory: OptionalStr = option(
        None, "local Hugging Face directory that holds the tokenizer's files"
    )


@register_bpe("hf", dataclass=PretrainedTokenizerConfig)
class PretrainedTokenizer:
    """Text to a dictionary's symbols and back.

    Raises:
        UserError: there is no such directory, or none that holds a tokenizer for this.
    """

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


def backend(directory: Directory) -> Any:
    """What cuts text: a tokenizer of the library ``tokenizers`` that knows no special tokens.

    It cuts nothing short. Unigram looks every part of a text up in its vocabulary, where they are
    like any other: there they are spelt as no text is.

    Raises:
        UserError: the folder has none.
    """
    found = getattr(directory.tokenizer, "backend_tokenizer", None)
    if found is None:
        kind = type(directory.tokenizer).__name__
        raise UserError(f"{directory.path}: --bpe hf does not know its {kind}")
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
