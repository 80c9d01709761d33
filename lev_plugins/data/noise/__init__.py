"""Noise on plain text: a function of a line and its random numbers that gives a noisy line."""

from .confusions import Confusions, load_confusions
from .noiser import KINDS, PAPER, Noise, parse_kinds
from .rng import FIXED, sentence_random

__all__ = [
    "FIXED",
    "KINDS",
    "PAPER",
    "Confusions",
    "Noise",
    "load_confusions",
    "parse_kinds",
    "sentence_random",
]
