"""Words that stay are whole, whatever the tokenizer makes of them. For tokens: test_decoding."""

import itertools

import pytest
from fake_policy import PAD, SYMBOLS, FakePolicy, sentence, single, stack, symbols_of

from lev_runtime.refine.constraints import EditConstraints
from lev_runtime.text.markup import BEGINS, DROP, ENDS, JOINED, KEEP, Joining, whole_words

# symbols of the dictionary, a draft, and which of its tokens stay
WORDS = {
    "sentencepiece": ("▁Fluss ▁Win ter n s . ▁und", "▁und ▁Fluss ▁und ▁Win ter . n", [1, 3, 4]),
    "wordpiece": ("Fluss Win ##ter ##n ##s . und", "Fluss und Win ##ter . ##n", [0, 2, 3]),
    "bpe": ("Fluss Win@@ ter x@@ y@@ . und", "Fluss und Win@@ ter x@@ .", [0, 2, 3]),
    "characters": ("F l u s W ▁ . x", "F l u s ▁ W x . x", [0, 1, 2, 3, 5, 6]),
}


@pytest.mark.parametrize(("words", "typed", "kept"), WORDS.values(), ids=WORDS)
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


@pytest.mark.parametrize("new", ["b", "c", "bc"])
def test_a_run_that_is_removed_is_not_written_again_in_part(arrays, new):
    """Where the other part stands in the sentence, and is not written."""
    draft, marks = stack(arrays, [sentence("abc")]), stack(arrays, [[0, 0, DROP | JOINED, DROP, 0]])
    constraints = EditConstraints(draft, marks, SYMBOLS.names, PAD, arrays)
    run, other = "bc", SYMBOLS.names.index("d")
    where = stack(arrays, [[False, *(letter in new for letter in run), False]])
    rows = [[0.0] * len(SYMBOLS.names) for _ in new]
    for row, letter in zip(rows, new):
        row[SYMBOLS.names.index(letter)], row[other] = 2.0, 1.0
    logits, written = arrays.float32(stack(arrays, rows)), stack(arrays, [sentence(run)])
    best = constraints.mask_forbidden(logits, where, written, [0]).tolist()
    assert best == [other, *map(SYMBOLS.names.index, new[1:])]
