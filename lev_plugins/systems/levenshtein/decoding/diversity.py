"""N-best for a sentence: the plain one, and others that differ in length, γ or by noise.

Shapes: R sentences (each answer is a sentence of its own), T tokens, K the most insertions a slot.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from ....errors import UserError
from ....ops.randomness import uniform

DIVERSITY = ("length", "penalty", "noise")
LARGEST_PENALTY = 3.0  # γ of the paper lies in [0, 3]
_LINES = 1 << 20  # room for the positions of a sentence in a key of the random numbers


@dataclass(frozen=True)
class Diversity:
    """How the candidates of a sentence differ. Candidate 0 is always that of plain decoding.

    count: candidates a sentence.
    kind: ``length``, candidate i takes in its first iteration the i-th likeliest change of the
        number of insertions at one slot (from an empty draft: the i-th likeliest length);
        ``penalty``, γ rises evenly to 3; ``noise``, Gumbel noise is added to the logits of
        insertions and tokens (noisy parallel decoding, Cho 2016; §3.3).
    scale: of the noise; 1 samples from the policies.
    seed: of the noise, which depends on this, the sentence and the answer alone.
    """

    count: int = 1
    kind: str = "length"
    scale: float = 0.5
    seed: int = 1

    def __post_init__(self) -> None:
        if self.count < 1:
            raise UserError(f"--iter-decode-with-beam {self.count}: at least 1 answer is needed")
        if self.kind not in DIVERSITY:
            raise UserError(f"--diversity {self.kind}: choose one of {', '.join(DIVERSITY)}")
        if self.scale < 0:
            raise UserError(f"--noise-scale {self.scale}: give 0 or more")

    def penalties(self, base: float, rows: Tensor) -> Tensor:
        """γ of the candidates ``rows`` (R, long): R, float."""
        number = rows.remainder(self.count).float()
        if self.kind != "penalty" or self.count == 1:
            return torch.full_like(number, base)
        return base + number * (max(LARGEST_PENALTY - base, 0.0) / (self.count - 1))

    def first_counts(self, logits: Tensor, counts: Tensor, slots: Tensor, rows: Tensor) -> Tensor:
        """Insertions of the first iteration.

        Args:
            logits: R × (T − 1) × (K + 1). counts: R × (T − 1), their argmax.
            slots: R × (T − 1), bool, where something may be inserted.
            rows: R, candidates.

        Returns:
            R × (T − 1), counts with the change that belongs to each answer.
        """
        if self.kind != "length" or self.count == 1:
            return counts
        loss = logits.log_softmax(-1)
        loss = loss.gather(2, counts.unsqueeze(2)) - loss  # what a change costs, in nats
        loss = loss.masked_fill(~slots.unsqueeze(2), float("inf"))
        loss = loss.scatter(2, counts.unsqueeze(2), float("inf"))  # no change at all
        classes = loss.size(2)
        order = loss.flatten(1).sort(dim=1, stable=True)
        number = rows.remainder(self.count)
        rank = (number - 1).clamp(min=0, max=order.values.size(1) - 1).unsqueeze(1)
        chosen = order.indices.gather(1, rank)
        possible = order.values.gather(1, rank).isfinite() & number.gt(0).unsqueeze(1)
        slot = chosen.div(classes, rounding_mode="floor")
        changed = counts.scatter(1, slot, chosen.remainder(classes))
        return torch.where(possible, changed, counts)

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


_NOISE_STREAM = 7  # apart from those of the roll-in


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
