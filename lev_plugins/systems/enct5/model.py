"""The model: T5's encoder (or BERT's), and a decoder of latents (paper, §3, Framework 1).

Shapes: B rows, S subwords, L decoder positions, C channels, V latents, P real positions,
E examples, N labels.
"""

import json
import logging
import os
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from fairseq.models import BaseFairseqModel, register_model, register_model_architecture
from fairseq.tasks import FairseqTask
from torch import Tensor, nn

from lev_runtime.errors import UserError, flag
from lev_runtime.labels.pieces import SPECIAL, FolderTokenizer

from ...fairseq_patches.checkpoint_files import difference, origin
from ...fairseq_patches.hooks import TrainingHooks
from ...nn.backends import FollowsDevice, optimize
from ...nn.decoder_block import DecoderBlock
from ...nn.embedding import TokenEmbedding
from ...nn.kernels import TORCH, Kernels, Linear
from ...nn.packing import AttentionLayout, Unpadding
from ...nn.seq2seq.config import set_sizes
from ...nn.t5 import T5Encoder, T5Size
from ...nn.transformer import EncoderOutput, TransformerBlock, TransformerStack
from ...optim.backbone_adam import mark_backbone
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
from .problem_types import ProblemType

MODEL = "enct5"
#: name → width, width of the feed-forward layers, blocks, heads, width of a head; T5 1.1's
SIZES = {
    "tiny": (128, 256, 2, 4, 32),  # for two cores, from scratch
    "small": (512, 1024, 8, 6, 64),
    "base": (768, 2048, 12, 12, 64),
    "large": (1024, 2816, 24, 16, 64),
    "xl": (2048, 5120, 24, 32, 64),
    "xxl": (4096, 10240, 24, 64, 64),
}
#: option that names a folder → the kind of model there
DIRECTORIES = {"t5_dir": "t5", "bert_dir": "bert"}
#: prefixes of tensors that generate text, which EncT5 does not use
GENERATION = ("lm_head.", "decoder.", "cls.")
logger = logging.getLogger(__name__)


