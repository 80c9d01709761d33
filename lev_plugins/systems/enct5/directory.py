"""A pre-trained T5 or BERT as EncT5 needs it: encoder, subwords, on request decoder blocks."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from torch import nn

from lev_runtime.errors import UserError
from lev_runtime.pieces import SPECIAL, FolderTokenizer

from ...fairseq_patches.checkpoint_files import difference
from ...nn.t5 import T5Encoder, T5Size
from ...pretrained.bert_bart import (
    BERT_LAYERS,
    BERT_NORM,
    BERT_WORDS,
    DROPOUT_NAMES,
    BertBartConfig,
    BertConfig,
)
from ...pretrained.folder import Pretrained, read_description
from ...pretrained.t5 import WORDS as T5_WORDS
from ...pretrained.vocabulary import BOS, text_tokenizer
from .config import EncT5Config
from .network import BertEncoder, LatentDecoder

#: settings of a model that name a folder, each of one kind of model
DIRECTORIES = {"t5_dir": "t5", "bert_dir": "bert"}
#: beginnings of the names of generation heads, which EncT5 does not use
GENERATION = ("lm_head.", "decoder.", "cls.")


class EncoderDirectory(Pretrained):
    """A local Hugging Face folder: a T5 or mT5, whole or the encoder alone; or a BERT.

    ``pieces``: the vocabulary: padding, ``</s>`` and ``<unk>``, of a BERT ``<s>``, which stands for
    [CLS], then all others in their order.

    Args:
        path: of the folder.
        option: of :data:`DIRECTORIES`.

    Raises:
        UserError: it lacks something, or holds another kind of model.
    """

    def __init__(self, path: str, option: str) -> None:
        super().__init__(path)
        self.flag = f"--{option.replace('_', '-')}"
        if self.kind != DIRECTORIES[option]:
            expected = DIRECTORIES[option]
            raise UserError(f"{path} is a {self.kind}; {self.flag} needs a {expected}")
        first = [BOS] if BOS in self.vocabulary.specials else []
        self.pieces = [*SPECIAL, *first, *self.vocabulary.ordinary()]
        self.rows = self.vocabulary.rows_of(self.pieces)

    def tokenizer(self) -> FolderTokenizer:
        """Cuts text as the model's own tokenizer does."""
        tokenizer = json.loads(text_tokenizer(self.directory).to_str())
        content = json.dumps({"rows": self.rows.tolist(), "tokenizer": tokenizer})
        return FolderTokenizer(content, BOS in self.pieces, self.pieces)

    def check(self, pieces: Sequence[str]) -> None:
        """Raises :class:`UserError` unless data were prepared with this vocabulary."""
        unlike = difference(pieces, self.pieces)
        if unlike:
            raise UserError(
                f"{self.directory.path}: the data were prepared with another vocabulary "
                f"({unlike}); prepare them with lev-enct5-prepare {self.flag} of the same folder"
            )

    def load_into(
        self, table: nn.Embedding, encoder: nn.Module, decoder: LatentDecoder | None
    ) -> None:
        """Puts the weights into table, encoder and, unless it is None, the decoder's blocks, whose
        latents stay as they were initialised.
        """
        loader = self.loader
        if isinstance(encoder, BertEncoder):
            loader.copy_rows(table.weight, BERT_WORDS, self.rows)
            loader.assign(encoder.places.weight, *BertConfig.positions_table(loader))
            loader.copy_layer(encoder.norm, BERT_NORM)
            for number, block in enumerate(encoder.stack.blocks):
                loader.copy_layers(block, f"encoder.layer.{number}", BERT_LAYERS)
        else:
            assert isinstance(encoder, T5Encoder)
            loader.copy_rows(table.weight, T5_WORDS, self.rows)
            self.config.load_encoder(loader, encoder)
        if decoder is not None:
            self.config.load_decoder(loader, decoder.blocks, decoder.bias, decoder.norm)
        loader.check_unused([*self.config.ignored_tensors, *GENERATION])


def sizes(cfg: EncT5Config) -> tuple[T5Size, BertBartConfig | None]:
    """Returns the numbers that the modules are made of: T5's, and those of the BERT in the
    encoder's place, whose decoder is as wide.
    """
    bert = None
    size = T5Size(
        dim=cfg.encoder_embed_dim,
        heads=cfg.encoder_attention_heads,
        head_dim=cfg.attention_head_dim,
        hidden=cfg.encoder_ffn_embed_dim,
        encoder_layers=cfg.encoder_layers,
        decoder_layers=cfg.decoder_layers,
    )
    if cfg.backbone_plan:
        kind, config, _ = read_description(cfg.backbone_plan)
        if kind == "bert":
            bert = config
            size = replace(
                size,
                dim=config.dim,
                heads=config.heads,
                head_dim=config.dim // config.heads,
                hidden=config.hidden,
            )
        else:
            size = replace(config, decoder_layers=cfg.decoder_layers)
    rates: dict[str, Any] = dict.fromkeys(DROPOUT_NAMES, cfg.dropout)
    return replace(size, **rates), bert
