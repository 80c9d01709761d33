"""A PBD as an encoder and a graph that reads prefixes by a symbol, many at once.

Shapes: B sources, S source tokens, R prefixes of N symbols, R' prefixes that were read before them,
C channels, H heads, D channels of a head, V symbols.
"""

from pathlib import Path
from typing import Any

from ..systems.pbd import PBDTransformerModel
from ..systems.pbd.attention import COPIED, GENERATED
from . import blocks
from .blocks import Sight, Stream
from .graph import BOOL, FLOAT, INT32, INT64, Graph, WeightFile

ENCODER, READER = "encoder.onnx", "reader.onnx"


def write_graphs(
    model: PBDTransformerModel, folder: Path, weights: WeightFile, int8: bool
) -> dict[str, Any]:
    """Writes the graphs into a folder; returns what the runtime has to know of them."""
    encoder, decoder = model.encoder, model.decoder
    graph = Graph(weights, int8)
    write_encoder(graph, encoder, decoder)
    reader = Graph(weights, int8)
    Reader(reader, decoder).write()
    attention = decoder.blocks[0].block.self_attention
    return {
        "encoder": graph.save(folder / ENCODER),
        "reader": reader.save(folder / READER),
        "blocks": len(decoder.blocks),
        "heads": attention.heads,
        "head_width": attention.output.in_features // attention.heads,
    }


def embedded(graph: Graph, embed: Any, tokens: str) -> str:
    """The vectors of tokens, without their places."""
    return graph.embedding(tokens, embed.table.weight, embed.scale)


def write_encoder(graph: Graph, encoder: Any, decoder: Any) -> None:
    """B × S tokens, padded on the right → keys and values for every decoder block: those of its
    cross-attention, and those of the states that it sees as its future."""
    tokens = graph.input("tokens", INT64, ["batch", "source"])
    mask = graph.input("mask", INT32, ["batch", "source"])
    positions = encoder.embed.positions
    x = embedded(graph, encoder.embed, tokens)
    x = blocks.with_positions(graph, x, positions.weight, encoder.pad, tokens)
    turns = blocks.turn_tables(graph, encoder.rotary, positions.longest)
    sight, streams = Sight(mask, turns=turns), [Stream(x)]
    for layer in encoder.blocks:
        streams.append(blocks.block(graph, layer, streams[-1], sight))
    memory = blocks.ended(graph, encoder.norm, streams[-1])
    copied = streams[1:] if encoder.copies_output else streams[:-1]
    for number, layer in enumerate(decoder.blocks):
        heads = layer.cross_attention.heads
        pair = blocks.keys_values(graph, layer.cross_attention, memory)
        width = layer.cross_attention.output.in_features // heads
        blocks.give_keys_values(graph, f"cross_{number}", pair, heads, width)
        if layer.future:
            states = blocks.ended(graph, None, copied[layer.index])
            pair = copied_keys_values(graph, layer, states, sight)
            blocks.give_keys_values(graph, f"copied_{number}", pair, heads, width)


def copied_keys_values(graph: Graph, layer: Any, states: str, sight: Sight) -> list[str]:
    """Keys and values of the source's states for a decoder block, B × H × S × D each."""
    attention, norm = layer.self_attention, layer.block.self_norm
    if layer.block.pre_norm:
        states = blocks.norm(graph, norm, Stream(states)).addend
    heads = attention.attention.heads
    projected = projection(graph, attention, states, COPIED)
    key = blocks.turned(graph, projected[1], sight, heads)
    return [blocks.by_heads(graph, part, heads) for part in (key, projected[2])]


def projection(graph: Graph, attention: Any, x: str, segment: int) -> list[str]:
    """Queries, keys and values of states that are marked as generated or as copied."""
    if attention.segment is not None:
        x = graph.node("Add", x, graph.constant(attention.segment.weight[segment]))
    projected = blocks.linear(graph, attention.attention.inputs, x)
    return graph.several("Split", [projected], 3, axis=2, num_outputs=3)


