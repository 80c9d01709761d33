"""fairseq's own Transformer in the parts of a PBD that has none of PBD's ideas.

:mod:`.pbd` writes both: a Transformer reads no source ahead, shares no block between its sides and
marks no segment. What differs is how parameters are called, and which are in one matrix.
"""

from types import SimpleNamespace as Parts
from typing import Any

import torch
from fairseq.models.transformer import (
    TransformerDecoder,
    TransformerDecoderBase,
    TransformerEncoder,
    TransformerEncoderBase,
    TransformerModelBase,
)
from fairseq.modules.transformer_layer import (
    TransformerDecoderLayer,
    TransformerDecoderLayerBase,
)
from torch import nn

from lev_runtime.errors import UserError

from ..fairseq_patches.checkpoint_files import flag
from ..systems.transformer_concat.model import ConcatEncoder, PartPositions

#: the classes of fairseq's Transformer, by either configuration, and of transformer_concat
_KNOWN = {
    TransformerEncoder,
    TransformerEncoderBase,
    ConcatEncoder,
    TransformerDecoder,
    TransformerDecoderBase,
    TransformerDecoderLayer,
    TransformerDecoderLayerBase,
}
#: options that add what :mod:`.pbd` does not write, and modules that others add, by these
_OPTIONS = (
    "adaptive_softmax_cutoff cross_self_attention no_cross_attention base_layers "
    "scale_attn scale_fc scale_heads scale_resids"
).split()
_MODULES = {
    "quant_noise": "quant_noise_pq",
    "project_in_dim": "decoder_embed_dim",
    "project_out_dim": "decoder_output_dim",
}
_ACTIVATIONS = "relu", "gelu", "gelu_fast", "gelu_accurate", "tanh"


def parts_of(model: TransformerModelBase) -> Parts:
    """Returns ``encoder`` and ``decoder`` as :func:`.pbd.write_graphs` reads them.

    Raises:
        UserError: the model has more than fairseq's Transformer has by itself.
    """
    _refuse_others(model.encoder, model.decoder)
    return Parts(encoder=_encoder(model.encoder), decoder=_decoder(model.decoder))


def _refuse_others(encoder: Any, decoder: Any) -> None:
    parts = encoder, decoder, *getattr(decoder, "layers", ())
    refused = [type(part).__name__ for part in parts if type(part) not in _KNOWN]
    if not refused:
        names = [name for name in _OPTIONS if getattr(decoder.cfg, name, None)]
        names += [option for name, option in _MODULES.items() if getattr(decoder, name)]
        refused = [flag(name) for name in names]
        activation = str(decoder.cfg.activation_fn)
        if activation not in _ACTIVATIONS:
            refused.append(f"{flag('activation_fn')} {activation}")
    if refused:
        raise UserError(
            f"a model with {refused[0]} cannot be exported; lev_runtime/README.md lists what can"
        )


def _encoder(encoder: Any) -> Parts:
    blocks = [_block(layer) for layer in encoder.layers]
    embed, pad = _embedding(encoder), encoder.padding_idx
    norm = encoder.layer_norm
    return Parts(embed=embed, pad=pad, rotary=None, blocks=blocks, norm=norm, copies_output=False)


def _decoder(decoder: Any) -> Parts:
    blocks = []
    for layer in decoder.layers:
        block = _block(layer)
        cross = _attention(layer.encoder_attn, cross=True)
        norm = layer.encoder_attn_layer_norm
        blocks.append(Parts(block=block, cross_attention=cross, cross_norm=norm, future=False))
    output = Parts(table=decoder.output_projection, scale=1.0, bias=None)
    embed, pad = _embedding(decoder), decoder.padding_idx
    norm = decoder.layer_norm
    return Parts(embed=embed, pad=pad, rotary=None, blocks=blocks, norm=norm, output=output)


def _block(layer: Any) -> Parts:
    return Parts(
        pre_norm=layer.normalize_before,
        self_attention=_attention(layer.self_attn),
        self_norm=layer.self_attn_layer_norm,
        fc1=layer.fc1,
        fc2=layer.fc2,
        activation=layer.activation_fn,
        feed_norm=layer.final_layer_norm,
    )


def _attention(stock: Any, cross: bool = False) -> Parts:
    """An attention whose projections of one input are one matrix."""
    projections = [stock.k_proj, stock.v_proj]
    if not cross:
        projections.insert(0, stock.q_proj)
    weight = torch.cat([layer.weight for layer in projections])
    bias = torch.cat([layer.bias for layer in projections])
    return Parts(
        heads=stock.num_heads,
        scale=None,
        query=stock.q_proj,
        inputs=Parts(weight=weight, bias=bias),
        output=stock.out_proj,
    )


def _embedding(side: Any) -> Parts:
    """The embedding of a side, as :class:`..nn.embedding.TokenEmbedding` has it."""
    positions, draft = side.embed_positions, {}
    if isinstance(positions, PartPositions):
        draft = {"language": positions.language.weight, "eos": positions.eos}
        positions = positions.positions
    first = side.padding_idx + 1
    rows = first + side.max_positions()
    if positions is None:
        weight = torch.zeros(rows, 1)
    elif isinstance(positions, nn.Embedding):
        weight = positions.weight
    else:
        width, pad = positions.embedding_dim, positions.padding_idx
        weight = positions.get_embedding(rows, width, pad)
    return Parts(
        table=side.embed_tokens,
        scale=side.embed_scale,
        positions=Parts(weight=weight, longest=len(weight) - first, **draft),
        norm=side.layernorm_embedding,
    )
