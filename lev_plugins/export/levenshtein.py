"""A Levenshtein Transformer as an encoder and decoders, one for each exit of its stacks.

A decoder has the heads that leave it. Each is computed at the places that are asked for, none
where none are: so one graph serves every phase of the loop, and its weights are read once.

Shapes: B sentences, S source tokens, T tokens of the sequence being edited (with those just
deleted), C channels, V symbols, K the most tokens that can be missing in one slot, Q slots and
P tokens that logits are wanted for, G tokens that were deleted.
"""

from functools import partial
from pathlib import Path
from typing import Any

import torch

from ..systems.levenshtein import LevenshteinEditorModel
from ..systems.levenshtein.heads import DeletedTokens, SourcePointer
from . import blocks
from .blocks import Sight, Stream
from .graph import BOOL, FLOAT, INT32, INT64, Graph, WeightFile

ENCODER = "encoder.onnx"


def write_graphs(
    model: LevenshteinEditorModel, folder: Path, weights: WeightFile, int8: bool
) -> dict[str, Any]:
    """Writes the graphs into a folder; returns what the runtime has to know of them."""
    encoder = Graph(weights, int8)
    write_encoder(encoder, model)
    described = encoder.save(folder / ENCODER)
    heads_at: dict[tuple[str, int], list[str]] = {}
    for head, end in model.exits.items():
        heads_at.setdefault(end, []).append(head)
    decoders = []
    for (stack, depth), heads in heads_at.items():
        name = f"decoder_{'_'.join(heads)}.onnx"
        graph = Graph(weights, int8)
        Decoder(graph, model, stack, depth).write(heads)
        decoders.append(graph.save(folder / name) | {"heads": heads})
    return {"encoder": described, "decoders": decoders}


