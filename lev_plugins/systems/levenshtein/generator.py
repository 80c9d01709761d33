"""Decodes batches by Algorithm 2 (:mod:`lev_runtime.refine.decoding`) over tensors.

Shapes: B sentences, N candidates a sentence, R = B·N candidates, those of a sentence next to each
other, S source tokens, T tokens.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from fairseq.data import Dictionary
from torch import Tensor

from lev_runtime.errors import UserError, flag
from lev_runtime.history import EditHypothesis
from lev_runtime.refine import options
from lev_runtime.refine.decoding import Decoding
from lev_runtime.refine.feature_cache import reused
from lev_runtime.refine.policy import EditPolicy, EditState, Symbols, is_edit_model

from ...data.batch import Batch
from ...fairseq_patches.decoding_options import EDITS, STOCK_DECODING, require_read
from ...nn.arrays import TORCH
from .replayed import replayed
from .reranker import Reranker

_NAMES = {  # ours, of fairseq's generation options
    "max_iter": "iter_decode_max_iter",
    "empty_penalty": "iter_decode_eos_penalty",
    "retain_history": "retain_iter_history",
    "unk_penalty": "unkpen",
    "candidates": "iter_decode_with_beam",
    "external_reranker": "iter_decode_with_external_reranker",
    "length_penalty": "lenpen",
    **{name: name for name in ("max_len_a", "max_len_b", "nbest")},
}


@dataclass(frozen=True)
class RefinementOptions(options.RefinementOptions):
    """Options of decoding: the runtime's, and those of fairseq alone.

    external_reranker: the last model, an autoregressive one, ranks the candidates, with
    length_penalty.
    """

    external_reranker: bool = False
    length_penalty: float = 1.0

    @staticmethod
    def spelt(name: str) -> str:
        """Returns an option as fairseq's flag."""
        return flag(_NAMES.get(name, name)) + " "

    @classmethod
    def of(cls, cfg: Any, args: object = None, **overrides: Any) -> "RefinementOptions":
        """Collects options from a task's configuration, fairseq's generation options, and others.

        Args:
            args: fairseq's, or any namespace with some of them. overrides: ours, by name.

        Raises:
            UserError: an option that edit models do not read.
        """
        require_read(args, STOCK_DECODING if cfg.stock_decoding else EDITS)
        values = {own: getattr(args, name) for own, name in _NAMES.items() if hasattr(args, name)}
        values["adaptive"] = not getattr(args, "iter_decode_force_max_iter", False)
        values["noise_scale"] = cfg.noise_scale
        values["seed"] = 1 if cfg.seed is None else cfg.seed
        values["delete_threshold"] = delete_threshold(cfg)
        return cls(**{**values, **overrides})


def delete_threshold(cfg: Any) -> float:
    """Returns the deletion threshold that a task names, or the default."""
    return 0.5 if cfg.delete_threshold is None else float(cfg.delete_threshold)


def symbols_of(dictionary: Dictionary, placeholder: int) -> Symbols:
    """Returns a dictionary's symbols up to the placeholder."""
    names = tuple(dictionary.symbols[: placeholder + 1])
    pad, bos, eos, unk = dictionary.pad(), dictionary.bos(), dictionary.eos(), dictionary.unk()
    return Symbols(names, pad, bos, eos, unk, placeholder)


