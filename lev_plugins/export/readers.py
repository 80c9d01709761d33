"""Models that write from left to right, as an encoder and graphs that read many prefixes at once.

Shapes: B sources, S source tokens, R prefixes of N symbols, R' prefixes that were read before them,
T symbols of a block, C channels, H heads, D channels of a head, V symbols.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from fairseq.models import transformer
from fairseq.modules import transformer_layer
from torch import Tensor, nn
from torch.nn import functional

from lev_runtime.errors import UserError, flag

from ..nn.decoder_block import KVCache, TiedOutput, append_kv
from ..nn.kernels import joined, set_kernels
from ..nn.packing import AttentionLayout
from ..nn.rotary import angles_at
from ..nn.seq2seq.model import TransformerDecoder
from ..systems.gated.encoder import GatedEncoderOutput
from ..systems.pbd.attention import future_mask
from ..systems.pbd.encoder import PBDEncoderOutput
from ..systems.transformer_concat.model import ConcatEncoder
from .kernels import MultiHeadAttention, TracedKernels
from .trace import Value, floats, masks, numbers, trace, traceable
from .weights import WeightFile

KINDS = "key", "value"
#: what the gates write of each source token, itself and the one after, by the names of the graphs
COPIED = {"copied": "copy", "following": "skip"}
#: the classes of fairseq's Transformer, by either configuration, and of transformer_concat
OF_FAIRSEQ = {
    transformer.TransformerEncoder,
    transformer.TransformerEncoderBase,
    ConcatEncoder,
    transformer.TransformerDecoder,
    transformer.TransformerDecoderBase,
    transformer_layer.TransformerDecoderLayer,
    transformer_layer.TransformerDecoderLayerBase,
}
#: options of it that change what the decoder reads or how it ends
REFUSED = "adaptive_softmax_cutoff", "cross_self_attention", "no_cross_attention", "base_layers"


class Encoder(nn.Module):
    """B × S tokens → keys and values of the source for every decoder block, and what the gates
    copy."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor) -> tuple[Tensor, ...]:
        """Encodes sources, padded on the right."""
        (output,) = self.model.encoder(tokens)["encoder_out"]
        decoder = self.model.decoder
        pairs = chain.from_iterable(block.keys_values(output) for block in decoder.blocks)
        copied = decoder.source_symbols(output).values() if copies(self.model) else ()
        return *copied, *chain.from_iterable(pairs)


class Reader(nn.Module):
    """Reads R prefixes, each a symbol longer than one of R' before it.

    Its inputs: ``units``, ``parents`` and ``symbols`` (R): of each prefix the row of its source, of
    its beginning, and its last symbol; ``place`` (1): how many symbols stand before that;
    ``source_mask``; and keys and values, of sources and of what was read before. It gives log
    p of what follows, R × V, and keys and values of the prefixes.

    With ``seen``, R × T × (N + T), int32, it reads blocks of T symbols in place of one, R × T, at
    ``place``, R × T: which symbols each of them sees. It then gives R·T × V.
    """

    def __init__(self, decoder: Any) -> None:
        super().__init__()
        self.decoder = decoder

    def forward(self, **given: Tensor) -> tuple[Tensor, ...]:
        """Reads the prefixes."""
        pairs: dict[str, Any] = defaultdict(list)
        for name, values in given.items():
            kind, _, layer = name.partition("_")
            if kind in KINDS:
                rows = given["parents" if layer.startswith("past") else "units"]
                pairs[layer].append(values.index_select(0, rows))
        real = given["source_mask"].index_select(0, given["units"]).bool()
        if "seen" not in given:
            given |= {"symbols": given["symbols"][:, None], "place": given["place"][None]}
        logits, newest = self.read(given, real, pairs)
        return logits.log_softmax(1), *chain(*newest)

    def read(self, given: dict[str, Tensor], real: Tensor, pairs: dict[str, Any]) -> Any:
        """Returns logits, R·T × V, and keys and values of each block.

        real: R × S, bool. pairs: keys and values by layer.
        """
        decoder, place = self.decoder, given["place"]
        cache = {
            layer: pairs[f"{name}_{number}"]
            for number, block in enumerate(decoder.blocks)
            for name, layer in block.source_layers().items()
        }
        past = [pairs[f"past_{number}"] for number in range(len(decoder.blocks))]
        seen = given["seen"].bool() if "seen" in given else None
        if decoder.future:
            if seen is None:
                written = past[0][0].size(2) + 1
                seen = torch.ones(real.size(0), 1, written, dtype=torch.bool)
            seen = torch.cat([seen, future_mask(place, real)], 2)
        layout = AttentionLayout(None if seen is None else seen[:, None])
        if decoder.rotary is not None:
            layout = layout._replace(rotary_angles=angles_at(place, decoder.rotary))
        x = decoder.embed.at(given["symbols"], place)
        if not copies(self):
            source = PBDEncoderOutput(real, real[:, None, None], cache)
            x, newest, _ = decoder.read(x, layout, source, past, False)
            return output_layer(decoder.output, x.flatten(0, 1)), newest
        symbols = {
            gate: given[name].index_select(0, given["units"]) for name, gate in COPIED.items()
        }
        read = GatedEncoderOutput(real, real[:, None, None], cache)
        x, newest, weights = decoder.read(x, layout, read, past, True)
        return decoder.pointer(x, decoder.gates(x), weights, symbols).flatten(0, 1), newest


