"""A sentence on its way through an editor of the package."""

from lev_runtime import sentences

from ..nn.arrays import TORCH


class Sentence(sentences.Sentence):
    """One whose tokens are tensors."""

    arrays = TORCH
