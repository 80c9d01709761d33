"""A Levenshtein Transformer as an encoder, and a decoder for the heads of each exit.

The graphs begin with vectors and end with one product of the heads: what is looked up, added or
counted costs less outside (:mod:`lev_runtime.refine.exported`), since each node takes as long as
some arithmetic. The token head has a graph of its own, so that no other pass runs it.

Shapes: B sentences, S source tokens, T tokens of the sequence being edited (with those just
deleted), C channels, H heads, D channels of a head, V symbols, K the most tokens that can be
missing in one slot, P tokens to be written.
"""

from collections.abc import Callable, Container
from itertools import chain
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..nn.kernels import joined
from ..nn.packing import AttentionLayout
from ..nn.rotary import rotary_angles
from ..nn.transformer import EncoderOutput, TransformerBlock
from ..systems.levenshtein import LevenshteinEditorModel
from .int8 import fold
from .trace import floats, masks, numbers, trace, traceable
from .weights import WeightFile

ENCODER = "encoder.onnx"
KINDS = "key", "value"


class Encoder(nn.Module):
    """Vectors, B × S × C → what the token head reads of the source besides; keys and values of the
    decoder blocks."""

    def __init__(self, model: LevenshteinEditorModel) -> None:
        super().__init__()
        self.model = model
        stacks: Any = model.decoder.values()
        self.readers = [block.cross_attention for stack in stacks for block in stack.blocks]

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        """Encodes sources; ``mask``: B × S, 0 at padding."""
        model = self.model
        states = model.encoder(x, layout(mask, model.rotary[0]))
        states = states if model.encoder_norm is None else model.encoder_norm(states)
        given = [states] if model.copies_source else []
        given += [] if model.pointer is None else [model.pointer.key(states).transpose(1, 2)]
        # keys and values of all blocks are one product
        rows = functional.linear(states, *joined(reader.inputs for reader in self.readers))
        heads = self.readers[0].heads
        width = model.cfg.encoder_embed_dim // heads
        by_head = rows.unflatten(2, (-1, width)).transpose(1, 2)
        return (*given, *by_head.split(heads, 1))


class Decoder(nn.Module):
    """Vectors, B × T × C → features after the blocks of an exit."""

    def __init__(self, model: LevenshteinEditorModel, heads: list[str]) -> None:
        super().__init__()
        self.model, self.heads = model, heads
        stack, self.depth = model.exits[heads[0]]
        self.stack = body = cast(Any, model.decoder[stack])
        self.readers = [block.cross_attention for block in body.blocks[: self.depth]]

    def features(
        self, x: Tensor, mask: Tensor, source_mask: Tensor, pairs: dict[str, Tensor]
    ) -> Tensor:
        """``pairs``: keys and values of the source for each block, one after the other."""
        model, values = self.model, list(pairs.values())
        cache = dict(zip(self.readers, zip(values[::2], values[1::2])))
        source = EncoderOutput(values[0], layout(source_mask, None).mask, cache)
        x = self.stack(x, layout(mask, model.rotary[1]), source, self.depth)
        return x if model.decoder_norm is None else model.decoder_norm(x)


class Sides(Decoder):
    """Says what deletion (Eq. 3), and the placeholder head of a token as the left and right end
    of a slot, and as one that was deleted there (Eq. 4), make of each token."""

    def table(self) -> Tensor:
        """Returns the weights of the heads, one after the other: outputs × C."""
        model, parts = self.model, []
        if "deletion" in self.heads:
            parts.append(model.deletion_head.weight)
        if "placeholder" in self.heads:
            parts += model.placeholder_head.weight.chunk(2, 1)
            parts += [] if model.deleted is None else [model.deleted.what.weight]
        return torch.cat(parts)

    def forward(self, x: Tensor, mask: Tensor, source_mask: Tensor, **pairs: Tensor) -> Tensor:
        """Reads sentences; arguments of :meth:`features`."""
        return functional.linear(self.features(x, mask, source_mask, pairs), self.table())


