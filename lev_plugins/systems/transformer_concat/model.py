"""The model: fairseq's Transformer over ``source </s> draft </s>`` (paper, §C.2).

Positions start again with the draft, and an embedding of its language is added to every token.
Both follow from the tokens alone, so that whatever runs a Transformer runs this one.

Shapes: B sentences, S tokens of the source, N of the draft, T of the two joined, C channels.
"""

from argparse import ArgumentParser
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from fairseq.data import Dictionary
from fairseq.dataclass.utils import gen_parser_from_dataclass
from fairseq.models import register_model, register_model_architecture
from fairseq.models.transformer import (
    TransformerConfig,
    TransformerEncoderBase,
    TransformerModelBase,
)
from fairseq.tasks import FairseqTask
from omegaconf import DictConfig
from torch import Tensor, nn

from ...nn.precision import decoding_precision, prepare_for_decoding
from ...nn.seq2seq.config import CHARACTERS, SMALL, check_shared, set_both_sides
from .config import TransformerConcatConfig, stock_config

MODEL = "transformer_concat"
NUM_LANGUAGES = 2  # the source's and the draft's


def parts_and_positions(tokens: Tensor, pad: int, eos: int) -> tuple[Tensor, Tensor]:
    """Finds in which part each of B × T tokens stands, and where in it; </s> ends a part.

    Returns:
        how many </s> come before the token; and positions as fairseq counts them, ``pad + 1`` for
        the first token of every part, ``pad`` for padding.
    """
    is_real = tokens.ne(pad).long()  # ONNX sums no bools
    is_end = tokens.eq(eos).long()
    count = is_real.cumsum(1)
    parts = is_end.cumsum(1) - is_end
    # of each part the tokens before it; where no part ends 0 is written, to the first
    nothing = F.pad(torch.zeros_like(count), (0, 1))
    before = nothing.scatter(1, (parts + 1) * is_end, count * is_end)
    positions = (count - before.gather(1, parts)) * is_real + pad
    return parts, positions


class PartPositions(nn.Module):
    """Encodes a token's position in its part, and the part's language.

    positions: fairseq's module, learned or sinusoidal, for its table.
    """

    def __init__(self, positions: nn.Module, dim: int, pad: int, eos: int) -> None:
        super().__init__()
        self.positions: Any = positions
        self.language = nn.Embedding(NUM_LANGUAGES, dim)
        nn.init.normal_(self.language.weight, std=dim**-0.5)
        self.pad, self.eos = pad, eos
        size: Any = positions.max_positions
        self.max_positions = int(size)  # of a part

    def forward(self, tokens: Tensor) -> Tensor:
        """Returns the encodings of B × T tokens: B × T × C."""
        parts, index = parts_and_positions(tokens, self.pad, self.eos)
        languages = self.language(parts.clamp(max=NUM_LANGUAGES - 1))
        table = self._table(rows=self.pad + 1 + index.size(1))
        return F.embedding(index, table) + languages

    def _table(self, rows: int) -> Tensor:
        """Returns the table of positions; sinusoids are made as they are needed."""
        if isinstance(self.positions, nn.Embedding):
            return self.positions.weight
        table: Tensor = self.positions.weights
        if rows > len(table):
            longer = self.positions.get_embedding(rows, self.positions.embedding_dim, self.pad)
            table = longer.to(table)
            self.positions.weights = table
        return table


class ConcatEncoder(TransformerEncoderBase):
    """fairseq's encoder, with other positions."""

    embed_positions: Any

    def __init__(
        self, cfg: TransformerConfig, dictionary: Dictionary, embed_tokens: nn.Embedding
    ) -> None:
        super().__init__(cfg, dictionary, embed_tokens)
        self.embed_positions = PartPositions(
            self.embed_positions, embed_tokens.embedding_dim, self.padding_idx, dictionary.eos()
        )

    def upgrade_state_dict_named(self, state_dict: dict[str, Tensor], name: str) -> dict[str, Any]:
        """Takes the encoder of fairseq's own Transformer too, which knows one language."""
        prefix = f"{name}.embed_positions."
        if f"{prefix}language.weight" not in state_dict:
            for key in [key for key in state_dict if key.startswith(prefix)]:
                inner = key.removeprefix(prefix)
                state_dict[f"{prefix}positions.{inner}"] = state_dict.pop(key)
            language = self.embed_positions.language.weight
            state_dict[f"{prefix}language.weight"] = torch.zeros_like(language)
        return super().upgrade_state_dict_named(state_dict, name)


@register_model(MODEL, dataclass=TransformerConcatConfig)
class TransformerConcatModel(TransformerModelBase):
    """The autoregressive baseline for post-editing; its decoder is the Transformer's."""

    joins_draft = True  #: ``src_tokens`` are source and draft joined.

    @classmethod
    def add_args(cls, parser: ArgumentParser) -> None:
        gen_parser_from_dataclass(parser, TransformerConcatConfig(), delete_default=True)

    @classmethod
    def build_model(
        cls, cfg: TransformerConcatConfig, task: FairseqTask
    ) -> "TransformerConcatModel":
        """Builds it; refuses options that contradict each other or the dictionaries."""
        check_shared(cfg, task.source_dictionary, task.target_dictionary)
        return super().build_model(stock_config(cfg), task)

    def prepare_for_inference_(self, cfg: DictConfig) -> None:
        """Prepares for decoding; fairseq calls it."""
        super().prepare_for_inference_(cfg)
        prepare_for_decoding([self], decoding_precision(cfg))

    @classmethod
    def build_encoder(
        cls, cfg: TransformerConfig, src_dict: Dictionary, embed_tokens: nn.Embedding
    ) -> ConcatEncoder:
        return ConcatEncoder(cfg, src_dict, embed_tokens)


for _name, _sizes in (("char", CHARACTERS), ("small", SMALL)):
    register_model_architecture(MODEL, f"{MODEL}_{_name}")(partial(set_both_sides, **_sizes))
