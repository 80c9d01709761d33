"""How probable a model holds a given text of a unit, and what it would write itself."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np
import torch
from fairseq.sequence_generator import SequenceGenerator
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ...data.batch import Hypothesis
from ...data.batching import in_batches
from ...errors import UserError
from ...fairseq_patches import filter_mask_warning
from ...ops.alignment import lcs_masks
from ...ops.edits import insertion_labels
from .autoregressive import Autoregressive
from .backends import Backend, Tokens
from .levenshtein import LevenshteinBackend
from .prefix_tree import PrefixTree

Pair = tuple[Tokens, Tokens]
#: Texts that a model wrote, and their scores where writing has told them.
Written = Mapping[Tokens, float | None]
#: Width of the search among the words of a lexicon.
LEXICON_BEAM = 10


class Scorer(Protocol):
    """A model that can be asked about texts that it did not write."""

    def knows(self, tokens: Tokens) -> bool:
        """Whether all tokens are in the dictionary."""

    def nbest(self, units: Sequence[Tokens], batch_size: int) -> list[Written]:
        """What the model writes for each unit: several texts, or one.

        A left-to-right model also writes the words of the lexicon that it holds most probable.
        """

    def score(self, pairs: Sequence[Pair], batch_size: int) -> list[float]:
        """Log-probability, in nats, of (unit, text): that the model turns one into the other."""


def scorer_of(backend: Backend, words: Iterable[str] = ()) -> Scorer:
    """The scorer of a backend's model, given the words of a lexicon.

    Raises:
        UserError: one that reads drafts and writes from left to right.
    """
    if isinstance(backend, LevenshteinBackend):
        return LevenshteinScorer(backend)
    if isinstance(backend, Autoregressive) and not backend.drafted:
        return AutoregressiveScorer(backend, words)
    raise UserError(
        "--lexicon and --lookup need a model of task translation_edit, translation or "
        "noisy_translation"
    )


class Weighted:
    """The weights of a log-linear model: one for each feature of a candidate."""

    #: names of the features
    names: ClassVar[tuple[str, ...]]
    weights: np.ndarray

    def set_weights(self, weights: Mapping[str, float]) -> None:
        """Features that are not named have weight 0.

        Raises:
            UserError: a weight that there is not.
        """
        for name in weights:
            if name not in self.names:
                raise UserError(f"there is no weight {name!r}; there are {', '.join(self.names)}")
        self.weights = np.array([weights.get(name, 0.0) for name in self.names])

    def named_weights(self) -> dict[str, float]:
        """Weights by the names of their features."""
        return dict(zip(self.names, self.weights.tolist(), strict=True))


def softmax(scores: np.ndarray) -> np.ndarray:
    """Probabilities of candidates by their scores."""
    scores = np.exp(scores - scores.max())
    return scores / scores.sum()


def score_texts(
    backend: Backend,
    scorer: Scorer,
    units: Sequence[Tokens],
    texts: Sequence[Sequence[str]],
    written: Sequence[Written],
    batch_size: int,
) -> list[list[float]]:
    """Log-probabilities of the texts that each unit may become.

    Args:
        written: what :meth:`Scorer.nbest` gave for each unit.
    """
    pairs = [
        [(unit, backend.tokens(text)) for text in some]
        for unit, some in zip(units, texts, strict=True)
    ]
    scores = {
        (unit, tokens): score
        for unit, found in zip(units, written, strict=True)
        for tokens, score in found.items()
        if score is not None
    }
    asked = [pair for some in pairs for pair in some if pair not in scores]
    scores.update(zip(asked, scorer.score(asked, batch_size), strict=True))
    return [[scores[pair] for pair in some] for some in pairs]


@torch.no_grad()
def _in_batches(
    score: Callable[[Sequence[Pair]], Tensor], pairs: Sequence[Pair], size: int
) -> list[float]:
    # by the length of the unit: its texts, which are about as long, stay together
    lengths = (len(unit) for unit, _ in pairs)
    return in_batches(lambda some: score(some).tolist(), pairs, lengths, size)


class AutoregressiveScorer:
    """Of models that write from left to right; n-best is their beam.

    A second beam writes the words of the lexicon alone: the best of them, however far they are from
    the unit.
    """

    def __init__(self, backend: Autoregressive, words: Iterable[str] = ()) -> None:
        self.backend, self.words = backend, words
        filter_mask_warning()

    @cached_property
    def generators(self) -> list[SequenceGenerator]:
        """fairseq's, made when they are first needed: a lexicon has to be spelt for them."""
        backend, dictionary = self.backend, self.backend.task.target_dictionary
        number = {token: dictionary.index(token) for token in self._spelling}
        spelt = (tokens for tokens in map(backend.tokens, self.words) if number.keys() >= {*tokens})
        numbers = ([number[token] for token in tokens] for tokens in spelt)
        tree = PrefixTree(numbers, dictionary.eos())
        more = [backend.constrained(tree, LEXICON_BEAM)] if tree.words else []
        return [backend.generator, *more]

    @cached_property
    def _spelling(self) -> frozenset[str]:
        """The tokens that the model can read and write."""
        symbols = self.backend.task.source_dictionary.symbols
        return frozenset(filter(self.backend._known, symbols))

    def knows(self, tokens: Tokens) -> bool:
        """See :class:`Scorer`."""
        return self._spelling.issuperset(tokens)

    def nbest(self, units: Sequence[Tokens], batch_size: int) -> list[Written]:
        """What each beam writes, in this order, and the log-probability with which it did."""

        def written(chosen: Sequence[Tokens]) -> list[Written]:
            beams = [self.backend.search(chosen, generator) for generator in self.generators]
            return [
                {
                    text: float(one["positional_scores"].double().sum())
                    for beam in some
                    for one in beam
                    if (text := self._text(one))
                }
                for some in zip(*beams, strict=True)
            ]

        return in_batches(written, units, map(len, units), batch_size)

    def _text(self, hypothesis: Hypothesis) -> Tokens:
        written = [self.backend.symbols.get(n) for n in hypothesis["tokens"].tolist()[:-1]]
        return () if None in written else tuple(str(token) for token in written)

    def score(self, pairs: Sequence[Pair], batch_size: int) -> list[float]:
        """See :class:`Scorer`."""
        return _in_batches(self._score, pairs, batch_size)

    def _score(self, pairs: Sequence[Pair]) -> Tensor:
        backend = self.backend
        dictionary = backend.task.target_dictionary
        units = list(dict.fromkeys(unit for unit, _ in pairs))  # each is encoded once
        batch = backend.batch(units)
        inputs = {name: one for name, one in batch["net_input"].items() if name.startswith("src_")}
        rows = {units[i]: row for row, i in enumerate(batch["id"].tolist())}
        order = torch.tensor([rows[unit] for unit, _ in pairs], device=backend.device)
        eos = torch.tensor([dictionary.eos()])
        targets = [torch.tensor([*map(dictionary.index, text), dictionary.eos()])
                   for _, text in pairs]  # fmt: skip
        wanted = pad_sequence(targets, True, dictionary.pad()).to(backend.device)
        shifted = [torch.cat([eos, one[:-1]]) for one in targets]
        written = pad_sequence(shifted, True, dictionary.pad()).to(backend.device)
        logs = []
        with backend.lock:
            for model in backend.models:
                read = model.encoder.reorder_encoder_out(model.encoder(**inputs), order)
                output = model.decoder(written, encoder_out=read)
                logs.append(model.get_normalized_probs(output, log_probs=True).float())
        every = torch.logsumexp(torch.stack(logs), 0) - torch.tensor(float(len(logs))).log()
        each = every.gather(2, wanted.unsqueeze(2)).squeeze(2)
        return each.masked_fill(wanted.eq(dictionary.pad()), 0).sum(1).double().cpu()


