"""Checkpoints of fairseq's ``levenshtein_transformer``: their options and parameters as ours.

Parameters of its autoregressive ``transformer`` are taken as well (``--finetune-from-model``): the
blocks are the same, and a training from a teacher's is far ahead of one from random ones.

The stock model reuses ``<unk>`` as placeholder. Ours has a symbol of its own, whose embedding
is made a copy of the unknown symbol's: the network then computes what it was trained to compute,
and a real unknown word is no longer taken for a placeholder.
"""

import re
from collections.abc import Collection

import torch
from torch import Tensor

from ...errors import UserError
from .config import STACKS, LevenshteinEditorConfig
from .task import MODEL_ADAPTERS

STOCK_ARCHS = (
    "levenshtein_transformer",
    "levenshtein_transformer_wmt_en_de",
    "levenshtein_transformer_vaswani_wmt_en_de_big",
    "levenshtein_transformer_wmt_en_de_big",
)
_SAME_NAME = (
    "encoder_embed_dim",
    "encoder_ffn_embed_dim",
    "encoder_layers",
    "encoder_attention_heads",
    "encoder_normalize_before",
    "encoder_learned_pos",
    "decoder_embed_dim",
    "decoder_ffn_embed_dim",
    "decoder_layers",
    "decoder_attention_heads",
    "decoder_normalize_before",
    "decoder_learned_pos",
    "dropout",
    "attention_dropout",
    "activation_dropout",
    "activation_fn",
    "share_all_embeddings",
    "max_source_positions",
    "max_target_positions",
)
_UNSUPPORTED = (
    "no_token_positional_embeddings",
    "no_scale_embedding",
    "layernorm_embedding",
    "adaptive_input",
    "adaptive_softmax_cutoff",
    "merge_src_tgt_embed",
    "no_cross_attention",
    "cross_self_attention",
    "no_decoder_final_norm",
)
_ACTIVATIONS = ("relu", "gelu")


def editor_config(stock: object) -> LevenshteinEditorConfig:
    """Our options for a stock model's (a namespace or config as its checkpoint holds it).

    Raises:
        UserError: the stock model was trained with an option that ours does not have.
    """
    for name in _UNSUPPORTED:
        if getattr(stock, name, None):
            flag = "--" + name.replace("_", "-")
            raise UserError(f"the stock checkpoint was trained with {flag}, which is not supported")
    cfg = LevenshteinEditorConfig()
    for name in _SAME_NAME:
        value = getattr(stock, name, None)
        setattr(cfg, name, value if value is not None else _default(cfg, name))
    if cfg.activation_fn not in _ACTIVATIONS:
        raise UserError(
            f"the stock checkpoint was trained with --activation-fn {cfg.activation_fn}, which is "
            "not supported"
        )
    cfg.separate_output_embed = not (
        cfg.share_all_embeddings or getattr(stock, "share_decoder_input_output_embed", False)
    )
    deletion_apart = getattr(stock, "no_share_discriminator", False)
    placeholder_apart = getattr(stock, "no_share_maskpredictor", False)
    if getattr(stock, "share_discriminator_maskpredictor", False):
        cfg.weight_sharing = "plh-del"
    else:
        cfg.weight_sharing = {
            (False, False): "all",
            (True, False): "plh-tok",
            (False, True): "tok-del",
            (True, True): "none",
        }[bool(deletion_apart), bool(placeholder_apart)]
    cfg.early_exit = _early_exit(stock, cfg.decoder_layers, cfg.weight_sharing)
    cfg._name = "levenshtein_editor"
    return cfg


def _default(cfg: LevenshteinEditorConfig, name: str) -> object:
    return 1024 if name.startswith("max_") else getattr(cfg, name)


def _early_exit(stock: object, layers: int, sharing: str) -> str:
    """Stock exits may lie beyond the last layer of the tokens' stack, where they mean all layers.

    A stack of its own has as many layers as its exit says.
    """
    given = getattr(stock, "early_exit", "6,6,6")
    deletion, placeholder, token = (int(part) for part in given.split(","))
    if token < layers:
        raise UserError(
            f"the stock checkpoint leaves the decoder early for tokens (--early-exit {given}, "
            f"{layers} layers), which is not supported"
        )
    if sharing == "plh-del":  # the stack is as deep as deletion needs it
        placeholder = min(placeholder, deletion)
    depths = zip((deletion, placeholder), STACKS[sharing])
    return ",".join(str(min(d, layers) if stack == "token" else d) for d, stack in depths)


