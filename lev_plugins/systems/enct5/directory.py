"""A pre-trained T5 or BERT as EncT5 needs it: encoder, subwords, on request decoder blocks."""

import json
from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import nn

from ...errors import UserError
from ...fairseq_patches import difference
from ...pretrained.bpe import backend
from ...pretrained.loading import Pretrained, read_description
from ...pretrained.post_norm import PostNormPlan
from ...pretrained.vocabulary import BOS
from .bert_encoder import BertEncoder
from .config import EncT5Config
from .network import LatentDecoder
from .tokenizer import SPECIAL, SubwordDictionary, check_pieces


class EncoderDirectory:
    """A local Hugging Face folder with an encoder.

    Args:
        path: of the folder.

    Raises:
        UserError: it lacks something, or holds another kind of model.
    """

    #: the option that names the folder, and the kind of model that it takes
    OPTION: ClassVar[str]
    KIND: ClassVar[str]

    def __init__(self, path: str) -> None:
        self.opened = Pretrained(path)
        self.place, self.plan = self.opened.place, self.opened.plan
        if self.opened.kind != self.KIND:
            raise UserError(
                f"{path}: model_type is {self.opened.kind!r}; {self.OPTION} takes {self.KIND}"
            )

    def sizes(self) -> dict[str, int | float | str]:
        """Its sizes, as a model's settings name them."""
        raise NotImplementedError

    def pieces(self) -> list[str]:
        """The vocabulary: padding, ``</s>`` and ``<unk>``, then all others in their order."""
        raise NotImplementedError

    def fill(self, table: nn.Embedding, encoder: nn.Module, decoder: LatentDecoder | None) -> None:
        """Puts the weights into table, encoder and, unless it is None, the decoder's blocks."""
        raise NotImplementedError

    def settle(self, cfg: EncT5Config) -> None:
        """Puts the sizes into a model's settings, whatever these said."""
        for name, value in self.sizes().items():
            setattr(cfg, name, value)

    def check_pieces(self, symbols: Sequence[str]) -> None:
        """That data were prepared with this vocabulary.

        Raises:
            UserError: they were not.
        """
        found = difference(symbols, self.pieces())
        if found is not None:
            at, theirs, own = found
            raise UserError(
                f"{self.place.path}: the data were prepared with another vocabulary (subword {at} "
                f"is {theirs}, not {own}); prepare them with lev-enct5-prepare {self.OPTION} of "
                "the same folder"
            )


class T5Directory(EncoderDirectory):
    """A T5 (1.0, 1.1), mT5 or ByT5, whole or the encoder alone."""

    OPTION, KIND = "--t5-dir", "t5"

    def sizes(self) -> dict[str, int | float | str]:
        """Its sizes, as a model's settings name them."""
        size = self.plan
        return {
            "encoder_layers": size.encoder_layers,
            "encoder_embed_dim": size.dim,
            "encoder_ffn_embed_dim": size.hidden,
            "encoder_attention_heads": size.heads,
            "attention_head_dim": size.head_dim,
            "feed_forward": size.feed_forward,
            "relative_attention_buckets": size.buckets,
            "relative_attention_distance": size.longest,
            "layer_norm_epsilon": size.eps,
            "t5_rows": self.place.config.vocab_size,
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
        rows = self.opened.vocabulary.rows
        pieces = sorted(rows, key=rows.__getitem__)
        check_pieces(pieces, self.place.path)
        if [rows[piece] for piece in pieces] != list(range(len(pieces))):
            raise UserError(f"{self.place.path}: there are gaps in its vocabulary; it is no T5's")
        return pieces

    def fill(self, table: nn.Embedding, encoder: nn.Module, decoder: LatentDecoder | None) -> None:
        """Puts the weights in; the decoder's latents stay as they were initialised."""
        parts = {"source": nn.ModuleDict({"table": table}), "encoder": encoder}
        if decoder is not None:
            parts |= {"blocks": decoder.blocks, "bias": decoder.bias, "norm": decoder.norm}
        rows = {"source": torch.arange(table.num_embeddings)}
        # what T5 writes with
        self.opened.fill(nn.ModuleDict(parts), rows, left=(r"decoder\..*",))


class BertDirectory(EncoderDirectory):
    """A BERT, which takes the place of T5's encoder."""

    OPTION, KIND = "--bert-dir", "bert"

    def sizes(self) -> dict[str, int | float | str]:
        """Its sizes; those of T5's blocks are for the decoder, as wide as the BERT."""
        plan = self.plan
        return {
            "encoder_layers": plan.layers,
            "encoder_embed_dim": plan.dim,
            "encoder_ffn_embed_dim": plan.hidden,
            "encoder_attention_heads": plan.heads,
            "attention_head_dim": plan.dim // plan.heads,
            "bert_plan": self.opened.description(),
        }

    def pieces(self) -> list[str]:
        """The vocabulary: T5's three special symbols, ``<s>`` for [CLS], then all others."""
        return [*SPECIAL, BOS, *self.opened.vocabulary.ordinary()]

    def tokenizer(self) -> str:
        """What cuts text, for a :class:`.WordpieceTokenizer`: one line of JSON."""
        vocabulary = self.opened.vocabulary
        rows = [vocabulary.rows[vocabulary.tokens[symbol]] for symbol in self.pieces()]
        return json.dumps({"rows": rows, "tokenizer": json.loads(backend(self.place).to_str())})

    def fill(
        self, table: nn.Embedding, encoder: nn.Module, decoder: LatentDecoder | None = None
    ) -> None:
        """Puts the weights in; no BERT has blocks for the decoder."""
        assert isinstance(encoder, BertEncoder) and decoder is None
        rows = {"source": self.opened.vocabulary.rows_of(SubwordDictionary(self.pieces()))}
        parts = {"source": nn.ModuleDict({"table": table}), "encoder": encoder}
        self.opened.fill(nn.ModuleDict(parts), rows, left=(r"cls\..*",))


def bert_plan(description: str) -> PostNormPlan:
    """The numbers of a BERT from what a checkpoint keeps of it.

    Raises:
        UserError: it describes something else.
    """
    kind, plan, _ = read_description(description)
    if kind != "bert" or not isinstance(plan, PostNormPlan):
        raise UserError(f"--bert-plan: not the description of a BERT: {description[:80]!r}")
    return plan
