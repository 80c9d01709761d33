"""Roll-in of dual-policy learning: states in which the expert is asked (paper, Eq. 6-7, Alg. 1).

Shapes: B sentences, M tokens of the target y*, N tokens of the draft y⁰, P placeholders in all.
"""

import copy
import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from fairseq.data import Dictionary
from torch import Tensor

from ...data.batch import Batch
from ...nn.blocks import rows_at_once, without
from ...nn.packing import Layout
from ...ops.alignment import lcs_masks
from ...ops.edits import InsertionLabels, insertion_labels
from ...ops.randomness import uniform

# streams of random numbers, one per purpose
_MIXTURE, _DROP, _TOKENS, _MASK, _MASKED = 0, 1, 2, 3, 4
ROLL_IN_TOKENS = ["argmax", "sample", "random"]
# what share of the inner tokens π^RND keeps, from a number u that is uniform in [0, 1)
KEPT_TOKENS = ["uniform", "incomplete", "few"]
TOKEN_MASKING = ["none", "uniform"]


@dataclass(frozen=True)
class RollInOptions:
    """alpha: share of deletion states that are y⁰ (Eq. 6); beta: share of insertion states that
    are ℰ(y⁰, d*) (Eq. 7), the empty sentence where there is no draft; tokens: t̃ is the policy's
    argmax (Alg. 1), a sample of it (Eq. 6), or random, sampled by the words' frequencies without
    the policy (the DAE of Table 2b); seed: of the run; kept: how many tokens π^RND keeps (see
    :func:`random_keep`); masking: ``uniform`` masks a uniform share of the tokens that stand, for
    the token head alone."""

    alpha: float
    beta: float
    tokens: str
    seed: int
    kept: str = "uniform"
    masking: str = "none"


class Places(NamedTuple):
    """Where the heads predict and what is expected there, known before the model is called.

    Places in padded batches laid flat, long: no device has to be asked for them.

    slots: in ``insertion.before``, the token left of each slot. counts: p* of these slots.
    tokens: in y*, where the token head predicts. labels: t* there. gaps: in y*, the placeholders.
    written: which of ``tokens`` are gaps; None: all. inner: in y_del, what may be deleted.
    width: of y_del. sampled: rows whose y_del is the model's own insertion; None: all rows.
    before, after, inputs: how ``insertion.before``, y'_ins and y_del are read.
    """

    slots: Tensor
    counts: Tensor
    tokens: Tensor
    labels: Tensor
    gaps: Tensor
    written: Tensor | None
    inner: Tensor
    width: int
    sampled: Tensor | None
    before: Layout
    after: Layout
    inputs: Layout


@dataclass
class RollIn:
    """States and labels of one batch, made before the model is called.

    target: y*, B × M. draft: y⁰, B × N. delete_draft: B, bool, y_del = y⁰ (else the model's own
    insertion). insertion: states and labels for inserting. token_noise: B × M uniform numbers
    for sampling t̃, None for the argmax. frequencies: V, what random t̃ are sampled by; None where
    t̃ comes from the policy. masked: B × M, bool, tokens that stand and are masked for the token
    head, which predicts them too; None: none. draft_kept: B × N, bool, what the expert keeps of
    y⁰; None where no y⁰ has been aligned. places: where to predict. source: how the source is read.
    """

    target: Tensor
    draft: Tensor
    delete_draft: Tensor
    insertion: InsertionLabels
    token_noise: Tensor | None
    pad: int
    bos: int
    eos: int
    frequencies: Tensor | None = None
    masked: Tensor | None = None
    draft_kept: Tensor | None = None
    source: Layout | None = None

    @functools.cached_property
    def places(self) -> Places:
        """Found once, on the device where the roll-in is first asked for them."""
        return _places(self)

    def to(self, device: torch.device) -> "RollIn":
        """The same on a device, for which the host does not wait."""
        moved = copy.copy(self)
        vars(moved).update({name: _moved(one, device) for name, one in vars(self).items()})
        vars(moved)["places"] = _moved(self.places, device)
        return moved

    def token_state(self, placeholder: int) -> tuple[Tensor, Tensor]:
        """What the token head reads, and where it predicts: B × M each."""
        insertion = self.insertion
        if self.masked is None:
            return insertion.after, insertion.missing
        after = insertion.after.masked_fill(self.masked, placeholder)
        return after, insertion.missing | self.masked


class TrainingBatch(Batch):
    """A batch with the states that its sentences are learned from."""

    roll_in: RollIn


def _moved(value: Any, device: torch.device) -> Any:
    if isinstance(value, Tensor):
        return value.to(device, non_blocking=True)
    if isinstance(value, Layout):
        return value.to(device)
    if isinstance(value, (Places, InsertionLabels)):
        return type(value)(*(_moved(one, device) for one in value))
    return value