_RENAMES = (
    (r"^(encoder|decoder)\.embed_tokens\.", r"\1_embed."),
    (r"^(encoder|decoder)\.embed_positions\.weight$", r"\1_positions.weight"),
    (r"^(encoder|decoder)\.layer_norm\.", r"\1_norm."),
    (r"^decoder\.output_projection\.", "token_head."),
    (r"^decoder\.embed_mask_ins\.", "placeholder_head."),
    (r"^decoder\.embed_word_del\.", "deletion_head."),
    (r"^encoder\.layers\.", "encoder.blocks."),
    (r"^decoder\.layers\.", "decoder.token.blocks."),
    (r"^decoder\.layers_msk\.", "decoder.placeholder.blocks."),
    (r"^decoder\.layers_del\.", "decoder.deletion.blocks."),
    (r"\.self_attn_layer_norm\.", ".self_norm."),
    (r"\.encoder_attn_layer_norm\.", ".cross_norm."),
    (r"\.final_layer_norm\.", ".feed_norm."),
    (r"\.self_attn\.out_proj\.", ".self_attention.output."),
    (r"\.encoder_attn\.out_proj\.", ".cross_attention.output."),
    (r"\.encoder_attn\.q_proj\.", ".cross_attention.query."),
)
_IGNORED = re.compile(r"(\.version|_float_tensor|embed_positions\.(?!weight$).*)$")


def is_stock(names: Collection[str]) -> bool:
    """Whether parameters are those of fairseq's levenshtein_transformer or transformer."""
    return "decoder.embed_tokens.weight" in names


def is_transformer(names: Collection[str]) -> bool:
    """Whether they are those of fairseq's transformer, which has no heads for editing."""
    return is_stock(names) and "decoder.embed_word_del.weight" not in names


def check_norms(theirs: Collection[str], ours: Collection[str]) -> None:
    """Refuses the parameters of blocks whose norms stand elsewhere.

    Args:
        theirs, ours: names of converted parameters, and of the model's own.

    Raises:
        UserError: one has its norms before the blocks and the other behind them.
    """
    for side in ("encoder", "decoder"):
        flag, last = f"--{side}-normalize-before", f"{side}_norm.weight"
        if last in theirs and last not in ours:
            raise UserError(f"the checkpoint's {side} is pre-norm; give {flag} to be so too")
        if last in ours and last not in theirs:
            raise UserError(
                f"the checkpoint's {side} is post-norm, and this model's pre-norm; give --arch "
                f"levenshtein_editor without {flag}, and the checkpoint's sizes"
            )


def convert_parameters(state: dict[str, Tensor], unk: int) -> dict[str, Tensor]:
    """Stock parameters under our names, with a row for the placeholder.

    Args:
        state: the stock model's parameters; left as they are.
        unk: index of the unknown symbol, whose rows the placeholder copies.
    """
    converted: dict[str, Tensor] = {}
    repeated = _repeated(state)
    for name, value in state.items():
        if _IGNORED.search(name) or re.search(r"\.(k|v)_proj\.", name) or name in repeated:
            continue
        if name.endswith((".self_attn.q_proj.weight", ".self_attn.q_proj.bias")):
            parts = [state[name.replace("q_proj", f"{p}_proj")] for p in "qkv"]
            converted[_renamed(name).replace(".self_attn.q_proj.", ".self_attention.inputs.")] = (
                torch.cat(parts)
            )
            continue
        if ".encoder_attn.q_proj." in name:
            parts = [state[name.replace("q_proj", f"{p}_proj")] for p in "kv"]
            inputs = name.replace(".encoder_attn.q_proj.", ".cross_attention.inputs.")
            converted[_renamed(inputs)] = torch.cat(parts)
        converted[_renamed(name)] = value
    for name in ("encoder_embed.weight", "decoder_embed.weight", "token_head.weight"):
        if name in converted:
            table = converted[name]
            converted[name] = torch.cat([table, table[unk : unk + 1]])
    return converted


def _repeated(state: dict[str, Tensor]) -> set[str]:
    """Parameters that the stock model shares and its checkpoint lists under both names."""
    repeated: set[str] = set()
    for name, first in (
        ("decoder.output_projection.", "decoder.embed_tokens."),
        ("decoder.layers_msk.", "decoder.layers_del."),
    ):
        ones = {key: key.replace(name, first) for key in state if key.startswith(name)}
        if all(one in state and torch.equal(state[key], state[one]) for key, one in ones.items()):
            repeated.update(ones)
    return repeated


def _renamed(name: str) -> str:
    for pattern, replacement in _RENAMES:
        name = re.sub(pattern, replacement, name)
    return name


MODEL_ADAPTERS.update({name: editor_config for name in STOCK_ARCHS})
