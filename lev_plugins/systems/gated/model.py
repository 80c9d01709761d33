"""The model: a backbone between the mask gate and the decoder's gates (paper, §3)."""

import json
import logging
import os
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from fairseq.data import Dictionary
from fairseq.models import register_model, register_model_architecture
from fairseq.tasks import FairseqTask
from omegaconf import DictConfig
from torch import nn

from lev_runtime.errors import UserError

from ...fairseq_patches.checkpoint_files import origin
from ...fairseq_patches.hooks import Start, TrainingHooks
from ...nn.backbone import Backbone, transformer
from ...nn.backends import optimize
from ...nn.seq2seq.config import check_resumed as check_shapeless
from ...nn.seq2seq.config import check_shared, set_character_size, transformer_size
from ...nn.seq2seq.model import Seq2SeqModel
from ...optim.backbone_adam import mark_backbone
from ...options import set_defaults
from ...pretrained import Pretrained, build_backbone
from ...pretrained.bert_bart import DROPOUT_NAMES
from .config import GatedTransformerConfig, gate_names
from .decoder import GatedDecoder
from .encoder import GatedEncoder
from .gates import ENCODER_GATE, MaskEmbedding, MaskGate, chosen_gates

logger = logging.getLogger(__name__)

MODEL = "gated_transformer"
_GATES = re.compile(r"encoder\.mask_gate\.|decoder\.(gates|mask_vector)\.")
MASK_SYMBOLS = ("[MASK]", "<mask>", "<extra_id_0>", "▁<extra_id_0>")


@register_model(MODEL, dataclass=GatedTransformerConfig)
class GatedTransformerModel(Seq2SeqModel, TrainingHooks):
    """gated-Trans, for the tasks ``noisy_translation`` and fairseq's ``translation``.

    With ``--gates none`` it is the backbone itself, fairseq's own Transformer where none is given.
    """

    @classmethod
    def resolve_config(cls, cfg: GatedTransformerConfig) -> None:
        """Notes the sizes of ``--backbone`` for the checkpoints, which do not need it any more.

        Raises:
            UserError: no backbone there.
        """
        if cfg.backbone:
            cfg.backbone = os.path.abspath(cfg.backbone)
            cfg.backbone_plan = Pretrained(cfg.backbone).description()
            logger.info("sizes are those of %s: %s", cfg.backbone, cfg.backbone_plan)

    @classmethod
    def check_resumed(cls, cfg: GatedTransformerConfig, stored: DictConfig, path: str) -> None:
        """Checks, before a training resumes, that its gates are those of the checkpoint.

        Raises:
            UserError: they are not those of ``stored``. No parameter shows the variant.
        """
        if getattr(stored, "gates", None) is None:  # another model's, which fails by itself
            return
        stored_gates = chosen_gates(stored.gates)
        check_shapeless(cfg, stored, path)
        same_gates = chosen_gates(cfg.gates) == stored_gates
        same_variant = str(cfg.gate_variant) == str(stored.gate_variant)
        if not same_gates or (stored_gates and not same_variant):
            raise UserError(
                f"{path}: was trained with --gates {','.join(stored_gates) or 'none'} "
                f"--gate-variant {stored.gate_variant!s}: give these options to resume it, "
                "or start other gates from it with --finetune-from-model and another "
                "--save-dir"
            )

    def begin_from(self, start: Start) -> None:
        """Resets other gates before a training begins from another's parameters.

        The decoder's gates mean something else in each variant, the mask gate does not. The other's
        parameters are changed in place.
        """
        stored, state = start.state["cfg"]["model"], start.state["model"]
        gates = getattr(stored, "gates", None)
        if gates is None or not start.finetuned:  # another model's fails by itself
            return
        parameters = self.state_dict()
        own = {name: parameters[name] for name in parameters if _GATES.match(name)}
        same_variant = str(stored.gate_variant) == self.decoder.variant
        for name in [name for name in state if _GATES.match(name)]:
            means_the_same = same_variant or name.startswith("encoder.")
            if name not in own or not means_the_same:
                del state[name]
        fresh = {name: parameter for name, parameter in own.items() if name not in state}
        state.update(fresh)
        if fresh:
            message = "%s: was trained with --gates %s --gate-variant %s; start at random: %s"
            logger.info(message, start.path, gates, stored.gate_variant, ", ".join(fresh))

    @classmethod
    def build_model(cls, cfg: GatedTransformerConfig, task: FairseqTask) -> "GatedTransformerModel":
        """Builds it for a task's dictionaries.

        Raises:
            UserError: options that contradict each other, or one table for two dictionaries.
        """
        source, target = task.source_dictionary, task.target_dictionary
        check_shared(cfg, source, target)
        backbone = make_backbone(cfg, source, target)
        model = optimize(cls(*build(cfg, backbone, source, target)))
        if cfg.backbone or cfg.backbone_plan:
            mark_backbone(loaded_parameters(backbone))
        return model