def _flat(where: Tensor) -> Tensor:
    return where.flatten().nonzero().squeeze(1)


def _places(roll_in: RollIn) -> Places:
    insertion, target = roll_in.insertion, roll_in.target
    row, column = insertion.slots.nonzero().unbind(1)
    predicts = insertion.missing
    if roll_in.masked is not None:
        predicts = predicts | roll_in.masked
    tokens = _flat(predicts)
    # the placeholder stands for what will be written: no special symbol, no padding
    inputs = _join(roll_in, insertion.after)
    real = inputs.ne(roll_in.pad)
    width = int(real.sum(1).max())
    inputs, real = inputs[:, :width], real[:, :width]
    special = inputs.eq(roll_in.bos) | inputs.eq(roll_in.eos)
    sampled = None
    if roll_in.draft_kept is not None:
        sampled = _flat(~roll_in.delete_draft)
    missing = insertion.missing.flatten()
    return Places(
        slots=row * insertion.before.size(1) + column,
        counts=insertion.counts[insertion.slots],
        tokens=tokens,
        labels=target.flatten()[tokens],
        gaps=_flat(missing),
        written=None if roll_in.masked is None else _flat(missing[tokens]),
        inner=_flat(real & ~special),
        width=width,
        sampled=sampled,
        before=Layout.of(insertion.before.ne(roll_in.pad)),
        after=Layout.of(target.ne(roll_in.pad)),
        inputs=Layout.of(real),
    )


def random_keep(inner: Tensor, rate: Tensor, order: Tensor, kept: str = "uniform") -> Tensor:
    """π^RND: keeps some of n inner tokens.

    Args:
        inner: B × M, bool, tokens that may be dropped.
        rate: B, uniform in [0, 1), decides how many stay.
        order: B × M, uniform in [0, 1), decides which.
        kept: uniform, a number that is uniform over 0 … n, both ends reachable; incomplete, over
            0 … n − 1, as in fairseq; few, the square of a share in [0, 1), so that more is gone.

    Returns:
        B × M, bool, the inner tokens that stay.
    """
    count = inner.sum(1)
    number = {
        "uniform": lambda: rate * (count + 1),
        "incomplete": lambda: rate * count,
        "few": lambda: rate.square() * (count + 1),
    }[kept]().floor()
    rank = order.masked_fill(~inner, 2.0).argsort(dim=1, stable=True).argsort(1)
    return inner & (rank < number.unsqueeze(1))


def build_roll_in(
    target: Tensor,
    draft: Tensor | None,
    sentences: Tensor,
    epoch: int,
    options: RollInOptions,
    dictionary: Dictionary,
    placeholder: int,
    frequencies: Tensor | None = None,
    alignment: tuple[Tensor, Tensor] | None = None,
) -> RollIn:
    """States and expert labels for a batch.

    Args:
        target: y*, B × M, with <s> and </s>.
        draft: y⁰, B × N, or None where there are only pairs; then y⁰ is empty.
        sentences: B, indices in the data set, which seed the randomness together with the
            run's seed and ``epoch``.
        dictionary: of the target, for its special symbols. placeholder: index of ``<plh>``.
        frequencies: V, of the target's symbols; None or all zero: all words alike.
        alignment: what :func:`.lcs_masks` gives for draft and target, where it is known.

    A sentence whose draft is empty has nothing to delete: for deletion it always takes the model's
    insertion. For insertion ℰ(y⁰, d*) is then the empty sentence, where generation begins.
    """
    pad, bos, eos = dictionary.pad(), dictionary.bos(), dictionary.eos()
    if draft is None:
        draft = target.new_tensor([[bos, eos]]).expand(target.size(0), 2)
    random = functools.partial(uniform, options.seed, epoch, sentences)
    width = target.size(1)
    mixture = random(3, _MIXTURE)
    boundary = target.eq(bos) | target.eq(eos)
    inner = target.ne(pad) & ~boundary
    kept = random_keep(inner, mixture[:, 2], random(width, _DROP), options.kept)
    if alignment is None and draft.size(1) > 2 and max(options.alpha, options.beta) > 0:
        alignment = lcs_masks(draft, target, pad)
    if options.beta > 0:
        aligned = boundary if alignment is None else alignment[1]
        kept = torch.where((mixture[:, 1] < options.beta).unsqueeze(1), aligned, kept)
    masked = None
    if options.masking == "uniform":
        masked = (random(width, _MASKED) >= random(1, _MASK)) & inner & kept
    if options.tokens == "random":
        frequencies = _word_frequencies(frequencies, dictionary, placeholder, target.device)
    return RollIn(
        target=target,
        draft=draft,
        delete_draft=draft.ne(pad).sum(1).gt(2) & (mixture[:, 0] < options.alpha),
        insertion=insertion_labels(target, kept | boundary, pad, placeholder),
        token_noise=None if options.tokens == "argmax" else random(width, _TOKENS),
        pad=pad,
        bos=bos,
        eos=eos,
        draft_kept=None if alignment is None else alignment[0],
        frequencies=frequencies if options.tokens == "random" else None,
        masked=masked,
    )


