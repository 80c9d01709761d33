"""Policies that need no model, and what they decode: one always says the same, one is random.

Both answer every sentence by itself, so what a batch does to an answer is the generator's doing.
Sentences are strings of letters as in :mod:`tiny`, ``?`` is a placeholder.
"""

import functools
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import tiny
import torch
from torch import Tensor

from lev_plugins.nn.transformer import EncoderOutput
from lev_plugins.systems.levenshtein.generator import RefinementGenerator, RefinementOptions

# few letters, so that a random policy often wants to write what was removed
LETTERS = "abcd"
SYMBOLS = tiny.dictionary(LETTERS)
PLH = SYMBOLS.add_symbol("<plh>")
PAD = SYMBOLS.pad()
FORBIDDEN = [SYMBOLS.bos(), PAD, SYMBOLS.eos(), PLH]
Hypothesis = dict[str, Any]


def known(text: str) -> str:
    return "".join(letter for letter in text if letter in LETTERS)


#: sources and drafts
PAIRS = [(known(row.source), known(row.draft)) for row in tiny.triples(24, 2, longest=8)]


def sentence(letters: str) -> Tensor:
    return tiny.sentence(letters, SYMBOLS, PLH)


def text(tokens: Tensor) -> str:
    return tiny.letters(tokens, SYMBOLS, PLH)


def batch(
    pairs: Iterable[tuple[str, str]],
    left: bool = False,
    extra: int = 0,
    marks: Sequence[Sequence[int]] | None = None,
) -> dict[str, Any]:
    """Sources and drafts; marks: bits of the drafts' letters."""
    sources, drafts = (list(map(sentence, side)) for side in zip(*pairs, strict=True))
    sample: dict[str, Any] = {
        "net_input": {"src_tokens": tiny.stack(sources, PAD, left, extra)},
        "draft": tiny.stack(drafts, PAD, extra=extra),
    }
    if marks is not None:
        sample["marks"] = tiny.stack(
            [torch.tensor([0, *bits, 0]) for bits in marks], 0, extra=extra
        )
    return sample


def decode(policies: Any, pairs: Iterable[tuple[str, str]], **values: Any) -> list[list]:
    """The hypotheses of every pair; values: of :func:`batch`, and options."""
    layout = {name: values.pop(name) for name in ("left", "extra", "marks") if name in values}
    how = RefinementOptions(**{"retain_history": True, "max_len_b": 9, "max_iter": 6, **values})
    policies = policies if isinstance(policies, list) else [policies]
    return RefinementGenerator(SYMBOLS, PLH, how).generate(policies, batch(pairs, **layout))


def single(policy: Any, pairs: Iterable[tuple[str, str]], **values: Any) -> list[Hypothesis]:
    """:func:`decode` where there is one for each."""
    return [hypothesis for (hypothesis,) in decode(policy, pairs, **values)]


#: the sources, as a memory that can be selected
encoded = functools.partial(EncoderOutput, mask=None)


class ConstantPolicy(tiny.LevTPolicy):
    """The same logits everywhere: of keeping and deleting, of the number missing, of symbols."""

    encode = encoded

    def __init__(
        self,
        deletion: Sequence[float] = (1.0, 0.0),
        counts: Sequence[float] = (1.0, 0.0),
        token: Tensor | None = None,
    ) -> None:
        self.deletion, self.counts = torch.tensor(deletion), torch.tensor(counts)
        self.token = torch.zeros(len(SYMBOLS)) if token is None else token

    def deletion_logits(self, tokens, memory):
        return self.deletion.repeat(*tokens.shape, 1)

    def placeholder_logits(self, tokens, memory, trace=None):
        return self.counts.repeat(tokens.size(0), tokens.size(1) - 1, 1)

    def token_logits(self, tokens, memory, where, trace=None):
        return self.token.repeat(int(where.sum()), 1)


class RandomPolicy(tiny.LevTPolicy):
    """Draws its logits from the sentence and its source: at random, yet always the same.

    ``growth`` is taken from the logit of inserting nothing: above 0 sentences tend to grow.
    ``size``: of the dictionary.
    """

    encode = encoded

    def __init__(self, seed: int, growth: float = 0.0, size: int = len(SYMBOLS)) -> None:
        self.seed, self.growth, self.size = seed, growth, size

    def _draw(self, phase: str, tokens: Tensor, memory: EncoderOutput, classes: int) -> Tensor:
        assert len(tokens) == len(memory.states), "memory and sentences went apart"
        logits = torch.full((*tokens.shape, classes), 3.0)
        for i, sides in enumerate(zip(memory.states, tokens, strict=True)):
            source, sentence = (side[side.ne(PAD)].tolist() for side in sides)
            key = zlib.crc32(f"{self.seed} {phase} {source} {sentence}".encode())
            logits[i, : len(sentence)] = 2 * tiny.normal(key, len(sentence), classes)
        return logits

    def deletion_logits(self, tokens, memory):
        return self._draw("delete", tokens, memory, 2)

    def placeholder_logits(self, tokens, memory, trace=None):
        logits = self._draw("open", tokens, memory, 4)[:, :-1]
        return logits - self.growth * torch.eye(4)[0]

    def token_logits(self, tokens, memory, where, trace=None):
        return self._draw("fill", tokens, memory, self.size)[where]
