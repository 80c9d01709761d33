"""Encoder-decoders on fairseq's interfaces, for the systems that write from left to right."""
