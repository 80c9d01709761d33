"""Decoding with a Levenshtein Transformer: Algorithm 2 of the paper, batched.

Shapes: B sentences, N candidates a sentence, R = B·N candidates, those of a sentence side by side,
T tokens.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import torch
from fairseq.data import Dictionary

from lev_runtime.candidates import best
from lev_runtime.decoding import Decoding, Symbols
from lev_runtime.errors import UserError
from lev_runtime.records import EditHypothesis

from ....data.batch import Batch
from .candidates import Reranker
from .options import RefinementOptions
from .policy import EditPolicy, EnsemblePolicy, is_edit_model
from .stock import StockDecoding


class RefinementGenerator:
    """Edits drafts, or writes from nothing; the placeholder is the dictionary's last symbol."""

    def __init__(
        self, dictionary: Dictionary, placeholder: int, options: RefinementOptions
    ) -> None:
        self.dictionary = dictionary
        self.placeholder = placeholder
        self.options = options
        names = tuple(dictionary.symbols[: placeholder + 1])
        bos, eos = dictionary.bos(), dictionary.eos()
        self.symbols = Symbols(names, dictionary.pad(), bos, eos, dictionary.unk(), placeholder)
        # fairseq-generate strips these from what it prints
        self.symbols_to_strip_from_output = {eos, bos}

    @torch.no_grad()
    def generate(
        self, models: Sequence[Any], sample: Batch, **unused: object
    ) -> list[list[EditHypothesis]]:
        """The best candidates of every sentence, in the order of the batch.

        Args:
            models: policies, whose probabilities are averaged; with ``external_reranker`` the
                last is an autoregressive fairseq model; :class:`UserError` for others.
            sample: a batch with ``net_input.src_tokens`` (B × S) and, where there are drafts,
                ``draft`` (B × N) and ``marks`` (B × N, see
                :class:`lev_runtime.constraints.EditConstraints`).

        Returns:
            for each sentence its hypotheses, the best first, none twice
            (:class:`lev_runtime.records.EditHypothesis`); the score of several is that of
            :func:`lev_runtime.candidates.rate`, or the re-ranker's.

        With ``options.stock`` fairseq's rules hold (:class:`.stock.StockDecoding`).
        """
        policy, reranker = self._policy(models)
        rules: type[Decoding] = StockDecoding if self.options.stock else Decoding
        source, draft = sample["net_input"]["src_tokens"], sample.get("draft")
        marks = sample.get("marks")
        decoding = rules(policy, source, draft, marks, self.symbols, self.options)
        hypotheses = decoding.run()
        candidates = decoding.groups(hypotheses)
        if reranker is not None:
            tokens = [[answer["tokens"] for answer in group] for group in candidates]
            scores = reranker.score(source, draft, tokens)
            for answer, score in zip(hypotheses, itertools.chain(*scores), strict=True):
                answer["score"] = score
        elif self.options.candidates > 1:
            decoding.rate(hypotheses)
        return [best(group, self.options.nbest) for group in candidates]

    def _policy(self, models: Sequence[Any]) -> tuple[EditPolicy, Reranker | None]:
        """The policy to decode with, and what ranks the candidates."""
        reranker = None
        if self.options.external_reranker:
            *models, ranking = models
            penalty = self.options.length_penalty
            reranker = Reranker(ranking, self.dictionary, self.placeholder, penalty)
        for model in models:
            if not is_edit_model(model):
                raise UserError(
                    f"{type(model).__name__} is not an edit model; to rank with it, give it "
                    "last and add --iter-decode-with-external-reranker"
                )
            model.eval()  # in fairseq-generate it returns nothing
        return models[0] if len(models) == 1 else EnsemblePolicy(models), reranker
