"""fairseq's generator for greedy decoding that reads ahead in a draft (:mod:`lev_runtime.beam.guesses`).

Shapes: B sentences, T' tokens of a pass, V symbols.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from fairseq.data import Dictionary
from fairseq.models import BaseFairseqModel
from fairseq.sequence_generator import SequenceGenerator
from torch import Tensor

from lev_runtime.beam.guesses import GuidedText, Reach, accept
from lev_runtime.errors import UserError

from .block_reader import BlockReader, reader_of

SUPPORTED = "pbd_transformer, gated_transformer, transformer_concat and fairseq's transformer"
#: a batch → a draft of each of its sentences, in tokens of the target
Drafts = Callable[[dict[str, Any]], Sequence[Sequence[int]]]


class DraftGuidedGenerator(SequenceGenerator):
    """fairseq's generator with a beam of 1, guided by drafts.

    Args:
        drafts: gives the drafts of a batch.
        options: as of fairseq's; those of a beam or of another search are not looked at.

    Raises:
        UserError: a model whose decoder cannot read several tokens at once.
    """

    def __init__(
        self,
        models: Sequence[BaseFairseqModel],
        dictionary: Dictionary,
        drafts: Drafts,
        **options: Any,
    ) -> None:
        kinds = []
        for model in models:
            kind = reader_of(model)
            if kind is None:
                name = type(model).__name__
                message = f"{name} reads one token at a time; use {SUPPORTED}"
                raise UserError(f"--draft-guided: {message}")
            kinds.append(kind)
        super().__init__(models, dictionary, **options)
        self.kinds = kinds
        self.drafts = drafts
        self.reach = Reach(len(dictionary))
        #: of a draft these are not read
        self.ends = {dictionary.pad(), dictionary.eos()}

    @torch.no_grad()
    def _generate(
        self,
        sample: dict[str, Any],
        prefix_tokens: Tensor | None = None,
        constraints: Tensor | None = None,
        bos_token: int | None = None,
    ) -> list[list[dict[str, Any]]]:
        """One hypothesis for each sentence, as fairseq's; its ``steps`` are the passes it took."""
        if prefix_tokens is not None or constraints is not None:
            raise UserError("--draft-guided: not with a prefix or constraints; leave one out")
        inputs = sample["net_input"]
        source = inputs["src_tokens"]
        longest = min(int(self.max_len_a * source.size(1) + self.max_len_b), self.max_len - 1)
        if self.min_len > longest:
            raise UserError(f"--min-len {self.min_len}: outputs have {longest} tokens at most")
        begin = self.eos if bos_token is None else bos_token
        writing = []
        for row, draft in enumerate(self.drafts(sample)):
            text = [token for token in draft if token not in self.ends]
            writing.append(GuidedText(row, begin, text, longest))
        encoder_outs = self.model.forward_encoder(inputs)
        readers = []
        for kind, model, encoder_out in zip(
            self.kinds, self.model.models, encoder_outs, strict=True
        ):
            readers.append(kind(model, encoder_out, len(writing)))
        hypotheses: list[list[dict[str, Any]]] = [[] for _ in writing]
        while writing:
            writing = self._pass(writing, readers, source.device, hypotheses)
        return hypotheses

    def _pass(
        self,
        writing: list[GuidedText],
        readers: Sequence[BlockReader],
        device: torch.device,
        hypotheses: list[list[dict[str, Any]]],
    ) -> list[GuidedText]:
        """Reads on with all sentences that are being written; returns those that have not ended."""
        reach = self.reach.best(len(writing))
        guesses = [text.guess(reach) for text in writing]
        block = self._block(writing, guesses)
        logs = self._log_probabilities(readers, block.to(device))
        self._restrict(logs, [len(text.tokens) - 1 for text in writing], writing[0].longest)
        best = logs.max(2)
        tokens, scores = best.indices.tolist(), best.values.tolist()
        going, counts = accept(writing, guesses, tokens, scores, self.reach, self.eos)
        for number in {*range(len(writing))}.difference(going):
            text = writing[number]
            hypotheses[text.row] = [self._hypothesis(text, device)]
        if going:
            for reader in readers:
                reader.keep(np.array(counts), block.size(1))
                if len(going) < len(writing):
                    reader.select(torch.tensor(going, device=device))
        return [writing[number] for number in going]

    def _block(self, writing: Sequence[GuidedText], guesses: Sequence[Sequence[int]]) -> Tensor:
        """The last token of each sentence and its guess, padded on the right: B × T'."""
        width = 1 + max(map(len, guesses))
        block = torch.full((len(writing), width), self.pad)
        for row, sentence, guess in zip(block, writing, guesses, strict=True):
            tokens = [sentence.tokens[-1], *guess]
            row[: len(tokens)] = torch.tensor(tokens)
        return block

    def _log_probabilities(self, readers: Sequence[BlockReader], block: Tensor) -> Tensor:
        """Log-probabilities of what follows each token of a block, by all models: B × T' × V."""
        logs = []
        for model, reader in zip(self.model.models, readers, strict=True):
            out, *extra = reader.read(block)
            out = out if self.temperature == 1 else out / self.temperature
            logs.append(model.get_normalized_probs((out, *extra), log_probs=True, sample=None))
        if len(logs) == 1:
            return logs[0]
        return torch.logsumexp(torch.stack(logs), 0) - math.log(len(logs))

    def _restrict(self, logs: Tensor, written: Sequence[int], longest: int) -> None:
        """In place: takes away what greedy decoding would not write, as fairseq does.

        ``written``: tokens of each sentence so far.
        """
        logs[..., self.pad] = -math.inf
        if self.unk_penalty:
            logs[..., self.unk] -= self.unk_penalty
        logs.masked_fill_(logs.isnan(), -math.inf)
        if self.token_indices_to_suppress is not None:
            logs[..., self.token_indices_to_suppress] = -math.inf
        places = torch.tensor(written)[:, None] + torch.arange(logs.size(1))
        early = places < self.min_len
        late = places >= longest
        if early.any():
            logs[..., self.eos].masked_fill_(early.to(logs.device), -math.inf)
        if late.any():
            end = logs[..., self.eos].clone()
            logs.masked_fill_(late.to(logs.device)[..., None], -math.inf)
            logs[..., self.eos] = end

    def _hypothesis(self, sentence: GuidedText, device: torch.device) -> dict[str, Any]:
        """A text that has come to its end, as fairseq's beam search gives it."""
        tokens = torch.tensor(sentence.tokens[1:], device=device)
        scores = torch.tensor(sentence.scores, device=device)
        length = 1.0
        if self.normalize_scores:
            length = len(scores) ** self.len_penalty
        score = scores.sum() / length
        nothing = torch.empty(0)
        return {
            "tokens": tokens,
            "score": score,
            "attention": nothing,
            "alignment": nothing,
            "positional_scores": scores,
            "steps": sentence.passes,
        }
