"""The expert π* of dual-policy learning: states in which it is asked, and what it knows of them
(paper, Eq. 6-8, Alg. 1). Its labels are each operation's :meth:`.EditOperation.lesson`.

Shapes: B sentences, M tokens of the target y*, N tokens of the draft y⁰, P placeholders in all.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import torch
import torch.nn.functional as F
from fairseq.data import Dictionary
from torch import Tensor

from ...data.batch import Batch
from ...nn.backends import chunk_rows, is_accelerator
from ...ops.alignment import lcs_masks
from ...ops.edits import InsertionLabels, insertion_labels, true_places
from ...ops.randomness import uniform_streams
from .config import TranslationEditConfig
from .trace import Trace

if TYPE_CHECKING:
    from .model import LevenshteinEditorModel

#: drafts, targets and padding → what the expert keeps of both
Align = Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor]]
# streams of random numbers, one per purpose
_MIXTURE, _DROP, _TOKENS, _MASK, _MASKED, _SHOWN = 0, 1, 2, 3, 4, 5


class Sizes(NamedTuple):
    """How many there are in a batch, None for whoever counts them as soon as it needs to know.

    missing: placeholders. written: tokens that the token head predicts. slots: that the
    placeholder head counts for. deleted: tokens that leave a trace; traced_width: of the longest
    sentence with it. revised: tokens of y_del without its ends, those that a revision decides
    about; revised_width: of y_del.
    """

    missing: int | None = None
    written: int | None = None
    slots: int | None = None
    deleted: int | None = None
    traced_width: int | None = None
    revised: int | None = None
    revised_width: int | None = None


@dataclass
class Expert:
    """What the expert knows of one batch, which the task makes and the model asks.

    target: y*, B × M. draft: y⁰, B × N. delete_draft: B, bool, y_del = y⁰ (else the model's own
    insertion). insertion: y_ins, y'_ins and what the expert inserts. masked_target, predicted:
    B × M, what the token head reads, and bool, where it predicts: y'_ins and its placeholders,
    unless tokens that stand are masked too (``--token-masking``) or it is shown some (glancing).
    token_noise: B × M uniform numbers for sampling t̃, None for the argmax. frequencies: V, what
    random t̃ are sampled by; None where t̃ comes from the policy. draft_kept: B × N, bool, what the
    expert keeps of the drafts that insertion states are made of. glancing: how many masked tokens
    the token head is shown, as a share of the number that it gets wrong; show_order: B × M uniform
    numbers, which. sizes: known where a device would have to be waited for. traced, never,
    max_insertions: of the model that asks.
    """

    target: Tensor
    draft: Tensor
    delete_draft: Tensor
    insertion: InsertionLabels
    masked_target: Tensor
    predicted: Tensor
    token_noise: Tensor | None
    frequencies: Tensor | None
    draft_kept: Tensor | None
    pad: int
    bos: int
    eos: int
    glancing: float = 0.0
    show_order: Tensor | None = None
    sizes: Sizes = field(default_factory=Sizes)
    traced: bool = False
    never: list[int] = field(default_factory=list)
    max_insertions: int = 0

    def begin(self, model: "LevenshteinEditorModel") -> None:
        """A model learns from it from now on, and has written nothing yet."""
        self.traced = model.traces
        self.never = model.never
        self.max_insertions = model.cfg.max_insertions
        self.token_logits: Tensor | None = None
        before, after = self._insertion_states()
        self._before_insertion, self._before_filling = before, after

    # states -----------------------------------------------------------------------------------

    def before_insertion(self) -> Trace:
        """y_ins, what the placeholder head reads (Eq. 7)."""
        return self._before_insertion

    def before_filling(self) -> tuple[Trace, Tensor]:
        """y'_ins, what the token head reads, and where it predicts: B × T, bool."""
        after = self._before_filling
        if after.tokens is self.masked_target:
            return after, self.predicted
        return after, after.spread(self.predicted, self.pad)

    def _insertion_states(self) -> tuple[Trace, Trace]:
        """y_ins and y'_ins, traced where the expert deletes from drafts: after dropping at random
        a trace would tell the answer."""
        pad = self.pad
        before = self.insertion.before
        if not self.traced or self.draft_kept is None:
            return Trace.of(before), Trace.of(self.masked_target)
        width = max(self.draft.size(1), before.size(1))
        before = _widened(before, width, pad)
        draft = _widened(self.draft, width, pad)
        kept = _widened(self.draft_kept, width, False)
        is_draft = kept.any(1, keepdim=True)
        deleted = is_draft & ~kept & draft.ne(pad)
        counting = Trace(torch.where(is_draft, draft, before), deleted)
        opened = counting.opened(
            self.insertion.counts, self.masked_target, pad, self.sizes.traced_width
        )
        return counting, opened

    def note_token_logits(self, logits: Tensor) -> None:
        """Notes the token head's first logits (P × V, where it predicts): of them come the t̃ of
        y_del (Alg. 1)."""
        if self.token_logits is None:
            self.token_logits = logits.detach()
            self.logits_where = self.predicted
            self.logits_count = self.sizes.written

    def glance(self, logits: Tensor, labels: Tensor) -> None:
        """Shows the token head some masked tokens, right or wrong, the more the more are wrong; it
        learns the others (glancing: Qian et al., 2021, §3.1).

        logits: P × V, labels: P, both where it predicts.
        """
        assert self.show_order is not None
        self.note_token_logits(logits)
        best = torch.cat([part.max(1).indices for part in logits.split(chunk_rows(logits))])
        is_wrong = torch.zeros_like(self.predicted).masked_scatter(self.predicted, best.ne(labels))
        number = (self.glancing * is_wrong.sum(1)).floor()
        shown = first_of(self.predicted, self.show_order[:, : self.predicted.size(1)], number)
        self.masked_target = torch.where(shown, self.target, self.masked_target)
        self.predicted = self.predicted & ~shown
        if is_accelerator(self.predicted):
            self.sizes = self.measured()
        self._before_insertion, self._before_filling = self._insertion_states()

    def before_deletion(self) -> Tensor:
        """y_del, B × L (Eq. 6): the draft where the mixture chose it, else y* with its gaps filled
        by the model's own t̃."""
        with torch.no_grad():
            logits = self._placeholder_logits()
            return join_deletion_inputs(self, token_predictions(logits, self, self.never))

    def _placeholder_logits(self) -> Tensor:
        """The token head's logits at placeholders, P × V; those at tokens that stand, which were
        masked on top, are left out: in y_del these stand as they are."""
        assert self.token_logits is not None, "insertion is learnt before deletion"
        missing = self.insertion.missing
        logits = self.token_logits
        if self.logits_where is missing:
            return logits
        places = true_places(self.logits_where, self.logits_count)
        is_missing = missing.flatten().index_select(0, places)
        return logits.index_select(0, true_places(is_missing, self.sizes.missing))

    def inner(self, tokens: Tensor) -> Tensor:
        """B × L, bool: neither padding nor ends."""
        return tokens.ne(self.pad) & tokens.ne(self.bos) & tokens.ne(self.eos)

    def measured(self) -> Sizes:
        """The sizes; a device is waited for once."""
        missing = self.insertion.missing.sum(1)
        real = self.target.ne(self.pad).sum(1)
        drafted = self.draft.ne(self.pad).sum(1)
        inner_draft = self.inner(self.draft).sum(1)
        # what is written in the gaps is neither padding nor an end
        inner_target = self.inner(self.target).sum(1)
        numbers = {"missing": missing.sum(), "written": self.predicted.sum()}
        numbers["slots"] = (real - missing - 1).sum()
        numbers["revised"] = torch.where(self.delete_draft, inner_draft, inner_target).sum()
        numbers["revised_width"] = torch.where(self.delete_draft, drafted, real).max()
        if self.draft_kept is None:
            numbers["deleted"] = torch.zeros_like(numbers["missing"])
        else:
            kept = self.draft_kept.sum(1)
            is_draft = kept > 0
            numbers["deleted"] = torch.where(is_draft, drafted - kept, 0).sum()
            numbers["traced_width"] = torch.where(is_draft, drafted + missing, real).max()
        values = torch.stack(list(numbers.values())).tolist()
        return Sizes(**dict(zip(numbers, values, strict=True)))


