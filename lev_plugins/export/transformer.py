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

from ..systems.transformer_concat.model import ConcatEncoder, PartPositions

_ENCODERS = TransformerEncoder, TransformerEncoderBase, ConcatEncoder
_DECODERS = TransformerDecoder, TransformerDecoderBase
_LAYERS = TransformerDecoderLayer, TransformerDecoderLayerBase
#: what some of fairseq's Transformers add: an option, and the attribute that is None without it
_ADDED = {
    "--quant-noise-pq": "quant_noise",
    "--adaptive-softmax-cutoff": "adaptive_softmax",
    "--decoder-input-dim": "project_in_dim",
    "--decoder-output-dim": "project_out_dim",
}
_ADDED_TO_LAYERS = {
    "--scale-attn": "attn_ln",
    "--scale-heads": "c_attn",
    "--scale-fc": "ffn_layernorm",
    "--scale-resids": "w_resid",
}


def parts_of(model: TransformerModelBase) -> Parts:
    """Returns ``encoder`` and ``decoder`` as :func:`.pbd.write_graphs` reads them.

    Raises:
        UserError: the model has more than fairseq's Transformer has by itself.
    """
    encoder, decoder = model.encoder, model.decoder
    _refuse_others(encoder, decoder)
    return Parts(encoder=_encoder(encoder), decoder=_decoder(decoder))


def _refuse_others(encoder: Any, decoder: Any) -> None:
    kinds = [(encoder, _ENCODERS), (decoder, _DECODERS)]
    kinds += [(layer, _LAYERS) for layer in decoder.layers]
    for part, known in kinds:
        if type(part) not in known:
            raise UserError(f"a {type(part).__name__} cannot be exported")
    checked = [(_ADDED, part) for part in (encoder, decoder)]
    checked += [(_ADDED_TO_LAYERS, layer) for layer in decoder.layers]
    for options, part in checked:
        for flag, name in options.items():
            if getattr(part, name, None) is not None:
                raise UserError(f"a Transformer with {flag} cannot be exported")
    cfg = decoder.cfg
    if cfg.cross_self_attention or cfg.no_cross_attention:
        raise UserError("a Transformer with other cross-attention cannot be exported")


def _encoder(encoder: Any) -> Parts:
    blocks = [_block(layer) for layer in encoder.layers]
    embed, pad = _embedding(encoder), encoder.padding_idx
    norm = encoder.layer_norm
    return Parts(embed=embed, pad=pad, rotary=None, blocks=blocks, norm=norm, copies_output=False)


def _decoder(decoder: Any) -> Parts:
    blocks = []
    for layer in decoder.layers:
        block = _block(layer)
        own = Parts(attention=block.self_attention, segment=None)
        cross = _attention(layer.encoder_attn, cross=True)
        norm = layer.encoder_attn_layer_norm
        parts = Parts(
            block=block, self_attention=own, cross_attention=cross, cross_norm=norm, future=False
        )
        blocks.append(parts)
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
