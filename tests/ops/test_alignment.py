"""The expert's alignment against a plain table; the kernels for GPUs, run without one."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lev_plugins.ops import alignment
from lev_plugins.ops.alignment import lcs_masks

PAD = 1
SCRIPT = Path(__file__).with_name("triton_masks.py")
Case = tuple[Tensor, Tensor, int, int]

# few different tokens, so that ties are the rule
WORDS = st.lists(st.integers(2, 5), max_size=12)
PAIRS = st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=6)

needs_triton = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="Triton is not installed"
)


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
@given(PAIRS, st.integers(0, 2), st.integers(0, 2))
def test_of_longest_common_subsequences_it_is_the_one_of_the_plain_table(pairs, extra_x, extra_y):
    xs, ys = map(list, zip(*pairs, strict=True))
    keep_x, keep_y = lcs_masks(padded(xs, extra_x), padded(ys, extra_y), PAD)
    for number, (x, y) in enumerate(pairs):
        places = [mask[number].nonzero().flatten().tolist() for mask in (keep_x, keep_y)]
        assert places == list(kept_by_table(x, y))


def tokens(generator: torch.Generator, count: int, longest: int, symbols: int) -> Tensor:
    """Sentences of 0 to ``longest`` tokens, of so many different ones, padded on the right."""
    sentences = torch.randint(2, 2 + symbols, (count, longest), generator=generator)
    lengths = torch.randint(0, longest + 1, (count, 1), generator=generator)
    return sentences.masked_fill(torch.arange(longest) >= lengths, PAD)


def pairs(count: int, x_longest: int, y_longest: int, symbols: int, sentences: int) -> Case:
    """Pairs of sentences, the kernel's programs working on so many at a time."""
    generator = torch.Generator().manual_seed(count + symbols)
    x = tokens(generator, count, x_longest, symbols)
    return x, tokens(generator, count, y_longest, symbols), PAD, sentences


def check(cases: list[Case], folder: Path) -> None:
    """The kernels' answers are those of the CPU, bit by bit."""
    torch.save(cases, folder / "cases.pt")
    kernels = Path(alignment.__file__).with_name("alignment_triton.py")
    arguments = [SCRIPT, kernels, folder / "cases.pt", folder / "answers.pt"]
    subprocess.run([sys.executable, *map(str, arguments)], check=True)
    answers = torch.load(folder / "answers.pt", weights_only=True)
    for (x, y, pad, sentences), masks in zip(cases, answers, strict=True):
        for mask, expected in zip(masks, lcs_masks(x, y, pad), strict=True):
            assert torch.equal(mask, expected), (x.shape, y.shape, sentences)


def full_words() -> Case:
    """Pairs that have carries pass through all words of a row."""
    x = torch.tensor([[2, 3, 2], [3, 2, 4], [4, 4, 2]])
    y = torch.full((3, alignment.MAX_KERNEL_WIDTH), 9)
    y[0, 0], y[1, 31], y[2, 40] = 2, 3, 4
    y[:, -1] = 2
    return x, y, PAD, 1


@needs_triton
@pytest.mark.slow
def test_kernels_keep_the_same_tokens(tmp_path):
    equal = torch.full((3, 33), 7)
    x, y, *_ = pairs(6, 9, 9, 2, 1)
    cases = [
        pairs(37, 8, 7, 2, sentences=16),  # the last program has fewer sentences
        pairs(3, 4, 33, 2, sentences=1),  # two words
        pairs(2, 5, 600, 3, sentences=2),  # nineteen words
        full_words(),
        (equal, equal[:, :32], PAD, 1),  # one token again and again
        (torch.cat([x, x.new_full((6, 3), PAD)], 1), y, PAD, 2),
        pairs(2, 0, 3, 2, 1),
        pairs(2, 3, 0, 2, 1),
        (x - 2, y - 2, 5, 4),  # another padding, which nobody uses
        (x.t().contiguous().t(), y[:, ::2], PAD, 4),  # not laid out row by row
    ]
    check(cases, tmp_path)


def test_the_host_aligns_where_triton_does_not_work(monkeypatch):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)  # as if it were there
    assert not alignment.has_kernels.__wrapped__(torch.device("cuda"))
