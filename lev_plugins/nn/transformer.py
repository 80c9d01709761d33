"""A Transformer without causal masks, fast in training and in decoding (paper, Eq. 2).

Shapes: B sentences, T tokens, S source tokens, C channels, H heads, D = C / H.
All activations are batch first and contiguous; queries, keys and values are projected at once.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .kernels import TORCH, Kernels, Linear
from .packing import AttentionLayout
from .rotary import apply_rotary

#: as configurations name them
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_new": partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
}


@dataclass
class EncoderOutput:
    """The encoder's output, as the decoder reads it.

    states: B × S × C. mask: B × 1 × 1 × S, bool, True where attention may look; None allows
    all. cache: keys and values by layer, projected once per source. rows: B, of an output that
    beams read: which source a row belongs to.
    """

    states: Tensor
    mask: Tensor | None
    cache: dict[nn.Module, tuple[Tensor, Tensor]] = field(default_factory=dict)
    rows: Tensor | None = None

    def select(self, rows: Tensor) -> Self:
        """The output of the sentences at ``rows`` (long indices), with all that it holds of them.

        Returns self if the permutation only moves beams of the same source.
        """
        if self.rows is not None and torch.equal(self.rows.index_select(0, rows), self.rows):
            return self
        held = {part.name: getattr(self, part.name) for part in fields(self)}
        return replace(self, **rows_of(held, rows))


def rows_of(held: Any, rows: Tensor) -> Any:
    """Selects rows of a tensor, or recursively of all tensors in a container."""
    if isinstance(held, Tensor):
        return held.index_select(0, rows)
    if isinstance(held, dict):
        return {name: rows_of(part, rows) for name, part in held.items()}
    if isinstance(held, list | tuple):
        return type(held)(rows_of(part, rows) for part in held)
    return held


@dataclass
class BlockSize:
    """A block's numbers; dropout as in fairseq.

    dim: C. heads: H. hidden: width of the feed-forward layer. pre_norm: layer norm before each
    sub-layer instead of after it. activation: of :data:`ACTIVATIONS`. eps: of the norms.
    """

    dim: int
    heads: int
    hidden: int
    pre_norm: bool
    dropout: float
    attention_dropout: float
    activation_dropout: float
    activation: str
    eps: float = field(default=1e-5, kw_only=True)


def _linear(inputs: int, outputs: int) -> Linear:
    layer = Linear(inputs, outputs)
    nn.init.xavier_uniform_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


class Attention(nn.Module):
    """Multi-head attention over the sequence itself, or where ``cross`` over the source."""

    #: what scores are multiplied by, None for 1 / √D
    scale: float | None = None
    kernels: Kernels = TORCH

    def __init__(self, dim: int, heads: int, dropout: float = 0.0, cross: bool = False) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        # each of the three projections is initialised as if it stood alone, as fairseq does
        self.query = Linear(dim, dim) if cross else None
        self.inputs = Linear(dim, (2 if cross else 3) * dim)
        self.output = _linear(dim, dim)
        for layer in (self.query, self.inputs):
            if layer is not None:
                for block in layer.weight.data.split(dim):
                    nn.init.xavier_uniform_(block, gain=2**-0.5)
                nn.init.zeros_(layer.bias)

    def _split(self, x: Tensor, parts: int) -> tuple[Tensor, ...]:
        """Splits B × T × parts·C into as many B × H × T × D."""
        # together their gradients are one copy
        several = x.split(self.output.in_features, 2)
        return tuple(part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in several)

    def keys_values(self, encoder_out: EncoderOutput) -> tuple[Tensor, Tensor]:
        """Keys and values of the encoder's output for this layer, B × H × S × D each."""
        if self not in encoder_out.cache:
            key, value = self._split(self.inputs(encoder_out.states), 2)
            if not self.training:  # read at every step
                key, value = key.contiguous(), value.contiguous()
            encoder_out.cache[self] = (key, value)
        return encoder_out.cache[self]

    def project(self, x: Tensor, layout: AttentionLayout) -> tuple[Tensor, ...]:
        """Queries, keys and values of a sequence for itself: B × T × C → three B × H × T × D."""
        query, key, value = self._split(layout.unpack(self.inputs(x)), 3)
        return (
            apply_rotary(query, layout.rotary_angles),
            apply_rotary(key, layout.rotary_angles),
            value,
        )

    def attend(self, query: Tensor, key: Tensor, value: Tensor, layout: AttentionLayout) -> Tensor:
        """Attends: B × H × T × D queries, any keys and values → B × T × C, or packed, N × C."""
        share = self.dropout if self.training else 0.0
        out = self.kernels.attention(query, key, value, layout.mask, share, self.scale)
        out = out.transpose(1, 2).flatten(2)
        return self.output(layout.pack(out))

    def attend_to_segments(
        self, query: Tensor, parts: Sequence[tuple[Tensor, Tensor]], mask: Tensor | None
    ) -> Tensor:
        """Does :meth:`attend` in evaluation, over keys and values that lie apart.

        For few queries: two small products are faster than a kernel made for long
        sequences, and what was kept from earlier steps need not be copied together. ``mask``:
        of the keys of all parts, one after the other; bool, or to be added.
        """
        return self.output(self._attention_with_weights(query, parts, mask)[0])

    def forward_with_weights(
        self, x: Tensor, layout: AttentionLayout, encoder_out: EncoderOutput
    ) -> tuple[Tensor, Tensor]:
        """Does :meth:`forward`; also returns the attention to each source token, B × T × S."""
        query = self._queries(x, layout)
        parts = [self.keys_values(encoder_out)]
        out, weights = self._attention_with_weights(query, parts, encoder_out.mask, self.dropout)
        mean = weights.mean(1).to(x.dtype)
        return self.output(layout.pack(out)), mean

    def _attention_with_weights(
        self,
        query: Tensor,
        parts: Sequence[tuple[Tensor, Tensor]],
        mask: Tensor | None,
        share: float = 0.0,
    ) -> tuple[Tensor, Tensor]:
        """Returns the attended values, B × T × C, and the weights, B × H × T × keys, whose rows sum
        to 1; ``share``: of dropout."""
        scale = int(query.size(-1)) ** -0.5 if self.scale is None else self.scale
        upcast, dropout = self.kernels.upcast, self.kernels.dropout
        wide = upcast(query) * scale
        products = [wide @ upcast(key).transpose(2, 3) for key, _ in parts]
        scores = torch.cat(products, 3)
        if mask is not None and mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, float("-inf"))
        elif mask is not None:
            scores = scores + mask
        single = torch.promote_types(scores.dtype, torch.float32)
        weights = scores.softmax(3, dtype=single).to(wide.dtype)
        looks = dropout(weights, share, self.training)
        if len(parts) == 1:
            out = looks @ upcast(parts[0][1])
        else:
            sizes = [key.size(2) for key, _ in parts]
            by_part = zip(looks.split(sizes, 3), parts)
            out = sum(look @ upcast(value) for look, (_, value) in by_part)
        out = out.to(query.dtype).transpose(1, 2)
        return out.flatten(2), weights

    def _queries(self, x: Tensor, layout: AttentionLayout, rows: int | None = None) -> Tensor:
        """Returns queries, B × H × T × D; with ``rows``, those of one source follow each other."""
        assert self.query is not None, "only cross=True reads a source"
        x = layout.unpack(self.query(x)).unflatten(2, (self.heads, -1))
        if rows is not None and rows != x.size(0):
            x = x.reshape(rows, -1, *x.shape[2:])
        return x.transpose(1, 2)

    def forward(
        self, x: Tensor, layout: AttentionLayout, encoder_out: EncoderOutput | None = None
    ) -> Tensor:
        """B × T × C → B × T × C, or packed, N × C → N × C; a source has a mask of its own.

        Several rows may read one source; they lie side by side.
        """
        if encoder_out is None:
            query, key, value = self.project(x, layout)
            return self.attend(query, key, value, layout)
        key, value = self.keys_values(encoder_out)
        query = self._queries(x, layout, key.size(0))
        out = self.attend(query, key, value, layout._replace(mask=encoder_out.mask))
        return out if out.shape == x.shape else out.view(x.shape)


