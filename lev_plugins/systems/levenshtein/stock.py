"""Converts options and parameters of fairseq's ``levenshtein_transformer`` to ours.

Also the parameters of its autoregressive ``transformer``, or of a ``pbd_transformer``, for
``--finetune-from-model``.

The stock model reuses ``<unk>`` as placeholder. Ours has a symbol of its own, whose embedding is
made a copy of the unknown symbol's, so the network computes what it was trained to compute.
"""

import logging
import re

import torch
from torch import Tensor

from lev_runtime.errors import UserError, flag
from lev_runtime.refine.policy import HEADS

from ...nn.transformer import ACTIVATIONS
from .config import LevenshteinEditorConfig, stack_of

logger = logging.getLogger(__name__)

# options that have the same names here, of both sides and of the model
_SIZES = "embed_dim ffn_embed_dim layers attention_heads normalize_before learned_pos"
_OTHERS = "dropout attention_dropout activation_dropout activation_fn share_all_embeddings"
COPY = "source_copy"  # of a model's parameters: whether placeholders copy from the source
#: parameters that a left-to-right transformer lacks; its output layer is the token head
NEW = [COPY, *(f"{head}_head.weight" for head in HEADS if head != "token")]
#: what ours does not have, and no parameter would show. fairseq's model with decoder_layerdrop has
#: read and trained none of the decoder's layers: a slice of LayerDropModuleList is empty
_UNSUPPORTED = (
    "no_scale_embedding no_token_positional_embeddings cross_self_attention decoder_layerdrop"
).split()


def editor_config(stock: object) -> LevenshteinEditorConfig:
    """Converts a stock model's options, as its checkpoint holds them; refuses what ours lacks."""
    refused = [flag(name) for name in _UNSUPPORTED if getattr(stock, name, None)]
    activation = getattr(stock, "activation_fn", "relu")
    if activation not in ACTIVATIONS:
        refused.append(f"--activation-fn {activation}")
    if refused:
        fault = f"was trained with {refused[0]}, which is not supported"
        raise UserError(f"the stock checkpoint {fault}")
    cfg = LevenshteinEditorConfig(max_source_positions=1024, max_target_positions=1024)
    sizes = [f"{side}_{name}" for side in ("encoder", "decoder") for name in _SIZES.split()]
    for name in (*sizes, *_OTHERS.split(), "max_source_positions", "max_target_positions"):
        if (value := getattr(stock, name, None)) is not None:
            setattr(cfg, name, value)
    cfg.separate_output_embed = not (
        cfg.share_all_embeddings or getattr(stock, "share_decoder_input_output_embed", False)
    )
    deletion = getattr(stock, "no_share_discriminator", False)
    placeholder = getattr(stock, "no_share_maskpredictor", False)
    ways = [["all", "tok-del"], ["plh-tok", "none"]]
    cfg.weight_sharing = ways[bool(deletion)][bool(placeholder)]
    deletion_exit, placeholder_exit, token_exit = (
        int(part) for part in getattr(stock, "early_exit", "6,6,6").split(",")
    )
    if getattr(stock, "share_discriminator_maskpredictor", False):
        cfg.weight_sharing = "plh-del"
        # the stack is as deep as deletion needs it
        placeholder_exit = min(deletion_exit, placeholder_exit)
    exits = {"deletion": deletion_exit, "placeholder": placeholder_exit, "token": token_exit}
    for head, depth in exits.items():
        # fairseq takes an exit beyond the tokens' last layer for that layer
        if stack_of(head, str(cfg.weight_sharing)) == "token":
            exits[head] = min(depth, cfg.decoder_layers)
    cfg.early_exit = ",".join(map(str, exits.values()))
    cfg._name = "levenshtein_editor"
    return cfg


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
    # of a pbd_transformer, whose blocks are ours
    (r"^(encoder|decoder)\.embed\.table\.", r"\1_embed."),
    (r"^(encoder|decoder)\.embed\.positions\.", r"\1_positions."),
    (r"^(encoder|decoder)\.norm\.", r"\1_norm."),
    (r"^decoder\.output\.table\.", "token_head."),
    (r"^decoder\.blocks\.(\d+)\.(block\.)?", r"decoder.token.blocks.\1."),
    (r"\.self_attn_layer_norm\.", ".self_norm."),
    (r"\.encoder_attn_layer_norm\.", ".cross_norm."),
    (r"\.final_layer_norm\.", ".feed_norm."),
    (r"\.self_attn\.out_proj\.", ".self_attention.output."),
    (r"\.encoder_attn\.out_proj\.", ".cross_attention.output."),
    (r"\.encoder_attn\.q_proj\.", ".cross_attention.query."),
    (r"\.self_attn\.q_proj\.", ".self_attention.inputs."),
    (r"\.encoder_attn\.k_proj\.", ".cross_attention.inputs."),
)
# projections that are one matrix here, by the first of them
_JOINED = {".self_attn.q_proj.": "qkv", ".encoder_attn.k_proj.": "kv"}
_IGNORED = re.compile(
    r"(\.version|_float_tensor|embed_positions\.(?!weight$).*)$"
    r"|\.self_attn\.[kv]_proj\.|\.encoder_attn\.v_proj\."
)


