"""The model: T5's encoder (or BERT's), and a decoder of latents (paper, §3, Framework 1)."""

import logging
import os
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any

from fairseq.models import BaseFairseqModel, register_model, register_model_architecture
from torch import Tensor, nn

from ...errors import UserError
from ...fairseq_patches.trust import origin
from ...nn.embedding import TokenEmbedding
from ...nn.seq2seq.config import set_sizes
from ...nn.t5 import T5Encoder, T5Size
from ...optim.backbone_adam import mark_backbone
from ...pretrained import require_plan
from ...pretrained.plans import PostNormPlan
from .config import EncT5Config
from .directory import DIRECTORIES, EncoderDirectory, sizes
from .network import BertEncoder, LabelHeads, LatentDecoder, SharedHead
from .problem_types import ProblemType

if TYPE_CHECKING:
    from .task import EncT5Task

MODEL = "enct5"
#: name → width, width of the feed-forward layers, blocks, heads, width of a head: T5 1.1's
SIZES = {
    "tiny": (128, 256, 2, 4, 32),  # for two cores, from scratch
    "small": (512, 1024, 8, 6, 64),
    "base": (768, 2048, 12, 12, 64),
    "large": (1024, 2816, 24, 16, 64),
    "xl": (2048, 5120, 24, 32, 64),
    "xxl": (4096, 10240, 24, 64, 64),
}
logger = logging.getLogger(__name__)


@register_model(MODEL, dataclass=EncT5Config)
class EncT5Model(BaseFairseqModel):
    """EncT5, for the task ``enct5``.

    Args:
        rows: of the table of pieces.
        number: labels or classes.
        bert: takes the place of T5's encoder.
    """

    def __init__(
        self,
        size: T5Size,
        rows: int,
        kind: ProblemType,
        number: int,
        bert: PostNormPlan | None = None,
    ) -> None:
        super().__init__()
        table = nn.Embedding(rows, size.dim)
        nn.init.normal_(table.weight)
        self.encoder: nn.Module
        if bert is None:
            self.embed = TokenEmbedding(table, scale=1.0, dropout=size.dropout)
            self.encoder = T5Encoder(size)
        else:  # which drops units behind its positions
            self.embed = TokenEmbedding(table, scale=1.0)
            self.encoder = BertEncoder(bert, size.dropout)
        self.decoder = LatentDecoder(size, kind.vocabulary(number))
        self.head: nn.Module
        if kind is ProblemType.MULTILABEL:
            self.head = LabelHeads(size.dim, number)
        else:
            self.head = SharedHead(size.dim, 1 if kind is ProblemType.REGRESSION else number)

    @classmethod
    def settle(cls, cfg: EncT5Config) -> None:
        """Notes the sizes of ``--t5-dir`` or ``--bert-dir`` for the checkpoints, which do not need
        it any more; raises :class:`UserError` for what cannot be.
        """
        if cfg.t5_dir and cfg.bert_dir:
            raise UserError("--t5-dir and --bert-dir: a model has one encoder; leave out one")
        if str(cfg.decoder_init) == "t5" and not cfg.t5_dir:
            raise UserError("--decoder-init t5 needs the T5: give --t5-dir DIR")
        for name in DIRECTORIES:
            if path := getattr(cfg, name):
                setattr(cfg, name, os.path.abspath(path))
                cfg.backbone_plan = EncoderDirectory(path, name).description()
                said = "sizes are those of %s, whatever other options say: %s"
                logger.info(said, path, cfg.backbone_plan)

    @classmethod
    def build_model(cls, cfg: EncT5Config, task: "EncT5Task") -> "EncT5Model":
        """Builds it for what a task predicts, with the weights of ``--t5-dir`` or ``--bert-dir``,
        which is not looked for where a checkpoint brings them; another task, or another vocabulary
        than the data's, raises :class:`UserError`.
        """
        if not isinstance(getattr(task, "kind", None), ProblemType):
            raise UserError(f"enct5 does not work with {type(task).__name__}; give --task enct5")
        # options that came after a checkpoint have their defaults
        known: Any = {one.name: getattr(cfg, one.name, one.default) for one in fields(EncT5Config)}
        cfg = EncT5Config(**known)
        for name in DIRECTORIES:
            if getattr(cfg, name) and origin() is not None:
                require_plan(getattr(cfg, name), cfg.backbone_plan)
        size, bert = sizes(cfg)
        pieces = task.metadata.pieces
        model = cls(size, len(pieces), task.kind, task.number, bert)
        decoder = model.decoder if str(cfg.decoder_init) == "t5" else None
        for name in DIRECTORIES:
            if getattr(cfg, name) and origin() is None:
                directory = EncoderDirectory(getattr(cfg, name), name)
                directory.check(pieces)
                directory.begin(model.embed.table, model.encoder, decoder)
        if cfg.backbone_plan:
            loaded = [model.embed, model.encoder]
            if decoder is not None:
                loaded += [decoder.blocks, decoder.bias, decoder.norm]
            mark_backbone(one for part in loaded for one in part.parameters())
        return model

    def forward(
        self,
        tokens: Tensor,
        segments: Tensor,
        spans: Tensor,
        latents: Tensor,
        latent_segments: Tensor,
        latent_spans: Tensor,
    ) -> Tensor:
        """Logits of all predictions of a batch, example after example, row after row.

        Who sees whom depends on the numbers of segments and spans alone, never on tokens.

        Args:
            tokens: B × S pieces. segments: B × S, the example of each, from 1; 0 at padding.
            spans: B × S, the word of each, from 1, each word's own in its row; 0 for none
                (``encdec_segment_ids`` in the paper).
            latents: B × L, the decoder's input. latent_segments, latent_spans: B × L, likewise;
                all spans are 0 unless words are tagged.

        Returns:
            P × C, E × 1, or for multilabel E × N × 2.
        """
        mine = segments.unsqueeze(2) == segments.unsqueeze(1)
        states = self.encoder(self.embed(tokens), segments.ne(0), mine.unsqueeze(1))
        sees = cross_attention_mask(segments, spans, latent_segments, latent_spans)
        return self.head(self.decoder(latents, latent_segments, states, sees))


def cross_attention_mask(
    segments: Tensor, spans: Tensor, latent_segments: Tensor, latent_spans: Tensor
) -> Tensor:
    """Which subwords each decoder position reads: B × L × S, bool; one at least.

    The text of its example; of that, where it has a span, the subwords of this span. Padding reads
    everything: there is no softmax over nothing.
    """
    text = latent_segments.unsqueeze(2) == segments.unsqueeze(1)
    words = latent_spans.unsqueeze(2)
    seen = text & ((words == 0) | (words == spans.unsqueeze(1)))
    return seen | latent_segments.eq(0).unsqueeze(2)


_NAMES = ("dim", "hidden", "layers", "heads", "attention_head_dim")
for _name, _sizes in SIZES.items():
    _named: dict[str, Any] = dict(zip(_NAMES, _sizes))
    register_model_architecture(MODEL, f"enct5_{_name}")(partial(set_sizes, **_named))
