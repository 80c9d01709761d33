"""Models that edit by deletion and insertion: each unit is its own draft."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ...data.batch import Batch
from ...data.batching import in_batches
from ...systems.levenshtein.decoding.policy import AnyPolicy, EditPolicy, EnsemblePolicy, Memory
from ...systems.levenshtein.decoding.state import EditHypothesis, Step
from ..editor import LevenshteinEditor
from ..sentences import collated
from .autoregressive import LENGTH_SHARE
from .backends import Answer, TextProcessing, Tokens
from .edits import Change, gaps


@dataclass
class _Step:
    """What a policy said in one iteration of one sentence, as log-probabilities in nats.

    deleted: of the deletion of each token. shares: of the size of its gap, divided by that size,
    for each token inserted.
    """

    deleted: list[float] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class _Memory:
    """A policy's memory, and which sentence of the batch each row is."""

    inner: Memory
    rows: Tensor

    def select(self, rows: Tensor) -> "_Memory":
        """Of some of the rows."""
        return _Memory(self.inner.select(rows), self.rows[rows])


class RecordingPolicy(EditPolicy[_Memory]):
    """A policy, and a note of how sure it was; sentences may leave the batch at any time.

    Attributes:
        steps: for each sentence of the batch encoded last its iterations, in order. There may be
            one more than were carried out.
    """

    def __init__(self, policy: AnyPolicy) -> None:
        self.policy = policy
        self.steps: list[list[_Step]] = []
        self._deleting = False
        self._sizes = torch.empty(0)
        self._sized = torch.empty(0)

    def max_positions(self) -> tuple[int, int] | None:
        """The longest source and target."""
        return self.policy.max_positions()

    def encode(self, src_tokens: Tensor) -> _Memory:
        """Begins a batch."""
        rows = torch.arange(src_tokens.size(0), device=src_tokens.device)
        self.steps = [[] for _ in rows]
        self._deleting = False
        return _Memory(self.policy.encode(src_tokens), rows)

    def with_features(self, tokens: Tensor, memory: _Memory) -> _Memory:
        """The memory for these tokens."""
        return _Memory(self.policy.with_features(tokens, memory.inner), memory.rows)

    def deletion_logits(self, tokens: Tensor, memory: _Memory) -> Tensor:
        """The policy's; notes the probability of each deletion."""
        logits = self.policy.deletion_logits(tokens, memory.inner)
        gone = torch.log_softmax(logits.float(), dim=-1)[..., 1]
        for row, values in zip(memory.rows.tolist(), gone.tolist()):
            self.steps[row].append(_Step(deleted=values))
        self._deleting = True
        return logits

    def placeholder_logits(self, tokens: Tensor, memory: _Memory) -> Tensor:
        """The policy's; notes the probability of each size of a gap."""
        logits = self.policy.placeholder_logits(tokens, memory.inner)
        if not self._deleting:  # there was nothing to delete in the whole batch
            for row in memory.rows.tolist():
                self.steps[row].append(_Step())
        self._deleting = False
        self._sizes, self._sized = torch.log_softmax(logits.float(), dim=-1), memory.rows
        return logits

    def token_logits(self, tokens: Tensor, memory: _Memory, where: Tensor) -> Tensor:
        """The policy's; notes what the sizes of the gaps were taken for."""
        place = {row: i for i, row in enumerate(self._sized.tolist())}
        for row, marks in zip(memory.rows.tolist(), where.tolist()):
            self.steps[row][-1].shares = _shares(marks, self._sizes[place[row]])
        return self.policy.token_logits(tokens, memory.inner, where)


def _shares(marks: Sequence[bool], sizes: Tensor) -> list[float]:
    """For every marked (new) token its share of the log-probability of its gap's size.

    ``sizes``: slots × (K + 1), log-probabilities of 0 … K new tokens.
    """
    shares: list[float] = []
    slot = run = 0
    for marked in [*marks[1:], False]:
        if marked:
            run += 1
            continue
        if run:
            shares += [float(sizes[slot, min(run, sizes.size(1) - 1)]) / run] * run
        slot, run = slot + 1, 0
    return shares


