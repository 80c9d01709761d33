"""T5's blocks: 1.0 (Raffel et al., 2020, §2.1) and 1.1, which mT5 shares (feed-forward with gates).

Unlike Vaswani's Transformer: norms that only scale, no biases, attention that is not scaled, places
known from a bias on its scores alone, one for each head and distance. Shapes: B sentences,
T tokens, T' the newest of them, S source tokens, C channels, H heads, D channels of a head,
E = H · D, which need not be C.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from .backbone import Backbone
from .decoder_block import DecoderBlock, TiedOutput
from .embedding import TokenEmbedding, token_table
from .kernels import TORCH, Kernels, Linear
from .packing import AttentionLayout
from .transformer import ACTIVATIONS, Attention, TransformerBlock

#: feed-forward layers, as T5's configurations name them: function, and whether a gate multiplies it
FEED_FORWARD: dict[str, tuple[Callable[[Tensor], Tensor], bool]] = {
    **{name: (function, False) for name, function in ACTIVATIONS.items()},
    **{f"gated-{name}": (function, True) for name, function in ACTIVATIONS.items()},
    "gated-gelu": (ACTIVATIONS["gelu_new"], True),  # in all of T5 1.1
}


def within_range(x: Tensor) -> Tensor:
    """Clamps half-precision states: T5's residuals outgrow what 16 bits hold."""
    most = torch.finfo(torch.float16).max - 1000
    return x.clamp(-most, most) if x.dtype == torch.float16 else x


