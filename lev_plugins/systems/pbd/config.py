"""Options of the model ``pbd_transformer``, named as fairseq's Transformer names them."""

from dataclasses import dataclass

from fairseq.dataclass import ChoiceEnum

from lev_runtime.errors import UserError

from ...nn.seq2seq.config import RotaryConfig, Seq2SeqConfig
from ...nn.seq2seq.embedding_files import EmbeddingFilesConfig
from ...options import COUNT, OptionalInt, option

COPIED_STATES = ChoiceEnum(["input", "output"])


@dataclass
class PBDTransformerConfig(EmbeddingFilesConfig, RotaryConfig, Seq2SeqConfig):
    decoder_layers: OptionalInt = option(
        None,
        "number of decoder blocks; with parameter sharing or future modelling it must be the "
        "encoder's (default: as many as the encoder)",
        within=COUNT,
    )
    no_future_modelling: bool = option(
        False, "causal decoder without copied source states (paper, Table 1, ablation)"
    )
    no_parameter_sharing: bool = option(
        False,
        "separate encoder and decoder (paper, Table 1, ablation); the --share-* options "
        "then decide on embeddings, otherwise source, target and output share one table",
    )
    no_segment_embedding: bool = option(
        False, "no segment embedding that distinguishes copied from generated tokens (paper, §2.1)"
    )
    copied_states: COPIED_STATES = option(  # type: ignore[valid-type]
        "input", "states of encoder block l that decoder block l reads as its future"
    )


def decoder_depth(cfg: PBDTransformerConfig) -> int:
    """Returns the number of decoder blocks.

    Raises:
        UserError: another number than the encoder's where block l needs its partner.
    """
    encoder = cfg.encoder_layers
    decoder = encoder if cfg.decoder_layers is None else cfg.decoder_layers
    ways_out = []
    if not cfg.no_future_modelling:
        ways_out.append("--no-future-modelling")
    if not cfg.no_parameter_sharing:
        ways_out.append("--no-parameter-sharing")
    if ways_out and encoder != decoder:
        raise UserError(
            f"--encoder-layers {encoder} and --decoder-layers {decoder} differ, but decoder block "
            f"l works with encoder block l; leave --decoder-layers out, or give "
            f"{' and '.join(ways_out)}"
        )
    return decoder