class TrainingBatch(Batch):
    """A batch with the expert whom it is learned from."""

    expert: Expert


def random_keep(inner: Tensor, rate: Tensor, order: Tensor, kept: str = "uniform") -> Tensor:
    """π^RND: which of n inner tokens (B × M, bool) stay.

    rate: B, uniform in [0, 1), decides how many. order: B × M, likewise, which. kept: uniform, a
    number that is uniform over 0 … n; incomplete, over 0 … n − 1 (fairseq).
    """
    count = inner.sum(1)
    number = (rate * (count if kept == "incomplete" else count + 1)).floor()
    return first_of(inner, order, number)


def first_of(mask: Tensor, order: Tensor, number: Tensor) -> Tensor:
    """B × M, bool: those of a mask that come first in the ``order`` (B × M, in [0, 1)), a
    ``number`` (B) of each row."""
    rank = order.masked_fill(~mask, 2.0).argsort(dim=1, stable=True).argsort(1)
    return mask & (rank < number.unsqueeze(1))


def make_expert(
    sample: Batch,
    epoch: int,
    shares: tuple[float, float],
    cfg: TranslationEditConfig,
    dictionary: Dictionary,
    placeholder: int,
    frequencies: Tensor,
    align: Align = lcs_masks,
) -> Expert:
    """The expert of a batch, and the states in which it is asked (Eq. 6 and 7).

    A sentence without a draft has nothing to delete: for deletion it takes the model's insertions,
    for insertion ℰ(y⁰, d*) is the empty sentence, where generation begins.

    sample: ``target``, y*, B × M, with <s> and </s>; ``draft``, y⁰, B × N, missing: empty; ``id``,
    B, indices in the data set: they, ``epoch`` and the run's seed seed all noise. shares: α, β.
    frequencies: V, how often each symbol of the target is sampled, for random t̃. align: of the
    model's first revision (:meth:`.EditOperation.align`).
    """
    alpha, beta = shares
    pad, bos, eos = dictionary.pad(), dictionary.bos(), dictionary.eos()
    target = sample["target"]
    draft = sample.get("draft")
    if draft is None:
        draft = target.new_full((len(target), 2), bos)
        draft[:, 1] = eos
    width = target.size(1)
    random = _random_numbers(sample, epoch, cfg)
    mixture = random[_MIXTURE]
    # Eq. 7: y_ins is the draft after the expert's deletion, or the target after random deletion
    boundary = target.eq(bos) | target.eq(eos)
    inner = target.ne(pad) & ~boundary
    order = random[_DROP, :, :width]
    kept = random_keep(inner, mixture[:, 2], order, str(cfg.kept_tokens))
    draft_kept = None
    if beta > 0:
        is_draft = (mixture[:, 1] < beta).unsqueeze(1)
        target_kept = boundary
        if draft.size(1) > 2:
            draft_kept, target_kept = expert_alignment(sample, pad, align)
            draft_kept = draft_kept & is_draft
        kept = torch.where(is_draft, target_kept, kept)
    insertion = insertion_labels(target, kept | boundary, pad, placeholder)
    masked_target, predicted = insertion.after, insertion.missing
    if str(cfg.token_masking) == "uniform":
        masked = _masked(random, inner & kept)
        masked_target = masked_target.masked_fill(masked, placeholder)
        predicted = predicted | masked
    # Eq. 6: y_del is the draft, or what the model inserts
    has_draft = draft.ne(pad).sum(1) > 2
    delete_draft = has_draft & (mixture[:, 0] < alpha)
    noise = words = None
    if str(cfg.roll_in_tokens) != "argmax":
        noise = random[_TOKENS, :, :width]
    if str(cfg.roll_in_tokens) == "random":
        words = frequencies.to(target.device, non_blocking=True)
    states = target, draft, delete_draft, insertion, masked_target, predicted
    expert = Expert(*states, noise, words, draft_kept, pad, bos, eos, cfg.glancing)
    if cfg.glancing:
        expert.show_order = random[_SHOWN]
    if is_accelerator(target):
        expert.sizes = expert.measured()
    return expert