def make_backbone(cfg: GatedTransformerConfig, source: Dictionary, target: Dictionary) -> Backbone:
    """Loads ``--backbone``; or makes what the plan says, or a Transformer, randomly initialised.

    A checkpoint has both directory and plan, and brings the weights: its directory is not read.
    """
    options: dict[str, Any] = {name: getattr(cfg, name) for name in DROPOUT_NAMES}
    options["tie"] = cfg.tie_backbone
    if cfg.backbone and origin() is None:
        return Pretrained(cfg.backbone).backbone(source, target, **options)
    if cfg.backbone_plan:
        return build_backbone(cfg.backbone_plan, source, target, **options)
    if cfg.tie_backbone:
        raise UserError("--tie-backbone needs a BERT: add --backbone FOLDER")
    return transformer(
        transformer_size(cfg),
        len(source),
        len(target),
        source.pad(),
        cfg.share_all_embeddings,
        cfg.share_decoder_input_output_embed,
    )


def loaded_parameters(backbone: Backbone) -> Iterator[nn.Parameter]:
    """Yields the parameters of a backbone that a pre-trained model has too."""
    new = {id(parameter) for module in backbone.new for parameter in module.parameters()}
    modules = [backbone.source, backbone.encoder, backbone.target, *backbone.blocks]
    for module in (*modules, backbone.norm, backbone.output, backbone.bias):
        if module is None:
            continue
        for parameter in module.parameters():
            if id(parameter) not in new:
                yield parameter


def mask_symbol(dictionary: Dictionary) -> int | None:
    """Returns the index of the symbol for a masked token, None where there is none."""
    for symbol in MASK_SYMBOLS:
        if symbol in dictionary:
            return int(dictionary.index(symbol))
    return None


def build(
    cfg: GatedTransformerConfig, backbone: Backbone, source: Dictionary, target: Dictionary
) -> tuple[GatedEncoder, GatedDecoder]:
    """Builds encoder and decoder around a backbone, with the gates that are on."""
    gates = gate_names(cfg)
    table = backbone.source.table
    mask = mask_symbol(source) if backbone.mask is None else backbone.mask
    mask_embedding = MaskEmbedding(table, mask, backbone.source.scale)
    mask_gate = None
    if ENCODER_GATE in gates:
        mask_gate = MaskGate(table.embedding_dim, mask_embedding)
    source_limit, target_limit = cfg.max_source_positions, cfg.max_target_positions
    if backbone.max_source:
        source_limit = min(source_limit, backbone.max_source)
    if backbone.max_target:
        target_limit = min(target_limit, backbone.max_target)
    encoder = GatedEncoder(source, backbone.source, backbone.encoder, mask_gate, source_limit)
    decoder = GatedDecoder(
        target,
        source,
        backbone,
        names=[name for name in gates if name != ENCODER_GATE],
        variant=str(cfg.gate_variant),
        copy_bias=cfg.copy_bias,
        vector=mask_embedding,
        limit=target_limit,
    )
    return encoder, decoder


_char = partial(set_character_size, decoder_layers=2)
register_model_architecture(MODEL, "gated_transformer_char")(_char)

#: name → kind, mask, sizes of a pre-trained model (paper, §4.2), randomly initialised unless
#: ``--backbone`` brings its own. MiniLM: a small BERT that PyPI has (all-MiniLM-L6-v2)
BASE = {"dim": 768, "hidden": 3072}
BERT = {"heads": 12, "positions": 512, "activation": "gelu", "eps": 1e-12}
BART = {"heads": 12, "positions": 1024, "activation": "gelu", "bias": True}
T5 = {"heads": 12, "head_dim": 64, "encoder_layers": 12, "decoder_layers": 12}
PLANS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "bert_base": ("bert", "[MASK]", {**BERT, **BASE, "layers": 12, "head": True}),
    "bert_minilm": ("bert", "[MASK]", {**BERT, "dim": 384, "hidden": 1536, "layers": 6}),
    "bart_base": ("bart", "<mask>", {**BART, **BASE, "layers": 6}),
    "t5_base": ("t5", "<extra_id_0>", {**T5, "dim": 768, "hidden": 2048}),
}
for _name, (_kind, _mask, _sizes) in PLANS.items():
    _plan = json.dumps({"kind": _kind, "mask": _mask, "plan": _sizes})
    _set = partial(set_defaults, backbone_plan=_plan, dropout=0.1, attention_dropout=0.1)
    register_model_architecture(MODEL, f"gated_{_name}")(_set)
