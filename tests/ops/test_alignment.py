"""The expert's alignment, on the host and on a device, against a plain table."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lev_plugins.ops.alignment import lcs_masks, masks_by_table

PAD = 1

# few different tokens, so that ties are the rule
WORDS = st.lists(st.integers(2, 5), max_size=12)
PAIRS = st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=6)


def kept_by_table(x: list[int], y: list[int]) -> tuple[list[int], list[int]]:
    """The places of x and y on the path of the docstring, by the textbook's table."""
    table = [[0] * (len(y) + 1)]
    for token in x:
        row, before = [0], table[-1]
        for j, other in enumerate(y):
            row.append(before[j] + 1 if token == other else max(before[j + 1], row[j]))
        table.append(row)
    column, kept_x, kept_y = len(y), [], []
    for i in range(len(x), 0, -1):
        leftmost = table[i].index(table[i][column])
        if table[i - 1][leftmost] < table[i][leftmost]:
            column = leftmost - 1
            kept_x.insert(0, i - 1)
            kept_y.insert(0, column)
    return kept_x, kept_y


def padded(rows: list[list[int]], extra: int) -> Tensor:
    width = max(map(len, rows)) + extra
    return torch.tensor([row + [PAD] * (width - len(row)) for row in rows]).long()


@pytest.mark.device
@pytest.mark.parametrize("masks", [lcs_masks, masks_by_table])
@given(pairs=PAIRS, extra_x=st.integers(1, 2), extra_y=st.integers(0, 2))
def test_it_is_the_longest_common_subsequence_of_the_plain_table(masks, pairs, extra_x, extra_y):
    xs, ys = map(list, zip(*pairs, strict=True))
    keep_x, keep_y = masks(padded(xs, extra_x), padded(ys, extra_y), PAD)
    for number, (x, y) in enumerate(pairs):
        places = [mask[number].nonzero().flatten().tolist() for mask in (keep_x, keep_y)]
        assert places == list(kept_by_table(x, y))
