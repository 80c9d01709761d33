"""Makes the states in which the expert π* is asked, and its labels (paper, Eq. 6 to 8, Alg. 1).

Shapes: B sentences, M tokens of the target y*, N tokens of the draft y⁰, P places with a label.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from lev_runtime.refine.policy import Symbols, Trace

from ...data.batch import Batch
from ...nn.arrays import TORCH
from ...nn.backends import chunk_rows, is_accelerator
from ...ops import edits
from ...ops.alignment import lcs_masks
from ...ops.edits import InsertionLabels, true_places
from ...ops.randomness import uniform_streams
from .config import TranslationEditConfig

# streams of uniform random numbers, one per purpose; decoding has another (NOISE_STREAM)
MIXTURE = 0  # three a sentence: which y_del, which y_ins, how many tokens random dropping keeps
DROP_ORDER = 1  # a number a token: which of them it keeps
TOKEN_NOISE = 2  # a number a token: which t̃ is sampled
MASK_RATE = 3  # one a sentence: the share of its tokens that are not masked
MASK_ORDER = 4  # a number a token: which are masked
GLANCE_ORDER = 5  # a number a token: which targets glancing reveals first
STREAMS = 6


class Sizes(NamedTuple):
    """Numbers of a batch that the host knows; None: each is counted when it is needed."""

    missing: int | None = None  # placeholders
    written: int | None = None  # tokens that the token head predicts
    slots: int | None = None  # slots that the placeholder head counts for
    deleted: int | None = None  # tokens that leave a trace
    traced_width: int | None = None  # tokens of the longest sentence with its trace
    revised: int | None = None  # tokens of y_del without its ends


@dataclass(frozen=True)
class States:
    """The states of one batch in which the expert is asked."""

    target: Tensor  # y*, B × M
    draft: Tensor  # y⁰, B × N
    delete_draft: Tensor  # B, bool: y_del is the draft, else what the model itself inserts
    insertion: InsertionLabels  # y_ins, y'_ins and what the expert inserts
    masked_target: Tensor  # B × M, what the token head reads: y'_ins, or more or less masked
    predicted: Tensor  # B × M, bool, where the token head predicts
    draft_kept: Tensor | None  # B × N, bool, kept of the drafts that insertion states are made of
    token_noise: Tensor | None  # B × M, uniform, for sampling t̃; None: argmax
    frequencies: Tensor | None  # V, by which random t̃ are sampled; None: t̃ are the policy's
    symbols: Symbols
    glancing: float = 0.0  # share of its errors that the token head is shown as targets
    show_order: Tensor | None = None  # B × M, uniform: which targets glancing reveals first
    sizes: Sizes = Sizes()

    @property
    def pad(self) -> int:
        """Returns the padding index."""
        return self.symbols.pad

    def counted(self) -> "States":
        """Returns the states with their sizes where a device would have to be waited for."""
        return replace(self, sizes=_sizes(self)) if is_accelerator(self.target) else self


class TrainingBatch(Batch):
    """A batch with the states that a model learns from."""

    states: States


# states -------------------------------------------------------------------------------------------


def make_states(
    sample: Batch,
    epoch: int,
    shares: tuple[float, float],
    cfg: TranslationEditConfig,
    symbols: Symbols,
    frequencies: Tensor,
) -> States:
    """Makes the states of a batch (Eq. 6 and 7).

    A sentence without a draft has nothing to delete: for deletion it takes the model's insertions,
    for insertion ℰ(y⁰, d*) is the empty sentence, where generation begins.

    sample: ``target``, y*, B × M, with <s> and </s>; ``draft``, y⁰, B × N, missing: empty; ``id``,
    B, indices in the data set: they, ``epoch`` and the run's seed seed all noise. shares: α, β.
    frequencies: V, how often each symbol of the target is sampled, for random t̃.
    """
    alpha, beta = shares
    target = sample["target"]
    draft = sample.get("draft")
    if draft is None:
        draft = target.new_full((len(target), 2), symbols.bos)
        draft[:, 1] = symbols.eos
    width = target.size(1)
    random = uniform_streams(cfg.seed, epoch, sample["id"], max(width, 3), STREAMS)
    chooses_draft, keeps_draft, keep_rate = random[MIXTURE, :, :3].unbind(1)
    random = random[:, :, :width]
    # Eq. 7: y_ins is the draft after the expert's deletion, or the target after random deletion
    inner = symbols.inner(target)
    kept = random_keep(inner, keep_rate, random[DROP_ORDER], str(cfg.kept_tokens))
    draft_kept = None
    if beta > 0:
        is_draft = (keeps_draft < beta).unsqueeze(1)
        draft_kept, kept = choose_kept(sample, draft, is_draft, kept, symbols.pad)
    kept = kept | (target.ne(symbols.pad) & ~inner)  # <s> and </s> always stay
    insertion = edits.insertion_labels(target, kept, symbols.pad, symbols.placeholder)
    masked_target, predicted = insertion.after, insertion.missing
    if str(cfg.token_masking) == "uniform":
        masked = (random[MASK_ORDER] >= random[MASK_RATE, :, :1]) & inner & kept
        masked_target = masked_target.masked_fill(masked, symbols.placeholder)
        predicted = predicted | masked
    # Eq. 6: y_del is the draft, or what the model inserts
    has_draft = draft.ne(symbols.pad).sum(1) > 2
    samples_tokens = str(cfg.roll_in_tokens) != "argmax"
    is_random = str(cfg.roll_in_tokens) == "random"
    states = States(
        target,
        draft,
        has_draft & (chooses_draft < alpha),
        insertion,
        masked_target,
        predicted,
        draft_kept,
        token_noise=random[TOKEN_NOISE] if samples_tokens else None,
        frequencies=frequencies.to(target.device, non_blocking=True) if is_random else None,
        symbols=symbols,
        glancing=cfg.glancing,
        show_order=random[GLANCE_ORDER] if cfg.glancing else None,
    )
    return states.counted()


def choose_kept(
    sample: Batch, draft: Tensor, is_draft: Tensor, kept: Tensor, pad: int
) -> tuple[Tensor | None, Tensor]:
    """Chooses the tokens of drafts (B × N, bool; None: no sentence has one) and of y* that stay.

    is_draft: B × 1, bool, sentences whose y_ins is the draft after the expert's deletion. kept: B ×
    M, bool, the tokens that stay of the others' y*.
    """
    if draft.size(1) == 2:
        return None, kept & ~is_draft
    if "draft_kept" in sample:  # the data set has aligned them
        draft_kept, target_kept = sample["draft_kept"], sample["target_kept"]
    else:
        draft_kept, target_kept = lcs_masks(draft, sample["target"], pad)
    return draft_kept & is_draft, torch.where(is_draft, target_kept, kept)


def random_keep(inner: Tensor, rate: Tensor, order: Tensor, kept: str = "uniform") -> Tensor:
    """Drops tokens at random (π^RND): returns which of n inner tokens (B × M, bool) stay.

    rate: B, uniform in [0, 1), decides how many. order: B × M, likewise, which. kept: uniform, a
    number that is uniform over 0 … n; incomplete, over 0 … n − 1 (fairseq).
    """
    count = inner.sum(1)
    number = (rate * (count if kept == "incomplete" else count + 1)).floor()
    return first_of(inner, order, number)


def first_of(mask: Tensor, order: Tensor, number: Tensor) -> Tensor:
    """Selects the first entries of a mask, a ``number`` (B) in each row: B × M, bool.

    order: B × M, in [0, 1), by which they are sorted.
    """
    rank = order.masked_fill(~mask, 2.0).argsort(dim=1, stable=True).argsort(1)
    return mask & (rank < number.unsqueeze(1))


def _sizes(states: States) -> Sizes:
    """Counts the sizes; a device is waited for once."""
    missing = states.insertion.missing.sum(1)
    real = states.target.ne(states.pad).sum(1)
    drafted = states.draft.ne(states.pad).sum(1)
    inner_draft = states.symbols.inner(states.draft).sum(1)
    # what is written in the gaps is neither padding nor an end
    inner_target = states.symbols.inner(states.target).sum(1)
    delete_draft = states.delete_draft
    numbers = {"missing": missing.sum(), "written": states.predicted.sum()}
    numbers["slots"] = (real - missing - 1).sum()
    numbers["revised"] = torch.where(delete_draft, inner_draft, inner_target).sum()
    if states.draft_kept is None:
        numbers["deleted"] = torch.zeros_like(numbers["missing"])
    else:
        kept = states.draft_kept.sum(1)
        is_draft = kept > 0
        numbers["deleted"] = torch.where(is_draft, drafted - kept, 0).sum()
        numbers["traced_width"] = torch.where(is_draft, drafted + missing, real).max()
    values = torch.stack(list(numbers.values())).tolist()
    return Sizes(**dict(zip(numbers, values, strict=True)))


def insertion_inputs(states: States, traced: bool) -> tuple[Trace, Trace]:
    """Returns y_ins and y'_ins, which the placeholder and the token head read.

    traced: with what the expert deletes from drafts; after dropping at random a trace would tell
    the answer.
    """
    pad = states.pad
    before = states.insertion.before
    if not traced or states.draft_kept is None:
        return _untraced(before), _untraced(states.masked_target)
    width = max(states.draft.size(1), before.size(1))
    before = _widened(before, width, pad)
    draft = _widened(states.draft, width, pad)
    kept = _widened(states.draft_kept, width, False)
    is_draft = kept.any(1, keepdim=True)
    deleted = is_draft & ~kept & draft.ne(pad)
    counting = Trace(torch.where(is_draft, draft, before), deleted, TORCH)
    opened = counting.opened(
        states.insertion.counts, states.masked_target, pad, states.sizes.traced_width
    )
    return counting, opened


def _untraced(tokens: Tensor) -> Trace:
    return Trace(tokens, torch.zeros_like(tokens, dtype=torch.bool), TORCH)


def token_places(states: States, filled: Trace) -> Tensor:
    """Returns where the token head predicts, P, in y'_ins (``filled``) flattened."""
    where = states.predicted
    if filled.tokens is not states.masked_target:  # among deleted tokens they stand elsewhere
        where = filled.spread(where, states.pad)
    return true_places(where, states.sizes.written)