def _random_numbers(sample: Batch, epoch: int, cfg: TranslationEditConfig) -> Tensor:
    """Streams × B × M uniform numbers of the sentences: those that the options need."""
    last = _DROP
    if str(cfg.roll_in_tokens) != "argmax":
        last = _TOKENS
    if str(cfg.token_masking) == "uniform":
        last = _MASKED
    if cfg.glancing:
        last = _SHOWN
    # a mixture takes three
    width = max(sample["target"].size(1), 3)
    return uniform_streams(cfg.seed, epoch, sample["id"], width, last + 1)


def _masked(random: Tensor, standing: Tensor) -> Tensor:
    """B × M, bool: a share of what is ``standing``, uniform, that the token head predicts too."""
    numbers = random[_MASKED, :, : standing.size(1)]
    return (numbers >= random[_MASK, :, :1]) & standing


def expert_alignment(sample: Batch, pad: int, align: Align) -> tuple[Tensor, Tensor]:
    """What the expert keeps of y⁰ and y*, B × N and B × M: the collater's, where that has it."""
    if "draft_kept" in sample:
        return sample["draft_kept"], sample["target_kept"]
    return align(sample["draft"], sample["target"], pad)


def without(logits: Tensor, symbols: Iterable[int]) -> Tensor:
    """A copy of logits (P × V) in which some symbols have no chance."""
    logits = logits.clone()
    for symbol in symbols:  # numbers that the device need not be sent
        logits[:, symbol] = float("-inf")
    return logits


