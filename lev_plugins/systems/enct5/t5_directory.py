"""A pre-trained T5 as EncT5 needs it: the encoder, its table, on request decoder blocks."""

import torch
from torch import nn

from ...errors import UserError
from ...nn.t5 import T5Encoder
from ...pretrained import read_vocabulary
from ...pretrained.filling import Filling
from ...pretrained.t5 import TABLE, T5Plan, fill_decoder, fill_encoder, rename
from .config import EncT5Config
from .directory import EncoderDirectory
from .network import LatentDecoder
from .tokenizer import check_pieces

# EncT5 has no use for what T5 writes with, nor for copies of the table
LEFT = (r"decoder\..*", r"lm_head\.weight", r"encoder\.embed_tokens\.weight")


class T5Directory(EncoderDirectory):
    """A local Hugging Face folder of a T5 (1.0, 1.1), mT5 or ByT5, whole or the encoder alone."""

    OPTION, TYPES = "--t5-dir", ("t5", "mt5")

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.weights = self.place.weights().renamed(rename)
        self.plan = T5Plan.read(self.place.config, self.weights, encoder_only=True)

    def sizes(self) -> dict[str, int | float | str]:
        """Its sizes, as a model's settings name them."""
        plan = self.plan
        return {
            "encoder_layers": plan.encoder_layers,
            "encoder_embed_dim": plan.dim,
            "encoder_ffn_embed_dim": plan.hidden,
            "encoder_attention_heads": plan.heads,
            "attention_head_dim": plan.head_dim,
            "feed_forward": plan.feed_forward,
            "relative_attention_buckets": plan.buckets,
            "relative_attention_distance": plan.longest,
            "layer_norm_epsilon": plan.eps,
            "t5_rows": plan.rows,
        }

    def settle(self, cfg: EncT5Config) -> None:
        """Puts the sizes into a model's settings, whatever these said.

        Raises:
            UserError: more decoder blocks are wanted of it than it has.
        """
        if str(cfg.decoder_init) == "t5" and cfg.decoder_layers > self.plan.decoder_layers:
            raise UserError(
                f"--decoder-layers {cfg.decoder_layers} --decoder-init t5: {self.place.path} has "
                f"{self.plan.decoder_layers} decoder blocks"
            )
        super().settle(cfg)

    def pieces(self) -> list[str]:
        """The vocabulary in its order.

        Raises:
            UserError: it is not T5's order, with padding, </s> and <unk> first.
        """
        vocabulary = read_vocabulary(self.place)
        rows = vocabulary.rows
        pieces = sorted(rows, key=rows.__getitem__)
        numbers = [rows[piece] for piece in pieces]
        gap = next((at for at, number in enumerate(numbers) if at != number), None)
        if gap is not None:
            raise UserError(
                f"{vocabulary.file}: no subword is number {gap}, or two are; "
                "it is no T5's vocabulary"
            )
        check_pieces(pieces, vocabulary.file)
        if len(pieces) > self.plan.rows:
            raise UserError(
                f"{vocabulary.file}: {len(pieces)} subwords, and {self.plan.rows} rows for them; "
                "the files belong to different models"
            )
        return pieces

    def fill(self, table: nn.Embedding, encoder: nn.Module, decoder: LatentDecoder | None) -> None:
        """Puts the weights in; the decoder's latents stay as they were initialised."""
        assert isinstance(encoder, T5Encoder)
        filling = Filling(self.weights, LEFT)
        filling.table(table, TABLE, torch.arange(self.plan.rows))
        fill_encoder(encoder, filling)
        filled = nn.ModuleList([table, encoder])
        if decoder is not None:
            fill_decoder(list(decoder.blocks), decoder.bias, decoder.norm, filling)
            filled.extend([decoder.blocks, decoder.bias, decoder.norm])
        filling.finish(filled)