class LevenshteinScorer:
    """Of models that edit: the way of fewest edits, in one iteration.

    The log-probability is the sum of those of each token's deletion or stay, of the size of each
    gap, and of each token that is inserted.
    """

    def __init__(self, backend: LevenshteinBackend) -> None:
        self.backend = backend

    def knows(self, tokens: Tokens) -> bool:
        """See :class:`Scorer`."""
        task = self.backend.task
        return all(t in task.src_dict.indices and t in task.tgt_dict.indices for t in tokens)

    def nbest(self, units: Sequence[Tokens], batch_size: int) -> list[Written]:
        """What the model writes, if it can be spelt: perhaps not by the way of fewest edits."""
        return [
            {tuple(str(token) for token in one.tokens): None}
            if one and None not in one.tokens
            else {}
            for one in self.backend.write(units, batch_size)
        ]

    def score(self, pairs: Sequence[Pair], batch_size: int) -> list[float]:
        """See :class:`Scorer`."""
        return _in_batches(self._score, pairs, batch_size)

    def _score(self, pairs: Sequence[Pair]) -> Tensor:
        backend = self.backend
        task, policy = backend.task, backend.policy
        pad = task.tgt_dict.pad()
        batch = backend.batch([unit for unit, _ in pairs])
        source, draft = batch["net_input"]["src_tokens"], batch["draft"]
        targets = [task.encode_draft(" ".join(text), str, False).tokens for _, text in pairs]
        target = pad_sequence(targets, True, pad).to(backend.device)
        ends = torch.tensor([task.tgt_dict.bos(), task.tgt_dict.eos()], device=backend.device)
        kept, aligned = lcs_masks(draft, target, pad)
        kept, aligned = kept | torch.isin(draft, ends), aligned | torch.isin(target, ends)
        labels = insertion_labels(target, aligned, pad, task.placeholder)
        memory = policy.with_features(draft, policy.encode(source))

        logs = policy.deletion_logits(draft, memory).float().log_softmax(-1)
        inner = draft.ne(pad) & ~torch.isin(draft, ends)
        total = _gathered(logs, (~kept).long()).masked_fill(~inner, 0).sum(1)
        logs = policy.placeholder_logits(labels.before, memory).float().log_softmax(-1)
        counts = labels.counts.clamp(max=logs.size(2) - 1)
        total = total + _gathered(logs, counts).masked_fill(~labels.slots, 0).sum(1)
        if bool(labels.missing.any()):
            logs = policy.token_logits(labels.after, memory, labels.missing).float().log_softmax(-1)
            each = _gathered(logs, target[labels.missing])
            rows = labels.missing.nonzero()[:, 0]
            total = total.index_add(0, rows, each)
        return total.double().cpu()


def _gathered(logs: Tensor, index: Tensor) -> Tensor:
    return logs.gather(-1, index.unsqueeze(-1)).squeeze(-1)
