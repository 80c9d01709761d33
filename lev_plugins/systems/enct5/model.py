"""The model: T5's encoder, and a decoder of latents (paper, §3, Framework 1)."""

import logging
import os
from typing import TYPE_CHECKING, Optional

from fairseq.models import BaseFairseqModel, register_model
from torch import Tensor, nn

from ...errors import UserError
from ...nn.embedding import TokenEmbedding
from ...nn.t5 import T5Encoder, T5Size
from .config import EncT5Config, t5_size
from .network import LabelHeads, LatentDecoder, SharedHead
from .problem_types import ProblemType
from .t5_directory import T5Directory

if TYPE_CHECKING:
    from .task import EncT5Task

MODEL = "enct5"
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
    """

    def __init__(
        self, size: T5Size, rows: int, layers: int, kind: ProblemType, number: int
    ) -> None:
        super().__init__()
        table = nn.Embedding(rows, size.dim)
        nn.init.normal_(table.weight)
        self.embed = TokenEmbedding(table, scale=1.0, dropout=size.dropout)
        self.encoder: T5Encoder = size.encoder()
        self.decoder = LatentDecoder(size, kind.vocabulary(number), layers)
        self.head: nn.Module
        if kind is ProblemType.MULTILABEL:
            self.head = LabelHeads(size.dim, number)
        else:
            self.head = SharedHead(size.dim, 1 if kind is ProblemType.REGRESSION else number)

    @classmethod
    def settle(cls, cfg: EncT5Config) -> None:
        """Notes the sizes of ``--t5-dir`` for the checkpoints, which do not need it any more.

        Raises:
            UserError: no T5 there, or none given whose decoder to start from.
        """
        _check_decoder(cfg)
        if not cfg.t5_dir:
            return
        cfg.t5_dir = os.path.abspath(cfg.t5_dir)
        directory = T5Directory(cfg.t5_dir)
        directory.settle(cfg)
        sizes = ", ".join(f"{name} {size}" for name, size in directory.sizes().items())
        logger.info("sizes of %s, whatever other options say: %s", cfg.t5_dir, sizes)

    @classmethod
    def build_model(cls, cfg: EncT5Config, task: "EncT5Task") -> "EncT5Model":
        """Builds it for what a task predicts; ``--t5-dir``'s weights are in it.

        Raises:
            UserError: options that contradict each other, another vocabulary than the data's, or
                a directory that lacks something.
        """
        if not isinstance(getattr(task, "kind", None), ProblemType):
            raise UserError(f"enct5 does not work with {type(task).__name__}; give --task enct5")
        directory = _directory(cfg)
        if directory is not None:
            directory.settle(cfg)
            directory.check_pieces(task.source_dictionary.symbols)
        rows = max(cfg.t5_rows, len(task.source_dictionary))
        model = cls(t5_size(cfg), rows, cfg.decoder_layers, task.kind, task.number)
        if directory is not None:
            decoder = model.decoder if str(cfg.decoder_init) == "t5" else None
            directory.fill(model.embed.table, model.encoder, decoder)
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
    if str(cfg.decoder_init) == "t5" and not cfg.t5_dir:
        raise UserError("--decoder-init t5 needs the T5: give --t5-dir DIR")


def _directory(cfg: EncT5Config) -> Optional[T5Directory]:
    """``--t5-dir``, None where there is none.

    None as well for a checkpoint, which has its sizes and brings the weights, where the directory
    has gone or has become another model's.
    """
    if not cfg.t5_rows:
        _check_decoder(cfg)
    if not cfg.t5_dir:
        return None
    try:
        directory = T5Directory(cfg.t5_dir)
    except UserError as error:
        if not cfg.t5_rows:
            raise
        logger.warning("only a checkpoint's weights are used: %s", error)
        return None
    if cfg.t5_rows and not directory.settled(cfg):
        logger.warning("%s: has other sizes now; only a checkpoint's weights are used", cfg.t5_dir)
        return None
    return directory


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
