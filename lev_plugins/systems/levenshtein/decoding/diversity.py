"""Several candidates for a sentence: noisy parallel decoding (Cho, 2016; paper, §3.3).

Shapes: R sentences (each candidate is a sentence of its own), T tokens, P places.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from ....errors import UserError
from ....ops.randomness import uniform

_LINES = 1 << 20  # room for the positions of a sentence in a key of the random numbers
_NOISE_STREAM = 7  # apart from those of the roll-in


@dataclass(frozen=True)
class Diversity:
    """How the candidates of a sentence differ: by Gumbel noise on the logits of insertions and
    tokens. Candidate 0 is always that of plain decoding.

    count: candidates a sentence.
    scale: of the noise; 1 samples from the policies.
    seed: of the noise, which depends on this, the sentence and the candidate alone.
    """

    count: int = 1
    scale: float = 0.5
    seed: int = 1

    def __post_init__(self) -> None:
        if self.count < 1:
            raise UserError(f"--iter-decode-with-beam {self.count}: at least 1 answer is needed")
        if not self.scale >= 0:
            raise UserError(f"--noise-scale {self.scale}: give 0 or more")

    def noise(
        self, keys: Tensor, rows: Tensor, stream: int, positions: Tensor, classes: int
    ) -> Tensor:
        """Gumbel noise, 0 for plain candidates.

        Args:
            keys: P, long, what a sentence's noise depends on (:func:`sentence_keys`).
            rows: P, candidates. positions: P, places in the sentence. stream: iteration and phase.

        Returns:
            P × ``classes``, float.
        """
        number = rows.remainder(self.count)
        points = uniform(
            self.seed, stream, (keys + number) * _LINES + positions, classes, _NOISE_STREAM
        )
        gumbel = -(-points.clamp(min=1e-7, max=1 - 1e-7).log()).log()
        return self.scale * gumbel * number.ne(0).unsqueeze(1)


def sentence_keys(source: Tensor, draft: Tensor, pad: int) -> Tensor:
    """R, long: numbers that depend on the tokens of source and draft alone, not on padding."""
    keys = torch.zeros(source.size(0), dtype=torch.long, device=source.device)
    for tokens in (source, draft):
        real = tokens.ne(pad)
        # mixed before they are added: else words that change places, or weigh the same, are lost
        mixed = (tokens * 2_654_435_761 + real.cumsum(1)) * 0x2127599BF4325C37
        mixed = (mixed ^ (mixed >> 32)) * 0x2545F4914F6CDD1D
        keys = keys * 1_000_003 + (mixed * real).sum(1)
    return keys.bitwise_and((1 << 40) - 1)
