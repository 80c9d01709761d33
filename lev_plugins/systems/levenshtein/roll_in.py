"""Roll-in of dual-policy learning: states in which the expert is asked (paper, Eq. 6-7, Alg. 1).

Shapes: B sentences, M tokens of the target y*, N tokens of the draft y⁰, P placeholders in all.
"""

import functools
from collections.abc import Iterable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from fairseq.data import Dictionary
from torch import Tensor

from ...data.batch import Batch
from ...nn.cpu import rows_at_once
from ...ops.alignment import lcs_masks
from ...ops.edits import InsertionLabels, insertion_labels
from ...ops.randomness import uniform
from .config import TranslationEditConfig
from .trace import Trace

# streams of random numbers, one per purpose
_MIXTURE, _DROP, _TOKENS, _MASK, _MASKED = 0, 1, 2, 3, 4


@dataclass
class RollIn:
    """States and labels of one batch.

    target: y*, B × M. draft: y⁰, B × N. delete_draft: B, bool, y_del = y⁰ (else the model's own
    insertion). insertion: y_ins, y'_ins and what the expert inserts. state, where: what the token
    head reads, y'_ins unless tokens that stand are masked too, and where it predicts; B × M.
    token_noise: B × M uniform numbers for sampling t̃, None for the argmax. frequencies: V, what
    random t̃ are sampled by; None where t̃ comes from the policy. draft_kept: B × N, bool, what the
    expert keeps of the drafts that insertion states are made of.
    """

    target: Tensor
    draft: Tensor
    delete_draft: Tensor
    insertion: InsertionLabels
    state: Tensor
    where: Tensor
    token_noise: Tensor | None
    frequencies: Tensor | None
    draft_kept: Tensor | None
    pad: int
    bos: int
    eos: int

    def read(self, traced: bool) -> tuple[Trace, Trace, Tensor]:
        """What the placeholder head reads, what the token head does, and where that predicts.

        Of the deletions only the expert's from drafts are ``traced``: after dropping at random a
        trace would tell the answer.
        """
        pad, before = self.pad, self.insertion.before
        counting = Trace(before, torch.zeros_like(before, dtype=torch.bool))
        if traced and self.draft_kept is not None:
            width = max(self.draft.size(1), before.size(1))
            before, draft, kept = (
                F.pad(one, (0, width - one.size(1)), value=fill)
                for one, fill in ((before, pad), (self.draft, pad), (self.draft_kept, False))
            )
            drafted = kept.any(1, keepdim=True)
            deleted = drafted & ~kept & draft.ne(pad)
            counting = Trace(torch.where(drafted, draft, before), deleted)
        writing = counting.opened(self.insertion.counts, self.state, pad)
        return counting, writing, writing.spread(self.where, pad)

    def may_go(self, inputs: Tensor) -> Tensor:
        """B × L, bool: the tokens of y_del that the deletion head decides about."""
        return inputs.ne(self.pad) & inputs.ne(self.bos) & inputs.ne(self.eos)


class TrainingBatch(Batch):
    """A batch with the states that its sentences are learned from."""

    roll_in: RollIn


def flat(where: Tensor) -> Tensor:
    """The places that are true, in a batch laid flat (long, row-major)."""
    return where.flatten().nonzero().squeeze(1)


def random_keep(inner: Tensor, rate: Tensor, order: Tensor, kept: str = "uniform") -> Tensor:
    """π^RND: which of n inner tokens (B × M, bool) stay.

    rate: B, uniform in [0, 1), decides how many. order: B × M, likewise, which. kept: uniform, a
    number that is uniform over 0 … n; incomplete, over 0 … n − 1 (fairseq).
    """
    count = inner.sum(1)
    number = (rate * (count if kept == "incomplete" else count + 1)).floor()
    rank = order.masked_fill(~inner, 2.0).argsort(dim=1, stable=True).argsort(1)
    return inner & (rank < number.unsqueeze(1))


