"""The model: encoder and decoder, which share their parameters by default (paper, §2.2)."""

from argparse import Namespace

from fairseq.data import Dictionary
from fairseq.models import register_model, register_model_architecture
from fairseq.tasks import FairseqTask
from torch import nn

from lev_runtime.errors import UserError

from ...fairseq_patches.hooks import TrainingHooks
from ...nn.backbone import Backbone
from ...nn.backends import optimize
from ...nn.decoder_block import TiedOutput
from ...nn.embedding import Positions, TokenEmbedding, token_table
from ...nn.seq2seq.config import check_resumed, set_character_size, set_sizes, transformer_size
from ...nn.seq2seq.embedding_files import load_embeddings
from ...nn.seq2seq.model import Seq2SeqModel
from ...nn.transformer import TransformerBlock
from .config import PBDTransformerConfig, decoder_depth
from .decoder import PBDDecoder, PBDDecoderBlock
from .encoder import PBDEncoder

MODEL = "pbd_transformer"


@register_model(MODEL, dataclass=PBDTransformerConfig)
class PBDTransformerModel(Seq2SeqModel, TrainingHooks):
    """Pseudo-Bidirectional Decoding, for fairseq's task ``translation``.

    Without future modelling, sharing and segment embeddings it is fairseq's own Transformer.
    """

    check_resumed = staticmethod(check_resumed)

    @classmethod
    def build_model(cls, cfg: PBDTransformerConfig, task: FairseqTask) -> "PBDTransformerModel":
        """Builds it for a task's dictionaries.

        Raises:
            UserError: options that contradict each other, or one table for two dictionaries.
        """
        source, target = task.source_dictionary, task.target_dictionary
        one_table = cfg.share_all_embeddings or not cfg.no_parameter_sharing
        if one_table and source != target:
            ways = "--share-all-embeddings"
            if not cfg.no_parameter_sharing:
                ways = "parameter sharing; give --no-parameter-sharing"
            raise UserError(
                f"source and target have different dictionaries ({len(source)} and "
                f"{len(target)} symbols), but the model shares one embedding table: "
                f"preprocess with --joined-dictionary, or leave out {ways}"
            )
        encoder, decoder = build(cfg, source, target)
        load_embeddings(cfg, (source, encoder.embed.table), (target, decoder.embed.table))
        return optimize(cls(encoder, decoder))


def build(
    cfg: PBDTransformerConfig, source: Dictionary, target: Dictionary
) -> tuple[PBDEncoder, PBDDecoder]:
    """Builds encoder and decoder, with whatever the options let them share."""
    sharing = not cfg.no_parameter_sharing
    size = transformer_size(cfg)
    depth = decoder_depth(cfg)
    dim = size.dim
    learned = size.learned_positions
    lengths = cfg.max_source_positions, cfg.max_target_positions
    first = max(lengths) if sharing else lengths[0]
    table = token_table(len(source), dim, source.pad())
    positions = Positions(first, dim, source.pad(), learned)
    encoder = PBDEncoder(cfg, size, source, TokenEmbedding(table, positions, dropout=cfg.dropout))
    norm = encoder.norm
    embed = encoder.embed
    if not sharing:
        positions = Positions(lengths[1], dim, target.pad(), learned)
        if not cfg.share_all_embeddings:
            table = token_table(len(target), dim, target.pad())
        embed = TokenEmbedding(table, positions, dropout=cfg.dropout)
        norm = size.final_norm()
    tied = sharing or cfg.share_all_embeddings or cfg.share_decoder_input_output_embed
    blocks: list[nn.Module] = []
    for number in range(depth):
        block = encoder.blocks[number] if sharing else TransformerBlock(size)
        blocks.append(PBDDecoderBlock(cfg, number, block))
    output = TiedOutput(table if tied else token_table(len(target), dim))
    parts = Backbone(encoder.embed, encoder, embed, blocks, norm, output)
    return encoder, PBDDecoder(cfg, target, parts)


@register_model_architecture(MODEL, "pbd_transformer_big")
def pbd_transformer_big(args: Namespace) -> None:
    """The paper's size for grammar (§3.1, transformer-big): 6 + 6 blocks, d = 1024, 16 heads."""
    set_sizes(args, dim=1024, hidden=4096, layers=6, heads=16, dropout=0.3)


# for the characters of words (§3.2)
register_model_architecture(MODEL, "pbd_transformer_char")(set_character_size)
