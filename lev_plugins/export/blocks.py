"""Transformer and T5 blocks as nodes of a graph.

Shapes: B sentences, T tokens, S source tokens, C channels, H heads, D channels of a head.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from fairseq.modules import gelu, gelu_accurate
from torch import Tensor, nn

from ..nn.t5 import RMSNorm
from ..nn.transformer import ACTIVATIONS, Attention
from .graph import FLOAT, Dimensions, Graph

_ACTIVATIONS: dict[Any, tuple[str, dict[str, Any]]] = {
    ACTIVATIONS["relu"]: ("Relu", {}),
    ACTIVATIONS["gelu"]: ("Gelu", {"approximate": "none"}),
    ACTIVATIONS["gelu_new"]: ("Gelu", {"approximate": "tanh"}),
    ACTIVATIONS["silu"]: ("QuickGelu", {"alpha": 1.0}),
    # fairseq's
    gelu: ("Gelu", {"approximate": "none"}),
    gelu_accurate: ("Gelu", {"approximate": "tanh"}),
    torch.tanh: ("Tanh", {}),
}


@dataclass
class Sight:
    """Says what attention sees, as values of a graph; ``""`` for no limit.

    mask: B × keys, int32, 0 at padding. bias: (B or 1) × (H or 1) × T × keys, added to the scores.
    turns: tables of cosines and sines of rotary positions, or none.
    """

    mask: str = ""
    bias: str = ""
    turns: tuple[str, str] | None = None


@dataclass
class Stream:
    """The residual stream: ``x``, and what the last sub-layer adds to it, if not added yet."""

    x: str
    addend: str = ""


def norm(graph: Graph, layer: Any, stream: Stream, folds: bool = False) -> Stream:
    """Returns the stream with its addend added; its ``addend`` is the norm of that.

    folds: gain and bias go into the layers that read it, and none else may.
    """
    kind, parameters = "LayerNormalization", [layer.weight, getattr(layer, "bias", None)]
    if isinstance(layer, RMSNorm):
        kind, parameters = "SimplifiedLayerNormalization", [layer.weight]
    own = [torch.ones_like(layer.weight), torch.zeros_like(layer.weight)] if folds else parameters
    x = summed(graph, stream)
    normed = graph.node(kind, x, *own, epsilon=layer.eps, axis=-1)
    if folds:
        graph.unit[normed] = layer.weight, layer.bias
    return Stream(x, normed)


def summed(graph: Graph, stream: Stream) -> str:
    """Returns the stream's ``x`` with its addend added."""
    if not stream.addend:
        return stream.x
    return graph.Add(stream.x, stream.addend)


def turned(graph: Graph, x: str, sight: Sight, heads: int, first: str = "") -> str:
    """Queries or keys, B × T × C, by rotary positions from ``first`` on, by default from 0."""
    if sight.turns is None:
        return x
    first = first or graph.constant([0])
    options: dict[str, Any] = {"interleaved": 1, "num_heads": heads}
    return graph.RotaryEmbedding(x, first, *sight.turns, **options)


def turn_tables(graph: Graph, width: int | None, longest: int) -> tuple[str, str] | None:
    """Cosines and sines, places × D/2, as nn/rotary.py has them; None for no rotary positions."""
    if width is None:
        return None
    rate = 10000.0 ** -(torch.arange(0, width, 2) / width)
    places = torch.arange(longest)
    angle = places.unsqueeze(1) * rate
    return graph.constant(angle.cos()), graph.constant(angle.sin())


def attend(
    graph: Graph, attention: Attention, query: str, key: str, value: str, sight: Sight
) -> str:
    """B × T × C queries over keys and values (B × S × C or B × H × S × D) → B × T × C."""
    options: dict[str, Any] = {"num_heads": attention.heads}
    if attention.scale is not None:
        options["scale"] = attention.scale
    no_bias = ""
    values = query, key, value, no_bias, sight.mask, sight.bias
    heads = graph.MultiHeadAttention(*values, **options)
    return linear(graph, attention.output, heads)


def self_attention(graph: Graph, attention: Attention, x: str, sight: Sight) -> str:
    """B × T × C → B × T × C."""
    projected = linear(graph, attention.inputs, x)
    query, key, value = graph.split(projected, 3)
    query = turned(graph, query, sight, attention.heads)
    key = turned(graph, key, sight, attention.heads)
    return attend(graph, attention, query, key, value, sight)


def keys_values(graph: Graph, attention: Attention, states: str) -> tuple[str, str]:
    """Keys and values of B × S × C states for a layer, B × H × S × D each."""
    projected = linear(graph, attention.inputs, states)
    key, value = graph.split(projected, 2)
    heads = attention.heads
    return by_heads(graph, key, heads), by_heads(graph, value, heads)


def by_heads(graph: Graph, x: str, heads: int) -> str:
    """B × S × C → B × H × S × D."""
    split = graph.reshape(x, 0, 0, heads, -1)
    return graph.Transpose(split, perm=[0, 2, 1, 3])


def linear(graph: Graph, layer: nn.Linear, x: str) -> str:
    """Writes a layer of torch's."""
    return graph.linear(x, layer.weight, layer.bias)


