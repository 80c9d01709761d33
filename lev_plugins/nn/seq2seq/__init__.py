"""Encoder-decoders on fairseq's interfaces, for the systems that write from left to right.

Their options, :mod:`.config`, are those of the other Transformers here too.
"""