class LevenshteinBackend:
    """A :class:`~.backends.Backend` over Algorithm 2 of the Levenshtein Transformer paper.

    The probability of a change is the product of the probabilities of the actions that made it:
    of the deletion of each token that is gone, of the size of each gap that was opened and of each
    token in it, given what stood when the action was taken.
    """

    words_learnt: int | None = None

    def __init__(
        self,
        editor: LevenshteinEditor,
        processing: TextProcessing,
        knows_spaces: bool,
        max_iter: int = 10,
        delete_threshold: float | None = None,
    ) -> None:
        self.task, self.device, self.knows_spaces = editor.task, editor.device, knows_spaces
        self.tokens, self.text, self.processing = processing.tokens, processing.text, processing
        encoders = processing.tokenizer, processing.bpe
        #: The same models, as an editor that reads text as this backend does.
        self.editor = LevenshteinEditor(editor.models, editor.task, *encoders, editor.reranker)
        models = editor.models
        self.policy: AnyPolicy = models[0] if len(models) == 1 else EnsemblePolicy(models)
        source, target = self.editor.limits
        self.limit = max(1, min(source - 2, int(LENGTH_SHARE * target)))
        self.generator = self.editor.generator(
            delete_threshold, max_iter=max_iter, retain_history=True
        )

    def write(self, units: Sequence[Tokens], batch_size: int) -> list[Answer | None]:
        """See :class:`~.backends.Backend`; an answer always comes to an end."""
        return in_batches(self._answers, units, map(len, units), batch_size)

    def _answers(self, units: Sequence[Tokens]) -> list[Answer | None]:
        """Of one batch."""
        watched = RecordingPolicy(self.policy)
        found = self.generator.generate([watched], self.batch(units))
        return [
            self._answer(unit, hypothesis, steps)
            for unit, steps, (hypothesis,) in zip(units, watched.steps, found, strict=True)
        ]

    def batch(self, units: Sequence[Tokens]) -> Batch:
        """Units, each as source and as draft."""
        task = self.task
        texts = list(map(" ".join, units))  # as the model cuts them
        sources = [task.encode_text(text, str, task.src_dict) for text in texts]
        drafts = [task.encode_draft(text, str, False) for text in texts]
        return collated(sources, drafts, task.tgt_dict.pad(), self.device)

    def _answer(self, unit: Tokens, hypothesis: EditHypothesis, steps: Sequence[_Step]) -> Answer:
        gone, places = replay(hypothesis["history"], steps, len(unit))
        numbers = hypothesis["tokens"].tolist()[1:-1]
        scores = hypothesis["positional_scores"].tolist()[1:-1]
        symbols = self.task.tgt_dict
        origins = [origin for origin, _ in places]
        tokens = [  # what stays is as it was typed, known to the model or not
            unit[origin] if origin is not None else None if n == symbols.unk() else symbols[n]
            for n, origin in zip(numbers, origins, strict=True)
        ]
        made = [
            0.0 if origin is not None else score + share
            for (origin, share), score in zip(places, scores, strict=True)
        ]
        still = (0.0,) * (len(tokens) + 1)  # no action says that a gap needs nothing more
        changes = tuple(changed(origins, len(unit)))
        return Answer(tuple(tokens), changes, tuple(gone), tuple(made), still)


def changed(origins: Sequence[int | None], size: int) -> list[Change]:
    """The script that a draft of ``size`` tokens has gone through.

    ``origins``: for each token of the outcome its place in the draft, None where it is new.
    """
    kept = [(origin, place) for place, origin in enumerate(origins) if origin is not None]
    return gaps(kept, size, len(origins))


def replay(
    history: Sequence[Step], steps: Sequence[_Step], size: int
) -> tuple[list[float], list[tuple[int | None, float]]]:
    """Follows every token of a draft, ``size`` without <s> and </s>, through the iterations.

    Args:
        history: the draft, and a record for each of the three phases of every iteration.
        steps: what the policy said in each iteration.

    Returns:
        for each token of the draft the log-probability of its deletion, 0 where it stayed; and for
        each token of the outcome its place in the draft, or None and its share of the
        log-probability of its gap.
    """

    def moves() -> Iterator[Move]:
        for step, delete, after in zip(steps, history[1::3], history[3::3]):
            shares, new = iter(step.shares), after["mask"].tolist()[1:-1]
            written = [next(shares) if fresh else 0.0 for fresh in new]
            yield delete["mask"].tolist()[1:-1], step.deleted[1:], new, written

    return follow(size, moves())


# of an iteration: which tokens stayed and how likely each was to go; which are then new, how likely
Move = tuple[Sequence[bool], Sequence[float], Sequence[bool], Sequence[float]]


def follow(size: int, moves: Iterable[Move]) -> tuple[list[float], list[tuple[int | None, float]]]:
    """What became of ``size`` tokens, as :func:`replay` returns it."""
    gone = [0.0] * size
    tokens: list[tuple[int | None, float]] = [(place, 0.0) for place in range(size)]
    for kept, chances, new, written in moves:
        # there are no chances of an iteration in which nothing could be deleted
        for (origin, _), keep, value in zip(tokens, kept, chances):
            if not keep and origin is not None:
                gone[origin] = value
        old = iter([token for token, keep in zip(tokens, kept, strict=True) if keep])
        tokens = [
            (None, value) if fresh else next(old) for fresh, value in zip(new, written, strict=True)
        ]
    return gone, tokens
