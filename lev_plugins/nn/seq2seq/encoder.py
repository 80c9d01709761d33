"""An encoder of fairseq's, out of the parts of :mod:`lev_plugins.nn`."""

from fairseq.data import Dictionary
from fairseq.models import FairseqEncoder
from torch import Tensor

from ..embedding import TokenEmbedding
from .decoder import EncoderOut


class TransformerEncoder(FairseqEncoder):
    """Embeds the source; a subclass runs it through its blocks and leaves a memory.

    Its ``forward`` takes B × S tokens, padded on either side, and returns
    ``{"memory": [SourceMemory]}``.

    Args:
        dictionary: of the source.
        embed: of its tokens.
        limit: the longest source, in tokens.
    """

    def __init__(self, dictionary: Dictionary, embed: TokenEmbedding, limit: int) -> None:
        super().__init__(dictionary)
        self.pad, self.limit, self.embed = dictionary.pad(), limit, embed

    def reorder_encoder_out(self, encoder_out: EncoderOut, new_order: Tensor) -> EncoderOut:
        """The output for the rows ``new_order``; what was projected stays projected."""
        return {"memory": [memory.select(new_order) for memory in encoder_out["memory"]]}

    def max_positions(self) -> int:
        """The longest source, in tokens."""
        return self.limit
