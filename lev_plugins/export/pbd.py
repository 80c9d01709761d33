"""A PBD, a Transformer or gated-Trans as an encoder and a graph that reads many prefixes at once.

Shapes: B sources, S source tokens, R prefixes of N symbols, R' prefixes that were read before them,
C channels, H heads, D channels of a head, V symbols.
"""

from functools import partial
from pathlib import Path
from typing import Any

from ..systems.pbd.attention import COPIED, GENERATED
from . import blocks, gated
from .blocks import Sight, Stream
from .graph import BOOL, FLOAT, INT32, INT64, Graph, WeightFile

ENCODER, READER, BLOCK_READER = "encoder.onnx", "reader.onnx", "block_reader.onnx"


def write_graphs(model: Any, folder: Path, weights: WeightFile, int8: bool) -> dict[str, Any]:
    """Writes the graphs into a folder; returns what the runtime has to know of them.

    ``model``: a :class:`.PBDTransformerModel`, or what :func:`.transformer.parts_of` or
    :func:`.gated.parts_of` returns.
    """
    decoder = model.decoder
    encoder, reader, block_reader = (Graph(weights, int8) for _ in range(3))
    write_encoder(encoder, model.encoder, decoder)
    Reader(reader, decoder).write()
    BlockReader(block_reader, decoder).write()
    attention = decoder.blocks[0].block.self_attention
    return {
        "encoder": encoder.save(folder / ENCODER),
        "reader": reader.save(folder / READER),
        "block_reader": block_reader.save(folder / BLOCK_READER),
        "blocks": len(decoder.blocks),
        "heads": attention.heads,
        "head_width": blocks.head_width(attention),
    }


def embedded(graph: Graph, embed: Any, tokens: str) -> str:
    """Returns the vectors of tokens, without positions."""
    return graph.embedding(tokens, embed.table.weight, embed.scale)


def normed(graph: Graph, embed: Any, x: str) -> str:
    """Returns vectors with positions, normed where the embedding is."""
    return x if embed.norm is None else blocks.norm(graph, embed.norm, Stream(x)).addend


def with_draft(graph: Graph, x: str, positions: Any, pad: int, tokens: str) -> str:
    """Adds places that begin again with the draft, and the embeddings of both languages
    (:class:`..systems.transformer_concat.model.PartPositions`)."""
    is_end = graph.Equal(tokens, [positions.eos])
    end = graph.Cast(is_end, to=INT64)
    before = graph.CumSum(end, [1], exclusive=1)
    part = graph.Min(before, [1])
    source = graph.Add(graph.ArgMax(end, axis=1, keepdims=1), [1])
    length = graph.Shape(tokens, start=1, end=2)
    place = graph.Sub(graph.Range([0], length, [1]), graph.Mul(part, source))
    place = graph.Min(place, [positions.longest - 1])  # padding
    rows = graph.Gather(positions.weight[pad + 1 :], place)
    languages = graph.Gather(positions.language, part)
    return graph.Add(x, graph.Add(rows, languages))


def write_encoder(graph: Graph, encoder: Any, decoder: Any) -> None:
    """B × S tokens, padded on the right → keys and values for every decoder block: those of its
    cross-attention, and those of the states that it sees as its future."""
    tokens = graph.input("tokens", INT64, ["batch", "source"])
    mask = graph.input("mask", INT32, ["batch", "source"])
    positions = encoder.embed.positions
    x = embedded(graph, encoder.embed, tokens)
    if getattr(positions, "language", None) is None:
        x = blocks.with_positions(graph, x, positions.weight, encoder.pad, tokens)
    else:
        x = with_draft(graph, x, positions, encoder.pad, tokens)
    x = normed(graph, encoder.embed, x)
    turns = blocks.turn_tables(graph, encoder.rotary, positions.longest)
    sight = Sight(mask, turns=turns)
    stream = Stream(x)
    streams = [stream]
    for layer in encoder.blocks:
        stream = blocks.block(graph, layer, stream, sight)
        streams.append(stream)
    encoder_out = blocks.ended(graph, encoder.norm, stream)
    if getattr(encoder, "mask_gate", None) is not None:
        encoder_out = gated.masked(graph, encoder.mask_gate, encoder_out)
    if getattr(decoder, "gates", None) is not None:
        gated.give_symbols(graph, decoder, tokens)
    copied = streams[1:] if encoder.copies_output else streams[:-1]
    for number, layer in enumerate(decoder.blocks):
        cross = layer.cross_attention
        pair = blocks.keys_values(graph, cross, encoder_out)
        blocks.give_keys_values(graph, f"cross_{number}", cross, pair)
        if layer.future:
            states = blocks.summed(graph, copied[layer.index])
            pair = copied_keys_values(graph, layer, states, sight)
            blocks.give_keys_values(graph, f"copied_{number}", cross, pair)