class TransformerBlock(nn.Module):
    """Self-attention, attention to a source where ``cross``, feed-forward."""

    kernels: Kernels = TORCH

    def __init__(self, size: BlockSize, cross: bool = False) -> None:
        super().__init__()
        dim = size.dim
        heads = size.heads
        drop = size.attention_dropout
        self.pre_norm = size.pre_norm
        self.dropout = size.dropout
        self.activation_dropout = size.activation_dropout
        self.activation = ACTIVATIONS[size.activation]
        self.self_attention = Attention(dim, heads, drop)
        self.self_norm: nn.Module = nn.LayerNorm(dim, eps=size.eps)
        self.cross_attention = Attention(dim, heads, drop, cross=True) if cross else None
        self.cross_norm = nn.LayerNorm(dim, eps=size.eps) if cross else None
        self.fc1 = _linear(dim, size.hidden)
        self.fc2 = _linear(size.hidden, dim)
        self.feed_norm: nn.Module = nn.LayerNorm(dim, eps=size.eps)

    def residual(self, x: Tensor, norm: nn.Module, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Applies a sub-layer with layer norm, dropout and residual connection."""
        out = sublayer(norm(x) if self.pre_norm else x)
        x = x + self.kernels.dropout(out, self.dropout, self.training)
        return x if self.pre_norm else norm(x)

    def feed_forward(self, x: Tensor) -> Tensor:
        """Computes the last sub-layer, without its norm."""
        relu = self.activation is F.relu
        x = self.fc1(x, relu=True) if relu else self.activation(self.fc1(x))
        x = self.kernels.dropout(x, self.activation_dropout, self.training)
        return self.fc2(x)

    def forward(
        self, x: Tensor, layout: AttentionLayout, encoder_out: EncoderOutput | None = None
    ) -> Tensor:
        """Computes a block: B × T × C → B × T × C, or packed, N × C → N × C."""
        x = self.residual(x, self.self_norm, lambda h: self.self_attention(h, layout))
        cross, norm = self.cross_attention, self.cross_norm
        if cross is not None and norm is not None:
            x = self.residual(x, norm, lambda h: cross(h, layout, encoder_out))
        return self.residual(x, self.feed_norm, self.feed_forward)


class TransformerStack(nn.Module):
    """Blocks in a row, with an exit after any of them."""

    def __init__(self, blocks: Iterable[TransformerBlock]) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(blocks)

    def forward(
        self,
        x: Tensor,
        layout: AttentionLayout,
        encoder_out: EncoderOutput | None = None,
        depth: int | None = None,
    ) -> Tensor:
        """Runs ``depth`` blocks (None: all): B × T × C → B × T × C; padding has no meaning."""
        x = layout.pack(x)
        for block in self.blocks[:depth]:
            x = block(x, layout, encoder_out)
        return layout.unpack(x)