class Tokens(Decoder):
    """The token head at P ``places``, −∞ for symbols never written (Eq. 5); and of each the
    likeliest token with its probability, so that logits need not be fetched."""

    def forward(
        self,
        x: Tensor,
        mask: Tensor,
        source_mask: Tensor,
        places: Tensor,
        pointer_keys: Tensor | None = None,
        source: Tensor | None = None,
        **pairs: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """``pointer_keys``, ``source``: of a model with a pointer."""
        model = self.model
        features = self.features(x, mask, source_mask, pairs)
        table = model.output_weight()
        never = torch.zeros(len(table)).index_fill(
            0, torch.tensor(model.forbidden_symbols), float("-inf")
        )
        rows = features.flatten(0, 1).index_select(0, places)
        logits = functional.linear(rows, table, never)
        if model.pointer is not None and pointer_keys is not None:
            keys, seen = pointer_keys.transpose(1, 2), source_mask.bool()[:, None, None]
            logits = model.pointer(logits, features, places, keys, source, seen)
        return logits, logits.argmax(1), logits.softmax(1).amax(1)


def layout(mask: Tensor, rotary: int | None) -> AttentionLayout:
    """Returns what attention sees of tokens; ``mask``: 0 at padding."""
    hidden = mask.float().log()  # 0, and −∞ at padding: added to the scores of each layer
    return AttentionLayout(hidden[:, None, None], rotary_angles=rotary_angles(mask, rotary))


def fold_norms(model: LevenshteinEditorModel, fixed: Container[nn.Module]) -> None:
    """Moves gains and biases of norms into the layers after them."""
    for block in model.modules():
        if isinstance(block, TransformerBlock) and block.pre_norm:
            after: dict[str, Any] = {
                "self_norm": block.self_attention.inputs,
                "feed_norm": block.fc1,
            }
            if block.cross_attention is not None:
                after["cross_norm"] = block.cross_attention.query
            for name, layer in after.items():
                if getattr(block, name) in fixed:
                    setattr(block, name, fold(getattr(block, name), layer))


def write_graphs(
    model: LevenshteinEditorModel,
    folder: Path,
    weights: WeightFile,
    int8: bool,
    fixed: Callable[[LevenshteinEditorModel], Container[nn.Module]],
) -> dict[str, Any]:
    """Writes the graphs into a folder; returns what the runtime has to know of them.

    fixed: returns the norms after which rows have one scale in 8 bits.
    """
    described = tables(model, weights, int8)
    model = traceable(model)
    if int8:
        fold_norms(model, fixed(model))
    width, heads = model.cfg.encoder_embed_dim, model.cfg.decoder_attention_heads
    pair = floats("batch", heads, "source", width // heads)
    stacks: dict[str, Any] = dict(model.decoder.items())
    names = {
        stack: [f"{kind}_{stack}_{number}" for number in range(len(body.blocks)) for kind in KINDS]
        for stack, body in stacks.items()
    }
    given = {"states": floats("batch", "source", width)} if model.copies_source else {}
    pointed = {"pointer_keys": floats("batch", width, "source")} if model.pointer else {}
    given |= pointed | dict.fromkeys(chain(*names.values()), pair)
    encoder = trace(
        Encoder(model),
        {"x": floats("batch", "source", width), "mask": masks("batch", "source")},
        given,
        folder / ENCODER,
        weights,
        int8,
    )
    read = {
        "x": floats("batch", "length", width),
        "mask": masks("batch", "length"),
        "source_mask": masks("batch", "source"),
    }
    written = {"places": numbers("written")} | pointed
    written |= {"source": numbers("batch", "source")} if model.pointer else {}
    heads_at: dict[tuple[str, int, bool], list[str]] = {}
    for head, end in model.exits.items():
        heads_at.setdefault((*end, head == "token"), []).append(head)
    decoders = []
    for (stack, depth, writes), exits in heads_at.items():
        source = dict.fromkeys(names[stack][: depth * len(KINDS)], pair)
        decoder = trace(
            (Tokens if writes else Sides)(model, exits),
            read | (written if writes else {}) | source,
            ["token", "best", "probability"] if writes else ["sides"],
            folder / f"decoder_{'_'.join(exits)}.onnx",
            weights,
            int8,
        )
        decoders.append(decoder | {"heads": exits})
    return {"encoder": encoder, "decoders": decoders} | described


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
