"""Greedy decoding that reads ahead in a draft, and writes the same text in fewer passes.

A decoder reads what its text is expected to go on with, a stretch of the draft, in one pass. Up to
the first token that it would not have written itself, this is what greedy decoding writes; there
its own token is taken, and the draft is read on from where the text then stands in it (aggressive
decoding: Sun et al., 2021; Ge et al., 2022). The draft decides how many passes there are, never
what is written.

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

from lev_runtime.beam.draft_guided import DraftGuide
from lev_runtime.errors import UserError

from .block_reader import BlockReader, reader_of

SUPPORTED = "pbd_transformer, gated_transformer, transformer_concat and fairseq's transformer"
#: tokens that are guessed at once, at most
MAX_GUESSED_TOKENS = 64
#: what a pass costs besides its guesses, in columns of them: of a batch, and of each sentence
#: (measured on a CPU with characters; with more it guesses further)
FIXED_COLUMNS, OWN_COLUMNS = 26, 8
#: and of each sentence where the output layer is most of the work, with so many symbols and more
LARGE_VOCABULARY, OWN_COLUMNS_OF_LARGE = 1000, 1.5
#: what a pass without a guess adds to the right ones: after a while guessing is tried again
FORGIVENESS = 0.05
IMPOSSIBLE = (
    "--draft-guided: no symbol can follow what is written: the model's output is not a number "
    "(NaN), or all that may follow, such as </s>, is suppressed"
)
#: a batch → a draft of each of its sentences, in tokens of the target
Drafts = Callable[[dict[str, Any]], Sequence[Sequence[int]]]


class Reach:
    """Chooses how far to guess, by how often guesses were right; symbols: of the dictionary."""

    def __init__(self, symbols: int = 0) -> None:
        self.right, self.wrong = 18.0, 2.0
        self.own = OWN_COLUMNS if symbols < LARGE_VOCABULARY else OWN_COLUMNS_OF_LARGE

    def best(self, size: int) -> int:
        """The number of tokens by which a batch of ``size`` writes most for what it computes; 0
        where guesses cost more than they bring."""
        chance = self.right / (self.right + self.wrong)
        counts = np.arange(MAX_GUESSED_TOKENS + 1)
        written = (1 - chance ** (counts + 1)) / (1 - chance)
        cost = 1 + counts / (FIXED_COLUMNS / size + self.own)
        return int(counts[(written / cost).argmax()])

    def saw(self, accepted: int, guessed: int) -> None:
        """Notes how much of a guess was right."""
        self.right += accepted if guessed else FORGIVENESS
        self.wrong += accepted < guessed
        if self.right + self.wrong > 400:  # what was long ago counts less
            self.right, self.wrong = self.right / 2, self.wrong / 2


class Sentence:
    """A text that is being written.

    row: of the batch. tokens: what was written, after the token that it begins with; scores: the
    log-probability of each but that. passes: of the decoder, so far.
    """

    def __init__(self, row: int, begin: int, draft: Sequence[int]) -> None:
        self.row = row
        self.passes = 0
        self.guide = DraftGuide(draft)
        self.tokens = [begin]
        self.scores: list[float] = []

    def write(self, tokens: list[int], scores: list[float]) -> None:
        """Goes on by what was accepted of a guess, and one token more."""
        self.tokens += tokens
        self.scores += scores
        self.passes += 1
        self.guide.follow(tokens)


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
            writing.append(Sentence(row, begin, text))
        encoder_outs = self.model.forward_encoder(inputs)
        readers = []
        for kind, model, encoder_out in zip(
            self.kinds, self.model.models, encoder_outs, strict=True
        ):
            readers.append(kind(model, encoder_out, len(writing)))
        hypotheses: list[list[dict[str, Any]]] = [[] for _ in writing]
        while writing:
            writing = self._pass(writing, readers, longest, source, hypotheses)
        return hypotheses

    def _pass(
        self,
        writing: list[Sentence],
        readers: Sequence[BlockReader],
        longest: int,
        source: Tensor,
        hypotheses: list[list[dict[str, Any]]],
    ) -> list[Sentence]:
        """Reads on with all sentences that are being written; returns those that have not ended.

        ``longest``: tokens of a text at most, without </s>.
        """
        reach = self.reach.best(len(writing))
        guesses = []
        for sentence in writing:
            room = longest + 1 - len(sentence.tokens)
            guesses.append(sentence.guide.guess(min(reach, room)))
        block = self._block(writing, guesses)
        logs = self._log_probabilities(readers, block.to(source.device))
        self._restrict(logs, [len(sentence.tokens) - 1 for sentence in writing], longest)
        best = logs.max(2)
        scores, tokens = best.values.tolist(), best.indices.tolist()
        going, counts = [], []
        for number, (sentence, guess) in enumerate(zip(writing, guesses, strict=True)):
            count = 1 + _agreeing(tokens[number], guess)
            if -math.inf in scores[number][:count]:  # else it would be written without end
                raise UserError(IMPOSSIBLE)
            self.reach.saw(count - 1, len(guess))
            sentence.write(tokens[number][:count], scores[number][:count])
            counts.append(count)
            if sentence.tokens[-1] == self.eos:
                hypotheses[sentence.row] = [self._hypothesis(sentence, source.device)]
            else:
                going.append(number)
        if going:
            for reader in readers:
                reader.keep(np.array(counts), block.size(1))
                if len(going) < len(writing):
                    reader.select(torch.tensor(going, device=source.device))
        return [writing[number] for number in going]

    def _block(self, writing: Sequence[Sentence], guesses: Sequence[Sequence[int]]) -> Tensor:
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

    def _hypothesis(self, sentence: Sentence, device: torch.device) -> dict[str, Any]:
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


def _agreeing(tokens: Sequence[int], guess: Sequence[int]) -> int:
    """Counts the first tokens of a guess that the model would have written itself."""
    for count, (token, guessed) in enumerate(zip(tokens, guess)):
        if token != guessed:
            return count
    return len(guess)