class LatentDecoder(nn.Module):
    """T5's decoder blocks over latents, without a causal mask.

    The first block's self-attention comes before latents have read the text, so it is the same for
    all examples and computed once, over the table. (A tagger has one latent for all words, so this
    holds for it too.) This attention alone has no dropout on its weights: all examples of a batch
    would share its mask.
    """

    kernels: Kernels = TORCH

    def __init__(self, size: T5Size, latents: int) -> None:
        super().__init__()
        self.dropout = size.dropout
        self.table = nn.Embedding(latents, size.dim)
        nn.init.normal_(self.table.weight)
        self.blocks = nn.ModuleList(size.decoder_block() for _ in range(size.decoder_layers))
        self.bias = size.bias(bidirectional=False)  # as T5's decoder has it
        self.norm = size.last_norm()

    def latent_self_attention(self, block: DecoderBlock) -> Tensor:
        """Returns the first block's self-attention for each latent of the table, V × C."""
        attention = block.block.self_attention
        num_latents = self.table.num_embeddings
        x = block.block.self_norm(self.table.weight).unsqueeze(0)
        query, key, value = attention.project(x, AttentionLayout(None, None))
        # T5's decoder has a bias for what comes before; all that comes after is at distance 0
        bias = self.bias.places(num_latents, num_latents).unsqueeze(0).to(query.dtype)
        return attention.attend_to_segments(query, [(key, value)], bias).squeeze(0)

    def forward(
        self, latents: Tensor, example_ids: Tensor, states: Tensor, cross_mask: Tensor
    ) -> Tensor:
        """Returns the states of the real positions, row after row, P × C.

        Args:
            latents: B × L, long.
            example_ids: B × L, the example of each position, 0 at padding.
            states: of the encoder, B × S × C.
            cross_mask: B × L × S, bool: which subwords a position reads; at least one, also at
                padding.
        """
        is_real = example_ids.ne(0)
        packing = self._packing(is_real)
        if packing is not None:
            latents = latents.flatten()[packing.index]
        source = EncoderOutput(states, cross_mask.unsqueeze(1))
        x = self.read(latents, example_ids, source, packing)
        return x[is_real] if packing is None else x

    def read(
        self,
        latents: Tensor,
        example_ids: Tensor,
        encoder_out: EncoderOutput,
        packing: Unpadding | None = None,
    ) -> Tensor:
        """Runs the blocks: B × L latents → B × L × C, or packed, P → P × C."""
        first, *others = self.blocks
        assert isinstance(first, DecoderBlock)
        x = self._first_block(first, latents, encoder_out, packing)
        if others:
            self_mask = example_ids.unsqueeze(2) == example_ids.unsqueeze(1)
            layout = AttentionLayout(self.bias(self_mask), packing)
            for block in others:
                x, _, _ = block(x, layout, encoder_out)
        return self.norm(x)

    @staticmethod
    def _packing(is_real: Tensor) -> Unpadding | None:
        """Returns how padding is left out; None if there is none.

        Rows of a single query are never packed: attention has a path of its own for them.
        """
        packing = Unpadding(is_real)
        has_padding = packing.index.numel() < is_real.numel()
        return packing if has_padding and is_real.size(1) > 1 else None

    def _first_block(
        self,
        block: DecoderBlock,
        latents: Tensor,
        encoder_out: EncoderOutput,
        packing: Unpadding | None,
    ) -> Tensor:
        """Computes the first block: B × L latents → B × L × C, or packed, P → P × C."""
        inner, cross_attention = block.block, block.cross_attention
        layout = AttentionLayout(None, packing)
        attended = F.embedding(latents, self.latent_self_attention(block))
        x = self.kernels.dropout(self.table(latents), self.dropout, self.training)
        x = inner.residual(x, nn.Identity(), lambda _: attended)
        x = inner.residual(x, block.cross_norm, lambda h: cross_attention(h, layout, encoder_out))
        return inner.residual(x, inner.feed_norm, inner.feed_forward)


class SharedHead(Linear):
    """One projection for all positions: P × C → P × outputs."""

    def __init__(self, dim: int, outputs: int) -> None:
        super().__init__(dim, outputs)
        nn.init.normal_(self.weight, std=dim**-0.5)
        nn.init.zeros_(self.bias)


class LabelHeads(nn.Module):
    """One projection per label: does it hold or not (paper, Alg. 2)."""

    kernels: Kernels = TORCH

    def __init__(self, dim: int, labels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(labels, 2, dim))
        nn.init.normal_(self.weight, std=dim**-0.5)
        self.bias = nn.Parameter(torch.zeros(labels, 2))

    def forward(self, x: Tensor) -> Tensor:
        """Maps P × C, all labels of an example after each other → E × N × 2."""
        labels, _, dim = self.weight.shape
        x = x.view(-1, labels, dim)
        # one product per label
        upcast = self.kernels.upcast
        products = torch.einsum("enc,noc->eno", upcast(x), upcast(self.weight))
        return products.to(x.dtype) + self.bias


