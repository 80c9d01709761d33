"""Terms and words that stay are whole words, whatever the policy and the tokenizer make of them."""

import zlib
from typing import Any

import pytest
import tiny
import torch
from fairseq.data import Dictionary
from fake_policy import FakeMemory

from lev_plugins.systems.levenshtein.decoding import RefinementGenerator, RefinementOptions
from lev_plugins.systems.levenshtein.decoding.policy import EditPolicy
from lev_plugins.systems.levenshtein.markup import BEGINS, ENDS, KEEP, Joining, whole_words

# symbols of the dictionary, a draft, and which of its tokens stay
CASES = {
    "sentencepiece": ("▁Fluss ▁Win ter n s . ▁und", "▁und ▁Fluss ▁und ▁Win ter . n", [1, 3, 4]),
    "wordpiece": ("Fluss Win ##ter ##n ##s . und", "Fluss und Win ##ter . ##n", [0, 2, 3]),
    "bpe": ("Fluss Win@@ ter x@@ y@@ . und", "Fluss und Win@@ ter x@@ .", [0, 2, 3]),
    "characters": ("F l u s W ▁ . x", "F l u s ▁ W x . x", [0, 1, 2, 3, 5, 6]),
}


class Policy(EditPolicy[FakeMemory]):
    """Random logits for every state and place, always the same."""

    def __init__(self, size: int, seed: int) -> None:
        self.size, self.seed = size, seed

    def encode(self, src_tokens: torch.Tensor) -> FakeMemory:
        return FakeMemory(src_tokens)

    def _logits(self, name: str, tokens: torch.Tensor, classes: int) -> torch.Tensor:
        rows = []
        for row in tokens.tolist():
            key = zlib.crc32(f"{self.seed} {name} {row}".encode())
            generator = torch.Generator().manual_seed(key)
            rows.append(2 * torch.randn(tokens.size(1), classes, generator=generator))
        return torch.stack(rows)

    def deletion_logits(self, tokens, memory):
        return self._logits("delete", tokens, 2)

    def placeholder_logits(self, tokens, memory):
        return self._logits("open", tokens, 3)[:, 1:]

    def token_logits(self, tokens, memory, where):
        return self._logits("fill", tokens, self.size)[where]


def decoded(name: str, seed: int, whole: bool = True) -> tuple[list[str], list[int]]:
    """The output's tokens, and their places in the draft; ``whole``: words that stay are whole."""
    symbols, draft, kept = CASES[name]
    dictionary = Dictionary()
    for symbol in symbols.split():
        dictionary.add_symbol(symbol)
    placeholder = dictionary.add_symbol("<plh>")
    words = draft.split()
    bits = whole_words(words, [KEEP * (i in kept) for i in range(len(words))], joining(name))
    ids = [dictionary.bos(), *map(dictionary.index, words), dictionary.eos()]
    sample: dict[str, Any] = {
        "net_input": {"src_tokens": tiny.sentence("", dictionary).unsqueeze(0)},
        "draft": torch.tensor([ids]),
        "marks": torch.tensor([[0, *(bit if whole else bit & KEEP for bit in bits), 0]]),
    }
    generator = RefinementGenerator(dictionary, placeholder, RefinementOptions(max_iter=3))
    ((found,),) = generator.generate([Policy(len(dictionary), seed)], sample)
    return [dictionary[token] for token in found["tokens"].tolist()], found["origin"].tolist()


def joining(name: str) -> Joining:
    return Joining(CASES[name][0].split())


def grown(name: str, words: list[str], origin: list[int]) -> list[tuple[str, str]]:
    """Neighbours that are written as one word where a word that stays begins or ends."""
    draft, kept = CASES[name][1].split(), CASES[name][2]
    bits = whole_words(draft, [KEEP * (i in kept) for i in range(len(draft))], joining(name))
    bits = [0, *bits, 0]
    found = []
    for i, pair in enumerate(zip(words, words[1:], strict=False)):
        ends = origin[i] >= 0 and bits[origin[i]] & ENDS
        begins = origin[i + 1] >= 0 and bits[origin[i + 1]] & BEGINS
        before, behind = map(joining(name).edges, pair)
        if (ends or begins) and before[1] and behind[0]:
            found.append(pair)
    return found


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_written_onto_a_word_that_stays(name):
    without = 0
    for seed in range(40):
        words, origin = decoded(name, seed)
        assert not grown(name, words, origin)
        standing = [place - 1 for place in origin if place > 0]
        assert set(CASES[name][2]) <= set(standing)
        without += bool(grown(name, *decoded(name, seed, whole=False)))
    assert without > 5, "no policy wanted to: nothing was tested"


def test_a_word_that_stays_is_not_torn_apart():
    for seed in range(20):
        words, origin = decoded("sentencepiece", seed)
        assert origin[origin.index(4) + 1] == 5, words