class RefinementGenerator:
    """Edits drafts, or writes from nothing; the placeholder is the dictionary's last symbol.

    layers: each makes a policy of a model, or of a policy, that only decodes faster. Any may go.
    """

    layers: Sequence[Callable[[Any], EditPolicy]] = (replayed, reused)

    def __init__(
        self, dictionary: Dictionary, placeholder: int, options: RefinementOptions
    ) -> None:
        self.dictionary = dictionary
        self.placeholder = placeholder
        self.options = options
        self.symbols = symbols_of(dictionary, placeholder)
        # fairseq-generate strips these from what it prints
        self.symbols_to_strip_from_output = {self.symbols.eos, self.symbols.bos}

    @torch.no_grad()
    def generate(
        self, models: Sequence[Any], sample: Batch, **unused: object
    ) -> list[list[EditHypothesis]]:
        """Returns the best candidates of every sentence, in the order of the batch.

        Args:
            models: policies, whose probabilities are averaged; with ``external_reranker`` the
                last is an autoregressive fairseq model; :class:`UserError` for others.
            sample: a batch with ``net_input.src_tokens`` (B × S) and, where there are drafts,
                ``draft`` (B × N) and ``marks`` (B × N, see
                :class:`lev_runtime.refine.constraints.EditConstraints`).

        Returns:
            for each sentence its hypotheses, the best first, none twice
            (:class:`lev_runtime.history.EditHypothesis`); the score of several is that of
            :func:`lev_runtime.refine.candidates.rate`, or the re-ranker's.
        """
        policy, reranker = self.policy(models)
        source, draft = sample["net_input"]["src_tokens"], sample.get("draft")
        marks = sample.get("marks")
        decoding = Decoding(policy, source, draft, marks, self.symbols, self.options)
        hypotheses = decoding.run()
        if reranker is not None:
            tokens = [answer["tokens"] for answer in hypotheses]
            scores = reranker.score(source, draft, decoding.groups(tokens))
            for answer, score in zip(hypotheses, itertools.chain(*scores), strict=True):
                answer["score"] = score
        elif self.options.candidates > 1:
            decoding.rate(hypotheses)
        return decoding.nbest(hypotheses)

    def policy(self, models: Sequence[Any]) -> tuple[EditPolicy, Reranker | None]:
        """Returns the policy to decode with, and what ranks the candidates."""
        reranker = None
        if self.options.external_reranker:
            *models, ranking = models
            penalty = self.options.length_penalty
            reranker = Reranker(ranking, self.dictionary, self.placeholder, penalty)
        policies = []
        for model in models:
            if not is_edit_model(model):
                raise UserError(
                    f"{type(model).__name__} is not an edit model; to rank with it, give it "
                    "last and add --iter-decode-with-external-reranker"
                )
            model.eval()  # not chained: fairseq-generate replaces train(), which returns None then
            for layer in self.layers:
                model = layer(model)
            policies.append(model)
        return policies[0] if len(policies) == 1 else EnsemblePolicy(policies), reranker


class EnsembleEncoderOutput(list[Any]):
    """The encoder outputs of the members."""

    def select(self, rows: Tensor) -> "EnsembleEncoderOutput":
        """Returns those of the sentences at ``rows``."""
        return EnsembleEncoderOutput(member.select(rows) for member in self)


class EnsemblePolicy(EditPolicy):
    """A policy whose probabilities are the mean of its members', which share their dictionaries."""

    arrays = TORCH

    def __init__(self, policies: Sequence[EditPolicy]) -> None:
        self.policies = list(policies)
        self.traces = any(policy.traces for policy in policies)

    def max_positions(self) -> tuple[int, int]:
        """Returns the tightest limits of the members."""
        source, target = zip(*(policy.max_positions() for policy in self.policies))
        return min(source), min(target)

    def encode(self, src_tokens: Tensor) -> EnsembleEncoderOutput:
        """Runs the encoders of the members."""
        return EnsembleEncoderOutput(policy.encode(src_tokens) for policy in self.policies)

    def logits(self, head: str, state: EditState) -> Tensor:
        """Returns the logarithm of the mean of the members' probabilities."""
        logs = []
        for policy, own in zip(self.policies, state.encoder_out, strict=True):
            trace = state.trace if policy.traces else None
            logits = policy.logits(head, replace(state, encoder_out=own, trace=trace))
            logs.append(torch.log_softmax(logits.float(), dim=-1))
        width = max(log.size(-1) for log in logs)  # the largest K: others never insert as many
        wide = [F.pad(log, (0, width - log.size(-1)), value=-math.inf) for log in logs]
        return torch.logsumexp(torch.stack(wide), dim=0) - math.log(len(logs))
