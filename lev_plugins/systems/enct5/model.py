"""The model: T5's encoder (or BERT's), and a decoder of latents (paper, §3, Framework 1)."""

import logging
import os
from collections.abc import Iterator
from dataclasses import fields
from functools import partial
from typing import Any

from fairseq.models import BaseFairseqModel, register_model, register_model_architecture
from fairseq.tasks import FairseqTask
from torch import Tensor, nn

from lev_runtime.errors import UserError

from ...fairseq_patches.checkpoint_files import origin
from ...fairseq_patches.hooks import TrainingHooks
from ...nn.backends import FollowsDevice, optimize
from ...nn.embedding import TokenEmbedding
from ...nn.seq2seq.config import set_sizes
from ...nn.t5 import T5Encoder, T5Size
from ...optim.backbone_adam import mark_backbone
from ...pretrained.bert_bart import BertBartConfig
from .config import EncT5Config
from .directory import DIRECTORIES, EncoderDirectory, sizes
from .network import BertEncoder, LabelHeads, LatentDecoder, SharedHead
from .problem_types import ProblemType

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
class EncT5Model(FollowsDevice, BaseFairseqModel, TrainingHooks):
    """EncT5, for the task ``enct5``.

    Args:
        num_pieces: rows of the table of pieces.
        num_labels: labels or classes.
        bert: takes the place of T5's encoder.
    """

    def __init__(
        self,
        size: T5Size,
        num_pieces: int,
        problem_type: ProblemType,
        num_labels: int,
        bert: BertBartConfig | None = None,
    ) -> None:
        super().__init__()
        table = nn.Embedding(num_pieces, size.dim)
        nn.init.normal_(table.weight)
        self.encoder: nn.Module
        if bert is None:
            self.embed = TokenEmbedding(table, scale=1.0, dropout=size.dropout)
            self.encoder = T5Encoder(size)
        else:  # which drops units after adding positions
            self.embed = TokenEmbedding(table, scale=1.0)
            self.encoder = BertEncoder(bert, size.dropout)
        self.decoder = LatentDecoder(size, problem_type.num_latents(num_labels))
        self.head: nn.Module
        if problem_type is ProblemType.MULTILABEL:
            self.head = LabelHeads(size.dim, num_labels)
        else:
            num_outputs = 1 if problem_type is ProblemType.REGRESSION else num_labels
            self.head = SharedHead(size.dim, num_outputs)

    @classmethod
    def resolve_config(cls, cfg: EncT5Config) -> None:
        """Notes the sizes of ``--t5-dir`` or ``--bert-dir`` for the checkpoints, which do not need
        it any more; raises :class:`UserError` for what cannot be.
        """
        if cfg.t5_dir and cfg.bert_dir:
            raise UserError("--t5-dir and --bert-dir: a model has one encoder; leave out one")
        if str(cfg.decoder_init) == "t5" and not cfg.t5_dir:
            raise UserError("--decoder-init t5 needs the T5: give --t5-dir FOLDER")
        for name in DIRECTORIES:
            path = getattr(cfg, name)
            if path:
                setattr(cfg, name, os.path.abspath(path))
                cfg.backbone_plan = EncoderDirectory(path, name).description()
                message = "sizes are those of %s, whatever other options say: %s"
                logger.info(message, path, cfg.backbone_plan)

    @classmethod
    def build_model(cls, cfg: EncT5Config, task: FairseqTask) -> "EncT5Model":
        """Builds it for what a task predicts, with the weights of ``--t5-dir`` or ``--bert-dir``,
        which is not looked for where a checkpoint brings them; another task, or another vocabulary
        than the data's, raises :class:`UserError`.
        """
        problem_type = getattr(task, "problem_type", None)
        if not isinstance(problem_type, ProblemType):
            raise UserError(f"enct5 does not work with {type(task).__name__}; use --task enct5")
        cfg = _with_defaults(cfg)
        size, bert = sizes(cfg)
        pieces = task.metadata.pieces
        model = cls(size, len(pieces), problem_type, task.num_labels, bert)
        decoder = model.decoder if str(cfg.decoder_init) == "t5" else None
        for name in DIRECTORIES if origin() is None else ():  # else the checkpoint has the weights
            path = getattr(cfg, name)
            if path:
                directory = EncoderDirectory(path, name)
                directory.check(pieces)
                directory.load_into(model.embed.table, model.encoder, decoder)
        if cfg.backbone_plan:
            mark_backbone(model.loaded_parameters(decoder))
        return optimize(model)

    def loaded_parameters(self, decoder: LatentDecoder | None) -> Iterator[nn.Parameter]:
        """Returns the parameters that a pre-trained model brings; ``decoder``: whose blocks it
        does."""
        modules = [self.embed, self.encoder]
        if decoder is not None:
            modules += [decoder.blocks, decoder.bias, decoder.norm]
        for module in modules:
            yield from module.parameters()

    def forward(
        self,
        tokens: Tensor,
        example_ids: Tensor,
        word_ids: Tensor,
        latents: Tensor,
        latent_example_ids: Tensor,
        latent_word_ids: Tensor,
    ) -> Tensor:
        """Logits of all predictions of a batch, example after example, row after row.

        Who sees whom depends on the numbers of examples and words alone, never on tokens.

        Args:
            tokens: B × S pieces. example_ids: B × S, the example of each, from 1; 0 at padding.
            word_ids: B × S, the word of each, from 1, each word's own in its row; 0 for none
                (``encdec_segment_ids`` in the paper).
            latents: B × L, the decoder's input. latent_example_ids, latent_word_ids: B × L,
                likewise; all words are 0 unless words are tagged.

        Returns:
            P × C, E × 1, or for multilabel E × N × 2.
        """
        self_mask = example_ids.unsqueeze(2) == example_ids.unsqueeze(1)
        embedded = self.embed(tokens)
        states = self.encoder(embedded, example_ids.ne(0), self_mask.unsqueeze(1))
        cross_mask = cross_attention_mask(
            example_ids, word_ids, latent_example_ids, latent_word_ids
        )
        features = self.decoder(latents, latent_example_ids, states, cross_mask)
        return self.head(features)


def _with_defaults(cfg: EncT5Config) -> EncT5Config:
    """Returns the options, with defaults for those that a checkpoint is older than."""
    values: Any = {
        field.name: getattr(cfg, field.name, field.default) for field in fields(EncT5Config)
    }
    return EncT5Config(**values)


def cross_attention_mask(
    example_ids: Tensor, word_ids: Tensor, latent_example_ids: Tensor, latent_word_ids: Tensor
) -> Tensor:
    """Returns which subwords each decoder position reads: B × L × S, bool; one at least.

    The text of its example; of that, where it stands for a word, the subwords of this word. Padding
    reads everything: there is no softmax over nothing.
    """
    same_example = latent_example_ids.unsqueeze(2) == example_ids.unsqueeze(1)
    word = latent_word_ids.unsqueeze(2)
    same_word = (word == 0) | (word == word_ids.unsqueeze(1))
    is_padding = latent_example_ids.eq(0).unsqueeze(2)
    return (same_example & same_word) | is_padding


_NAMES = ("dim", "hidden", "layers", "heads", "attention_head_dim")
for _name, _sizes in SIZES.items():
    _options: dict[str, Any] = dict(zip(_NAMES, _sizes))
    register_model_architecture(MODEL, f"enct5_{_name}")(partial(set_sizes, **_options))