def adopt(state: dict[str, Tensor], own: dict[str, Tensor], unk: int) -> None:
    """Puts another model's parameters under our names, in place; ours stay as they are.

    What a transformer lacks, stacks like the tokens' and heads, is as in a new model's ``own``.
    """
    if not {"decoder.embed_tokens.weight", "encoder.embed.table.weight"} & state.keys():
        return
    converted = convert_parameters(state, unk)
    if "deletion_head.weight" not in converted:
        for name, value in own.items():
            alike = re.sub(r"^decoder\.\w+\.", "decoder.token.", name)
            if alike in converted:
                converted.setdefault(name, converted[alike])
            elif name in NEW:
                converted[name] = value
        logger.info("begins with a transformer's parameters; its heads for editing are new")
    state.clear()
    state.update(converted)


def check_symbols(state: dict[str, Tensor], own: dict[str, Tensor]) -> None:
    """Refuses embeddings of other dictionaries than the model's ``own``."""
    for table in ("encoder_embed", "decoder_embed"):
        here = own[f"{table}.weight"]
        saved = state.get(f"{table}.weight", here)
        if len(saved) != len(here):
            raise UserError(
                f"the checkpoint has {len(saved)} symbols in {table}, the dictionary "
                f"{len(here)}; give the data folder that it was trained with"
            )


def convert_parameters(state: dict[str, Tensor], unk: int) -> dict[str, Tensor]:
    """Puts parameters under our names; the placeholder gets ``unk``'s row as well."""
    converted: dict[str, Tensor] = {}
    repeated = _repeated(state)
    for name, value in state.items():
        if _IGNORED.search(name) or name in repeated:
            continue
        renamed = name
        for pattern, replacement in _RENAMES:
            renamed = re.sub(pattern, replacement, renamed)
        converted[renamed] = value
        for projection, letters in _JOINED.items():
            if projection in name:
                first = f"{letters[0]}_proj"
                parts = [state[name.replace(first, f"{letter}_proj")] for letter in letters]
                converted[renamed] = torch.cat(parts)
    for name in ("encoder_embed.weight", "decoder_embed.weight", "token_head.weight"):
        if name in converted:
            table = converted[name]
            converted[name] = torch.cat([table, table[unk : unk + 1]])
    if "encoder_embed.weight" in converted:  # a table that both sides share may have one name
        converted.setdefault("decoder_embed.weight", converted["encoder_embed.weight"])
    return converted


def _repeated(state: dict[str, Tensor]) -> set[str]:
    """Returns the parameters that the stock model shares and its checkpoint lists under two names.

    They are those of a module whose every parameter equals another's.
    """
    repeated: set[str] = set()
    for module, original in (
        ("decoder.output_projection.", "decoder.embed_tokens."),
        ("decoder.layers_msk.", "decoder.layers_del."),
    ):
        others = {
            name: state.get(name.replace(module, original))
            for name in state
            if name.startswith(module)
        }
        if all(other is not None and other.equal(state[name]) for name, other in others.items()):
            repeated.update(others)
    return repeated