def glanced(states: States, logits: Tensor) -> States:
    """Glancing: reveals targets in proportion to the number of wrong predictions.

    The token head learns the others (Qian et al., 2021, §3.1). logits: P × V, where it predicts.
    """
    assert states.show_order is not None
    labels = token_labels(states)
    best = logits.max(1).indices
    predicted = states.predicted
    is_wrong = torch.zeros_like(predicted).masked_scatter(predicted, best.ne(labels))
    number = (states.glancing * is_wrong.sum(1)).floor()
    shown = first_of(predicted, states.show_order, number)
    masked_target = torch.where(shown, states.target, states.masked_target)
    states = replace(states, masked_target=masked_target, predicted=predicted & ~shown)
    return states.counted()


def deletion_state(states: States, token_logits: Tensor, forbidden_symbols: list[int]) -> Tensor:
    """Returns y_del, B × L (Eq. 6): the draft, or y* with its gaps filled by the model's own t̃.

    The mixture has chosen which. token_logits: P × V, where the token head predicts.
    """
    insertion = states.insertion
    pad = states.pad
    logits = token_logits.detach()
    if states.predicted is not insertion.missing:
        # tokens that stand and were masked on top stand in y_del as they are
        places = true_places(states.predicted, states.sizes.written)
        is_missing = insertion.missing.flatten().index_select(0, places)
        logits = logits.index_select(0, true_places(is_missing, states.sizes.missing))
    with torch.no_grad():
        predictions = token_predictions(logits, states, forbidden_symbols)
    filled = insertion.after.masked_scatter(insertion.missing, predictions)
    width = max(filled.size(1), states.draft.size(1))
    draft = _widened(states.draft, width, pad)
    filled = _widened(filled, width, pad)
    return torch.where(states.delete_draft.unsqueeze(1), draft, filled)