def copies(model: Any) -> bool:
    """Returns whether symbols of the source can be written as they are."""
    return getattr(model.decoder, "gates", None) is not None


def output_layer(layer: Any, rows: Tensor) -> Tensor:
    """Returns logits of features, P × C; by a product that reads its table as embeddings do."""
    if type(layer) is not TiedOutput:
        return layer(rows)
    table = layer.table.weight
    bias = layer.bias if layer.bias is not None else torch.zeros(len(table))
    return functional.linear(rows if layer.scale == 1.0 else rows * layer.scale, table, bias)


# fairseq's own Transformer ------------------------------------------------------------------------


class StockEncoder(Encoder):
    """The same of fairseq's own Transformer."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        for layer in model.encoder.layers:
            layer.self_attn = Fused(layer.self_attn)

    def forward(self, tokens: Tensor) -> tuple[Tensor, ...]:
        """Encodes sources, padded on the right."""
        (states,) = self.model.encoder(tokens, None)["encoder_out"]
        states = states.transpose(0, 1)
        layers = [layer.encoder_attn for layer in self.model.decoder.layers]
        return tuple(
            by_heads(part, layer)
            for layer in layers
            for part in projected(states, (layer.k_proj, layer.v_proj))
        )


class StockReader(Reader):
    """The same of fairseq's own Transformer; its attention takes no mask for each row."""

    def __init__(self, decoder: Any) -> None:
        super().__init__(decoder)
        positions, first = decoder.embed_positions, decoder.padding_idx + 1
        if positions is not None:
            sinusoids = getattr(positions, "weights", None)
            table = positions.weight.detach() if sinusoids is None else sinusoids
            self.places = table[first:]
            positions.forward = self._positions
        for layer in decoder.layers:
            layer.self_attn, layer.encoder_attn = map(Fused, (layer.self_attn, layer.encoder_attn))

    def _positions(self, tokens: Tensor, **unused: Any) -> Tensor:
        return functional.embedding(self.place, self.places)

    def read(self, given: dict[str, Tensor], real: Tensor, pairs: dict[str, Any]) -> Any:
        """See the base class."""
        decoder, self.place = self.decoder, given["place"]
        for number, layer in enumerate(decoder.layers):
            layer.self_attn.hold(pairs[f"past_{number}"], given.get("seen"))
            layer.encoder_attn.hold(pairs[f"cross_{number}"], real.int())
        source = {"encoder_out": [real], "encoder_padding_mask": []}
        x, _ = decoder.extract_features(given["symbols"], source, full_context_alignment=True)
        newest = [layer.self_attn.pair for layer in decoder.layers]
        table = decoder.output_projection.weight
        return functional.linear(x.flatten(0, 1), table, torch.zeros(len(table))), newest


class Fused(nn.Module):
    """fairseq's attention, over keys and values that it holds and its own."""

    pair: KVCache | None = None
    mask: Tensor | None = None

    def __init__(self, stock: Any) -> None:
        super().__init__()
        self.stock = stock

    def hold(self, pair: KVCache, mask: Tensor | None) -> None:
        """Takes keys and values, R × H × keys × D, and a mask, R × keys or R × T × keys, int32."""
        self.pair, self.mask = pair, mask

    def _get_input_buffer(self, state: Any) -> None:
        """Returns fairseq's state, which is not used."""

    def forward(
        self, query: Tensor, key_padding_mask: Tensor | None = None, **unused: Any
    ) -> tuple[Tensor, None]:
        """T × R × C → T × R × C; ``key_padding_mask``: of the encoder, which holds nothing."""
        stock, x, mask = self.stock, query.transpose(0, 1), self.mask
        if stock.self_attention:
            query, *own = projected(x, (stock.q_proj, stock.k_proj, stock.v_proj))
            key, value = (by_heads(part, stock) for part in own)
            self.pair = append_kv(self.pair, (key, value))
        else:
            query = stock.q_proj(x)
        if key_padding_mask is not None:
            mask = (~key_padding_mask).int()
        assert self.pair is not None
        out = MultiHeadAttention.apply(query, *self.pair, mask, stock.num_heads, None)
        return stock.out_proj(out).transpose(0, 1), None