def token_predictions(logits: Tensor, expert: Expert, never: list[int]) -> Tensor:
    """t̃ for every placeholder (P): the likeliest, one sampled from the policy, or a random token.

    logits: P × V, at ``expert.insertion.missing``. never: symbols that are never written.
    """
    size = chunk_rows(logits)
    if expert.token_noise is None:
        parts = logits.split(size)  # max takes half of the time of argmax
        return torch.cat([without(part, never).max(1).indices for part in parts])
    places = true_places(expert.insertion.missing, expert.sizes.missing)
    noise = expert.token_noise.flatten().index_select(0, places)
    if expert.frequencies is not None:
        # counts are whole numbers: their sums are exact on any device
        counts = expert.frequencies.cumsum(0)
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
    is_likely = exceeds & (probabilities > 0)
    chosen = is_likely.to(torch.uint8).max(1)
    return torch.where(chosen.values.bool(), chosen.indices, probabilities.argmax(1))


def join_deletion_inputs(expert: Expert, predicted: Tensor) -> Tensor:
    """y_del: the draft where the mixture chose it, else y*'s gaps filled with t̃ (B × L)."""
    insertion = expert.insertion
    pad = expert.pad
    filled = insertion.after.masked_scatter(insertion.missing, predicted)
    width = max(filled.size(1), expert.draft.size(1))
    draft = _widened(expert.draft, width, pad)
    filled = _widened(filled, width, pad)
    inputs = torch.where(expert.delete_draft.unsqueeze(1), draft, filled)
    longest = expert.sizes.revised_width
    if longest is None:
        longest = int(inputs.ne(pad).sum(1).max())
    return inputs[:, :longest]


def _widened(values: Tensor, width: int, fill: int) -> Tensor:
    """B × ``width``, with ``fill`` behind the values."""
    missing = width - values.size(1)
    return F.pad(values, (0, missing), value=fill) if missing else values