def token_predictions(logits: Tensor, states: States, forbidden_symbols: Iterable[int]) -> Tensor:
    """Returns t̃ for every placeholder, P: the likeliest, a sampled or a random token.

    logits: P × V, at ``states.insertion.missing``.
    """
    sides = [logits]
    if states.token_noise is not None:
        places = true_places(states.insertion.missing, states.sizes.missing)
        noise = states.token_noise.flatten().index_select(0, places)
        sides.append(noise)
        if states.frequencies is not None:
            # counts are whole numbers: their sums are exact on any device
            counts = states.frequencies.cumsum(0)
            sampled = torch.searchsorted(counts, noise.to(counts) * counts[-1], right=True)
            return sampled.clamp(max=logits.size(1) - 1)

    def choose(part: Tensor, *noise: Tensor) -> Tensor:
        allowed = part.clone()
        for symbol in forbidden_symbols:  # one by one: a list would have to be sent to the device
            allowed[:, symbol] = float("-inf")
        # max takes half of the time of argmax
        return sampled_tokens(allowed, *noise) if noise else allowed.max(1).indices

    size = chunk_rows(logits)
    return torch.cat(list(map(choose, *(side.split(size) for side in sides))))


def sampled_tokens(logits: Tensor, noise: Tensor) -> Tensor:
    """Samples a token for each row of P × V logits, by P numbers that are uniform in [0, 1)."""
    probabilities = logits.float().softmax(1)
    cumulative = probabilities.cumsum(1)
    exceeds = cumulative > noise.unsqueeze(1) * cumulative[:, -1:]
    # the first token whose cumulative probability exceeds the point; as a GPU rounds the sums, they
    # may rise at a token of probability 0, and fall after the point
    is_likely = exceeds & (probabilities > 0)
    chosen = is_likely.to(torch.uint8).max(1)
    return torch.where(chosen.values.bool(), chosen.indices, probabilities.argmax(1))


