"""A Levenshtein Transformer as an encoder, and a decoder for the heads of each exit.

The graphs begin with vectors and end with one product of the heads: what is looked up, added or
counted costs less outside (:mod:`lev_runtime.refine.exported`), since each node takes as long as
some arithmetic. The token head has a graph of its own, so that no other pass runs it.

Shapes: B sentences, S source tokens, T tokens of the sequence being edited (with those just
deleted), C channels, V symbols, K the most tokens that can be missing in one slot, P tokens to be
written.
"""

from pathlib import Path
from typing import Any

import torch
from torch import nn

from ..systems.levenshtein import LevenshteinEditorModel
from ..systems.levenshtein.heads import SourcePointer
from . import blocks
from .blocks import Sight, Stream
from .graph import FLOAT, INT32, INT64, Graph, WeightFile

ENCODER = "encoder.onnx"


def write_graphs(
    model: LevenshteinEditorModel,
    folder: Path,
    weights: WeightFile,
    int8: bool,
    fixed: frozenset[nn.Module],
) -> dict[str, Any]:
    """Writes the graphs into a folder; returns what the runtime has to know of them.

    fixed: norms after which rows have one scale in 8 bits.
    """
    encoder = Graph(weights, int8, fixed)
    write_encoder(encoder, model)
    described = encoder.save(folder / ENCODER)
    heads_at: dict[tuple[str, int, bool], list[str]] = {}
    for head, end in model.exits.items():
        heads_at.setdefault((*end, head == "token"), []).append(head)
    decoders = []
    for (stack, depth, _), heads in heads_at.items():
        graph = Graph(weights, int8, fixed)
        Decoder(graph, model, stack, depth).write(heads)
        decoders.append(graph.save(folder / f"decoder_{'_'.join(heads)}.onnx") | {"heads": heads})
    return {"encoder": described, "decoders": decoders, **tables(model, weights, int8)}


def tables(model: LevenshteinEditorModel, weights: WeightFile, int8: bool) -> dict[str, Any]:
    """Stores what is looked up outside of the graphs; returns where, and the embeddings' scale."""
    places = model.encoder_positions, model.decoder_positions
    parts = {
        "source": model.encoder_embed.weight,
        "target": model.decoder_embed.weight,
        "source_places": places[0].weight[model.pad + 1 :],
        "target_places": places[1].weight[model.pad + 1 :],
    }
    if model.deleted is not None:
        parts |= {"mark": model.deleted.mark.weight, "counts": model.deleted.count.weight}
    described = {
        name: weights.describe(part, int8 and name in ("source", "target"))
        for name, part in parts.items()
    }
    return {"tables": described, "scale": model.scale}


def write_encoder(graph: Graph, model: LevenshteinEditorModel) -> None:
    """Writes the encoder: vectors, B × S × C → keys and values of every decoder block, and what
    else the token head reads of the source."""
    width = model.cfg.encoder_embed_dim
    x = graph.input("x", FLOAT, ["batch", "source", width])
    mask = graph.input("mask", INT32, ["batch", "source"])
    turns = blocks.turn_tables(graph, model.rotary[0], model.encoder_positions.longest)
    stream = Stream(x)
    sight = Sight(mask, turns=turns)
    for layer in model.encoder.blocks:
        stream = blocks.block(graph, layer, stream, sight)
    states = blocks.ended(graph, model.encoder_norm, stream)
    if model.copies_source:
        graph.output("states", states, FLOAT, ["batch", "source", width])
    if model.pointer is not None:
        keys = blocks.linear(graph, model.pointer.key, states)
        keys = graph.Transpose(keys, perm=[0, 2, 1])
        graph.output("pointer_keys", keys, FLOAT, ["batch", width, "source"])
    stacks: dict[str, Any] = dict(model.decoder.items())
    readers = {
        f"{stack}_{number}": layer.cross_attention
        for stack, body in stacks.items()
        for number, layer in enumerate(body.blocks)
    }
    blocks.give_all_keys_values(graph, readers, states)