def projected(x: Tensor, layers: Sequence[nn.Linear]) -> tuple[Tensor, ...]:
    """Returns what layers of equal sizes make of the same input, by one product."""
    return functional.linear(x, *joined(layers)).split(layers[0].out_features, 2)


def by_heads(x: Tensor, stock: Any) -> Tensor:
    """R × T × C → R × H × T × D."""
    return x.unflatten(2, (stock.num_heads, -1)).transpose(1, 2)


# writing ------------------------------------------------------------------------------------------


def check(model: Any) -> None:
    """Raises :class:`UserError` for a model with more than the graphs here read."""
    encoder, decoder = model.encoder, model.decoder
    parts = encoder, decoder, *getattr(decoder, "layers", ())
    refused = []
    if getattr(decoder, "variant", "pointer") != "pointer" and copies(model):
        refused = ["--gate-variant paper (train pointer)"]
    elif getattr(decoder, "bias", None) is not None:
        refused = ["the parts of a T5"]
    elif not isinstance(decoder, TransformerDecoder):
        refused = [type(part).__name__ for part in parts if type(part) not in OF_FAIRSEQ]
        names = [name for name in REFUSED if not refused and getattr(decoder.cfg, name, None)]
        refused += map(flag, names)
    if refused:
        raise UserError(
            f"a model with {refused[0]} cannot be exported; lev_runtime/README.md lists what can"
        )


def write_graphs(model: Any, folder: Path, weights: WeightFile, int8: bool) -> dict[str, Any]:
    """Writes the graphs into a folder; returns what the runtime has to know of them."""
    model = traceable(model)
    decoder, gated = model.decoder, copies(model)
    if hasattr(decoder, "blocks"):
        parts: Any = (Encoder, Reader)
        of_source = [list(block.source_layers()) for block in decoder.blocks]
        attention = decoder.blocks[0].cross_attention
        heads, width = attention.heads, attention.output.in_features // attention.heads
    else:
        parts = (StockEncoder, StockReader)
        of_source = [["cross"] for _ in decoder.layers]
        heads, width = decoder.layers[0].nh, decoder.layers[0].head_dim
    names = [[f"{name}_{number}" for name in each] for number, each in enumerate(of_source)]
    past = pair_names(f"past_{number}" for number in range(len(names)))
    copied = dict.fromkeys(COPIED if gated else (), numbers("batch", "source"))
    pairs = dict.fromkeys(pair_names(chain(*names)), floats("batch", heads, "source", width))
    given = copied | pairs

    def ends(*dims: str | int) -> Value:
        """Returns an example of </s> everywhere."""
        return torch.full_like(numbers(*dims)[0], decoder.dictionary.eos()), dims

    mask, dims = masks("batch", "source")
    tokens = ends(*dims)[0].masked_fill(mask == 0, model.encoder.dictionary.pad())
    encoder = trace(
        parts[0](model),
        {"tokens": (tokens, dims)},
        given,
        folder / "encoder.onnx",
        weights,
        int8,
    )
    set_kernels(decoder, TracedKernels(fused=True))
    one = {"symbols": ends("prefixes"), "place": (torch.tensor([2]), [1])}
    block = {"symbols": ends("prefixes", "block"), "place": numbers("prefixes", "block")}
    block |= {"seen": masks("prefixes", "block", "keys")}
    rows = {name: (torch.tensor([0, 1, 1]), ["prefixes"]) for name in ("units", "parents")}
    read = rows | given | {"source_mask": masks("batch", "source")}
    read |= dict.fromkeys(past, floats("rows", heads, "past", width))
    logs = ["logs", *(f"{name}_next" for name in past)]
    graphs = {"encoder": encoder}
    reader = parts[1](decoder)
    for name, symbols in (("reader", one), ("block_reader", block)):
        path = folder / f"{name}.onnx"
        graphs[name] = trace(reader, symbols | read, logs, path, weights, int8)
    return graphs | {"blocks": len(names), "heads": heads, "head_width": width}


def pair_names(layers: Any) -> list[str]:
    """Returns the names of keys and values of layers."""
    return [f"{kind}_{layer}" for layer in layers for kind in KINDS]
