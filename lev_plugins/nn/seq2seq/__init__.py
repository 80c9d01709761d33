"""Encoder-decoders on fairseq's interfaces, for the systems that write from left to right."""

from .decoder import DecoderOut, EncoderOut, IncrementalState, TransformerDecoder
from .model import Seq2SeqModel

__all__ = ["DecoderOut", "EncoderOut", "IncrementalState", "Seq2SeqModel", "TransformerDecoder"]
