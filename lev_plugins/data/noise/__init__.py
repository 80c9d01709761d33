"""Noise on plain text: a function of a line and its random numbers that gives a noisy line.

:class:`Noise` makes typing errors and misread characters, :class:`.drafts.Drafts` loses, repeats,
moves and replaces whole tokens.
"""

from .confusions import Confusions, load_confusions
from .noiser import KINDS, PAPER, Counts, Noise, NoiseOptions, parse_kinds
from .rng import FIXED, sentence_random

__all__ = [
    "FIXED",
    "KINDS",
    "PAPER",
    "Confusions",
    "Counts",
    "Noise",
    "NoiseOptions",
    "load_confusions",
    "parse_kinds",
    "sentence_random",
]