class RMSNorm(nn.Module):
    """Divides by the root mean square; ``dropout`` of the result is T5's after its last block."""

    kernels: Kernels = TORCH

    def __init__(self, dim: int, eps: float = 1e-6, dropout: float = 0.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps
        self.dropout = dropout

    def forward(self, x: Tensor) -> Tensor:
        """Normalises … × C; the squares are summed in single precision, if not in double."""
        wide = x if x.dtype == torch.float64 else x.float()
        squares = wide.pow(2).mean(-1, keepdim=True)
        scale = torch.rsqrt(squares + self.eps)
        x = (wide * scale).to(x.dtype)
        x = x * self.weight.to(x.dtype)
        return self.kernels.dropout(x, self.dropout, self.training)


def distance_buckets(buckets: int, longest: int) -> Tensor:
    """Returns the bucket of each distance from 0 to ``longest``, which stands for all beyond it.

    Half of the buckets hold one distance each, the others ranges that grow with its logarithm.
    """
    exact = buckets // 2
    distance = torch.arange(longest + 1)
    # in the order of operations that published weights were trained with: rounding decides
    relative = distance.clamp(min=1).float() / exact
    growth = torch.log(relative) / math.log(longest / exact)
    ranges = exact + (growth * (buckets - exact)).long()
    ranges = ranges.clamp(max=buckets - 1)
    return torch.where(distance < exact, distance, ranges)


class RelativeBias(nn.Module):
    """A bias for each head by how far key and query are apart; from ``longest`` on all share one.

    ``bidirectional``: keys after the query have buckets of their own; otherwise they count as
    distance 0 (in a causal decoder they are not seen).
    """

    def __init__(
        self, heads: int, buckets: int = 32, longest: int = 128, bidirectional: bool = False
    ) -> None:
        super().__init__()
        self.bidirectional = bidirectional
        self.longest = longest
        self.side = buckets // 2 if bidirectional else buckets
        self.table = nn.Embedding(buckets, heads)
        self.register_buffer("bucket", distance_buckets(self.side, longest), persistent=False)
        self.bucket: Tensor

    def places(self, newest: int, keys: int) -> Tensor:
        """Returns the bias alone: H × T' × keys, for the last ``newest`` positions as queries."""
        key = torch.arange(keys, device=self.bucket.device)
        ahead = key - key[keys - newest :, None]
        behind = ahead.abs() if self.bidirectional else -ahead.clamp(max=0)
        bucket = self.bucket[behind.clamp(max=self.longest)]
        if self.bidirectional:
            bucket = bucket + (ahead > 0) * self.side
        return self.table(bucket).permute(2, 0, 1)

    def forward(self, seen: Tensor) -> Tensor:
        """Returns the bias of the scores, −inf where nothing may be seen: B × H × T' × keys.

        ``seen``: B × T' × keys, bool, of queries that are the last T' of the keys. Each has to see
        something.
        """
        bias = self.places(seen.size(1), seen.size(2))
        return bias.masked_fill(~seen.unsqueeze(1), float("-inf"))


class T5Attention(Attention):
    """:class:`Attention` without biases and scaling, with heads of any width (``head_dim``: D)."""

    scale = 1.0

    def __init__(
        self, dim: int, heads: int, head_dim: int, dropout: float = 0.0, cross: bool = False
    ) -> None:
        nn.Module.__init__(self)  # none of the parent's layers has the right shape
        inner = heads * head_dim
        self.heads = heads
        self.dropout = dropout
        self.query = Linear(dim, inner, bias=False) if cross else None
        self.inputs = Linear(dim, (2 if cross else 3) * inner, bias=False)
        self.output = Linear(inner, dim, bias=False)
        # the scores are not scaled: the queries start out small instead
        asks = self.inputs.weight.data[:inner] if self.query is None else self.query.weight
        nn.init.normal_(self.inputs.weight, std=dim**-0.5)
        nn.init.normal_(asks, std=(dim * head_dim) ** -0.5)
        nn.init.normal_(self.output.weight, std=inner**-0.5)


@dataclass
class T5Size:
    """A T5's numbers, which makes its parts, randomly initialised.

    dim: C. head_dim: D. hidden: width of the feed-forward layers. feed_forward: one of
    :data:`FEED_FORWARD`. buckets, longest: see :class:`RelativeBias`. tied: one table for
    embeddings and output; scaled: the states are shrunk before it (both in 1.0, neither in 1.1).
    """

    dim: int
    heads: int
    head_dim: int
    hidden: int
    encoder_layers: int
    decoder_layers: int
    feed_forward: str = "gated-gelu"
    buckets: int = 32
    longest: int = 128
    eps: float = 1e-6
    tied: bool = False
    scaled: bool = False
    dropout: float = 0.1
    attention_dropout: float = 0.1
    activation_dropout: float = 0.1

    def bias(self, bidirectional: bool) -> RelativeBias:
        """Makes the relative bias of a stack."""
        bias = RelativeBias(self.heads, self.buckets, self.longest, bidirectional)
        nn.init.normal_(bias.table.weight, std=self.dim**-0.5)
        return bias

    def last_norm(self) -> RMSNorm:
        """Makes the norm after the last block of a stack."""
        return RMSNorm(self.dim, self.eps, self.dropout)

    def decoder_block(self) -> DecoderBlock:
        """Makes a block that reads the source."""
        cross = T5Attention(self.dim, self.heads, self.head_dim, self.attention_dropout, cross=True)
        return DecoderBlock(T5Block(self), cross, RMSNorm(self.dim, self.eps))


class T5Block(TransformerBlock):
    """Self-attention and feed-forward layer, each after its norm."""

    def __init__(self, size: T5Size) -> None:
        nn.Module.__init__(self)  # none of the parent's layers is of the right kind
        dim = size.dim
        hidden = size.hidden
        self.pre_norm = True
        self.dropout = size.dropout
        self.activation_dropout = size.activation_dropout
        self.activation, self.gated = FEED_FORWARD[size.feed_forward]
        self.self_attention = T5Attention(dim, size.heads, size.head_dim, size.attention_dropout)
        self.self_norm, self.feed_norm = RMSNorm(dim, size.eps), RMSNorm(dim, size.eps)
        self.cross_attention = self.cross_norm = None
        self.fc1 = Linear(dim, (2 if self.gated else 1) * hidden, bias=False)
        self.fc2 = Linear(hidden, dim, bias=False)
        nn.init.normal_(self.fc1.weight, std=dim**-0.5)
        nn.init.normal_(self.fc2.weight, std=hidden**-0.5)

    def residual(self, x: Tensor, norm: nn.Module, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Applies a sub-layer with layer norm, dropout and residual connection."""
        out = within_range(sublayer(norm(x)))
        out = self.kernels.dropout(out, self.dropout, self.training)
        return within_range(x + out)

    def feed_forward(self, x: Tensor) -> Tensor:
        """Computes the last sub-layer, without its norm."""
        x = self.fc1(x)
        if self.gated:
            gate, x = x.split(self.fc2.in_features, -1)
            x = self.activation(gate) * x
        else:
            x = self.activation(x)
        x = self.kernels.dropout(within_range(x), self.activation_dropout, self.training)
        return self.fc2(x)


class T5Encoder(nn.Module):
    """T5's encoder after the embeddings: blocks in a row, one bias for all, a norm at the end."""

    kernels: Kernels = TORCH

    def __init__(self, size: T5Size) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(T5Block(size) for _ in range(size.encoder_layers))
        self.bias = size.bias(bidirectional=True)
        self.norm = size.last_norm()

    def forward(self, x: Tensor, real: Tensor, mask: Tensor | None = None) -> Tensor:
        """Encodes embedded tokens: B × S × C; states at padding have no meaning.

        ``real``: B × S, bool. ``mask``: B × 1 × S × S, bool: who sees whom in a row of texts.
        """
        seen = real[:, None, None] if mask is None else mask
        bias = self.bias(seen[:, 0].expand(-1, x.size(1), -1))
        layout = AttentionLayout(bias, self.kernels.packing(real))
        x = layout.pack(x)
        for block in self.blocks:
            x = block(x, layout)
        return layout.unpack(self.norm(x))


class T5TargetEmbedding(TokenEmbedding):
    """A T5 decoder's embedding: fairseq's ``</s>`` (``end``), which begins each prefix, is read as
    the row that T5 begins with, ``start``.
    """

    def __init__(self, table: nn.Embedding, end: int, start: int, dropout: float = 0.0) -> None:
        super().__init__(table, scale=1.0, dropout=dropout)
        self.end, self.start = end, start

    def forward(self, tokens: Tensor, first: int = 0) -> Tensor:
        """See :class:`TokenEmbedding`."""
        return super().forward(tokens.masked_fill(tokens == self.end, self.start), first)


def t5(size: T5Size, source: Any, target: Any) -> Backbone:
    """A T5, initialised as its authors do, for two dictionaries of fairseq's.

    Both sides share their embeddings where these are one.
    """
    table = _table(source, size.dim)
    written = table if source is target else _table(target, size.dim)
    output_table = written if size.tied else token_table(len(target), size.dim)
    source_embedding = TokenEmbedding(table, scale=1.0, dropout=size.dropout)
    encoder = T5Encoder(size)
    target_embedding = T5TargetEmbedding(written, target.eos(), target.bos(), size.dropout)
    blocks: list[nn.Module] = [size.decoder_block() for _ in range(size.decoder_layers)]
    norm = size.last_norm()
    scale = size.dim**-0.5 if size.scaled else 1.0
    output = TiedOutput(output_table, scale=scale)
    bias = size.bias(bidirectional=False)
    return Backbone(
        source=source_embedding,
        encoder=encoder,
        target=target_embedding,
        blocks=blocks,
        norm=norm,
        output=output,
        bias=bias,
    )


def _table(symbols: Any, dim: int) -> nn.Embedding:
    table = nn.Embedding(len(symbols), dim, padding_idx=symbols.pad())
    nn.init.normal_(table.weight)
    return table
