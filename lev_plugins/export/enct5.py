"""Exports an EncT5 as one graph, from subwords to logits.

Shapes: B texts, S subwords, L decoder positions, C channels, H heads, V latents, N labels.
"""

from pathlib import Path
from typing import Any

from ..nn.t5 import RelativeBias, T5Encoder
from ..systems.enct5.model import BertEncoder, EncT5Model, LabelHeads, SharedHead
from ..systems.enct5.problem_types import ProblemType
from . import blocks
from .blocks import Sight, Stream
from .graph import FLOAT, INT32, INT64, Graph, WeightFile

GRAPH = "labeler.onnx"
_HIDDEN = -1e9  # added to attention scores, so that their weight is 0


def write_graph(
    model: EncT5Model, kind: ProblemType, folder: Path, weights: WeightFile, int8: bool
) -> dict[str, Any]:
    """Writes the graph into a folder; returns its description for the runtime."""
    graph = Graph(weights, int8)
    tokens = graph.input("tokens", INT64, ["batch", "length"])
    mask = graph.input("mask", INT32, ["batch", "length"])
    vectors = graph.embedding(tokens, model.embed.table.weight, model.embed.scale)
    states = encoded(graph, model.encoder, vectors, tokens, mask)
    decoder = Decoder(graph, model.decoder, tags=kind is ProblemType.TAGGING)
    decoder.write(states, mask, model.head)
    return {"labeler": graph.save(folder / GRAPH)}


def encoded(
    graph: Graph, encoder: T5Encoder | BertEncoder, vectors: str, tokens: str, mask: str
) -> str:
    """Returns the encoder's states of B × S × C vectors."""
    if isinstance(encoder, T5Encoder):
        layers, last, stream = encoder.blocks, encoder.norm, Stream(vectors)
        sight = Sight(mask, relative_bias(graph, encoder.bias, tokens))
    else:
        places = blocks.with_positions(graph, vectors, encoder.places.weight, -1, tokens)
        normed = blocks.norm(graph, encoder.norm, Stream(places))
        layers, last, stream = encoder.stack.blocks, None, Stream(normed.addend)
        sight = Sight(mask)
    for layer in layers:
        stream = blocks.block(graph, layer, stream, sight)
    return blocks.ended(graph, last, stream)


def relative_bias(graph: Graph, bias: RelativeBias, tokens: str) -> str:
    """Returns the bias of all heads by the distance of key and query: 1 × H × T × T."""
    zero = graph.constant([0])
    shape = graph.node("Shape", tokens)
    length = graph.node("Gather", shape, [1])
    place = graph.node("Range", zero, length, [1])
    key = graph.node("Unsqueeze", place, [0])
    query = graph.node("Unsqueeze", place, [1])
    ahead = graph.node("Sub", key, query)
    difference = ahead if bias.bidirectional else graph.node("Min", ahead, zero)
    distance = graph.node("Abs", difference)
    distance = graph.node("Min", distance, [bias.longest])
    bucket = graph.node("Gather", bias.bucket, distance)
    if bias.bidirectional:
        is_after = graph.node("Greater", ahead, zero)
        after = graph.node("Cast", is_after, to=INT64)
        offset = graph.node("Mul", after, [bias.side])
        bucket = graph.node("Add", bucket, offset)
    rows = graph.embedding(bucket, bias.table.weight)
    rows = graph.node("Transpose", rows, perm=[2, 0, 1])
    return graph.node("Unsqueeze", rows, [0])


class Decoder:
    """Writes the decoder of latents, and its head."""

    def __init__(self, graph: Graph, decoder: Any, tags: bool) -> None:
        self.graph = graph
        self.decoder = decoder
        self.tags = tags

    def write(self, states: str, mask: str, head: SharedHead | LabelHeads) -> None:
        """Writes ``logits``, B × L × outputs, of ``latents``, B × L.

        ``latent_mask`` is 0 at padding. If words are tagged, ``spans`` (B × S) and ``latent_spans``
        (B × L) tell the word of each subword and latent.
        """
        graph, decoder = self.graph, self.decoder
        latents = graph.input("latents", INT64, ["batch", "positions"])
        latent_mask = graph.input("latent_mask", INT32, ["batch", "positions"])
        source = self._source(mask)
        first, *others = decoder.blocks
        # the first self-attention does not depend on the text: it is added to the table
        attended = decoder.table.weight + decoder.latent_self_attention(first)
        stream = Stream(graph.embedding(latents, attended))
        stream = self._read(first, stream, states, source)
        bias = relative_bias(graph, decoder.bias, latents) if others else ""
        for layer in others:
            sight = Sight(latent_mask, bias)
            stream = blocks.attended(graph, layer.block, stream, sight)
            stream = self._read(layer, stream, states, source)
        self._head(head, blocks.ended(graph, decoder.norm, stream))

    def _source(self, mask: str) -> Sight:
        """Returns which subwords a latent reads: all, or for tagging those of its word."""
        if not self.tags:
            return Sight(mask)
        graph = self.graph
        spans = graph.input("spans", INT64, ["batch", "length"])
        latent_spans = graph.input("latent_spans", INT64, ["batch", "positions"])
        rows = graph.node("Unsqueeze", latent_spans, [2])
        columns = graph.node("Unsqueeze", spans, [1])
        own = graph.node("Equal", rows, columns)
        bias = graph.node("Where", own, 0.0, _HIDDEN)
        bias = graph.node("Unsqueeze", bias, [1])
        return Sight(mask, bias)

    def _read(self, layer: Any, stream: Stream, states: str, source: Sight) -> Stream:
        """Writes the attention to the text, and the feed-forward layer."""
        keys_values = blocks.keys_values(self.graph, layer.cross_attention, states)
        stream = blocks.read(self.graph, layer.block, layer, stream, keys_values, source)
        return blocks.fed(self.graph, layer.block, stream)

    def _head(self, head: SharedHead | LabelHeads, features: str) -> None:
        graph = self.graph
        if isinstance(head, SharedHead):
            logits = blocks.linear(graph, head, features)
            graph.output("logits", logits, FLOAT, ["batch", "positions", head.out_features])
            return
        # one product per label: N × B × C with N × C × 2
        rows = graph.node("Transpose", features, perm=[1, 0, 2])
        product = graph.node("MatMul", rows, head.weight.transpose(1, 2))
        logits = graph.node("Transpose", product, perm=[1, 0, 2])
        logits = graph.node("Add", logits, head.bias)
        graph.output("logits", logits, FLOAT, ["batch", "positions", 2])
