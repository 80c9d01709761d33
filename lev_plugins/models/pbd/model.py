"""The model: encoder and decoder, of one set of parameters unless told otherwise (paper, §2.2)."""

from typing import Any, Dict, List, Optional, Tuple

import torch
from fairseq.data import Dictionary
from fairseq.models import FairseqEncoderDecoderModel, register_model
from torch import Tensor, nn

from ...errors import UserError
from ...modules import Positions
from .config import PBDTransformerConfig, check, decoder_depth
from .decoder import PBDDecoder, PBDDecoderBlock
from .encoder import PBDEncoder, transformer_block

MODEL = "pbd_transformer"


@register_model(MODEL, dataclass=PBDTransformerConfig)
class PBDTransformerModel(FairseqEncoderDecoderModel):
    """Pseudo-Bidirectional Decoding, for fairseq's task ``translation``.

    Without future modelling, parameter sharing and segment embeddings it is fairseq's own
    Transformer.
    """

    @classmethod
    def build_model(cls, cfg: PBDTransformerConfig, task: Any) -> "PBDTransformerModel":
        """Builds it for a task's dictionaries.

        Raises:
            UserError: options that contradict each other, or one table for two dictionaries.
        """
        check(cfg)
        source, target = task.source_dictionary, task.target_dictionary
        one_table = cfg.share_all_embeddings or not cfg.no_parameter_sharing
        if one_table and source != target:
            ways = "--share-all-embeddings"
            if not cfg.no_parameter_sharing:
                ways = "parameter sharing; give --no-parameter-sharing"
            raise UserError(
                f"source and target have different dictionaries ({len(source)} and {len(target)} "
                "symbols), but one table for both is wanted: preprocess with "
                f"--joined-dictionary, or do without {ways}"
            )
        encoder, decoder = build(cfg, source, target)
        return cls(encoder, decoder)

    def forward(
        self,
        src_tokens: Tensor,
        src_lengths: Optional[Tensor],
        prev_output_tokens: Tensor,
        **options: Any,
    ) -> Tuple[Tensor, Dict[str, List[Optional[Tensor]]]]:
        """Logits of the next token after every prefix of the target: B × T × V.

        Args:
            src_tokens: B × S, padded on either side.
            src_lengths: not needed.
            prev_output_tokens: B × T, </s> and the target without its last token.
            **options: the decoder's.
        """
        encoder_out = self.encoder(src_tokens, src_lengths)
        return self.decoder(prev_output_tokens, encoder_out=encoder_out, **options)

    def prepare_for_inference_(self, cfg: Any) -> None:
        """Called by fairseq before it decodes.

        Raises:
            UserError: dropout is to be kept, which this model cannot.
        """
        if getattr(cfg.generation, "retain_dropout", False):
            raise UserError(f"--retain-dropout is not supported by {MODEL}; leave it out")
        super().prepare_for_inference_(cfg)

    # checkpoints ------------------------------------------------------------------------------

    def _shared(self) -> List[List[str]]:
        """The names of each parameter that has several."""
        names: Dict[int, List[str]] = {}
        for name, parameter in self.named_parameters(remove_duplicate=False):
            names.setdefault(id(parameter), []).append(name)
        return [group for group in names.values() if len(group) > 1]

    def state_dict(self, *args: Any, prefix: str = "", **options: Any) -> Dict[str, Any]:
        """Every parameter once, under the first of its names.

        fairseq copies each entry to the CPU and to fp32: a checkpoint of a model trained on a GPU
        or in half precision would hold what is shared several times over.
        """
        state = super().state_dict(*args, prefix=prefix, **options)
        for _, *others in self._shared():
            for name in others:
                del state[prefix + name]
        return state

    def upgrade_state_dict_named(self, state_dict: Dict[str, Tensor], name: str) -> None:
        """Checks a checkpoint's embeddings, and gives shared parameters all their names.

        Raises:
            UserError: the embeddings do not fit the dictionaries, or the checkpoint has two
                values for what is shared here.
        """
        for side in ("encoder", "decoder"):
            saved = state_dict.get(f"{side}.embed_tokens.weight")
            here = getattr(self, side).embed_tokens.weight
            if saved is not None and saved.size(0) != here.size(0):
                raise UserError(
                    f"the checkpoint has {saved.size(0)} symbols in the {side}, the dictionary "
                    f"{here.size(0)}; give the data folder with the dictionaries that the "
                    "checkpoint was trained with"
                )
        for names in self._shared():
            first, *others = [one for one in names if one in state_dict] or names
            for one in others:
                if one in state_dict and not torch.equal(state_dict[first], state_dict[one]):
                    raise UserError(
                        f"the checkpoint has different parameters {first} and {one}, which this "
                        "model shares; give --no-parameter-sharing and the embedding options that "
                        "the checkpoint was trained with"
                    )
            if first in state_dict:
                state_dict.update(dict.fromkeys(names, state_dict[first]))
        super().upgrade_state_dict_named(state_dict, name)


def build(
    cfg: PBDTransformerConfig, source: Dictionary, target: Dictionary
) -> Tuple[PBDEncoder, PBDDecoder]:
    """Encoder and decoder, with whatever the options let them share."""
    sharing = not cfg.no_parameter_sharing
    dim, learned = cfg.encoder_embed_dim, cfg.encoder_learned_pos
    lengths = cfg.max_source_positions, cfg.max_target_positions
    first = max(lengths) if sharing else lengths[0]
    embed = _embedding(source, dim)
    positions = Positions(first, dim, source.pad(), learned)
    encoder = PBDEncoder(cfg, source, embed, positions)
    norm = encoder.norm
    if not sharing:
        positions = Positions(lengths[1], dim, target.pad(), learned)
        embed = embed if cfg.share_all_embeddings else _embedding(target, dim)
        norm = nn.LayerNorm(dim) if cfg.encoder_normalize_before else None
    tied = sharing or cfg.share_all_embeddings or cfg.share_decoder_input_output_embed
    blocks = [
        PBDDecoderBlock(cfg, encoder.blocks[i] if sharing else transformer_block(cfg))
        for i in range(decoder_depth(cfg))
    ]
    output = embed if tied else _embedding(target, dim, pad=False)
    return encoder, PBDDecoder(cfg, target, embed, positions, blocks, norm, output)


def _embedding(dictionary: Dictionary, dim: int, pad: bool = True) -> nn.Embedding:
    table = nn.Embedding(len(dictionary), dim, padding_idx=dictionary.pad() if pad else None)
    nn.init.normal_(table.weight, std=dim**-0.5)
    if pad:
        nn.init.zeros_(table.weight[dictionary.pad()])
    return table
