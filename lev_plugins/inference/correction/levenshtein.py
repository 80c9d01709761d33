"""Models that edit by deletion and insertion: each unit is its own draft."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ...data.batch import Batch
from ...data.batching import in_batches
from ...ops.alignment import lcs_masks
from ...ops.edits import insertion_labels
from ...systems.levenshtein.decoding.history import EditTrace
from ...systems.levenshtein.decoding.policy import EditPolicy, EnsemblePolicy
from ...systems.levenshtein.trace import Trace
from ..editor import LevenshteinEditor
from ..sentences import Sentence, collated
from .autoregressive import LENGTH_SHARE
from .backends import Answer, Pair, ScoringBackend, TextProcessing, Tokens, Written
from .corrections import Edit, apply_edits, by_words
from .edits import gaps
from .proposals import proposals

_SMALLEST = 1e-9


class LevenshteinBackend(ScoringBackend):
    """A :class:`~.backends.Backend` over Algorithm 2 of the Levenshtein Transformer paper.

    The probability of a change is that of its trace (:func:`trace_answer`).
    """

    def __init__(
        self,
        editor: LevenshteinEditor,
        processing: TextProcessing,
        knows_spaces: bool,
        max_iter: int = 10,
        delete_threshold: float | None = None,
    ) -> None:
        self.task, self.device, self.knows_spaces = editor.task, editor.device, knows_spaces
        self.processing = processing
        encoders = processing.tokenizer, processing.bpe
        #: The same models, as an editor that reads text as this backend does.
        self.editor = LevenshteinEditor(editor.models, editor.task, *encoders, editor.reranker)
        models = editor.models
        self.policy: EditPolicy = models[0] if len(models) == 1 else EnsemblePolicy(models)
        source, target = self.editor.limits
        self.limit = max(1, min(source - 2, int(LENGTH_SHARE * target)))
        self.generator = self.editor.generator(
            delete_threshold, max_iter=max_iter, retain_history=True
        )

    def write(
        self, units: Sequence[Tokens], batch_size: int, contexts: Sequence[object] = ()
    ) -> list[Answer | None]:
        """See :class:`~.backends.Backend`; an answer always comes to an end."""
        return in_batches(self._answers, units, map(len, units), batch_size)

    def _answers(self, units: Sequence[Tokens]) -> list[Answer | None]:
        """Of one batch."""
        sentences = list(map(self._sentence, units))
        found = self.generator.generate([self.policy], self._collated(sentences))
        unknown = self.task.tgt_dict.unk_word
        return [
            trace_answer(sentence.trace("", hypothesis), unknown)
            for sentence, (hypothesis,) in zip(sentences, found, strict=True)
        ]

    def _sentence(self, unit: Tokens) -> Sentence:
        """A unit as source and as draft."""
        task, text = self.task, " ".join(unit)  # as the model cuts it
        source = task.encode_text(text, str, task.src_dict)
        draft = task.encode_draft(text, str, markup=False)
        return Sentence(text, text, unit, source, draft, task.tgt_dict)

    def _collated(self, sentences: Sequence[Sentence]) -> Batch:
        sides = [one.tokens for one in sentences], [one.coded for one in sentences]
        return collated(*sides, self.task.tgt_dict.pad(), self.device)

    def knows(self, tokens: Tokens) -> bool:
        """See :class:`~.backends.ScoringBackend`."""
        task = self.task
        return all(t in task.src_dict.indices and t in task.tgt_dict.indices for t in tokens)

    def nbest(
        self, units: Sequence[Tokens], batch_size: int, others: Sequence[Sequence[Tokens]] = ()
    ) -> list[Written]:
        """What the model writes, if it can be spelt: perhaps not by the way of fewest edits."""
        return [
            {tuple(str(token) for token in one.tokens): None}
            if one and None not in one.tokens
            else {}
            for one in self.write(units, batch_size)
        ]

    def log_probabilities(self, pairs: Sequence[Pair]) -> Tensor:
        """Of the way of fewest edits, in one iteration: the sum of those of each token's deletion
        or stay, of the size of each gap, and of each token that is inserted.
        """
        task, policy = self.task, self.policy
        pad = task.tgt_dict.pad()
        batch = self._collated([self._sentence(unit) for unit, _ in pairs])
        source, draft = batch["net_input"]["src_tokens"], batch["draft"]
        targets = [task.encode_draft(" ".join(text), str, False).tokens for _, text in pairs]
        target = pad_sequence(targets, True, pad).to(self.device)
        ends = torch.tensor([task.tgt_dict.bos(), task.tgt_dict.eos()], device=self.device)
        kept, aligned = lcs_masks(draft, target, pad)
        kept, aligned = kept | torch.isin(draft, ends), aligned | torch.isin(target, ends)
        labels = insertion_labels(target, aligned, pad, task.placeholder)
        memory = policy.with_features(draft, policy.encode(source))

        logs = policy.deletion_logits(draft, memory).float().log_softmax(-1)
        inner = draft.ne(pad) & ~torch.isin(draft, ends)
        total = _gathered(logs, (~kept).long()).masked_fill(~inner, 0).sum(1)
        counting = Trace(draft, inner & ~kept)  # read by models that were trained with it
        logs = policy.placeholder_logits(labels.before, memory, counting).float().log_softmax(-1)
        counts = labels.counts.clamp(max=logs.size(2) - 1)
        total = total + _gathered(logs, counts).masked_fill(~labels.slots, 0).sum(1)
        if bool(labels.missing.any()):
            writing = counting.opened(labels.counts, labels.after, pad)
            logs = policy.token_logits(labels.after, memory, labels.missing, writing)
            logs = logs.float().log_softmax(-1)
            each = _gathered(logs, target[labels.missing])
            rows = labels.missing.nonzero()[:, 0]
            total = total.index_add(0, rows, each)
        return total.double().cpu()


def _gathered(logs: Tensor, index: Tensor) -> Tensor:
    return logs.gather(-1, index.unsqueeze(-1)).squeeze(-1)


def trace_answer(trace: EditTrace, unknown: str | None = None) -> Answer:
    """A trace as a backend's answer.

    The probability of a change is the product of those of the deletion of each token that is gone
    and of each token that came, each given what stood when the action was taken.

    Args:
        unknown: the symbol that is no text where the model wrote it.
    """
    before = trace.iterations[0].before if trace.iterations else ()
    gone = [0.0] * len(before)
    # of each token that stands its place in the draft, or None and how likely it was to come
    tokens: list[tuple[int | None, float]] = [(place, 0.0) for place in range(len(before))]
    for step in trace.iterations:
        kept = []
        chances = step.delete_probabilities or (1.0,) * len(tokens)
        for token, out, chance in zip(tokens, step.deleted, chances, strict=True):
            if not out:
                kept.append(token)
            elif token[0] is not None:
                gone[token[0]] = _log(chance)
        old = iter(kept)
        chances = step.token_probabilities or (1.0,) * len(step.after)
        tokens = [
            (None, _log(chance)) if new else next(old)
            for new, chance in zip(step.inserted, chances, strict=True)
        ]
    after = trace.iterations[-1].after if trace.iterations else ()
    places = [(origin, place) for place, (origin, _) in enumerate(tokens) if origin is not None]
    return Answer(
        tuple(
            None if origin is None and symbol == unknown else symbol
            for symbol, (origin, _) in zip(after, tokens, strict=True)
        ),
        tuple(gaps(places, len(before), len(after))),
        tuple(gone),
        tuple(value for _, value in tokens),
        (0.0,) * (len(tokens) + 1),
    )


def _log(probability: float) -> float:
    return math.log(max(probability, _SMALLEST))


def trace_edits(trace: EditTrace, processing: TextProcessing) -> list[Edit]:
    """What turns the draft of a trace into its text, in whole words, in order.

    Args:
        trace: with probabilities, as :meth:`.LevenshteinEditor.edit` returns it.
        processing: the text processing of its model.

    Returns:
        disjoint edits; the probability of one is the product of those of its tokens' deletions
        and insertions. All of the draft is one edit where its tokens cannot be told apart.
        Without a draft there are none.
    """
    draft, answer = trace.draft, trace_answer(trace)
    if not draft or not trace.iterations or trace.text == draft:
        return []
    found = proposals(processing, draft, trace.iterations[0].before, answer)
    edits = [
        Edit(start, draft[start:end], after, one.probability)
        for one in found
        for start, end, after in one.edits
    ]
    if apply_edits(draft, edits).split() != trace.text.split():
        sure = math.exp(math.fsum(map(answer.log_probability, answer.changes)))
        edits = [Edit(0, draft, trace.text, min(1.0, sure))]
    return by_words(draft, edits)
