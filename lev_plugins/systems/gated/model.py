"""The model: a backbone between the mask gate and the decoder's gates (paper, §3)."""

import logging
import os
import re
from collections.abc import Iterator
from typing import Any

from fairseq.data import Dictionary
from fairseq.models import register_model
from fairseq.tasks import FairseqTask
from omegaconf import DictConfig
from torch import Tensor, nn

from ...errors import UserError
from ...fairseq_patches import origin
from ...nn.backbone import Backbone, transformer
from ...nn.seq2seq import Seq2SeqModel
from ...nn.seq2seq.config import check_shared, transformer_size
from ...optim.backbone_adam import mark_backbone
from ...pretrained import build_backbone, describe_backbone, load_backbone
from .config import GatedTransformerConfig, gate_names
from .decoder import GatedDecoder
from .encoder import GatedEncoder
from .gates import ENCODER_GATE, MaskGate, MaskVector, chosen_gates

logger = logging.getLogger(__name__)

MODEL = "gated_transformer"
_GATES = re.compile(r"encoder\.mask_gate\.|decoder\.(gates|mask_vector)\.")
MASK_SYMBOLS = ("[MASK]", "<mask>", "<extra_id_0>", "▁<extra_id_0>")


@register_model(MODEL, dataclass=GatedTransformerConfig)
class GatedTransformerModel(Seq2SeqModel):
    """gated-Trans, for the tasks ``noisy_translation`` and fairseq's ``translation``.

    With ``--gates none`` it is the backbone itself: fairseq's own Transformer, where none is
    given.
    """

    @classmethod
    def settle(cls, cfg: GatedTransformerConfig) -> None:
        """Notes the sizes of ``--backbone`` for the checkpoints, which do not need it any more.

        Raises:
            UserError: no backbone there.
        """
        if cfg.backbone:
            cfg.backbone = os.path.abspath(cfg.backbone)
            cfg.backbone_plan = describe_backbone(cfg.backbone)
            said = "sizes of %s, whatever --encoder-layers and the like say: %s"
            logger.info(said, cfg.backbone, cfg.backbone_plan)

    @classmethod
    def check_resumed(cls, cfg: GatedTransformerConfig, stored: DictConfig, path: str) -> None:
        """Called before a training resumes: its gates have to be those of the checkpoint.

        Args:
            stored: the checkpoint's settings of its model.
            path: of the checkpoint.

        Raises:
            UserError: they are not. Of the variant no parameter tells.
        """
        if getattr(stored, "gates", None) is None:  # another model's, which fails by itself
            return
        (ours, variant), (gates, theirs) = (
            (chosen_gates(one.gates), str(one.gate_variant)) for one in (cfg, stored)
        )
        if ours != gates or (gates and variant != theirs):
            raise UserError(
                f"{path}: was trained with --gates {','.join(gates) or 'none'} --gate-variant "
                f"{theirs}: give these options to resume it; other gates begin from it with "
                "--finetune-from-model and another --save-dir"
            )

    def begin_from(self, stored: DictConfig, state: dict[str, Tensor], path: str) -> None:
        """Called before a training begins from another's parameters: other gates begin anew.

        The decoder's gates mean something else in each variant, the mask gate does not.

        Args:
            stored: the other's settings of its model.
            state: its parameters, changed in place.
            path: of its checkpoint.
        """
        own = {name: one for name, one in self.state_dict().items() if _GATES.match(name)}
        gates = getattr(stored, "gates", None)
        if gates is None:  # another model's, which fails by itself
            return
        same = str(stored.gate_variant) == self.decoder.variant
        theirs = [name for name in state if _GATES.match(name)]
        for name in theirs:
            if name not in own or not (same or name.startswith("encoder.")):
                del state[name]
        fresh = {name: one for name, one in own.items() if name not in state}
        state.update(fresh)
        gone = [name for name in theirs if name not in state]
        for names, what in ((fresh, "begin anew"), (gone, "are left out")):
            if names:
                found = sorted({name.rpartition(".")[0] for name in names})
                logger.info(
                    f"{path}: was trained with --gates {gates} --gate-variant "
                    f"{stored.gate_variant}; {what}: {', '.join(found)}"
                )

    @classmethod
    def build_model(cls, cfg: GatedTransformerConfig, task: FairseqTask) -> "GatedTransformerModel":
        """Builds it for a task's dictionaries.

        Raises:
            UserError: options that contradict each other, or one table for two dictionaries.
        """
        source, target = task.source_dictionary, task.target_dictionary
        check_shared(cfg, source, target)
        backbone = make_backbone(cfg, source, target)
        model = cls(*build(cfg, backbone, source, target))
        if cfg.backbone or cfg.backbone_plan:
            mark_backbone(loaded_parameters(backbone))
        return model


def make_backbone(cfg: GatedTransformerConfig, source: Dictionary, target: Dictionary) -> Backbone:
    """What ``--backbone`` holds; or, randomly initialised, what the plan says or a Transformer.

    A checkpoint has both directory and plan, and brings the weights: its directory is not read.
    """
    options: dict[str, Any] = {
        "dropout": cfg.dropout,
        "attention_dropout": cfg.attention_dropout,
        "activation_dropout": cfg.activation_dropout,
        "tie": cfg.tie_backbone,
    }
    if cfg.backbone and origin() is None:
        return load_backbone(cfg.backbone, source, target, **options)
    if cfg.backbone_plan:
        return build_backbone(cfg.backbone_plan, source, target, **options)
    if cfg.tie_backbone:
        raise UserError("--tie-backbone is for a BERT: give --backbone DIRECTORY too")
    return transformer(
        transformer_size(cfg),
        len(source),
        len(target),
        source.pad(),
        cfg.share_all_embeddings,
        cfg.share_decoder_input_output_embed,
    )


def loaded_parameters(backbone: Backbone) -> Iterator[nn.Parameter]:
    """The parameters of a backbone that a pre-trained model has too."""
    new = {id(one) for module in backbone.new for one in module.parameters()}
    parts = [backbone.source, backbone.encoder, backbone.target, *backbone.blocks]
    parts += [part for part in (backbone.norm, backbone.output, backbone.bias) if part is not None]
    for part in parts:
        yield from (one for one in part.parameters() if id(one) not in new)


def mask_symbol(dictionary: Dictionary) -> int | None:
    """Index of the symbol that stands for a masked token, None where there is none."""
    for symbol in MASK_SYMBOLS:
        if symbol in dictionary:
            return int(dictionary.index(symbol))
    return None


def build(
    cfg: GatedTransformerConfig, backbone: Backbone, source: Dictionary, target: Dictionary
) -> tuple[GatedEncoder, GatedDecoder]:
    """Encoder and decoder around a backbone, with the gates that are on."""
    mask = mask_symbol(target)
    names = gate_names(cfg, mask)
    table = backbone.source.table
    row = mask_symbol(source) if backbone.mask is None else backbone.mask
    vector = MaskVector(table, row, backbone.source.scale)
    gate = MaskGate(table.embedding_dim, vector) if ENCODER_GATE in names else None
    limits = cfg.max_source_positions, cfg.max_target_positions
    limits = (
        min(limits[0], backbone.max_source or limits[0]),
        min(limits[1], backbone.max_target or limits[1]),
    )
    encoder = GatedEncoder(source, backbone.source, backbone.encoder, gate, limits[0])
    decoder = GatedDecoder(
        target,
        source,
        backbone,
        [name for name in names if name != ENCODER_GATE],
        str(cfg.gate_variant),
        vector,
        mask,
        limits[1],
    )
    return encoder, decoder
