"""The expert's alignment, held against a plain dynamic program over two lists."""

from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lev_plugins.ops.alignment import lcs_masks, masks_by_host
from lev_plugins.ops.edits import apply_deletion, apply_placeholders, insertion_labels

BOS, PAD, EOS, PLH = 0, 1, 2, 99
Words = list[int]
# few different tokens, so that repetitions and ties are the rule
WORDS = st.lists(st.integers(3, 6), max_size=9)
PAIRS = st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=6)


def lcs_length(x: Words, y: Words) -> int:
    """Length of a longest common subsequence, by the textbook."""
    table = [[0] * (len(y) + 1) for _ in range(len(x) + 1)]
    for i, j in product(range(len(x)), range(len(y))):
        if x[i] == y[j]:
            table[i + 1][j + 1] = table[i][j] + 1
        else:
            table[i + 1][j + 1] = max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


def pad_right(rows: list[Words], extra: int = 0) -> Tensor:
    width = max(map(len, rows)) + extra
    return torch.tensor([row + [PAD] * (width - len(row)) for row in rows], dtype=torch.long)


def bounded(rows: list[Words]) -> list[Words]:
    return [[BOS, *row, EOS] for row in rows]


def only(values: Words, mask: Tensor) -> Words:
    return [value for value, kept in zip(values, mask.tolist(), strict=False) if kept]


@pytest.mark.parametrize("masks", [lcs_masks, masks_by_host])
@given(PAIRS, st.integers(0, 3), st.integers(0, 3))
def test_both_sides_keep_one_longest_common_subsequence(masks, pairs, extra_x, extra_y):
    xs, ys = [list(side) for side in zip(*pairs, strict=True)]
    keep_x, keep_y = masks(pad_right(xs, extra_x), pad_right(ys, extra_y), PAD)
    assert keep_x.dtype == keep_y.dtype == torch.bool
    for x, y, kept_x, kept_y in zip(xs, ys, keep_x, keep_y, strict=True):
        assert only(x, kept_x) == only(y, kept_y)
        assert int(kept_x.sum()) == int(kept_y.sum()) == lcs_length(x, y)
        assert not kept_x[len(x) :].any() and not kept_y[len(y) :].any(), "padding was kept"


@given(PAIRS)
def test_applying_the_labels_to_x_gives_y_with_as_few_edits_as_possible(pairs):
    xs, ys = [bounded([list(words) for words in side]) for side in zip(*pairs, strict=True)]
    x, y = pad_right(xs), pad_right(ys)
    keep_x, keep_y = lcs_masks(x, y, PAD)

    deleted = apply_deletion(x, keep_x, PAD)
    labels = insertion_labels(y, keep_y, PAD, PLH)
    opened = apply_placeholders(deleted, deleted.ne(PAD).sum(1), labels.counts, PLH, PAD)
    filled = opened.masked_scatter(opened.eq(PLH), y[labels.missing])

    assert torch.equal(deleted, labels.before)
    assert torch.equal(filled, y)
    edits = (x.ne(PAD) & ~keep_x).sum(1) + labels.counts.sum(1)
    fewest = [len(a) + len(b) - 2 * lcs_length(a, b) for a, b in zip(xs, ys, strict=True)]
    assert edits.tolist() == fewest


@given(PAIRS)
def test_the_boundaries_are_always_kept(pairs):
    xs, ys = [bounded([list(words) for words in side]) for side in zip(*pairs, strict=True)]
    x, y = pad_right(xs), pad_right(ys)
    for tokens, keep in zip((x, y), lcs_masks(x, y, PAD), strict=True):
        assert keep[tokens.eq(BOS) | tokens.eq(EOS)].all()


@given(PAIRS, st.integers(1, 4))
def test_a_pair_is_labelled_alike_alone_and_in_a_batch(pairs, extra):
    xs, ys = [list(side) for side in zip(*pairs, strict=True)]
    keep_x, keep_y = lcs_masks(pad_right(xs, extra), pad_right(ys, extra), PAD)
    for i, (x, y) in enumerate(pairs):
        alone_x, alone_y = lcs_masks(pad_right([x]), pad_right([y]), PAD)
        assert torch.equal(alone_x[0], keep_x[i, : len(x)])
        assert torch.equal(alone_y[0], keep_y[i, : len(y)])


def test_every_pair_of_short_words_is_labelled_minimally():
    words = [list(word) for size in range(5) for word in product((3, 4), repeat=size)]
    xs, ys = zip(*product(words, words), strict=True)
    keep_x, keep_y = lcs_masks(pad_right(list(xs)), pad_right(list(ys)), PAD)
    expected = torch.tensor([lcs_length(x, y) for x, y in zip(xs, ys, strict=True)])
    assert torch.equal(keep_x.sum(1), expected)
    assert torch.equal(keep_y.sum(1), expected)


def test_a_batch_of_no_pairs_gives_no_masks():
    keep_x, keep_y = lcs_masks(torch.zeros(0, 3).long(), torch.zeros(0, 2).long(), PAD)
    assert keep_x.shape == (0, 3) and keep_y.shape == (0, 2)


def test_equal_sequences_are_kept_whole_even_if_long():
    tokens = torch.randint(3, 6, (2, 300))
    keep_x, keep_y = lcs_masks(tokens, tokens.clone(), PAD)
    assert keep_x.all() and keep_y.all()


def test_the_inputs_are_left_as_they_are():
    x, y = torch.tensor([[3, 4, PAD]]), torch.tensor([[4, 3, 3]])
    before = x.clone(), y.clone()
    lcs_masks(x, y, PAD)
    assert torch.equal(x, before[0]) and torch.equal(y, before[1])
