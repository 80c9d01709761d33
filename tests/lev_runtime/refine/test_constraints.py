"""Words that stay are whole, whatever the tokenizer makes of them. For tokens: test_decoding."""

import itertools

import pytest
from fake_policy import FakePolicy, single, symbols_of

from lev_runtime.text.markup import BEGINS, ENDS, JOINED, KEEP, Joining, whole_words

# symbols of the dictionary, a draft, and which of its tokens stay
WORDS = {
    "sentencepiece": ("▁Fluss ▁Win ter n s . ▁und", "▁und ▁Fluss ▁und ▁Win ter . n", [1, 3, 4]),
    "wordpiece": ("Fluss Win ##ter ##n ##s . und", "Fluss und Win ##ter . ##n", [0, 2, 3]),
    "bpe": ("Fluss Win@@ ter x@@ y@@ . und", "Fluss und Win@@ ter x@@ .", [0, 2, 3]),
    "characters": ("F l u s W ▁ . x", "F l u s ▁ W x . x", [0, 1, 2, 3, 5, 6]),
}


@pytest.mark.parametrize("words, typed, kept", WORDS.values(), ids=WORDS)
def test_nothing_is_written_onto_or_into_a_word_that_stays(arrays, words, typed, kept):
    draft, symbols, joining = typed.split(), symbols_of(words.split()), Joining(words.split())
    keep = [KEEP * (i in kept) for i in range(len(draft))]
    complete = whole_words(draft, keep, joining)

    def grows(seed: int, marks: list[int]) -> bool:
        """Whether neighbours are written as one where a word that stays begins or ends."""
        policy = FakePolicy(arrays, seed, 1.0, symbols=symbols)
        (hypothesis,) = single(policy, [("", draft)], [marks], max_len_b=200, max_iter=3)
        tokens, origin = (hypothesis[name].tolist() for name in ("tokens", "origin"))
        assert {i + 1 for i in kept} <= set(origin)
        bits = dict(enumerate(complete, start=1))
        for (left, right), pair in zip(itertools.pairwise(origin), itertools.pairwise(tokens)):
            if marks == complete and bits.get(left, 0) & JOINED:
                assert right == left + 1, "no word is torn apart"
            at_edge = bits.get(left, 0) & ENDS or bits.get(right, 0) & BEGINS
            ends, begins = (joining.edges(symbols.names[token]) for token in pair)
            if at_edge and ends[1] and begins[0]:
                return True
        return False

    assert not any(grows(seed, complete) for seed in range(40))
    # else no policy wanted to: nothing was tested
    assert sum(grows(seed, keep) for seed in range(40)) > 5