class BertEncoder(nn.Module):
    """BERT's encoder over the vectors of its tokens; a row may hold several texts.

    Called as :class:`.T5Encoder` is.
    """

    kernels: Kernels = TORCH

    def __init__(self, plan: BertBartConfig, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.places = nn.Embedding(plan.positions, plan.dim)
        self.norm = nn.LayerNorm(plan.dim, eps=plan.eps)
        size = plan.size(**dict.fromkeys(DROPOUT_NAMES, dropout))
        self.stack = TransformerStack(TransformerBlock(size) for _ in range(plan.layers))

    def forward(self, x: Tensor, real: Tensor, mask: Tensor | None = None) -> Tensor:
        """Encodes embedded tokens → states, B × S × C.

        Positions restart in each text, which must not be longer than the plan's positions.

        Args:
            x: B × S × C.
            real: B × S, bool, False at padding.
            mask: B × 1 × S × S, bool: which tokens of a row of texts a token sees; also itself.
        """
        seen = real[:, None, None] if mask is None else mask
        sees = seen[:, 0].expand(-1, x.size(1), -1)
        # a token's position is the number of tokens before it that it sees
        num_before = sees.tril(-1).sum(2)
        positions = num_before.masked_fill(~real, 0)
        x = self.norm(x + self.places(positions))
        x = self.kernels.dropout(x, self.dropout, self.training)
        packing = self.kernels.packing(real)
        return self.stack(x, AttentionLayout(seen, packing))


@register_model(MODEL, dataclass=EncT5Config)
class EncT5Model(FollowsDevice, BaseFairseqModel, TrainingHooks):
    """EncT5, for the task ``enct5``.

    Args:
        num_pieces: rows of the table of pieces.
        num_labels: labels or classes.
        bert: the sizes of a BERT that replaces T5's encoder.
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
        self.encoder: T5Encoder | BertEncoder
        if bert is None:
            self.embed = TokenEmbedding(table, scale=1.0, dropout=size.dropout)
            self.encoder = T5Encoder(size)
        else:  # BERT applies dropout after adding positions
            self.embed = TokenEmbedding(table, scale=1.0)
            self.encoder = BertEncoder(bert, size.dropout)
        self.decoder = LatentDecoder(size, problem_type.num_latents(num_labels))
        self.head: SharedHead | LabelHeads
        if problem_type is ProblemType.MULTILABEL:
            self.head = LabelHeads(size.dim, num_labels)
        else:
            num_outputs = 1 if problem_type is ProblemType.REGRESSION else num_labels
            self.head = SharedHead(size.dim, num_outputs)

    @classmethod
    def resolve_config(cls, cfg: EncT5Config) -> None:
        """Records the sizes of ``--t5-dir`` or ``--bert-dir``, so that checkpoints do not need it.

        Raises:
            UserError: options that exclude each other, or a folder that cannot be read.
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
        """Builds the model for a task, with the weights of ``--t5-dir`` or ``--bert-dir``.

        Raises:
            UserError: another task than ``enct5``, or another vocabulary than that of the data.
        """
        problem_type = getattr(task, "problem_type", None)
        if not isinstance(problem_type, ProblemType):
            raise UserError(f"enct5 does not work with {type(task).__name__}; use --task enct5")
        cfg = _with_defaults(cfg)
        size, bert = sizes(cfg)
        pieces = task.metadata.pieces
        model = cls(size, len(pieces), problem_type, task.num_labels, bert)
        decoder = model.decoder if str(cfg.decoder_init) == "t5" else None
        # a checkpoint has the weights, so the folder may be gone
        for name in DIRECTORIES if origin() is None else ():
            path = getattr(cfg, name)
            if path:
                directory = EncoderDirectory(path, name)
                directory.check(pieces)
                directory.load_into(model.embed.table, model.encoder, decoder)
        if cfg.backbone_plan:
            mark_backbone(model.loaded_parameters(decoder))
        return optimize(model)

    def loaded_parameters(self, decoder: LatentDecoder | None) -> Iterator[nn.Parameter]:
        """Yields the parameters that a pre-trained model has; ``decoder``: if its blocks too."""
        modules: list[nn.Module] = [self.embed, self.encoder]
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
        """Returns the logits of all predictions of a batch, example after example, row after row.

        The masks depend on the ids of examples and words alone, never on tokens.

        Args:
            tokens: B × S pieces.
            example_ids: B × S, the example of each piece, from 1; 0 at padding.
            word_ids: B × S, the word of each piece, from 1 in each row; 0 for none
                (``encdec_segment_ids`` in the paper).
            latents: B × L, the decoder's input.
            latent_example_ids, latent_word_ids: B × L, likewise; words are 0 unless they are
                tagged.

        Returns:
            P × classes, E × 1, or for multilabel E × N × 2.
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
    """Returns the options, with the defaults of those that an old checkpoint lacks."""
    values: Any = {
        field.name: getattr(cfg, field.name, field.default) for field in fields(EncT5Config)
    }
    return EncT5Config(**values)


def cross_attention_mask(
    example_ids: Tensor, word_ids: Tensor, latent_example_ids: Tensor, latent_word_ids: Tensor
) -> Tensor:
    """Returns which subwords each decoder position reads: B × L × S, bool.

    A position reads its example, or, if it stands for a word, the subwords of this word. Padding
    reads everything, because a softmax over nothing is not a number.
    """
    same_example = latent_example_ids.unsqueeze(2) == example_ids.unsqueeze(1)
    word = latent_word_ids.unsqueeze(2)
    same_word = (word == 0) | (word == word_ids.unsqueeze(1))
    is_padding = latent_example_ids.eq(0).unsqueeze(2)
    return (same_example & same_word) | is_padding


class EncoderDirectory(Pretrained):
    """A local Hugging Face folder: a T5 or mT5, whole or the encoder alone; or a BERT.

    ``pieces``: the vocabulary: padding, ``</s>`` and ``<unk>``, for a BERT ``<s>``, which stands
    for [CLS], then all others in their order.

    Args:
        path: of the folder.
        option: of :data:`DIRECTORIES`.

    Raises:
        UserError: it lacks something, or holds another kind of model.
    """

    def __init__(self, path: str, option: str) -> None:
        super().__init__(path)
        self.flag = flag(option)
        if self.kind != DIRECTORIES[option]:
            expected = DIRECTORIES[option]
            raise UserError(f"{path} is a {self.kind}; {self.flag} needs a {expected}")
        first = [BOS] if BOS in self.vocabulary.specials else []
        self.pieces = [*SPECIAL, *first, *self.vocabulary.ordinary()]
        self.rows = self.vocabulary.rows_of(self.pieces)

    def tokenizer(self) -> FolderTokenizer:
        """Returns the model's own tokenizer."""
        own = text_tokenizer(self.directory)
        content = {"rows": self.rows.tolist(), "tokenizer": json.loads(own.to_str())}
        return FolderTokenizer(json.dumps(content), BOS in self.pieces, self.pieces)

    def check(self, pieces: Sequence[str]) -> None:
        """Raises :class:`UserError` unless data were prepared with this vocabulary."""
        unlike = difference(pieces, self.pieces)
        if unlike:
            raise UserError(
                f"{self.directory.path}: the data were prepared with another vocabulary "
                f"({unlike}); prepare them with lev-enct5-prepare {self.flag} of the same folder"
            )

    def load_into(
        self,
        table: nn.Embedding,
        encoder: T5Encoder | BertEncoder,
        decoder: LatentDecoder | None,
    ) -> None:
        """Loads the weights into table, encoder and, unless it is None, the decoder's blocks.

        Latents stay random.
        """
        loader = self.loader
        if isinstance(encoder, BertEncoder):
            loader.copy_rows(table.weight, BERT_WORDS, self.rows)
            loader.assign(encoder.places.weight, *BertConfig.positions_table(loader))
            loader.copy_layer(encoder.norm, BERT_NORM)
            for number, block in enumerate(encoder.stack.blocks):
                loader.copy_layers(block, f"encoder.layer.{number}", BERT_LAYERS)
        else:
            loader.copy_rows(table.weight, T5_WORDS, self.rows)
            self.config.load_encoder(loader, encoder)
        if decoder is not None:
            self.config.load_decoder(loader, decoder.blocks, decoder.bias, decoder.norm)
        loader.check_unused([*self.config.ignored_tensors, *GENERATION])


def sizes(cfg: EncT5Config) -> tuple[T5Size, BertBartConfig | None]:
    """Returns the sizes of T5, and of a BERT that replaces the encoder; both are equally wide."""
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


_NAMES = ("dim", "hidden", "layers", "heads", "attention_head_dim")
for _name, _sizes in SIZES.items():
    _options: dict[str, Any] = dict(zip(_NAMES, _sizes))
    register_model_architecture(MODEL, f"enct5_{_name}")(partial(set_sizes, **_options))