def _word_frequencies(
    frequencies: Tensor | None, dictionary: Dictionary, placeholder: int, device: torch.device
) -> Tensor:
    """V, double: how often each symbol is to be sampled; special symbols never."""
    if frequencies is None or not bool(frequencies[dictionary.nspecial :].any()):
        frequencies = torch.ones(placeholder + 1, dtype=torch.double)
    sampled = frequencies[: placeholder + 1].to(device, torch.double, copy=True)
    sampled[: dictionary.nspecial] = 0
    sampled[placeholder] = 0
    return sampled


def token_predictions(logits: Tensor, roll_in: RollIn, never: list[int]) -> Tensor:
    """t̃ for every placeholder: the most likely token, or one sampled from the policy or at random.

    Args:
        logits: P × V, at ``roll_in.insertion.missing`` in row-major order.
        never: symbols that are never written.

    Returns:
        P, long.
    """
    if roll_in.token_noise is None:
        parts = logits.split(rows_at_once(logits))  # max takes half of the time of argmax
        return torch.cat([without(part, never).max(1).indices for part in parts])
    logits = without(logits, never)
    noise = roll_in.token_noise.flatten().index_select(0, roll_in.places.gaps)
    if roll_in.frequencies is not None:
        # counts are whole numbers: their sums are exact on any device
        counts = roll_in.frequencies.cumsum(0)
        sampled = torch.searchsorted(counts, noise.to(counts) * counts[-1], right=True)
        return sampled.clamp(max=logits.size(1) - 1)
    probabilities = logits.float().softmax(1)
    cumulative = probabilities.cumsum(1)
    exceeds = cumulative > noise.unsqueeze(1) * cumulative[:, -1:]
    # the first token whose cumulative probability exceeds the point. On a GPU the sums are rounded
    # each in its own way: they may rise at a token of probability 0, and fall behind the point
    possible = probabilities > 0
    chosen = (exceeds & possible).to(torch.uint8).max(1)
    return torch.where(chosen.values.bool(), chosen.indices, probabilities.argmax(1))


def join_deletion_inputs(roll_in: RollIn, predicted: Tensor) -> Tensor:
    """y_del: the draft where the mixture chose it, else y*'s gaps filled with t̃ (B × L)."""
    after, places = roll_in.insertion.after, roll_in.places
    filled = after.flatten().index_copy(0, places.gaps, predicted).view_as(after)
    return _join(roll_in, filled)[:, : places.width]


def _join(roll_in: RollIn, filled: Tensor) -> Tensor:
    pad = roll_in.pad
    width = max(filled.size(1), roll_in.draft.size(1))
    filled = F.pad(filled, (0, width - filled.size(1)), value=pad)
    draft = F.pad(roll_in.draft, (0, width - roll_in.draft.size(1)), value=pad)
    return torch.where(roll_in.delete_draft.unsqueeze(1), draft, filled)


def expert_labels(roll_in: RollIn, inputs: Tensor, max_insertions: int) -> dict[str, Tensor]:
    """The expert's actions where the heads predict: d* (1: delete), p* and t*, P each.

    Args:
        inputs: y_del, B × L. max_insertions: K, the largest label of the placeholder head.
    """
    places = roll_in.places
    keep = _kept_by_expert(roll_in, inputs).flatten()
    return {
        "deletion": (~keep.index_select(0, places.inner)).long(),
        "placeholder": places.counts.clamp(max=max_insertions),
        "token": places.labels,
    }


def _kept_by_expert(roll_in: RollIn, inputs: Tensor) -> Tensor:
    """d*: what the expert keeps of y_del (B × L, bool). Drafts have been aligned already."""
    sampled, known, pad = roll_in.places.sampled, roll_in.draft_kept, roll_in.pad
    if sampled is None or known is None:
        return lcs_masks(inputs, roll_in.target, pad)[0]
    width = inputs.size(1)
    keep = F.pad(known, (0, max(0, width - known.size(1))))[:, :width]
    if not sampled.numel():
        return keep
    rows, targets = (x.index_select(0, sampled) for x in (inputs, roll_in.target))
    return keep.index_copy(0, sampled, lcs_masks(rows, targets, pad)[0])
