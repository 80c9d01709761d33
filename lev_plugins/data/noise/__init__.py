"""Noise on plain text, sampled for each sentence by itself: typing errors and misread
characters.
"""

from .confusions import Confusions, Learned, learn, load_confusions, to_json
from .noiser import DEFAULT_EDITS, KINDS, PAPER, Noise, NoiseOptions, parse_edits, parse_kinds
from .rng import FIXED, sentence_random

__all__ = [
    "DEFAULT_EDITS",
    "FIXED",
    "KINDS",
    "PAPER",
    "Confusions",
    "Learned",
    "Noise",
    "NoiseOptions",
    "learn",
    "load_confusions",
    "parse_edits",
    "parse_kinds",
    "sentence_random",
    "to_json",
]
