"""gated-Trans (``--gate-variant pointer``) in the parts of a PBD that has none of PBD's ideas.

:mod:`.pbd` writes it as a Transformer; here is what the gates add.

Shapes: B sources, S source tokens, R prefixes, T symbols of each, C channels, H heads, V symbols.
"""

from types import SimpleNamespace as Parts
from typing import Any

import torch

from lev_runtime.errors import UserError

from ..nn.backbone import EncoderBody
from ..nn.decoder_block import TiedOutput
from . import blocks
from .graph import BOOL, INT64, Graph

#: the least probability of a symbol, as the model has it
LEAST = torch.finfo(torch.float32).tiny
OF_GATES = {"copy": "copied", "skip": "following"}  #: which source symbols a gate writes


def parts_of(model: Any) -> Parts:
    """Returns ``encoder`` and ``decoder`` as :func:`.pbd.write_graphs` reads them.

    Raises:
        UserError: the gates of the paper, or the parts of a T5 or of BERT's head.
    """
    encoder, decoder = model.encoder, model.decoder
    body, output = encoder.body, decoder.output
    if decoder.gates is not None and decoder.variant != "pointer":
        raise UserError("a model with --gate-variant paper cannot be exported; train pointer")
    if not (isinstance(body, EncoderBody) and isinstance(output, TiedOutput)) or decoder.bias:
        raise UserError("gated-Trans with a T5 or with BERT's head cannot be exported")
    read = Parts(
        embed=encoder.embed,
        pad=encoder.pad,
        rotary=None,
        blocks=body.stack.blocks,
        norm=body.norm,
        copies_output=False,
        mask_gate=encoder.mask_gate,
    )
    return Parts(encoder=read, decoder=decoder)


def masked(graph: Graph, gate: Any, states: str) -> str:
    """Returns B × S × C states with what looks wrong hidden (Eq. 1 and 2)."""
    shares = graph.Sigmoid(blocks.linear(graph, gate.gate, states))
    vector = graph.constant(gate.vector())
    return graph.Add(states, graph.Mul(shares, graph.Sub(vector, states)))


def give_symbols(graph: Graph, decoder: Any, tokens: str) -> None:
    """Gives out what the gates write of each source token: itself, and the one after."""
    padded = graph.Pad(tokens, [0, 0, 0, 1], [decoder.pad])
    after = graph.Slice(padded, [1], [torch.iinfo(torch.int64).max], [1])
    is_last = graph.Equal(after, [decoder.pad])
    sides = {"copied": tokens, "following": graph.Where(is_last, tokens, after)}
    for name, numbers in sides.items():
        symbols = graph.Gather(decoder.target_of_source, numbers)
        graph.output(name, symbols, INT64, ["batch", "source"])


def looked(
    graph: Graph, attention: Any, x: str, source_kv: tuple[str, str], real: str
) -> tuple[str, str]:
    """Reads the source as :func:`.blocks.attend`; also returns the attention, R × T × S."""
    key, value = source_kv
    query = blocks.by_heads(graph, blocks.linear(graph, attention.query, x), attention.heads)
    scores = graph.MatMul(query, graph.Transpose(key, perm=[0, 1, 3, 2]))
    scores = graph.Mul(scores, blocks.head_width(attention) ** -0.5)
    seen = graph.Cast(graph.Unsqueeze(real, [1, 2]), to=BOOL)
    shares = graph.Softmax(graph.Where(seen, scores, float("-inf")), axis=3)
    heads = graph.Transpose(graph.MatMul(shares, value), perm=[0, 2, 1, 3])
    out = blocks.linear(graph, attention.output, graph.reshape(heads, 0, 0, -1))
    return out, graph.ReduceMean(shares, [1], keepdims=0)


def weighed(
    graph: Graph, gates: Any, features: str, logits: str, attention: str, units: str
) -> str:
    """Returns log(g · p + c · source + s · source moved on by one): R·T × V, of R·T × C features.

    attention: R × T × S. units: R, the source of each prefix.
    """
    layers = [gates.gates[name] for name in gates.names]
    weight, bias = (torch.cat(side) for side in zip(*((x.weight, x.bias) for x in layers)))
    shares = graph.Softmax(graph.linear(features, weight, bias), axis=1)
    split = graph.several("Split", [shares], len(layers), axis=1, num_outputs=len(layers))
    by_name = dict(zip(gates.names, split))
    written = graph.Mul(by_name["generate"], graph.Softmax(logits, axis=1))
    for name in [name for name in OF_GATES if name in by_name]:
        symbols = graph.input(OF_GATES[name], INT64, ["batch", "source"])
        symbols = graph.Unsqueeze(graph.Gather(symbols, units), [1])
        symbols = graph.flat(graph.Expand(symbols, graph.Shape(attention)))
        copied = graph.Mul(by_name[name], graph.flat(attention))
        written = graph.ScatterElements(written, symbols, copied, axis=1, reduction="add")
    return graph.Log(graph.Clip(written, LEAST))