def build_roll_in(
    sample: Batch,
    epoch: int,
    shares: tuple[float, float],
    cfg: TranslationEditConfig,
    dictionary: Dictionary,
    placeholder: int,
    frequencies: Tensor,
) -> RollIn:
    """States and expert labels for a batch.

    A sentence without a draft has nothing to delete: for deletion it takes the model's insertions,
    for insertion ℰ(y⁰, d*) is the empty sentence, where generation begins.

    sample: ``target``, y*, B × M, with <s> and </s>; ``draft``, y⁰, B × N, missing: empty; ``id``,
    B, indices in the data set: they, ``epoch`` and the run's seed seed all noise. shares: α, β.
    frequencies: V, how often each symbol of the target is sampled, for random t̃.
    """
    (alpha, beta), target, draft = shares, sample["target"], sample.get("draft")
    pad, bos, eos = dictionary.pad(), dictionary.bos(), dictionary.eos()
    if draft is None:
        draft = target.new_tensor([[bos, eos]]).expand(target.size(0), 2)
    random = functools.partial(uniform, cfg.seed, epoch, sample["id"])
    width, mixture = target.size(1), random(3, _MIXTURE)
    boundary = target.eq(bos) | target.eq(eos)
    inner = target.ne(pad) & ~boundary
    kept = random_keep(inner, mixture[:, 2], random(width, _DROP), str(cfg.kept_tokens))
    draft_kept = None
    if beta > 0:
        drafted, aligned = (mixture[:, 1] < beta).unsqueeze(1), boundary
        if draft.size(1) > 2:
            draft_kept, aligned = alignment(sample, pad)
            draft_kept = draft_kept & drafted
        kept = torch.where(drafted, aligned, kept)
    insertion = insertion_labels(target, kept | boundary, pad, placeholder)
    state, where = insertion.after, insertion.missing
    if str(cfg.token_masking) == "uniform":
        masked = (random(width, _MASKED) >= random(1, _MASK)) & inner & kept
        state, where = state.masked_fill(masked, placeholder), where | masked
    delete_draft = draft.ne(pad).sum(1).gt(2) & (mixture[:, 0] < alpha)
    tokens = str(cfg.roll_in_tokens)
    noise = None if tokens == "argmax" else random(width, _TOKENS)
    words = frequencies.to(target.device) if tokens == "random" else None
    states = target, draft, delete_draft, insertion, state, where
    return RollIn(*states, noise, words, draft_kept, pad, bos, eos)


def alignment(sample: Batch, pad: int) -> tuple[Tensor, Tensor]:
    """What the expert keeps of y⁰ and y*, B × N and B × M: the collater's, where that has it."""
    if "draft_kept" in sample:
        return sample["draft_kept"], sample["target_kept"]
    return lcs_masks(sample["draft"], sample["target"], pad)


def without(logits: Tensor, symbols: Iterable[int]) -> Tensor:
    """A copy of logits (P × V) in which some symbols have no chance."""
    logits = logits.clone()
    for symbol in symbols:  # numbers that the device need not be sent
        logits[:, symbol] = float("-inf")
    return logits


def token_predictions(logits: Tensor, roll_in: RollIn, never: list[int]) -> Tensor:
    """t̃ for every placeholder (P): the likeliest, one sampled from the policy, or a random token.

    logits: P × V, at ``roll_in.insertion.missing``. never: symbols that are never written.
    """
    size = rows_at_once(logits)
    if roll_in.token_noise is None:
        parts = logits.split(size)  # max takes half of the time of argmax
        return torch.cat([without(part, never).max(1).indices for part in parts])
    noise = roll_in.token_noise[roll_in.insertion.missing]
    if roll_in.frequencies is not None:
        # counts are whole numbers: their sums are exact on any device
        counts = roll_in.frequencies.cumsum(0)
        sampled = torch.searchsorted(counts, noise.to(counts) * counts[-1], right=True)
        return sampled.clamp(max=logits.size(1) - 1)
    parts = zip(logits.split(size), noise.split(size))
    return torch.cat([sampled_tokens(without(part, never), points) for part, points in parts])


def sampled_tokens(logits: Tensor, noise: Tensor) -> Tensor:
    """A token for each row of P × V logits, sampled by P numbers that are uniform in [0, 1)."""
    probabilities = logits.float().softmax(1)
    cumulative = probabilities.cumsum(1)
    exceeds = cumulative > noise.unsqueeze(1) * cumulative[:, -1:]
    # the first token whose cumulative probability exceeds the point; as a GPU rounds the sums, they
    # may rise at a token of probability 0, and fall behind the point
    chosen = (exceeds & (probabilities > 0)).to(torch.uint8).max(1)
    return torch.where(chosen.values.bool(), chosen.indices, probabilities.argmax(1))


def join_deletion_inputs(roll_in: RollIn, predicted: Tensor) -> Tensor:
    """y_del: the draft where the mixture chose it, else y*'s gaps filled with t̃ (B × L)."""
    insertion, pad = roll_in.insertion, roll_in.pad
    filled = insertion.after.masked_scatter(insertion.missing, predicted)
    width = max(filled.size(1), roll_in.draft.size(1))
    sides = roll_in.draft, filled
    draft, filled = (F.pad(one, (0, width - one.size(1)), value=pad) for one in sides)
    inputs = torch.where(roll_in.delete_draft.unsqueeze(1), draft, filled)
    return inputs[:, : int(inputs.ne(pad).sum(1).max())]


def expert_labels(roll_in: RollIn, inputs: Tensor, max_insertions: int) -> dict[str, Tensor]:
    """The expert's actions where the heads predict: d* (1: delete), p* (at most K), t*; P each."""
    keep, _ = lcs_masks(inputs, roll_in.target, roll_in.pad)
    insertion = roll_in.insertion
    return {
        "deletion": (~keep[roll_in.may_go(inputs)]).long(),
        "placeholder": insertion.counts[insertion.slots].clamp(max=max_insertions),
        "token": roll_in.target[roll_in.where],
    }
