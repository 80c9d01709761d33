"""Embeddings from a file, which a model starts from, as of fairseq's Transformer."""

from dataclasses import dataclass

import torch
from fairseq import utils
from fairseq.data import Dictionary
from fairseq.dataclass import FairseqDataclass
from torch import nn

from lev_runtime.errors import UserError

from ...options import OptionalStr, option


@dataclass
class EmbeddingFilesConfig(FairseqDataclass):
    """A Transformer whose embeddings may start from files; see the command ``embeddings``."""

    encoder_embed_path: OptionalStr = option(
        None, "file of embeddings to start from, such as lev-embeddings writes"
    )
    decoder_embed_path: OptionalStr = option(
        None, "the same for the decoder (with shared embeddings it has the encoder's)"
    )


def load_embeddings(
    cfg: EmbeddingFilesConfig,
    source: tuple[Dictionary, nn.Embedding],
    target: tuple[Dictionary, nn.Embedding],
) -> None:
    """Fills the tables of both sides from the files that the options name, if any.

    Raises:
        UserError: a file cannot be read or does not fit, or two are given for one table.
    """
    # older checkpoints do not have the options
    path = getattr(cfg, "encoder_embed_path", None)
    target_path = getattr(cfg, "decoder_embed_path", None)
    if path:
        _load(path, *source)
    if not target_path or target_path == path and source[1] is target[1]:
        return
    if source[1] is target[1]:
        raise UserError("--decoder-embed-path: one table serves both; give --encoder-embed-path")
    _load(target_path, *target)


def _load(path: str, dictionary: Dictionary, table: nn.Embedding) -> None:
    try:
        vectors = utils.parse_embedding(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, StopIteration):
        raise UserError(
            f"{path} is not a file of embeddings (a symbol and its numbers a line)"
        ) from None
    known = {symbol: vectors[symbol] for symbol in dictionary.symbols if symbol in vectors}
    if not known:
        raise UserError(f"{path} has none of the dictionary's symbols")
    widths = {len(vector) for vector in known.values()}
    if widths != {table.embedding_dim}:
        raise UserError(
            f"{path} has {max(widths)} numbers a symbol and the model a width of "
            f"{table.embedding_dim}: give lev-embeddings --dim {table.embedding_dim}"
        )
    with torch.no_grad():
        utils.load_embedding(known, dictionary, table)
