"""Decoding with a Levenshtein Transformer: Algorithm 2 of the paper, batched.

What is decoded with is an :class:`~.policy.EditPolicy`: anything that has its four methods. Wrapped
policies make the rest: several checkpoints are one averaged policy (:mod:`.ensemble`), an oracle is
a policy that knows the target (:mod:`.oracle`).

Shapes: B sentences, N candidates a sentence, R = B·N candidates, those of a sentence side by side.
"""

import copy
from collections.abc import Sequence

import torch
from fairseq.data import Dictionary
from torch import Tensor

from ....data.batch import Batch
from ....errors import UserError
from .constraints import EditConstraints, symbol_edges
from .ensemble import EnsemblePolicy
from .loop import Decoding
from .options import RefinementOptions
from .oracle import with_oracle
from .policy import AnyPolicy, EditPolicy, MemoryT, evaluate, is_edit_model
from .ranking import best, rate
from .reranker import Reranker
from .state import EditHypothesis


class RefinementGenerator:
    """Edits drafts, or writes from nothing, in at most ``max_iter`` iterations.

    Args:
        dictionary: of the target, with the placeholder as its last symbol.
        placeholder: index of that symbol; larger numbers in a draft are words that the model
            does not know, which it reads as unknown and leaves as they are.
    """

    def __init__(
        self, dictionary: Dictionary, placeholder: int, options: RefinementOptions
    ) -> None:
        self.dictionary, self.placeholder, self.options = dictionary, placeholder, options
        # fairseq-generate strips these from what it prints
        self.symbols_to_strip_from_output = {dictionary.eos(), dictionary.bos()}

    @torch.no_grad()
    def generate(
        self, models: Sequence[EditPolicy[MemoryT]], sample: Batch, **unused: object
    ) -> list[list[EditHypothesis]]:
        """The best candidates of every sentence, in the order of the batch.

        Args:
            models: policies, whose probabilities are averaged; with ``external_reranker`` the
                last is an autoregressive fairseq model.
            sample: a batch with ``net_input.src_tokens`` (B × S) and, where there are drafts,
                ``draft`` (B × N) and ``marks`` (B × N, see :class:`.constraints.EditConstraints`);
                with an oracle ``target`` (B × M).

        Returns:
            for each sentence its hypotheses, the best first, none twice: tokens (with <s> and
            </s>), positional_scores (nats, of the action that put or kept each token), score (of
            one answer their mean, of several that of :func:`.ranking.rate` or the re-ranker's),
            actions (nats, the sum of all deletions and all tokens written), steps (iterations
            carried out), terminated (unchanged, loop or max_iterations), origin
            (position in the draft of the tokens that stand since then, −1 for others), history
            (with ``retain_history``: the tokens after every phase).

        With ``options.stock`` the rules are those of fairseq's levenshtein_transformer: whole
        iterations are compared, there is one iteration more than asked for, ``<unk>`` is
        refilled, any symbol may be written, and the length limit is twice the source, softly.

        Raises:
            UserError: models that do not go together, no target for the oracle, more tokens to
                keep than the length limit allows, scores that are not finite.
        """
        policy, reranker = self._policy(models, sample)
        source = sample["net_input"]["src_tokens"]
        decoding = self._decoding(policy, source, sample.get("draft"), sample.get("marks"))
        memory = decoding.state.memory
        hypotheses = decoding.run()
        count = self.options.diversity.count
        if count > 1 and reranker is None:
            rate(policy, memory, hypotheses, self.dictionary, self.placeholder, source.device)
        candidates = [hypotheses[i : i + count] for i in range(0, len(hypotheses), count)]
        if reranker is not None:
            self._rescore(reranker, source, sample.get("draft"), candidates)
        return [best(group, self.options.nbest) for group in candidates]

    def _decoding(
        self,
        policy: EditPolicy[MemoryT],
        source: Tensor,
        draft: Tensor | None,
        marks: Tensor | None,
    ) -> Decoding[MemoryT]:
        """A batch, each sentence as often as it has candidates, before its first iteration."""
        if draft is None:
            ends = [[self.dictionary.bos(), self.dictionary.eos()]]
            draft = source.new_tensor(ends).expand(source.size(0), 2)
        count = self.options.diversity.count
        rows = torch.arange(source.size(0), device=source.device).repeat_interleave(count)
        memory = policy.encode(source)
        if count > 1:
            memory = memory.select(rows)
        symbols = self.dictionary, self.placeholder
        decoding = Decoding(policy, memory, source[rows], draft[rows], *symbols, self.options)
        if marks is not None and bool(marks.any()):
            edges = symbol_edges(tuple(self.dictionary.symbols[: self.placeholder + 1]))
            decoding.set_constraints(EditConstraints(draft[rows], marks[rows], edges))
        return decoding

    def _policy(
        self, models: Sequence[EditPolicy[MemoryT]], sample: Batch
    ) -> tuple[AnyPolicy, Reranker | None]:
        """The policy to decode with, and what ranks the candidates."""
        reranker = None
        if self.options.external_reranker:
            if len(models) < 2:
                raise UserError(
                    "--iter-decode-with-external-reranker needs a second checkpoint, of an "
                    "autoregressive model: --path edit_model.pt:autoregressive.pt"
                )
            *models, ranking = models
            reranker = Reranker(
                ranking, self._known_symbols(), length_penalty=self.options.length_penalty
            )
        for model in models:
            if not is_edit_model(model):
                raise UserError(
                    f"{type(model).__name__} is no edit model; give it last, with "
                    "--iter-decode-with-external-reranker, to rank what edit models write"
                )
            evaluate(model)
        policy = models[0] if len(models) == 1 else EnsemblePolicy(models)
        return with_oracle(policy, self.options.oracle, sample.get("target")), reranker

    def _known_symbols(self) -> Dictionary:
        """The dictionary as it was: fairseq adds words that it has joined (--post-process)."""
        known = copy.copy(self.dictionary)
        known.symbols = self.dictionary.symbols[: self.placeholder + 1]
        known.indices = {symbol: i for i, symbol in enumerate(known.symbols)}
        return known

    def _rescore(
        self,
        reranker: Reranker,
        source: Tensor,
        draft: Tensor | None,
        candidates: list[list[EditHypothesis]],
    ) -> None:
        tokens = [[answer["tokens"] for answer in group] for group in candidates]
        for group, scores in zip(candidates, reranker.score(source, draft, tokens)):
            for answer, score in zip(group, scores):
                answer["score"] = score
