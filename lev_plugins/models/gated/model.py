"""The model: a backbone between the mask gate and the decoder's gates (paper, §3)."""

from typing import Any, Dict, Optional, Tuple

from fairseq.data import Dictionary
from fairseq.models import FairseqEncoderDecoderModel, register_model
from torch import Tensor

from ...errors import UserError
from ...modules.backbone import Backbone, transformer
from .config import GatedTransformerConfig, gate_names, transformer_size
from .decoder import GatedDecoder
from .encoder import GatedEncoder
from .gates import ENCODER_GATE, MaskGate, MaskVector

MODEL = "gated_transformer"
MASK_SYMBOLS = ("[MASK]", "<mask>", "<extra_id_0>")


@register_model(MODEL, dataclass=GatedTransformerConfig)
class GatedTransformerModel(FairseqEncoderDecoderModel):
    """gated-Trans, for the tasks ``noisy_translation`` and fairseq's ``translation``.

    With ``--gates none`` it is the backbone itself: fairseq's own Transformer, where none is
    given.
    """

    @classmethod
    def build_model(cls, cfg: GatedTransformerConfig, task: Any) -> "GatedTransformerModel":
        """Builds it for a task's dictionaries.

        Raises:
            UserError: options that contradict each other, or one table for two dictionaries.
        """
        source, target = task.source_dictionary, task.target_dictionary
        if cfg.share_all_embeddings and source != target:
            raise UserError(
                "--share-all-embeddings needs one dictionary for both sides; "
                "preprocess with --joined-dictionary or leave the option out"
            )
        backbone = build_backbone(cfg, source, target)
        return cls(*build(cfg, backbone, source, target))

    def forward(
        self,
        src_tokens: Tensor,
        src_lengths: Optional[Tensor],
        prev_output_tokens: Tensor,
        **options: Any,
    ) -> Tuple[Tensor, Dict[str, Any]]:
        """Logits of the next token after every prefix of the target: B × T × V.

        Args:
            src_tokens: B × S, padded on either side.
            src_lengths: not needed.
            prev_output_tokens: B × T, </s> and the target without its last token.
            **options: the decoder's.
        """
        encoder_out = self.encoder(src_tokens, src_lengths)
        return self.decoder(prev_output_tokens, encoder_out=encoder_out, **options)


def build_backbone(cfg: GatedTransformerConfig, source: Dictionary, target: Dictionary) -> Backbone:
    """A Transformer drawn at random, or what ``--backbone`` holds."""
    return transformer(
        transformer_size(cfg),
        len(source),
        len(target),
        source.pad(),
        cfg.share_all_embeddings,
        cfg.share_decoder_input_output_embed,
    )


def mask_symbol(dictionary: Dictionary) -> Optional[int]:
    """Index of the symbol that stands for a masked token, None where there is none."""
    for symbol in MASK_SYMBOLS:
        if symbol in dictionary:
            return int(dictionary.index(symbol))
    return None


def build(
    cfg: GatedTransformerConfig, backbone: Backbone, source: Dictionary, target: Dictionary
) -> Tuple[GatedEncoder, GatedDecoder]:
    """Encoder and decoder around a backbone, with the gates that are on."""
    mask = mask_symbol(target)
    names = gate_names(cfg, mask)
    table = backbone.source.table
    vector = MaskVector(table, mask_symbol(source), backbone.source.scale)
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
