"""Deletion of whole words (``--delete-words``).

Shapes: R candidates, T tokens each.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from lev_runtime.constraints import symbol_edges
from lev_runtime.decoding import Decoding
from lev_runtime.processors import Places, Processor

from ....nn.arrays import TORCH


class WholeWords(Processor):
    """Deletion: what stands between two spaces goes or stays as a whole."""

    def __init__(self, symbols: tuple[str, ...], like: Tensor) -> None:
        self.spaces = TORCH.send(symbol_edges(symbols, spaces=True), like)

    def scores(
        self, decoding: Decoding, scores: Tensor, step: int, places: Places | None
    ) -> Tensor:
        """R × T probabilities → those of whole words."""
        return word_means(scores, self.spaces[decoding.state.tokens])


def word_means(values: Tensor, spaces: Tensor) -> Tensor:
    """R × T: of every token the mean of those between the same ``spaces`` (R × T × 2, of which 0 is
    before a token and 1 behind it)."""
    before, behind = spaces.unbind(2)
    begins = before | F.pad(behind[:, :-1], (1, 0))
    word = begins.long().cumsum(1)
    zeros = values.new_zeros(len(values), values.size(1) + 1)
    sums = zeros.scatter_add(1, word, values)
    sizes = zeros.scatter_add(1, word, torch.ones_like(values))
    means = sums / sizes.clamp(min=1)
    return means.gather(1, word)
