"""The model: T5's encoder (or BERT's), and a decoder of latents (paper, §3, Framework 1)."""

import logging
import os
from typing import TYPE_CHECKING

from fairseq.models import BaseFairseqModel, register_model
from omegaconf import DictConfig
from torch import Tensor, nn

from ...errors import UserError
from ...nn.embedding import TokenEmbedding
from ...nn.t5 import T5Size
from ...optim.backbone_adam import mark_backbone
from ...pretrained.filling import Dropouts
from ...pretrained.post_norm import PostNormPlan
from .bert_encoder import BertEncoder
from .config import EncT5Config, t5_size
from .directory import BertDirectory, EncoderDirectory, T5Directory, bert_plan
from .network import LabelHeads, LatentDecoder, SharedHead
from .problem_types import ProblemType

if TYPE_CHECKING:
    from .task import EncT5Task

MODEL = "enct5"
#: setting that names a pre-trained model's folder → what reads it
DIRECTORIES: dict[str, type[EncoderDirectory]] = {
    "t5_dir": T5Directory,
    "bert_dir": BertDirectory,
}
logger = logging.getLogger(__name__)


@register_model(MODEL, dataclass=EncT5Config)
class EncT5Model(BaseFairseqModel):
    """EncT5, for the task ``enct5``.

    Args:
        size: of the T5.
        rows: of the table of pieces.
        layers: decoder blocks.
        kind: what is predicted.
        number: labels or classes.
        bert: the BERT that takes the place of T5's encoder, or None.
    """

    #: prefixes of parameters that are not taken from a checkpoint
    begins_anew: tuple[str, ...] = ()

    def __init__(
        self,
        size: T5Size,
        rows: int,
        layers: int,
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
            self.encoder = size.encoder()
        else:  # which drops units behind its positions
            self.embed = TokenEmbedding(table, scale=1.0)
            self.encoder = BertEncoder(bert, Dropouts(*[size.dropout] * 3))
        self.decoder = LatentDecoder(size, kind.vocabulary(number), layers)
        self.head: nn.Module
        if kind is ProblemType.MULTILABEL:
            self.head = LabelHeads(size.dim, number)
        else:
            self.head = SharedHead(size.dim, 1 if kind is ProblemType.REGRESSION else number)

    def upgrade_state_dict_named(self, state_dict: dict[str, Tensor], name: str) -> None:
        """Keeps what begins anew (:attr:`begins_anew`) as it is here."""
        if self.begins_anew:
            for key in [key for key in state_dict if key.startswith(self.begins_anew)]:
                del state_dict[key]
            own = self.state_dict().items()
            state_dict |= {key: value for key, value in own if key.startswith(self.begins_anew)}
        super().upgrade_state_dict_named(state_dict, name)

    @classmethod
    def settle(cls, cfg: EncT5Config) -> None:
        """Notes the sizes of ``--t5-dir`` or ``--bert-dir`` for the checkpoints, which do not need
        it any more.

        Raises:
            UserError: no such model there, two of them, or no T5 whose decoder to start from.
        """
        _check_decoder(cfg)
        for name, kind in DIRECTORIES.items():
            if getattr(cfg, name):
                setattr(cfg, name, os.path.abspath(getattr(cfg, name)))
                directory = kind(getattr(cfg, name))
                directory.settle(cfg)
                sizes = ", ".join(f"{size} {value}" for size, value in directory.sizes().items())
                place = directory.place.path
                logger.info("sizes of %s, whatever other options say: %s", place, sizes)

    @classmethod
    def check_resumed(cls, cfg: EncT5Config, stored: DictConfig, path: str) -> None:
        """Called before a training resumes: what it started from has to be named again.

        Args:
            stored: the checkpoint's settings of its model.
            path: of the checkpoint.

        Raises:
            UserError: it is not.
        """
        for name in DIRECTORIES:
            place = getattr(stored, name, None)
            if place and not getattr(cfg, name):
                raise UserError(
                    f"{path}: was trained with --{name.replace('_', '-')} {place}: give this "
                    "option to resume it, or another --save-dir"
                )

    @classmethod
    def build_model(cls, cfg: EncT5Config, task: "EncT5Task") -> "EncT5Model":
        """Builds it for what a task predicts; the weights of ``--t5-dir`` or ``--bert-dir`` are in.

        Raises:
            UserError: options that contradict each other, another vocabulary than the data's, texts
                longer than a BERT's positions, or a directory that lacks something.
        """
        if not isinstance(getattr(task, "kind", None), ProblemType):
            raise UserError(f"enct5 does not work with {type(task).__name__}; give --task enct5")
        _check_decoder(cfg)
        directory = _directory(cfg)
        if directory is not None:
            directory.settle(cfg)
            directory.check_pieces(task.source_dictionary.symbols)
        elif task.trains and task.metadata.wordpiece and not cfg.bert_plan:
            logger.info(
                "the data have a BERT's subwords, and the model starts from scratch; give "
                "--bert-dir to start from the BERT"
            )
        rows = max(cfg.t5_rows, len(task.source_dictionary))
        bert = bert_plan(cfg.bert_plan) if cfg.bert_plan else None
        if bert is not None:
            _check_bert(bert, cfg, task.metadata.max_length)
        model = cls(t5_size(cfg), rows, cfg.decoder_layers, task.kind, task.number, bert)
        if directory is not None:
            decoder = model.decoder if str(cfg.decoder_init) == "t5" else None
            directory.fill(model.embed.table, model.encoder, decoder)
        if directory is not None or cfg.t5_rows or cfg.bert_plan:
            loaded = [model.embed, model.encoder]
            if str(cfg.decoder_init) == "t5":
                loaded += [model.decoder.blocks, model.decoder.bias, model.decoder.norm]
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

    def max_positions(self) -> None:
        """Any length: places are known by their distance."""
        return None


def _check_decoder(cfg: EncT5Config) -> None:
    if cfg.t5_dir and cfg.bert_dir:
        raise UserError("--t5-dir and --bert-dir: a model has one encoder; leave one of them out")
    if str(cfg.decoder_init) == "t5" and not cfg.t5_dir:
        raise UserError("--decoder-init t5 needs the T5: give --t5-dir DIR")


def _check_bert(bert: PostNormPlan, cfg: EncT5Config, longest: int) -> None:
    """Raises :class:`UserError` unless a BERT suits the decoder's width and the data's texts."""
    if bert.dim != cfg.encoder_embed_dim:
        raise UserError(
            f"--bert-plan: a BERT of width {bert.dim}, and --encoder-embed-dim "
            f"{cfg.encoder_embed_dim}; give --bert-dir, which sets both"
        )
    if longest > bert.positions:
        raise UserError(
            f"the data have texts of up to {longest} subwords, and the BERT has {bert.positions} "
            f"positions; prepare them with --max-length {bert.positions}"
        )


def _directory(cfg: EncT5Config) -> EncoderDirectory | None:
    """What ``--t5-dir`` or ``--bert-dir`` holds; a checkpoint's settings name neither."""
    for name, kind in DIRECTORIES.items():
        if getattr(cfg, name):
            return kind(getattr(cfg, name))
    return None


def cross_attention_mask(
    segments: Tensor, spans: Tensor, latent_segments: Tensor, latent_spans: Tensor
) -> Tensor:
    """Which subwords each decoder position reads: B × L × S, bool; one at least.

    The text of its example; of that, where it has a span, the subwords of this span. A word without
    subwords reads the whole text, and padding what it likes: there is no softmax over nothing.
    """
    text = latent_segments.unsqueeze(2) == segments.unsqueeze(1)
    words = latent_spans.unsqueeze(2)
    seen = text & ((words == 0) | (words == spans.unsqueeze(1)))
    padding = latent_segments.eq(0).unsqueeze(2)
    return seen | (~seen.any(2, keepdim=True) & (text | padding))