def write_encoder(graph: Graph, model: LevenshteinEditorModel) -> None:
    """Writes the encoder: B × S tokens → states, keys and values of every decoder block."""
    tokens = graph.input("tokens", INT64, ["batch", "source"])
    mask = graph.input("mask", INT32, ["batch", "source"])
    x = graph.embedding(tokens, model.encoder_embed.weight, model.scale)
    positions = model.encoder_positions
    x = blocks.with_positions(graph, x, positions.weight, model.pad, tokens)
    turns = blocks.turn_tables(graph, model.rotary[0], positions.longest)
    stream = Stream(x)
    sight = Sight(mask, turns=turns)
    for layer in model.encoder.blocks:
        stream = blocks.block(graph, layer, stream, sight)
    states = blocks.ended(graph, model.encoder_norm, stream)
    graph.output("states", states, FLOAT, ["batch", "source", model.cfg.encoder_embed_dim])
    stacks: dict[str, Any] = dict(model.decoder.items())
    for stack, body in stacks.items():
        for number, layer in enumerate(body.blocks):
            attention = layer.cross_attention
            pair = blocks.keys_values(graph, attention, states)
            blocks.give_keys_values(graph, f"{stack}_{number}", attention, pair)


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
        graph, model = self.graph, self.model
        self.tokens = graph.input("tokens", INT64, ["batch", "length"])
        self.mask = graph.input("mask", INT32, ["batch", "length"])
        self.source_mask = graph.input("source_mask", INT32, ["batch", "source"])
        copies = "token" in heads and (model.copies_source or model.pointer is not None)
        if copies:
            self.states = graph.input("states", FLOAT, ["batch", "source", self.dim])
        if "token" in heads:
            self.places = graph.input("places", INT64, ["written"])
        if model.deleted is not None:
            self.deleted = graph.input("deleted", FLOAT, ["batch", "length", 1])
        features = self._features(copies and model.copies_source)
        writers = {
            "deletion": self._deletion,
            "placeholder": self._placeholder,
            "token": self._token,
        }
        for head in heads:
            writers[head](features)

    def _features(self, copies: bool) -> str:
        """Adds the decoder blocks; returns their features, B × T × C."""
        graph, model = self.graph, self.model
        x = graph.embedding(self.tokens, model.decoder_embed.weight, model.scale)
        positions = model.decoder_positions
        x = blocks.with_positions(graph, x, positions.weight, model.pad, self.tokens)
        if model.deleted is not None:
            mark = model.deleted.mark.weight[0] * model.scale
            marks = graph.Mul(self.deleted, mark)
            x = graph.Add(x, marks)
        if copies:
            x = self._with_source(x)
        turns = blocks.turn_tables(graph, model.rotary[1], positions.longest)
        stream = Stream(x)
        sight = Sight(self.mask, turns=turns)
        source = Sight(self.source_mask)
        body: Any = model.decoder[self.stack]
        for number, layer in enumerate(body.blocks[: self.depth]):
            name = f"{self.stack}_{number}"
            source_kv = blocks.take_keys_values(graph, name, layer.cross_attention)
            stream = blocks.block(graph, layer, stream, sight, source_kv, source)
        return blocks.ended(graph, model.decoder_norm, stream)

    def _with_source(self, x: str) -> str:
        """Adds to what is read at each of P ``places`` the encoder's state at one of P ``copied``
        (Gu et al., 2018, §3.1.2), both in batches laid flat."""
        graph = self.graph
        copied = graph.input("copied", INT64, ["written"])
        states = graph.Gather(self._rows(self.states), copied)
        index = graph.Unsqueeze(self.places, [1])
        rows = graph.ScatterND(self._rows(x), index, states, reduction="add")
        shape = graph.Shape(x)
        return graph.Reshape(rows, shape)

    def _rows(self, x: str) -> str:
        return self.graph.reshape(x, -1, self.dim)

    def _deletion(self, features: str) -> None:
        """Adds the deletion head (Eq. 3)."""
        graph = self.graph
        head = self.model.deletion_head
        logits = graph.MatMul(features, head.weight.t())
        graph.output("deletion", logits, FLOAT, ["batch", "length", 2])

    def _placeholder(self, features: str) -> None:
        """Adds the placeholder head for the slots between Q tokens, ``left`` and ``right`` (Eq.
        4)."""
        graph, model = self.graph, self.model
        rows = self._rows(features)
        weights = model.placeholder_head.weight.chunk(2, 1)
        halves = []
        for side, weight in zip(("left", "right"), weights):
            places = graph.input(side, INT64, ["slots"])
            ends = graph.Gather(rows, places)
            halves.append(graph.MatMul(ends, weight.t()))
        logits = graph.Add(*halves)
        if model.deleted is not None:
            evidence = self._deleted_between(model.deleted, rows)
            logits = graph.Add(logits, evidence)
        classes = model.cfg.max_insertions + 1
        graph.output("placeholder", logits, FLOAT, ["slots", classes])

    def _deleted_between(self, trace: DeletedTokens, rows: str) -> str:
        """Returns what G tokens ``gone``, each of a ``slot``, add to the logits of Q slots
        (:class:`..systems.levenshtein.heads.DeletedTokens`)."""
        graph = self.graph
        gone = graph.input("gone", INT64, ["gone"])
        slot = graph.input("slot", INT64, ["gone"])
        index = graph.Unsqueeze(slot, [1])
        slots = graph.Shape("left")
        shape = graph.Concat(slots, [self.dim], axis=0)
        add = partial(graph.ScatterND, reduction="add")
        # what the tokens of a slot mean, on average
        zeros = graph.Expand(0.0, shape)
        tokens = graph.Gather(rows, gone)
        sums = add(zeros, index, tokens)
        length = graph.Shape(slot)
        ones = graph.Expand(1.0, length)
        zeros = graph.Expand(0.0, slots)
        count = add(zeros, index, ones)
        divisor = graph.Max(count, 1.0)
        column = graph.Unsqueeze(divisor, [1])
        mean = graph.Div(sums, column)
        meaning = graph.MatMul(mean, trace.what.weight.t())
        # how many they are: nothing where there is none
        limited = graph.Min(divisor, float(trace.longest))
        row = graph.Sub(limited, 1.0)
        row = graph.Cast(row, to=INT64)
        number = graph.embedding(row, trace.count.weight)
        exists = graph.Min(count, 1.0)
        exists = graph.Unsqueeze(exists, [1])
        number = graph.Mul(number, exists)
        return graph.Add(meaning, number)

    def _token(self, features: str) -> None:
        """Adds the token head at P ``places``, −∞ for symbols never written (Eq. 5); and of each
        the likeliest token with its probability, so that logits need not be fetched."""
        graph, model = self.graph, self.model
        rows = graph.Gather(self._rows(features), self.places)
        table = model.output_weight()
        offsets = torch.zeros(len(table))
        offsets[model.forbidden_symbols] = float("-inf")
        logits = graph.output_layer(rows, table, offsets)
        if model.pointer is not None:
            logits = self._pointed(model.pointer, features, rows, logits)
        probabilities = graph.Softmax(logits, axis=1)
        highest = graph.ReduceMax(probabilities, [1], keepdims=0)
        graph.output("token", logits, FLOAT, ["written", len(table)])
        best = graph.ArgMax(logits, axis=1, keepdims=0)
        graph.output("best", best, INT64, ["written"])
        graph.output("probability", highest, FLOAT, ["written"])

    def _pointed(self, pointer: SourcePointer, features: str, rows: str, logits: str) -> str:
        """Adds what the pointer gives to tokens of the source
        (:class:`..systems.levenshtein.heads.SourcePointer`); ``row``: P, the sentence of each."""
        graph = self.graph
        source = graph.input("source", INT64, ["batch", "source"])
        row = graph.input("row", INT64, ["written"])
        query = blocks.linear(graph, pointer.query, features)
        key = blocks.linear(graph, pointer.key, self.states)
        key = graph.Transpose(key, perm=[0, 2, 1])
        scores = graph.MatMul(query, key)
        scores = graph.Mul(scores, self.dim**-0.5)
        scores = graph.flat(scores)
        scores = graph.Gather(scores, self.places)
        real = graph.Cast(self.source_mask, to=BOOL)
        padding = graph.Not(real)
        padding = graph.Gather(padding, row)
        scores = graph.Where(padding, float("-inf"), scores)
        weights = graph.Softmax(scores, axis=1)
        scale = blocks.linear(graph, pointer.scale, rows)
        addends = graph.Mul(weights, scale)
        symbols = graph.Gather(source, row)
        return graph.ScatterElements(logits, symbols, addends, axis=1, reduction="add")