def _widened(values: Tensor, width: int, fill: int) -> Tensor:
    """Pads values on the right: B × ``width``."""
    missing = width - values.size(1)
    return F.pad(values, (0, missing), value=fill) if missing else values


# labels -------------------------------------------------------------------------------------------


def placeholder_labels(states: States, max_insertions: int) -> Tensor:
    """Returns p*, P: how many tokens of y* are missing in each slot of y_ins (Eq. 7 and 8)."""
    places = true_places(states.insertion.slots, states.sizes.slots)
    counts = states.insertion.counts.flatten().index_select(0, places)
    return counts.clamp(max=max_insertions)


def token_labels(states: States) -> Tensor:
    """Returns t*, P: the tokens of y* where the token head predicts."""
    places = true_places(states.predicted, states.sizes.written)
    return states.target.flatten().index_select(0, places)


def deletion_labels(y_del: Tensor, states: States) -> tuple[Tensor, Tensor]:
    """Returns the places of y_del's inner tokens, P, in B × L flattened, and d* there (Eq. 8).

    d* is 1 for tokens that the longest common subsequence of y_del and y* leaves out.
    """
    places = true_places(states.symbols.inner(y_del), states.sizes.revised)
    keep, _ = lcs_masks(y_del, states.target, states.pad)
    kept = keep.flatten().index_select(0, places)
    return places, (~kept).long()