def activated(graph: Graph, function: Any, x: str) -> str:
    """Writes an activation function of nn/transformer.py, or of fairseq's."""
    operator, options = _ACTIVATIONS[function]
    return graph.node(operator, x, **options)


def feed_forward(graph: Graph, block: Any, x: str) -> str:
    """Writes a block's last sub-layer, without its norm."""
    hidden = linear(graph, block.fc1, x)
    if getattr(block, "gated", False):
        gate, hidden = graph.split(hidden, 2)
        opened = activated(graph, block.activation, gate)
        hidden = graph.Mul(opened, hidden)
    else:
        hidden = activated(graph, block.activation, hidden)
    return linear(graph, block.fc2, hidden)


def sublayer(graph: Graph, block: Any, layer: nn.Module, stream: Stream, call: Any) -> Stream:
    """``call`` (value → value) with its norm before or after it, and the way round it."""
    if block.pre_norm:
        normed = norm(graph, layer, stream, graph.folds(layer))
        return Stream(normed.x, call(normed.addend))
    normed = norm(graph, layer, Stream(stream.x, call(stream.x)))
    return Stream(normed.addend)


def attended(graph: Graph, layer: Any, stream: Stream, sight: Sight) -> Stream:
    """Writes the self-attention of a block."""
    call = partial(self_attention, graph, layer.self_attention, sight=sight)
    return sublayer(graph, layer, layer.self_norm, stream, call)


def read(
    graph: Graph,
    block: Any,
    layer: Any,
    stream: Stream,
    source_kv: tuple[str, str],
    source: Sight,
) -> Stream:
    """Attention to the source's keys and values, in a block; ``layer`` holds it, and its norm."""
    cross = layer.cross_attention

    def call(x: str) -> str:
        query = linear(graph, cross.query, x)
        return attend(graph, cross, query, *source_kv, source)

    return sublayer(graph, block, layer.cross_norm, stream, call)


def fed(graph: Graph, layer: Any, stream: Stream) -> Stream:
    """Writes the feed-forward layer of a block."""
    call = partial(feed_forward, graph, layer)
    return sublayer(graph, layer, layer.feed_norm, stream, call)


def block(
    graph: Graph,
    layer: Any,
    stream: Stream,
    sight: Sight,
    source_kv: tuple[str, str] | None = None,
    source: Sight | None = None,
) -> Stream:
    """Writes a block; ``source_kv``: keys and values of the source for cross-attention, if any."""
    stream = attended(graph, layer, stream, sight)
    if source_kv is not None and source is not None:
        stream = read(graph, layer, layer, stream, source_kv, source)
    return fed(graph, layer, stream)


def ended(graph: Graph, layer: nn.Module | None, stream: Stream) -> str:
    """Returns the stream's sum, normed where there is a norm after the last block."""
    if layer is None:
        return summed(graph, stream)
    return norm(graph, layer, stream).addend


def with_positions(graph: Graph, x: str, table: Tensor, pad: int, tokens: str) -> str:
    """Vectors, B × T × C, plus the rows of a table of places (:class:`.nn.embedding.Positions`).

    Padding stands on the right: place t is row pad + 1 + t.
    """
    length = graph.Shape(tokens, start=1, end=2)
    first = axis = [0]
    rows = graph.Slice(table[pad + 1 :], first, length, axis)
    return graph.Add(x, rows)


def head_width(attention: Attention) -> int:
    """D."""
    return attention.output.in_features // attention.heads


def take_keys_values(
    graph: Graph, name: str, attention: Attention, rows: str = "batch", length: str = "source"
) -> tuple[str, str]:
    """Keys and values of a layer that come in as ``key_NAME`` and ``value_NAME``."""
    shape: Dimensions = [rows, attention.heads, length, head_width(attention)]
    key = graph.input(f"key_{name}", FLOAT, shape)
    value = graph.input(f"value_{name}", FLOAT, shape)
    return key, value


def give_keys_values(graph: Graph, name: str, attention: Attention, pair: tuple[str, str]) -> None:
    """Gives out a source's keys and values for a layer as ``key_NAME`` and ``value_NAME``."""
    shape: Dimensions = ["batch", attention.heads, "source", head_width(attention)]
    key, value = pair
    graph.output(f"key_{name}", key, FLOAT, shape)
    graph.output(f"value_{name}", value, FLOAT, shape)


def give_all_keys_values(graph: Graph, readers: dict[str, Attention], states: str) -> None:
    """Gives out a source's keys and values for layers of equal sizes, by name, of one product."""
    if not readers:
        return
    weights, biases = zip(*((each.inputs.weight, each.inputs.bias) for each in readers.values()))
    projected = graph.linear(states, torch.cat(weights), torch.cat(biases))
    count, (first, *_) = 2 * len(readers), readers.values()
    split = by_heads(graph, projected, count * first.heads)
    parts = graph.several("Split", [split], count, axis=1, num_outputs=count)
    for (name, attention), *pair in zip(readers.items(), parts[::2], parts[1::2]):
        give_keys_values(graph, name, attention, (pair[0], pair[1]))
