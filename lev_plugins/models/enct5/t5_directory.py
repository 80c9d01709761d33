"""A pre-trained T5 as EncT5 needs it: the encoder, its table, on request decoder blocks."""

from typing import List, Optional, Sequence

import torch
from torch import nn

from ...errors import UserError
from ...modules.t5 import T5Encoder
from ...pretrained import Directory, read_vocabulary
from ...pretrained.filling import Filling
from ...pretrained.t5 import TABLE, T5Plan, fill_decoder, fill_encoder
from ...pretrained.vocabulary import family
from .config import EncT5Config
from .network import LatentDecoder

# EncT5 has no use for what T5 writes with, nor for copies of the table
LEFT = (r"decoder\..*", r"lm_head\.weight", r"encoder\.embed_tokens\.weight")


class T5Directory:
    """A local Hugging Face folder of a T5 1.1, mT5 or ByT5.

    Raises:
        UserError: it lacks something, or holds another kind of model.
    """

    def __init__(self, path: str) -> None:
        self.place = Directory(path)
        if family(self.place) != "t5":
            raise UserError(
                f"{path}: model_type is {self.place.config.kind!r}; --t5-dir takes t5 and mt5"
            )
        self.weights = self.place.weights()
        self.plan = T5Plan.read(self.place.config, self.weights)

    def settle(self, cfg: EncT5Config) -> None:
        """Puts the sizes into a model's settings.

        Raises:
            UserError: more decoder blocks are wanted of it than it has.
        """
        plan = self.plan
        cfg.encoder_embed_dim, cfg.encoder_ffn_embed_dim = plan.dim, plan.hidden
        cfg.encoder_layers, cfg.encoder_attention_heads = plan.encoder_layers, plan.heads
        cfg.attention_head_dim, cfg.t5_rows = plan.head_dim, plan.rows
        cfg.feed_forward = plan.feed_forward  # type: ignore[assignment]
        cfg.relative_attention_buckets = plan.buckets
        cfg.relative_attention_distance = plan.longest
        if str(cfg.decoder_init) == "t5" and cfg.decoder_layers > plan.decoder_layers:
            raise UserError(
                f"--decoder-layers {cfg.decoder_layers} --decoder-init t5: {self.place.path} has "
                f"{plan.decoder_layers} decoder blocks"
            )

    def pieces(self) -> List[str]:
        """The vocabulary in its order.

        Raises:
            UserError: it is not T5's order, with padding, </s> and <unk> first.
        """
        rows = read_vocabulary(self.place).rows
        pieces = sorted(rows, key=rows.__getitem__)
        if [rows[piece] for piece in pieces] != list(range(len(pieces))):
            raise UserError(f"{self.place.path}: the vocabulary has gaps; it is no T5's")
        if len(pieces) > self.plan.rows:
            raise UserError(
                f"{self.place.path}: {len(pieces)} pieces, and {self.plan.rows} rows for them; "
                "the files belong to different models"
            )
        return pieces

    def check_pieces(self, symbols: Sequence[str]) -> None:
        """That data were prepared with this vocabulary.

        Raises:
            UserError: they were not.
        """
        if list(symbols) != self.pieces():
            raise UserError(
                f"{self.place.path}: the data were prepared with another vocabulary; prepare them "
                "with python -m lev_plugins.cli.enct5_prepare --t5-dir of the same folder"
            )

    def fill(
        self, table: nn.Embedding, encoder: T5Encoder, decoder: Optional[LatentDecoder]
    ) -> None:
        """Puts the weights in; the decoder's latents stay as they were drawn."""
        filling = Filling(self.weights, LEFT)
        filling.table(table, TABLE, torch.arange(self.plan.rows))
        fill_encoder(encoder, filling)
        filled = nn.ModuleList([table, encoder])
        if decoder is not None:
            fill_decoder(list(decoder.blocks), decoder.bias, decoder.norm, filling)
            filled.extend([decoder.blocks, decoder.bias, decoder.norm])
        filling.finish(filled)
