"""Decoding with a Levenshtein Transformer: Algorithm 2 of the paper, batched.

What is decoded with is an :class:`~.policy.EditPolicy`; several checkpoints are one of them.

Shapes: B sentences, N candidates a sentence, R = B·N candidates, those of a sentence side by side,
T tokens.
"""

from collections.abc import Sequence

import torch
from fairseq.data import Dictionary
from torch import Tensor

from ....data.batch import Batch
from ....errors import UserError
from ..markup import EditConstraints, symbol_edges
from .loop import Decoding
from .options import RefinementOptions
from .policy import AnyPolicy, EditPolicy, EnsemblePolicy, MemoryT, is_edit_model
from .reranker import Reranker
from .state import EditHypothesis


class RefinementGenerator:
    """Edits drafts, or writes from nothing, in at most ``max_iter`` iterations.

    Args:
        dictionary: of the target, with the placeholder as its last symbol.
        placeholder: index of that symbol.
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
                ``draft`` (B × N) and ``marks`` (B × N, see :class:`..markup.EditConstraints`).

        Returns:
            for each sentence its hypotheses, the best first, none twice: tokens (with <s> and
            </s>), positional_scores (nats, of the action that put or kept each token), score (of
            one answer their mean, of several that of :func:`rate` or the re-ranker's), actions
            (nats, the sum of all deletions and all tokens written), steps (iterations carried
            out), terminated (unchanged, loop or max_iterations), origin (position in the draft of
            the tokens that stand since then, −1 for others), history (with ``retain_history``:
            the tokens after every phase).

        With ``options.stock`` the rules are those of fairseq's levenshtein_transformer: whole
        iterations are compared, there is one iteration more than asked for, ``<unk>`` is
        refilled, any symbol may be written, and the length limit is twice the source, softly.

        Raises:
            UserError: models that do not go together, more tokens to keep than the length limit
                allows, scores that are not finite.
        """
        policy, reranker = self._policy(models)
        source = sample["net_input"]["src_tokens"]
        decoding = self._decoding(policy, source, sample.get("draft"), sample.get("marks"))
        memory = decoding.state.memory
        hypotheses = decoding.run()
        count = self.options.diversity.count
        if count > 1 and reranker is None:
            rate(policy, memory, hypotheses, self.dictionary, source.device)
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

    def _policy(self, models: Sequence[EditPolicy[MemoryT]]) -> tuple[AnyPolicy, Reranker | None]:
        """The policy to decode with, and what ranks the candidates."""
        reranker = None
        if self.options.external_reranker:
            if len(models) < 2:
                raise UserError(
                    "--iter-decode-with-external-reranker needs a second checkpoint, of an "
                    "autoregressive model: --path edit_model.pt:autoregressive.pt"
                )
            *models, ranking = models
            # fairseq adds words that it has joined (--post-process) behind the placeholder
            symbols = self.dictionary.symbols[: self.placeholder + 1]
            penalty = self.options.length_penalty
            reranker = Reranker(ranking, self.dictionary, length_penalty=penalty, symbols=symbols)
        for model in models:
            if not is_edit_model(model):
                raise UserError(
                    f"{type(model).__name__} is no edit model; give it last, with "
                    "--iter-decode-with-external-reranker, to rank what edit models write"
                )
            model.eval()
        return models[0] if len(models) == 1 else EnsemblePolicy(models), reranker

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


def rate(
    policy: EditPolicy[MemoryT],
    memory: MemoryT,
    hypotheses: Sequence[EditHypothesis],
    dictionary: Dictionary,
    device: torch.device | None = None,
) -> None:
    """Gives candidates a ``score`` by which those to one sentence can be compared.

    It is the sum, in nats, of log p of every deletion and of every token written on the way
    (``actions``), of keeping each token of the answer, and of inserting nothing in each of its
    slots: what was done, and that nothing is left to do. A mean over tokens favours short
    candidates, and what was tried and taken back would cost nothing. How many tokens were inserted
    at a time is no part of it: a gap may be filled at once or little by little.

    Args:
        memory: of the encoder, row for row with ``hypotheses`` (R).
        dictionary: of the target.
        device: of the policy; None where the hypotheses' tokens are there already.
    """
    if not hypotheses:
        return
    pad = dictionary.pad()
    tokens = torch.nn.utils.rnn.pad_sequence(
        [one["tokens"] for one in hypotheses], batch_first=True, padding_value=pad
    ).to(device)
    fixed = tokens.eq(pad) | tokens.eq(dictionary.bos()) | tokens.eq(dictionary.eos())
    memory = policy.with_features(tokens, memory)
    keep = policy.deletion_logits(tokens, memory).float().log_softmax(-1)[..., 0]
    close = policy.placeholder_logits(tokens, memory).float().log_softmax(-1)[..., 0]
    settled = keep.masked_fill(fixed, 0.0).sum(1)
    settled = settled + close.masked_fill(tokens[:, 1:].eq(pad), 0.0).sum(1)
    for hypothesis, final in zip(hypotheses, settled.tolist()):
        hypothesis["score"] = hypothesis["actions"] + final


def best(candidates: Sequence[EditHypothesis], number: int) -> list[EditHypothesis]:
    """The ``number`` best different candidates; of equal ones the first."""
    different: list[EditHypothesis] = []
    for answer in sorted(candidates, key=lambda answer: -answer["score"]):
        if not any(torch.equal(answer["tokens"], other["tokens"]) for other in different):
            different.append(answer)
    return different[:number]
