"""Several candidates for a sentence: noisy parallel decoding (Cho, 2016; LevT's §3.3), and ranking.

Shapes: B sentences, S source tokens, N draft tokens, R candidates in all, P places.
"""

from collections.abc import Sequence
from typing import Any

from ..history import EditHypothesis
from .arrays import Array, Arrays, padded
from .options import RefinementOptions
from .policy import Counts, EditPolicy, EditState, Symbols

_LINES = 1 << 20  # more than a sentence has positions: each has a random number of its own
NOISE_BYTES = 1 << 26  # the largest array of random bits: V may be 50,000, and several are alive


class CandidateNoise:
    """The noise of a batch's candidates; R: candidates, those of a sentence side by side.

    Args:
        keys: R, of :func:`sentence_keys`.
    """

    def __init__(self, options: RefinementOptions, keys: Array, arrays: Arrays) -> None:
        self.options = options
        self.keys = keys
        self.arrays = arrays

    def __call__(self, rows: Array, places: Array, width: int, stream: int, classes: int) -> Array:
        """Returns P × ``classes`` at ``places`` (P) of R' × ``width`` flattened.

        ``rows``: R', candidates.
        """
        candidates = rows[places // width]
        keys, positions = self.keys[candidates], places % width
        return gumbel_noise(self.options, keys, candidates, stream, positions, classes, self.arrays)


def gumbel_noise(
    options: RefinementOptions,
    keys: Array,
    rows: Array,
    stream: int,
    positions: Array,
    classes: int,
    arrays: Arrays,
) -> Array:
    """Returns noise on logits, P × ``classes``; 0 for the first candidate, that of plain decoding.

    It depends on the seed, the sentence and the candidate alone. keys: P, of
    :func:`sentence_keys`. rows: P, candidates. stream: iteration and phase. positions: P.
    """
    number = rows % options.candidates
    lines = (keys + number) * _LINES + positions
    size = max(1, NOISE_BYTES // (8 * classes))
    noise = []
    for first in range(0, max(1, len(lines)), size):
        part = lines[first : first + size]
        points = arrays.uniform(options.seed, stream, part, classes)
        points = points.clip(1e-7, 1 - 1e-7)
        noise.append(-arrays.xp.log(-arrays.xp.log(points)))  # Gumbel's distribution
    is_noisy = (number != 0)[:, None]
    return options.noise_scale * arrays.xp.concatenate(noise, 0) * is_noisy


def sentence_keys(source: Array, draft: Array, pad: int) -> Array:
    """Returns numbers that depend on the tokens of source and draft alone, not on padding: R."""
    keys = 0
    for tokens in (source, draft):
        real = tokens != pad
        # mixed before they are added: a plain sum would not see two words that change places
        mixed = (tokens * 2_654_435_761 + real.cumsum(1)) * 0x2127599BF4325C37
        mixed = (mixed ^ (mixed >> 32)) * 0x2545F4914F6CDD1D
        keys = keys * 1_000_003 + (mixed * real).sum(1)
    return keys & ((1 << 40) - 1)


def rate(
    policy: EditPolicy,
    encoder_out: Any,
    hypotheses: Sequence[EditHypothesis],
    symbols: Symbols,
    like: Array,
) -> None:
    """Gives candidates a ``score`` to compare those of a sentence by.

    It is the sum, in nats, of log p of every deletion and of every token written on the way
    (``actions``), of keeping each token of the answer, and of inserting nothing in each slot.

    Args:
        hypotheses: R, as the rows of ``encoder_out``. like: an array where the policy computes.
    """
    arrays = policy.arrays
    answers = [hypothesis["tokens"].tolist() for hypothesis in hypotheses]
    tokens = arrays.as_tensor(padded(answers, symbols.pad), like)
    keep = arrays.log_softmax(policy.logits("deletion", EditState(tokens, encoder_out)))[..., 0]
    keep = arrays.masked_fill(keep, ~symbols.inner(tokens), 0.0).sum(1)
    read = Counts({"deletion": ()})  # nothing has changed since
    logits = policy.logits("placeholder", EditState(tokens, encoder_out, counts=read))
    nothing = arrays.log_softmax(logits)[..., 0]
    nothing = arrays.masked_fill(nothing, tokens[:, 1:] == symbols.pad, 0.0).sum(1)
    for hypothesis, final in zip(hypotheses, (keep + nothing).tolist()):
        hypothesis["score"] = hypothesis["actions"] + final


def best(candidates: Sequence[EditHypothesis], number: int) -> list[EditHypothesis]:
    """Returns the ``number`` best different candidates; of equal ones the first."""
    ranked = sorted(candidates, key=lambda candidate: -candidate["score"])
    different: dict[tuple[int, ...], EditHypothesis] = {}
    for candidate in ranked:
        tokens = tuple(candidate["tokens"].tolist())
        different.setdefault(tokens, candidate)
    return list(different.values())[:number]
