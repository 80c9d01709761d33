"""The model: fairseq's Transformer over ``source </s> draft </s>`` (paper, §C.2).

Positions start again with the draft, and an embedding of its language is added to every token.
Both follow from the tokens alone, so that whatever runs a Transformer runs this one.

Shapes: B sentences, S tokens of the source, N of the draft, T of the two joined, C channels.
"""

from argparse import ArgumentParser
from typing import Any

import torch
import torch.nn.functional as F
from fairseq import hub_utils
from fairseq.data import Dictionary
from fairseq.dataclass.utils import gen_parser_from_dataclass
from fairseq.models import register_model
from fairseq.models.transformer import (
    TransformerConfig,
    TransformerEncoderBase,
    TransformerModelBase,
)
from fairseq.tasks import FairseqTask
from omegaconf import DictConfig
from torch import Tensor, nn

from ...errors import UserError
from ...nn.precision import decoding_precision, quantize
from ...nn.seq2seq.config import check_shared
from ...tasks.post_editing import PostEditingTask
from .config import TransformerConcatConfig, stock_config
from .dataset import join_draft, parts_and_positions

MODEL = "transformer_concat"
LANGUAGES = 2  # the source's and the draft's


class PartPositions(nn.Module):
    """What is added to a token's embedding: its position in its part, and the part's language.

    Args:
        positions: fairseq's module, learned or sinusoidal, for its table.
        dim: width of an embedding.
        pad, eos: indices of the padding and of </s>.
    """

    def __init__(self, positions: nn.Module, dim: int, pad: int, eos: int) -> None:
        super().__init__()
        self.positions: Any = positions
        self.language = nn.Embedding(LANGUAGES, dim)
        nn.init.normal_(self.language.weight, std=dim**-0.5)
        self.pad, self.eos = pad, eos

    @property
    def max_positions(self) -> int:
        """The longest part, in tokens."""
        return int(self.positions.max_positions)

    def forward(self, tokens: Tensor) -> Tensor:
        """B × T tokens → B × T × C.

        Raises:
            UserError: a part is longer than the table of learned positions.
        """
        parts, index = parts_and_positions(tokens, self.pad, self.eos)
        table = self._table(index)
        return F.embedding(index, table) + self.language(parts.clamp(max=LANGUAGES - 1))

    def _table(self, index: Tensor) -> Tensor:
        longest = index.size(1)  # of one part, at most
        if isinstance(self.positions, nn.Embedding):
            # looking at the tokens takes time, and is done only where there is a doubt
            if longest > self.max_positions:
                longest = int(index.max()) - self.pad
            if longest > self.max_positions:
                raise UserError(
                    f"a source or draft of {longest} tokens is longer than the "
                    f"{self.max_positions} positions of the model"
                )
            return self.positions.weight
        rows = self.pad + 1 + longest
        if rows > self.positions.weights.size(0):
            table = self.positions.get_embedding(rows, self.positions.embedding_dim, self.pad)
            self.positions.weights = table.to(self.positions.weights)
        return self.positions.weights


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


class ConcatHub(hub_utils.GeneratorHubInterface):
    """fairseq's Python interface; a sentence is ``source`` or ``source<TAB>draft``."""

    def encode(self, sentence: str) -> Tensor:
        """A sentence as the tokens of ``source </s> draft </s>``.

        Raises:
            UserError: more than one tab.
        """
        source, *rest = sentence.split("\t")
        if len(rest) > 1:
            raise UserError(f"{sentence!r} has {len(rest)} tabs; write source, or source<TAB>draft")
        tokens, draft = (
            PostEditingTask.encode_text(text, self._cut, self.src_dict).unsqueeze(0)
            for text in (source, *(rest or [""]))
        )
        return join_draft(tokens, draft, self.src_dict.pad(), self.src_dict.bos()).squeeze(0)

    def _cut(self, text: str) -> str:
        return self.apply_bpe(self.tokenize(text))


@register_model(MODEL, dataclass=TransformerConcatConfig)
class TransformerConcatModel(TransformerModelBase):
    """The autoregressive baseline for post-editing; its decoder is the Transformer's.

    Attributes:
        joins_draft: that ``src_tokens`` are to be made by :meth:`join_draft`.
    """

    joins_draft = True

    @classmethod
    def add_args(cls, parser: ArgumentParser) -> None:
        gen_parser_from_dataclass(parser, TransformerConcatConfig(), delete_default=True)

    @classmethod
    def build_model(
        cls, cfg: TransformerConcatConfig, task: FairseqTask
    ) -> "TransformerConcatModel":
        """Builds it for a task's dictionaries.

        Raises:
            UserError: options that contradict each other, or one table for two dictionaries.
        """
        stock = stock_config(cfg)
        check_shared(cfg, task.source_dictionary, task.target_dictionary)
        return super().build_model(stock, task)

    def prepare_for_inference_(self, cfg: DictConfig) -> None:
        """Called by fairseq before it decodes."""
        super().prepare_for_inference_(cfg)
        quantize([self], decoding_precision(cfg))

    @classmethod
    def build_encoder(
        cls, cfg: TransformerConfig, src_dict: Dictionary, embed_tokens: nn.Embedding
    ) -> ConcatEncoder:
        return ConcatEncoder(cfg, src_dict, embed_tokens)

    def join_draft(self, source: Tensor, draft: Tensor | None = None) -> Tensor:
        """``src_tokens`` for this model.

        Args:
            source: B × S, with </s> and perhaps <s>, padded on either side.
            draft: B × N, likewise; None where there are none, as if all were empty.

        Returns:
            B × T, padded on the right.
        """
        dictionary = self.encoder.dictionary
        if draft is None:
            draft = source.new_full((source.size(0), 1), dictionary.eos())
        return join_draft(source, draft, dictionary.pad(), dictionary.bos())

    @classmethod
    def from_pretrained(
        cls,
        model_name_or_path: str,
        checkpoint_file: str = "model.pt",
        data_name_or_path: str = ".",
        **kwargs: object,
    ) -> ConcatHub:
        """fairseq's ``from_pretrained``, for sentences of the form ``source<TAB>draft``."""
        found = hub_utils.from_pretrained(
            model_name_or_path, checkpoint_file, data_name_or_path, **kwargs
        )
        return ConcatHub(found["args"], found["task"], found["models"])