class Reader:
    """The graph that reads R prefixes, each a symbol longer than one of R' before it.

    Its inputs: ``units``, ``parents`` and ``symbols`` (R): of each prefix the row of its source, of
    its beginning, and its last symbol; ``place`` (1): how many symbols stand before that;
    ``source_mask``; and keys and values, of sources and of what was read before. It gives log
    p of what follows, R × V, and keys and values of the prefixes.
    """

    def __init__(self, graph: Graph, decoder: Any) -> None:
        self.graph, self.decoder = graph, decoder
        self.units = graph.input("units", INT64, ["prefixes"])
        self.parents = graph.input("parents", INT64, ["prefixes"])
        self.symbols = graph.input("symbols", INT64, ["prefixes"])
        self.place = graph.input("place", INT64, [1])
        mask = graph.input("source_mask", INT32, ["batch", "source"])
        self.real = graph.node("Gather", mask, self.units)
        self.source = Sight(self.real)

    def write(self) -> None:
        """All blocks, and the output."""
        graph, decoder = self.graph, self.decoder
        embed = decoder.embed
        column = graph.node("Unsqueeze", self.symbols, graph.constant([1]))
        rows = graph.constant(embed.positions.weight[decoder.pad + 1 :])
        x = embedded(graph, embed, column)
        stream = Stream(graph.node("Add", x, graph.node("Gather", rows, self.place)))
        turns = blocks.turn_tables(graph, decoder.rotary, embed.positions.longest)
        sight = Sight(turns=turns)
        for number, layer in enumerate(decoder.blocks):
            stream = self._block(number, layer, stream, sight)
        features = blocks.ended(graph, decoder.norm, stream)
        features = graph.node("Squeeze", features, graph.constant([1]))
        output = decoder.output
        if output.scale != 1.0:
            features = graph.node("Mul", features, graph.constant(float(output.scale)))
        table = output.table.weight
        bias = table.new_zeros(len(table)) if output.bias is None else output.bias
        logits = graph.output_layer(features, table, bias)
        logs = graph.node("LogSoftmax", logits, axis=1)
        graph.output("logs", logs, FLOAT, ["prefixes", len(table)])

    def _block(self, number: int, layer: Any, stream: Stream, sight: Sight) -> Stream:
        graph, inner = self.graph, layer.block

        def attended(x: str) -> str:
            return self._self_attention(number, layer, x, sight)

        stream = blocks.sublayer(graph, inner, inner.self_norm, stream, attended)
        key, value = self._given(f"cross_{number}", layer, "source", self.units)
        reads = inner, layer.cross_attention, layer.cross_norm
        stream = blocks.read(graph, *reads, stream, (key, value), self.source)
        return blocks.fed(graph, inner, stream)

    def _self_attention(self, number: int, layer: Any, x: str, sight: Sight) -> str:
        """What was generated, and the source that is ahead."""
        graph, attention = self.graph, layer.self_attention.attention
        query, key, value = projection(graph, layer.self_attention, x, GENERATED)
        query = blocks.turned(graph, query, sight, attention.heads, self.place)
        key = blocks.turned(graph, key, sight, attention.heads, self.place)
        before = self._given(f"past_{number}", layer, "past", self.parents)
        pair = []
        for kind, past, newest in zip(("key", "value"), before, (key, value)):
            newest = blocks.by_heads(graph, newest, attention.heads)
            joined = graph.node("Concat", past, newest, axis=2)
            width = attention.output.in_features // attention.heads
            shape = ["prefixes", attention.heads, "written", width]
            graph.output(f"{kind}_past_{number}_next", joined, FLOAT, shape)
            pair.append(joined)
        if not layer.future:
            return blocks.attend(graph, attention, query, pair[0], pair[1], Sight())
        ahead = self._given(f"copied_{number}", layer, "source", self.units)
        both = [graph.node("Concat", *parts, axis=2) for parts in zip(pair, ahead)]
        seen = Sight(self._seen(pair[0]))
        return blocks.attend(graph, attention, query, both[0], both[1], seen)

    def _given(self, name: str, layer: Any, length: str, rows: str) -> list[str]:
        """Keys and values that come in, of the ``rows`` that are wanted."""
        attention = layer.cross_attention
        width = attention.output.in_features // attention.heads
        shape = ["rows", attention.heads, length, width]
        pair = [self.graph.input(f"{kind}_{name}", FLOAT, shape) for kind in ("key", "value")]
        return [self.graph.node("Gather", part, rows) for part in pair]

    def _seen(self, key: str) -> str:
        """R × (N + 1 + S), int32: all that was generated, and the source behind this place."""
        graph = self.graph
        length = graph.node("Gather", graph.node("Shape", self.real), graph.integer(1))
        places = graph.node("Range", graph.integer(0), length, graph.integer(1))
        ahead = graph.node("Greater", places, self.place)
        ahead = graph.node("And", ahead, graph.node("Cast", self.real, to=BOOL))
        lengths = graph.node("Shape", key, start=2, end=3)
        count = graph.node("Shape", self.units)
        shape = graph.node("Concat", count, lengths, axis=0)
        written = graph.node("Cast", graph.constant([1]), to=INT32)
        written = graph.node("Expand", written, shape)
        return graph.node("Concat", written, graph.node("Cast", ahead, to=INT32), axis=1)
