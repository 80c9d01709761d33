"""Policies that need no model: one follows a script, one is a fixed random function.

Both answer every sentence by itself, so what a batch does to an answer is the generator's doing.
Sentences are strings of letters as in :mod:`tiny`, ``?`` is a placeholder.
"""

import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import tiny
import torch
from fairseq.data import Dictionary
from torch import Tensor

from lev_plugins.systems.levenshtein.decoding.policy import EditPolicy

GONE = "-"


@dataclass
class FakeMemory:
    """The sources, as rows of a memory that can be selected."""

    source: Tensor

    def select(self, rows: Tensor) -> "FakeMemory":
        return FakeMemory(self.source.index_select(0, rows))


@dataclass(frozen=True)
class Script:
    """What a policy does to which sentence; a sentence that is not named stays as it is.

    delete: ``{"abc": "a-c"}``. insert: ``{"ac": "a?c"}``. fill: ``{"a?c": "abc"}``.
    """

    delete: Mapping[str, str] = field(default_factory=dict)
    insert: Mapping[str, str] = field(default_factory=dict)
    fill: Mapping[str, str] = field(default_factory=dict)


class Policy(EditPolicy):
    """Counts the calls of each phase, and which sentences it was asked about."""

    def __init__(self, symbols: Dictionary, placeholder: int, limit: int | None = None) -> None:
        self.symbols, self.placeholder, self.limit = symbols, placeholder, limit
        self.calls: Counter[str] = Counter()
        self.asked: list[tuple[str, list[str]]] = []

    def max_positions(self) -> tuple[int, int] | None:
        return None if self.limit is None else (self.limit, self.limit)

    def encode(self, src_tokens: Tensor) -> FakeMemory:
        self.calls["encode"] += 1
        return FakeMemory(src_tokens)

    def read(self, phase: str, tokens: Tensor, memory: FakeMemory) -> list[tuple[str, str]]:
        """Source and sentence of every row; notes the call."""
        assert tokens.size(0) == memory.source.size(0), "memory and sentences went apart"
        self.calls[phase] += 1
        sentences = [tiny.letters(row, self.symbols, self.placeholder) for row in tokens]
        self.asked.append((phase, sentences))
        sources = [tiny.letters(row, self.symbols) for row in memory.source]
        return list(zip(sources, sentences, strict=True))


class ScriptedPolicy(Policy):
    """Does what the script of a sentence's source says.

    What it means to do has the logit 4, all else 0; but it would rather delete <s> and </s>, and
    write the symbols that nobody may write, which is for the generator to forbid. Not if it is
    ``tame``.
    """

    def __init__(
        self,
        symbols: Dictionary,
        placeholder: int,
        scripts: Mapping[str, Script],
        limit: int | None = None,
        tame: bool = False,
    ) -> None:
        super().__init__(symbols, placeholder, limit)
        self.scripts, self.tame = scripts, tame

    def deletion_logits(self, tokens: Tensor, memory: FakeMemory) -> Tensor:
        logits = torch.zeros(*tokens.shape, 2)
        for i, (source, sentence) in enumerate(self.read("deletion", tokens, memory)):
            outcome = self.scripts[source].delete.get(sentence, sentence)
            assert len(outcome) == len(sentence), f"bad script: {sentence} → {outcome}"
            for place, letter in enumerate(outcome, start=1):
                logits[i, place, int(letter == GONE)] = 4.0
        bounds = tokens.eq(self.symbols.bos()) | tokens.eq(self.symbols.eos())
        logits[..., 1] += 9.0 * bounds
        return logits

    def placeholder_logits(self, tokens: Tensor, memory: FakeMemory, trace: None = None) -> Tensor:
        logits = torch.zeros(tokens.size(0), tokens.size(1) - 1, 10)
        logits[..., 3] = 1.0  # beyond the end of a sentence: to be ignored
        for i, (source, sentence) in enumerate(self.read("placeholder", tokens, memory)):
            counts = [0] * (len(sentence) + 1)
            if sentence in self.scripts[source].insert:
                counts = slot_counts(self.scripts[source].insert[sentence])
            assert len(counts) == len(sentence) + 1, f"bad script for {sentence}"
            for slot, count in enumerate(counts):
                logits[i, slot, count] = 4.0
        return logits

    def token_logits(
        self, tokens: Tensor, memory: FakeMemory, where: Tensor, trace: None = None
    ) -> Tensor:
        rows = []
        for source, sentence in self.read("token", tokens, memory):
            outcome = self.scripts[source].fill.get(sentence, sentence)
            assert len(outcome) == len(sentence), f"bad script: {sentence} → {outcome}"
            for before, after in zip(sentence, outcome, strict=True):
                if before == tiny.PLACEHOLDER:
                    rows.append(self._one_token(after))
        assert len(rows) == int(where.sum()), "asked for more than the placeholders"
        return torch.stack(rows)

    def _one_token(self, letter: str) -> Tensor:
        symbols, logits = self.symbols, torch.zeros(len(self.symbols))
        logits[symbols.index(letter)] = 4.0
        if not self.tame:
            logits[[symbols.bos(), symbols.pad(), symbols.eos(), self.placeholder]] = 6.0
        return logits


def slot_counts(opened: str) -> list[int]:
    """``"?a??b"`` → placeholders in every slot: 1, 2, 0."""
    counts = [0]
    for letter in opened:
        if letter == tiny.PLACEHOLDER:
            counts[-1] += 1
        else:
            counts.append(0)
    return counts


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
        for i, (source, sentence) in enumerate(self.read("deletion", tokens, memory)):
            logits[i, 1 : len(sentence) + 1] = self._draw("d", source, sentence, len(sentence), 2)
        return logits

    def placeholder_logits(self, tokens: Tensor, memory: FakeMemory, trace: None = None) -> Tensor:
        logits = torch.full((tokens.size(0), tokens.size(1) - 1, 4), 3.0)
        for i, (source, sentence) in enumerate(self.read("placeholder", tokens, memory)):
            sampled = self._draw("p", source, sentence, len(sentence) + 1, 4)
            sampled[:, 0] -= self.growth
            logits[i, : len(sentence) + 1] = sampled
        return logits

    def token_logits(
        self, tokens: Tensor, memory: FakeMemory, where: Tensor, trace: None = None
    ) -> Tensor:
        rows = []
        for i, (source, sentence) in enumerate(self.read("token", tokens, memory)):
            sampled = self._draw("t", source, sentence, len(sentence) + 2, len(self.symbols))
            rows.append(sampled[where[i, : len(sentence) + 2]])
        return torch.cat(rows)
