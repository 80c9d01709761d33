"""Policies that need no model: one always says the same, one is a fixed random function.

Both answer every sentence by itself, so what a batch does to an answer is the generator's doing.
Sentences are strings of letters as in :mod:`tiny`, ``?`` is a placeholder.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import tiny
import torch
from fairseq.data import Dictionary
from torch import Tensor

from lev_plugins.systems.levenshtein.decoding.policy import EditPolicy


@dataclass
class FakeMemory:
    """The sources, as rows of a memory that can be selected."""

    source: Tensor

    def select(self, rows: Tensor) -> "FakeMemory":
        return FakeMemory(self.source.index_select(0, rows))


class Policy(EditPolicy):
    """Knows its symbols, and reads sentences beside their sources."""

    def __init__(self, symbols: Dictionary, placeholder: int, limit: int | None = None) -> None:
        self.symbols, self.placeholder, self.limit = symbols, placeholder, limit

    def max_positions(self) -> tuple[int, int] | None:
        return None if self.limit is None else (self.limit, self.limit)

    def encode(self, src_tokens: Tensor) -> FakeMemory:
        return FakeMemory(src_tokens)

    def read(self, tokens: Tensor, memory: FakeMemory) -> list[tuple[str, str]]:
        """Source and sentence of every row."""
        assert tokens.size(0) == memory.source.size(0), "memory and sentences went apart"
        sentences = [tiny.letters(row, self.symbols, self.placeholder) for row in tokens]
        sources = [tiny.letters(row, self.symbols) for row in memory.source]
        return list(zip(sources, sentences, strict=True))


class ConstantPolicy(Policy):
    """The same logits everywhere: of keeping and deleting, of the number missing, of symbols."""

    def __init__(
        self,
        symbols: Dictionary,
        placeholder: int,
        deletion: Sequence[float] = (1.0, 0.0),
        counts: Sequence[float] = (1.0, 0.0),
        token: Tensor | None = None,
    ) -> None:
        super().__init__(symbols, placeholder)
        self.deletion, self.counts = torch.tensor(deletion), torch.tensor(counts)
        self.token = torch.zeros(len(symbols)) if token is None else token

    def deletion_logits(self, tokens: Tensor, memory: FakeMemory) -> Tensor:
        return self.deletion.repeat(*tokens.shape, 1)

    def placeholder_logits(self, tokens: Tensor, memory: FakeMemory, trace: None = None) -> Tensor:
        return self.counts.repeat(tokens.size(0), tokens.size(1) - 1, 1)

    def token_logits(
        self, tokens: Tensor, memory: FakeMemory, where: Tensor, trace: None = None
    ) -> Tensor:
        return self.token.repeat(int(where.sum()), 1)


class RandomPolicy(Policy):
    """Draws its logits from the sentence and its source: at random, yet always the same.

    ``growth`` is added to the logit of inserting nothing with the sign turned: above 0 sentences
    tend to grow. ``sureness`` scales all logits.
    """

    def __init__(
        self,
        symbols: Dictionary,
        placeholder: int,
        seed: int,
        growth: float = 0.0,
        sureness: float = 2.0,
    ) -> None:
        super().__init__(symbols, placeholder)
        self.seed, self.growth, self.sureness = seed, growth, sureness

    def _draw(self, phase: str, source: str, sentence: str, *shape: int) -> Tensor:
        key = zlib.crc32(f"{self.seed} {phase} {source} {sentence}".encode())
        return self.sureness * torch.randn(*shape, generator=torch.Generator().manual_seed(key))

    def deletion_logits(self, tokens: Tensor, memory: FakeMemory) -> Tensor:
        logits = torch.full((*tokens.shape, 2), 3.0)
        for i, (source, sentence) in enumerate(self.read(tokens, memory)):
            logits[i, 1 : len(sentence) + 1] = self._draw("d", source, sentence, len(sentence), 2)
        return logits

    def placeholder_logits(self, tokens: Tensor, memory: FakeMemory, trace: None = None) -> Tensor:
        logits = torch.full((tokens.size(0), tokens.size(1) - 1, 4), 3.0)
        for i, (source, sentence) in enumerate(self.read(tokens, memory)):
            sampled = self._draw("p", source, sentence, len(sentence) + 1, 4)
            sampled[:, 0] -= self.growth
            logits[i, : len(sentence) + 1] = sampled
        return logits

    def token_logits(
        self, tokens: Tensor, memory: FakeMemory, where: Tensor, trace: None = None
    ) -> Tensor:
        rows = []
        for i, (source, sentence) in enumerate(self.read(tokens, memory)):
            sampled = self._draw("t", source, sentence, len(sentence) + 2, len(self.symbols))
            rows.append(sampled[where[i, : len(sentence) + 2]])
        return torch.cat(rows)