class Decoder:
    """A graph of the first ``depth`` blocks of a stack, and of the heads after them."""

    def __init__(self, graph: Graph, model: LevenshteinEditorModel, stack: str, depth: int) -> None:
        self.graph = graph
        self.model = model
        self.stack = stack
        self.depth = depth
        self.dim = model.cfg.decoder_embed_dim

    def write(self, heads: list[str]) -> None:
        """Inputs, the pass, and the outputs of the heads."""
        features = self._features()
        if heads == ["token"]:
            self._token(features)
        else:
            self._sides(heads, features)

    def _features(self) -> str:
        """Adds the inputs and the decoder blocks; returns their features, B × T × C."""
        graph, model = self.graph, self.model
        x = graph.input("x", FLOAT, ["batch", "length", self.dim])
        mask = graph.input("mask", INT32, ["batch", "length"])
        source = Sight(graph.input("source_mask", INT32, ["batch", "source"]))
        turns = blocks.turn_tables(graph, model.rotary[1], model.decoder_positions.longest)
        stream = Stream(x)
        sight = Sight(mask, turns=turns)
        body: Any = model.decoder[self.stack]
        for number, layer in enumerate(body.blocks[: self.depth]):
            name = f"{self.stack}_{number}"
            source_kv = blocks.take_keys_values(graph, name, layer.cross_attention)
            stream = blocks.block(graph, layer, stream, sight, source_kv, source)
        return blocks.ended(graph, model.decoder_norm, stream)

    def _sides(self, heads: list[str], features: str) -> None:
        """Adds what deletion (Eq. 3), and the placeholder head of a token as the left and as the
        right end of a slot, and as one that was deleted there (Eq. 4), make of each token."""
        graph, model = self.graph, self.model
        weights = []
        if "deletion" in heads:
            weights.append(model.deletion_head.weight)
        if "placeholder" in heads:
            weights += model.placeholder_head.weight.chunk(2, 1)
            weights += [] if model.deleted is None else [model.deleted.what.weight]
        table = torch.cat(weights)
        sides = graph.MatMul(features, table.t())
        graph.output("sides", sides, FLOAT, ["batch", "length", len(table)])

    def _token(self, features: str) -> None:
        """Adds the token head at P ``places``, −∞ for symbols never written (Eq. 5); and of each
        the likeliest token with its probability, so that logits need not be fetched."""
        graph, model = self.graph, self.model
        places = graph.input("places", INT64, ["written"])
        rows = graph.Gather(graph.reshape(features, -1, self.dim), places)
        table = model.output_weight()
        offsets = torch.zeros(len(table))
        offsets[model.forbidden_symbols] = float("-inf")
        logits = graph.output_layer(rows, table, offsets)
        if model.pointer is not None:
            logits = self._pointed(model.pointer, features, places, rows, logits)
        probabilities = graph.Softmax(logits, axis=1)
        highest = graph.ReduceMax(probabilities, [1], keepdims=0)
        graph.output("token", logits, FLOAT, ["written", len(table)])
        best = graph.ArgMax(logits, axis=1, keepdims=0)
        graph.output("best", best, INT64, ["written"])
        graph.output("probability", highest, FLOAT, ["written"])

    def _pointed(
        self, pointer: SourcePointer, features: str, places: str, rows: str, logits: str
    ) -> str:
        """Adds what the pointer gives to tokens of the source
        (:class:`..systems.levenshtein.heads.SourcePointer`); ``row``: P, the sentence of each."""
        graph = self.graph
        source = graph.input("source", INT64, ["batch", "source"])
        hidden = graph.input("hidden", FLOAT, ["batch", "source"])  # −∞ at padding, else 0
        keys = graph.input("pointer_keys", FLOAT, ["batch", self.dim, "source"])
        row = graph.input("row", INT64, ["written"])
        share = self.dim**-0.5
        query = graph.linear(features, pointer.query.weight * share, pointer.query.bias * share)
        scores = graph.flat(graph.MatMul(query, keys))
        scores = graph.Add(graph.Gather(scores, places), graph.Gather(hidden, row))
        weights = graph.Softmax(scores, axis=1)
        addends = graph.Mul(weights, blocks.linear(graph, pointer.scale, rows))
        symbols = graph.Gather(source, row)
        return graph.ScatterElements(logits, symbols, addends, axis=1, reduction="add")
