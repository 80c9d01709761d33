"""A pre-trained T5 or BERT as EncT5 needs it: encoder, subwords, on request decoder blocks."""

import json
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import nn

from ...errors import UserError
from ...fairseq_patches import difference
from ...nn.t5 import T5Size
from ...pretrained.loading import Pretrained, read_description
from ...pretrained.post_norm import PostNormPlan
from ...pretrained.vocabulary import BOS, backend
from .config import EncT5Config
from .network import LatentDecoder
from .tokenizer import SPECIAL, SubwordDictionary

#: settings of a model that name a folder, each of one kind of model
DIRECTORIES = {"t5_dir": "t5", "bert_dir": "bert"}


class EncoderDirectory:
    """A local Hugging Face folder: a T5 or mT5, whole or the encoder alone; or a BERT.

    Args:
        path: of the folder.
        option: of :data:`DIRECTORIES`.

    Raises:
        UserError: it lacks something, or holds another kind of model.
    """

    def __init__(self, path: str, option: str) -> None:
        self.path, self.flag = path, f"--{option.replace('_', '-')}"
        self.opened = Pretrained(path)
        self.plan, kind = self.opened.plan, self.opened.kind
        self.bert = kind == "bert"
        if kind != DIRECTORIES[option]:
            raise UserError(f"{path}: holds a {kind}; {self.flag} takes a {DIRECTORIES[option]}")

    def pieces(self) -> list[str]:
        """The vocabulary: padding, ``</s>`` and ``<unk>``, then all others in their order.

        Of a BERT ``<s>``, which stands for [CLS], comes next.

        Raises:
            UserError: a T5's is in another order, or has gaps.
        """
        if self.bert:
            return [*SPECIAL, BOS, *self.opened.vocabulary.ordinary()]
        rows = self.opened.vocabulary.rows
        pieces = sorted(rows, key=rows.__getitem__)
        first = pieces[: len(SPECIAL)]
        if first != list(SPECIAL) or rows[pieces[-1]] >= len(pieces):
            raise UserError(
                f"{self.path}: its vocabulary, {' '.join(first)} …, is not in T5's order"
            )
        return pieces

    def tokenizer(self) -> str:
        """What cuts text as a BERT, for a :class:`.WordpieceTokenizer`: one line of JSON."""
        vocabulary = self.opened.vocabulary
        rows = [vocabulary.rows[vocabulary.tokens[symbol]] for symbol in self.pieces()]
        whole = json.loads(backend(self.opened.place).to_str())
        return json.dumps({"rows": rows, "tokenizer": whole})

    def check(self, symbols: Sequence[str], decoder_layers: int) -> None:
        """That data were prepared with this vocabulary, and that there are so many blocks.

        Raises:
            UserError: it is not so.
        """
        found = difference(symbols, self.pieces())
        if found is not None:
            at, theirs, own = found
            raise UserError(
                f"{self.path}: the data were prepared with another vocabulary (subword {at} is "
                f"{theirs}, not {own}); prepare them with lev-enct5-prepare {self.flag} of the "
                "same folder"
            )
        there = self.plan.decoder_layers or 0
        if decoder_layers > there:
            raise UserError(
                f"--decoder-layers {decoder_layers} --decoder-init t5: {self.path} has {there} "
                "decoder blocks"
            )

    def fill(
        self, table: nn.Embedding, encoder: nn.Module, decoder: LatentDecoder | None = None
    ) -> None:
        """Puts the weights into table, encoder and, unless it is None, the decoder's blocks.

        The decoder's latents stay as they were initialised.
        """
        parts = {"source": nn.ModuleDict({"table": table}), "encoder": encoder}
        if decoder is not None:
            parts |= {"blocks": decoder.blocks, "bias": decoder.bias, "norm": decoder.norm}
        rows = torch.arange(table.num_embeddings)
        if self.bert:
            rows = self.opened.vocabulary.rows_of(SubwordDictionary(self.pieces()))
        # what the model writes with
        self.opened.fill(nn.ModuleDict(parts), {"source": rows}, left=(r"(cls|decoder)\..*",))


def sizes(cfg: EncT5Config) -> tuple[T5Size, PostNormPlan | None]:
    """The numbers that the modules are made of: T5's, and those of the BERT in the encoder's place.

    Raises:
        UserError: a plan that is none.
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
        kind, plan, _ = read_description(cfg.backbone_plan)
        if kind == "bert":  # the decoder is as wide
            bert = plan
            numbers = {"dim": plan.dim, "heads": plan.heads, "head_dim": plan.dim // plan.heads}
            size = replace(size, hidden=plan.hidden, **numbers)
        else:
            size = replace(plan, decoder_layers=cfg.decoder_layers)
    rate = cfg.dropout
    return replace(size, dropout=rate, attention_dropout=rate, activation_dropout=rate), bert
