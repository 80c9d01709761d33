"""The environment and the expert's script, held against plain lists and rapidfuzz."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import LCSseq
from torch import Tensor

from lev_plugins.nn.arrays import TORCH
from lev_plugins.ops.alignment import lcs_masks, masks_by_host
from lev_plugins.ops.edits import Compaction, Opening, insertion_labels
from lev_runtime.decoding import limit_insertions

pytestmark = pytest.mark.device

BOS, PAD, EOS, PLH = 0, 1, 2, 99
# a sentence: its inner tokens, each with a mark (kept or not) and a count for the slot behind it
SENTENCES = st.lists(
    st.tuples(
        st.lists(st.tuples(st.integers(3, 6), st.booleans(), st.integers(0, 3)), max_size=7),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=5,
)
# few different tokens, so that repetitions and ties are the rule
WORDS = st.lists(st.integers(3, 6), max_size=9)
PAIRS = st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=6)


def rectangle(rows: list[list], width: int, fill) -> Tensor:
    return torch.tensor([row + [fill] * (width - len(row)) for row in rows])


def unpadded(tokens: Tensor) -> list[list[int]]:
    """Rows without their padding, which has to stand behind everything else."""
    rows = []
    for row in tokens.tolist():
        real = [token for token in row if token != PAD]
        assert row[: len(real)] == real, f"padding inside {row}"
        rows.append(real)
    assert tokens.size(1) == max(map(len, rows)), "wider than the longest sentence"
    return rows


def opened(row: list, counts: list[int], new) -> list:
    """A row with ``counts[k]`` new entries behind entry k."""
    out = []
    for value, count in zip(row, [*counts, 0], strict=True):
        out += [value, *[new] * count]
    return out


class Batch:
    """Sentences of hypothesis as lists and as tensors."""

    def __init__(self, sentences) -> None:
        self.rows = [[BOS, *(token for token, _, _ in inner), EOS] for inner, _ in sentences]
        self.marks = [[True, *(mark for _, mark, _ in inner), True] for inner, _ in sentences]
        self.counts = [[first, *(count for *_, count in inner)] for inner, first in sentences]
        width = max(map(len, self.rows))
        self.tokens = rectangle(self.rows, width, PAD)
        self.keep = rectangle(self.marks, width, False)
        self.slots = rectangle(self.counts, width - 1, 0)
        self.lengths = self.tokens.ne(PAD).sum(1)


# deletion and placeholders --------------------------------------------------------------------


@given(SENTENCES)
def test_deletion_leaves_the_kept_tokens_in_order(sentences):
    data = Batch(sentences)
    moved = Compaction(data.keep)
    expected = [
        [token for token, mark in zip(row, marks, strict=True) if mark]
        for row, marks in zip(data.rows, data.marks, strict=True)
    ]
    assert unpadded(moved(data.tokens, PAD)) == expected
    scores = data.tokens * 0.5
    assert torch.equal(moved(scores, PAD * 0.5), moved(data.tokens, PAD) * 0.5)
    wider = Compaction(data.keep, moved.width + 2)(data.tokens, PAD)
    assert torch.equal(wider[:, :-2], moved(data.tokens, PAD)) and wider[:, -2:].eq(PAD).all()


@given(SENTENCES)
def test_placeholders_open_every_slot_by_its_count_and_scores_move_with_their_tokens(sentences):
    data = Batch(sentences)
    opening = Opening(data.lengths, data.slots)
    result = opening(data.tokens, PLH, PAD)
    pairs = list(zip(data.rows, data.counts, strict=True))
    assert unpadded(result) == [opened(row, counts, PLH) for row, counts in pairs]
    numbers = torch.arange(data.tokens.numel(), dtype=torch.float).view_as(data.tokens) + 1
    scores = opening(numbers, 0.0, -1.0)
    for i, (row, counts) in enumerate(pairs):
        size = len(row) + sum(counts)
        assert scores[i, :size].tolist() == opened(numbers[i, : len(row)].tolist(), counts, 0.0)
        assert scores[i, size:].eq(-1.0).all()
    assert torch.equal(Compaction(result.ne(PLH) & result.ne(PAD))(result, PAD), data.tokens)


@given(SENTENCES, st.lists(st.integers(-3, 12), min_size=5, max_size=5))
def test_insertions_are_cut_from_the_left_to_exactly_the_room(sentences, rooms):
    data = Batch(sentences)
    room = torch.tensor(rooms[: len(data.rows)])
    limited = limit_insertions(data.slots, room, TORCH)
    assert limited.le(data.slots).all() and limited.ge(0).all()
    for wanted, given_, space in zip(data.slots, limited, room.clamp(min=0), strict=True):
        assert int(given_.sum()) == min(int(wanted.sum()), int(space))
        # filled from the left: behind the first slot that was cut nothing is inserted
        cut = given_.lt(wanted).nonzero().flatten().tolist()
        assert not cut or not given_[cut[0] + 1 :].any()


# labels ---------------------------------------------------------------------------------------


@given(SENTENCES)
def test_insertion_labels_lead_from_what_stands_back_to_the_target(sentences):
    data = Batch(sentences)
    # padding is never missing, whether it is marked as kept or not
    for keep in (data.keep, data.keep | data.tokens.eq(PAD)):
        labels = insertion_labels(data.tokens, keep, PAD, PLH)
        standing = Compaction(data.keep)(data.tokens, PAD)
        assert torch.equal(labels.before[:, : standing.size(1)], standing)
        assert labels.before[:, standing.size(1) :].eq(PAD).all()
        assert torch.equal(labels.slots, labels.before[:, 1:].ne(PAD))
        assert not labels.counts[~labels.slots].any()
        opening = Opening(labels.before.ne(PAD).sum(1), labels.counts)
        opened = opening(labels.before, PLH, PAD)
        assert torch.equal(opened, labels.after[:, : opened.size(1)])
        assert labels.after[:, opened.size(1) :].eq(PAD).all()
        assert torch.equal(labels.after.eq(PLH), labels.missing)
        filled = labels.after.masked_scatter(labels.missing, data.tokens[labels.missing])
        assert torch.equal(filled, data.tokens)


def pad_right(rows, extra: int = 0) -> Tensor:
    return rectangle([list(row) for row in rows], max(map(len, rows)) + extra, PAD).long()


@pytest.mark.parametrize("masks", [lcs_masks, masks_by_host])
@given(PAIRS, st.integers(0, 3), st.integers(0, 3))
def test_both_sides_keep_one_longest_common_subsequence(masks, pairs, extra_x, extra_y):
    xs, ys = zip(*pairs, strict=True)
    x, y = pad_right(xs, extra_x), pad_right(ys, extra_y)
    keep_x, keep_y = masks(x, y, PAD)
    assert keep_x.dtype == keep_y.dtype == torch.bool
    for i, (first, other) in enumerate(pairs):
        assert x[i][keep_x[i]].tolist() == y[i][keep_y[i]].tolist()
        assert int(keep_x[i].sum()) == LCSseq.similarity(first, other)
        assert not keep_x[i, len(first) :].any() and not keep_y[i, len(other) :].any()
        alone = lcs_masks(pad_right([first]), pad_right([other]), PAD)
        assert torch.equal(alone[0][0], keep_x[i, : len(first)])
        assert torch.equal(alone[1][0], keep_y[i, : len(other)])
