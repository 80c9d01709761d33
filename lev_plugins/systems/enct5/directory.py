"""A pre-trained T5 or BERT as EncT5 needs it: encoder, subwords, on request decoder blocks."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from torch import nn

from ...errors import UserError
from ...fairseq_patches.symbols import difference
from ...nn.t5 import T5Size
from ...pretrained.folder import Pretrained, read_description
from ...pretrained.plans import RATES, PostNormPlan
from ...pretrained.vocabulary import BOS, backend
from .config import EncT5Config
from .network import LatentDecoder
from .tokenizer import SPECIAL, FolderTokenizer

#: settings of a model that name a folder, each of one kind of model
DIRECTORIES = {"t5_dir": "t5", "bert_dir": "bert"}


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
            takes = f"{self.flag} takes a {DIRECTORIES[option]}"
            raise UserError(f"{path}: holds a {self.kind}; {takes}")
        first = [BOS] if BOS in self.vocabulary.specials else []
        self.pieces = [*SPECIAL, *first, *self.vocabulary.ordinary()]
        self.rows = self.vocabulary.rows_of(self.pieces)

    def tokenizer(self) -> FolderTokenizer:
        """What cuts text as the model's own tokenizer does."""
        whole = json.loads(backend(self.place).to_str())
        content = json.dumps({"rows": self.rows.tolist(), "tokenizer": whole})
        return FolderTokenizer(content, self.pieces, self.place.path)

    def check(self, pieces: Sequence[str]) -> None:
        """Raises :class:`UserError` unless data were prepared with this vocabulary."""
        if found := difference(pieces, self.pieces):
            raise UserError(
                f"{self.place.path}: the data were prepared with another vocabulary (subword "
                f"{found[0]} is {found[1]}, not {found[2]}); prepare them with lev-enct5-prepare "
                f"{self.flag} of the same folder"
            )

    def load_into(
        self, table: nn.Embedding, encoder: nn.Module, decoder: LatentDecoder | None
    ) -> None:
        """Puts the weights into table, encoder and, unless it is None, the decoder's blocks, whose
        latents stay as they were initialised.
        """
        parts = {"source": nn.ModuleDict({"table": table}), "encoder": encoder}
        if decoder is not None:
            parts |= {"blocks": decoder.blocks, "bias": decoder.bias, "norm": decoder.norm}
        self.filling.fill(nn.ModuleDict(parts), self.plan.names(), {"source": self.rows})
        # what the model writes with
        self.filling.finish([*self.plan.left, r"(cls|decoder|lm_head)\..*"])


def sizes(cfg: EncT5Config) -> tuple[T5Size, PostNormPlan | None]:
    """The numbers that the modules are made of: T5's, and those of the BERT in the encoder's place,
    whose decoder is as wide.
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
        if kind == "bert":
            bert = plan
            numbers = {"dim": plan.dim, "heads": plan.heads, "head_dim": plan.dim // plan.heads}
            size = replace(size, hidden=plan.hidden, **numbers)
        else:
            size = replace(plan, decoder_layers=cfg.decoder_layers)
    rates: dict[str, Any] = dict.fromkeys(RATES, cfg.dropout)
    return replace(size, **rates), bert
