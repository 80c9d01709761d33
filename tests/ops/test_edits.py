"""The environment and the expert's script, held against plain lists and rapidfuzz."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lev_plugins.ops.edits import Compaction, Opening, insertion_labels

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
    wider = Compaction(data.keep, moved.width + 2)(data.tokens, PAD)
    assert torch.equal(wider[:, :-2], moved(data.tokens, PAD)) and wider[:, -2:].eq(PAD).all()


@given(SENTENCES)
def test_placeholders_open_every_slot_by_its_count(sentences):
    data = Batch(sentences)
    opening = Opening(data.lengths, data.slots)
    result = opening(data.tokens, PLH, PAD)
    expected = [
        opened(row, counts, PLH) for row, counts in zip(data.rows, data.counts, strict=True)
    ]
    assert unpadded(result) == expected
    scores = opening(data.tokens * 0.5, PLH * 0.5, PAD * 0.5)
    assert torch.equal(scores, result * 0.5)


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
