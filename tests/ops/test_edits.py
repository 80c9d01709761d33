"""The environment: deletion, placeholders and labels against plain lists."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lev_plugins.ops.edits import (
    apply_deletion,
    apply_placeholders,
    compact,
    insertion_labels,
    limit_insertions,
)

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


def rectangle(rows: list[list], width: int, fill) -> Tensor:
    return torch.tensor([row + [fill] * (width - len(row)) for row in rows])


def unpadded(tokens: Tensor, pad: int = PAD) -> list[list[int]]:
    """Rows without their padding, which has to stand behind everything else."""
    rows = []
    for row in tokens.tolist():
        real = [token for token in row if token != pad]
        assert row[: len(real)] == real, f"padding inside {row}"
        rows.append(real)
    return rows


def opened(row: list, counts: list[int], new) -> list:
    """A row with ``counts[k]`` new entries behind entry k."""
    out = []
    for value, count in zip(row, [*counts, 0], strict=True):
        out += [value, *[new] * count]
    return out


@given(SENTENCES)
def test_deletion_leaves_the_kept_tokens_in_order(sentences):
    data = Batch(sentences)
    result = apply_deletion(data.tokens, data.keep, PAD)
    expected = [
        [token for token, mark in zip(row, marks, strict=True) if mark]
        for row, marks in zip(data.rows, data.marks, strict=True)
    ]
    assert unpadded(result) == expected
    assert result.size(1) == max(map(len, expected)), "wider than the longest sentence"


def test_deletion_drops_padding_even_where_it_is_marked_as_kept():
    tokens = torch.tensor([[BOS, 3, EOS, PAD], [BOS, 4, 5, EOS]])
    result = apply_deletion(tokens, torch.ones_like(tokens, dtype=torch.bool), PAD)
    assert unpadded(result) == [[BOS, 3, EOS], [BOS, 4, 5, EOS]]


def test_compact_carries_scores_and_marks_along():
    keep = torch.tensor([[True, False, True], [False, False, True]])
    scores = compact(torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), keep, -7.0)
    assert scores.tolist() == [[1.0, 3.0], [6.0, -7.0]]
    assert compact(keep, keep, False).tolist() == [[True, True], [True, False]]


@pytest.mark.parametrize("rows, columns", [(2, 0), (0, 3), (0, 0), (2, 3)])
def test_compacting_nothing_leaves_one_column_of_filling(rows, columns):
    values = torch.ones(rows, columns, dtype=torch.long)
    result = compact(values, torch.zeros(rows, columns, dtype=torch.bool), PAD)
    assert result.tolist() == [[PAD]] * rows
    assert result.shape == (rows, 1)


@given(SENTENCES)
def test_placeholders_open_every_slot_by_its_count(sentences):
    data = Batch(sentences)
    result = apply_placeholders(data.tokens, data.lengths, data.slots, PLH, PAD)
    expected = [
        opened(row, counts, PLH) for row, counts in zip(data.rows, data.counts, strict=True)
    ]
    assert unpadded(result) == expected
    assert result.size(1) == max(map(len, expected)), "wider than the longest sentence"


@given(SENTENCES)
def test_scores_and_marks_move_with_their_tokens_when_slots_open(sentences):
    data = Batch(sentences)
    numbers = torch.arange(data.tokens.numel(), dtype=torch.float).view_as(data.tokens) + 1
    scores = apply_placeholders(numbers, data.lengths, data.slots, 0.0, -1.0)
    marks = apply_placeholders(data.tokens.ne(PAD), data.lengths, data.slots, False, False)
    for i, (row, counts) in enumerate(zip(data.rows, data.counts, strict=True)):
        size = len(row) + sum(counts)
        assert scores[i, :size].tolist() == opened(numbers[i, : len(row)].tolist(), counts, 0.0)
        assert scores[i, size:].eq(-1.0).all()
        assert marks[i, :size].tolist() == opened([True] * len(row), counts, False)
        assert not marks[i, size:].any()


@given(SENTENCES)
def test_deleting_the_placeholders_undoes_their_insertion(sentences):
    data = Batch(sentences)
    result = apply_placeholders(data.tokens, data.lengths, data.slots, PLH, PAD)
    assert torch.equal(apply_deletion(result, result.ne(PLH), PAD), data.tokens)


@given(SENTENCES, st.lists(st.integers(-3, 12), min_size=5, max_size=5))
def test_insertions_are_cut_from_the_left_to_exactly_the_room(sentences, rooms):
    data = Batch(sentences)
    room = torch.tensor(rooms[: len(data.rows)])
    limited = limit_insertions(data.slots, room)
    assert limited.le(data.slots).all() and limited.ge(0).all()
    for wanted, given_, space in zip(data.slots, limited, room.clamp(min=0), strict=True):
        assert int(given_.sum()) == min(int(wanted.sum()), int(space))
        # filled from the left: behind the first slot that was cut nothing is inserted
        cut = given_.lt(wanted).nonzero().flatten().tolist()
        assert not cut or not given_[cut[0] + 1 :].any()


@given(SENTENCES)
def test_insertion_labels_lead_from_what_stands_back_to_the_target(sentences):
    data = Batch(sentences)
    labels = insertion_labels(data.tokens, data.keep, PAD, PLH)

    lengths = labels.before.ne(PAD).sum(1)
    after = apply_placeholders(labels.before, lengths, labels.counts, PLH, PAD)
    assert torch.equal(labels.before, apply_deletion(data.tokens, data.keep, PAD))
    assert torch.equal(after, labels.after)
    assert torch.equal(labels.after.eq(PLH), labels.missing)
    filled = labels.after.masked_scatter(labels.missing, data.tokens[labels.missing])
    assert torch.equal(filled, data.tokens)


@given(SENTENCES)
def test_slots_are_the_gaps_between_tokens_that_stand(sentences):
    data = Batch(sentences)
    labels = insertion_labels(data.tokens, data.keep, PAD, PLH)
    assert labels.slots.shape == labels.counts.shape == labels.before[:, 1:].shape
    assert torch.equal(labels.slots, labels.before[:, 1:].ne(PAD))
    assert not labels.counts[~labels.slots].any()


def test_insertion_labels_never_count_padding_as_missing():
    target = torch.tensor([[BOS, 3, EOS, PAD, PAD], [BOS, 3, 4, 5, EOS]])
    for kept in (torch.zeros_like(target), torch.ones_like(target)):
        keep = kept.bool() | target.eq(BOS) | target.eq(EOS)
        labels = insertion_labels(target, keep, PAD, PLH)
        assert not (labels.missing & target.eq(PAD)).any()
        assert torch.equal(labels.after.eq(PAD), target.eq(PAD))