def copied_keys_values(graph: Graph, layer: Any, states: str, sight: Sight) -> tuple[str, str]:
    """Keys and values of the source's states for a decoder block, B × H × S × D each."""
    block = layer.block
    if block.pre_norm:
        states = blocks.ended(graph, block.self_norm, Stream(states))
    heads = block.self_attention.heads
    _, key, value = projection(graph, layer, states, COPIED)
    key = blocks.turned(graph, key, sight, heads)
    return blocks.by_heads(graph, key, heads), blocks.by_heads(graph, value, heads)


def projection(graph: Graph, layer: Any, x: str, segment: int) -> list[str]:
    """Queries, keys and values of states that are marked as generated or as copied."""
    marks = getattr(layer, "self_attention", None)
    if marks is not None and marks.segment is not None:
        x = graph.Add(x, marks.segment.weight[segment])
    projected = blocks.linear(graph, layer.block.self_attention.inputs, x)
    return graph.split(projected, 3)


class Reader:
    """The graph that reads R prefixes, each a symbol longer than one of R' before it.

    Its inputs: ``units``, ``parents`` and ``symbols`` (R): of each prefix the row of its source, of
    its beginning, and its last symbol; ``place`` (1): how many symbols stand before that;
    ``source_mask``; and keys and values, of sources and of what was read before. It gives log
    p of what follows, R × V, and keys and values of the prefixes.
    """

    generated = ""  #: which symbols are seen: all

    def __init__(self, graph: Graph, decoder: Any) -> None:
        self.graph = graph
        self.decoder = decoder
        self.gates = getattr(decoder, "gates", None)
        self.units = graph.input("units", INT64, ["prefixes"])
        self.parents = graph.input("parents", INT64, ["prefixes"])
        self._take_symbols()
        mask = graph.input("source_mask", INT32, ["batch", "source"])
        self.real = graph.Gather(mask, self.units)
        self.source = Sight(self.real)

    def _take_symbols(self) -> None:
        graph = self.graph
        self.symbols = graph.input("symbols", INT64, ["prefixes"])
        self.place = graph.input("place", INT64, [1])
        self.column = graph.Unsqueeze(self.symbols, [1])

    def write(self) -> None:
        """All blocks, and the output."""
        graph, decoder = self.graph, self.decoder
        embed = decoder.embed
        rows = graph.constant(embed.positions.weight[decoder.pad + 1 :])
        x = embedded(graph, embed, self.column)
        position = graph.Gather(rows, self.place)
        x = graph.Add(x, position)
        x = normed(graph, embed, x)
        turns = blocks.turn_tables(graph, decoder.rotary, embed.positions.longest)
        stream = Stream(x)
        sight = Sight(turns=turns)
        for number, layer in enumerate(decoder.blocks):
            stream = self._block(number, layer, stream, sight)
        features = self._flat(blocks.ended(graph, decoder.norm, stream))
        output = decoder.output
        if output.scale != 1.0:
            features = graph.Mul(features, float(output.scale))
        table = output.table.weight
        bias = table.new_zeros(len(table)) if output.bias is None else output.bias
        logits = graph.output_layer(features, table, bias)
        if self.gates is not None:
            logits = gated.weighed(graph, self.gates, features, logits, self.attention, self.units)
        logs = graph.LogSoftmax(logits, axis=1)
        graph.output("logs", logs, FLOAT, ["prefixes", len(table)])

    def _flat(self, features: str) -> str:
        """R × 1 × C → R × C."""
        return self.graph.Squeeze(features, [1])

    def _block(self, number: int, layer: Any, stream: Stream, sight: Sight) -> Stream:
        graph, block = self.graph, layer.block
        call = partial(self._self_attention, number, layer, sight)
        stream = blocks.sublayer(graph, block, block.self_norm, stream, call)
        source_kv = self._rows(f"cross_{number}", layer, "source", self.units)
        if self.gates is None or number + 1 < len(self.decoder.blocks):
            stream = blocks.read(graph, block, layer, stream, source_kv, self.source)
        else:
            call = partial(self._look, layer.cross_attention, source_kv)
            stream = blocks.sublayer(graph, block, layer.cross_norm, stream, call)
        return blocks.fed(graph, block, stream)

    def _look(self, attention: Any, source_kv: tuple[str, str], x: str) -> str:
        """Attends to the source, and keeps the attention for the gates."""
        out, self.attention = gated.looked(self.graph, attention, x, source_kv, self.real)
        return out

    def _self_attention(self, number: int, layer: Any, sight: Sight, x: str) -> str:
        """Attends to what was generated, and to the source ahead."""
        graph = self.graph
        attention = layer.block.self_attention
        heads = attention.heads
        query, key, value = projection(graph, layer, x, GENERATED)
        query = blocks.turned(graph, query, sight, heads, self.place)
        key = blocks.turned(graph, key, sight, heads, self.place)
        past = self._rows(f"past_{number}", layer, "past", self.parents)
        shape = ["prefixes", heads, "written", blocks.head_width(attention)]
        pair = []
        for kind, before, newest in zip(("key", "value"), past, (key, value)):
            newest = blocks.by_heads(graph, newest, heads)
            joined = graph.Concat(before, newest, axis=2)
            graph.output(f"{kind}_past_{number}_next", joined, FLOAT, shape)
            pair.append(joined)
        key, value = pair
        if not layer.future:
            return blocks.attend(graph, attention, query, key, value, Sight(self.generated))
        future_key, future_value = self._rows(f"copied_{number}", layer, "source", self.units)
        keys = graph.Concat(key, future_key, axis=2)
        values = graph.Concat(value, future_value, axis=2)
        seen = Sight(self._seen(key))
        return blocks.attend(graph, attention, query, keys, values, seen)

    def _rows(self, name: str, layer: Any, length: str, rows: str) -> tuple[str, str]:
        """Keys and values that come in, of the ``rows`` that are wanted."""
        key, value = blocks.take_keys_values(
            self.graph, name, layer.cross_attention, "rows", length
        )
        return self.graph.Gather(key, rows), self.graph.Gather(value, rows)

    def _seen(self, key: str) -> str:
        """R × (N + 1 + S), int32: all that was generated, and the source after this place."""
        graph = self.graph
        ahead = self._ahead(self.place, self.real)
        lengths = graph.Shape(key, start=2, end=3)
        count = graph.Shape(self.units)
        shape = graph.Concat(count, lengths, axis=0)
        written = graph.Cast([1], to=INT32)
        written = graph.Expand(written, shape)
        return graph.Concat(written, ahead, axis=1)

    def _ahead(self, place: str, real: str) -> str:
        """int32: the source after each place."""
        graph = self.graph
        shape = graph.Shape(self.real)
        length = graph.Gather(shape, [1])
        places = graph.Range([0], length, [1])
        ahead = graph.Greater(places, place)
        real = graph.Cast(real, to=BOOL)
        ahead = graph.And(ahead, real)
        return graph.Cast(ahead, to=INT32)


class BlockReader(Reader):
    """The same, of blocks of T symbols in place of one, R × T, at ``place``, R × T.

    ``seen``, R × T × (N + T), int32: which symbols each of them sees. ``logs`` are R·T × V.
    """

    generated = "seen"

    def _take_symbols(self) -> None:
        graph = self.graph
        self.column = graph.input("symbols", INT64, ["prefixes", "block"])
        self.place = graph.input("place", INT64, ["prefixes", "block"])
        graph.input("seen", INT32, ["prefixes", "block", "written"])

    def _flat(self, features: str) -> str:
        return self.graph.reshape(features, -1, self.decoder.embed.table.weight.size(1))

    def _seen(self, key: str) -> str:
        place = self.graph.Unsqueeze(self.place, [2])
        real = self.graph.Unsqueeze(self.real, [1])
        return self.graph.Concat("seen", self._ahead(place, real), axis=2)
