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
LANGUAGES = 2  # the source's and the draft's


def parts_and_positions(tokens: Tensor, pad: int, eos: int) -> tuple[Tensor, Tensor]:
    """In which part each of B × T tokens stands, and where in it; each part ends with its </s>.

    Returns:
        how many </s> come before the token; and positions as fairseq counts them, ``pad + 1`` for
        the first token of every part, ``pad`` for padding.
    """
    real, end = tokens.ne(pad), tokens.eq(eos)
    count = real.cumsum(1)
    parts = end.cumsum(1) - end.long()
    done = F.pad((count * end).cummax(1).values[:, :-1], (1, 0))  # tokens in the parts before
    return parts, (count - done) * real + pad


class PartPositions(nn.Module):
    """What is added to a token's embedding: its position in its part, and the part's language.

    positions: fairseq's module, learned or sinusoidal, for its table.
    """

    def __init__(self, positions: nn.Module, dim: int, pad: int, eos: int) -> None:
        super().__init__()
        self.positions: Any = positions
        self.language = nn.Embedding(LANGUAGES, dim)
        nn.init.normal_(self.language.weight, std=dim**-0.5)
        self.pad, self.eos = pad, eos
        size: Any = positions.max_positions
        self.max_positions = int(size)  # of a part

    def forward(self, tokens: Tensor) -> Tensor:
        """B × T tokens → B × T × C."""
        parts, index = parts_and_positions(tokens, self.pad, self.eos)
        rows = self.pad + 1 + index.size(1)
        learned = isinstance(self.positions, nn.Embedding)
        table = self.positions.weight if learned else self.positions.weights
        if rows > len(table) and not learned:  # sinusoids have no end
            more = self.positions.get_embedding(rows, self.positions.embedding_dim, self.pad)
            self.positions.weights = table = more.to(table)
        return F.embedding(index, table) + self.language(parts.clamp(max=LANGUAGES - 1))


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
        here = f"{name}.embed_positions."
        if f"{here}language.weight" not in state_dict:
            for key in [key for key in state_dict if key.startswith(here)]:
                state_dict[f"{here}positions.{key.removeprefix(here)}"] = state_dict.pop(key)
            language = self.embed_positions.language.weight
            state_dict[f"{here}language.weight"] = torch.zeros_like(language)
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
        """Called by fairseq before it decodes."""
        super().prepare_for_inference_(cfg)
        prepare_for_decoding([self], decoding_precision(cfg))

    @classmethod
    def build_encoder(
        cls, cfg: TransformerConfig, src_dict: Dictionary, embed_tokens: nn.Embedding
    ) -> ConcatEncoder:
        return ConcatEncoder(cfg, src_dict, embed_tokens)


for _name, _sizes in (("char", CHARACTERS), ("small", SMALL)):
    register_model_architecture(MODEL, f"{MODEL}_{_name}")(partial(set_both_sides, **_sizes))
