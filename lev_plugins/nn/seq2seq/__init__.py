"""Encoder-decoders on fairseq's interfaces, for the systems that write from left to right.

Their options, :mod:`.config`, are those of the other Transformers here too.
"""

from .decoder import DecoderOut, EncoderOut, IncrementalState, TransformerDecoder
from .model import Seq2SeqModel, TransformerEncoder

__all__ = [
    "DecoderOut",
    "EncoderOut",
    "IncrementalState",
    "Seq2SeqModel",
    "TransformerDecoder",
    "TransformerEncoder",
]
