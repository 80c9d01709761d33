"""Embeddings from co-occurrence: the formula, computed plainly, and what it is for."""

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from lev_plugins.ops.cooccurrence import cooccurrence_embeddings


def plainly(pairs: Sequence[Sequence[int]], symbols: int, dim: int) -> np.ndarray:
    """The same by loops over symbols, and by the whole decomposition."""
    counts = np.zeros((symbols, symbols))
    for pair in pairs:
        for symbol in pair:
            for context in pair:
                counts[symbol, context] += 1 / len(pair)
    total, information = counts.sum(), np.zeros_like(counts)
    for symbol in range(symbols):
        for context in range(symbols):
            if counts[symbol, context]:
                expected = counts[symbol].sum() * counts[context].sum() / total
                ratio = counts[symbol, context] / expected
                information[symbol, context] = max(0.0, math.log(ratio))
    left, strengths, _ = np.linalg.svd(information)
    vectors = left[:, :dim] * np.sqrt(strengths[:dim])
    vectors -= vectors.mean(0)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize("dim", [2, 5])
def test_it_is_the_decomposition_of_positive_pointwise_mutual_information(dim):
    draw = random.Random(dim)
    pairs = [draw.sample(range(12), draw.randint(2, 7)) for _ in range(40)]
    torch.manual_seed(1)
    vectors = cooccurrence_embeddings([np.array(pair) for pair in pairs], 12, dim)
    expected = plainly(pairs, 12, dim)
    # directions have no sign
    assert np.allclose(vectors @ vectors.T, expected @ expected.T, atol=1e-4)


def test_with_fewer_symbols_than_dimensions_the_last_ones_are_zero():
    vectors = cooccurrence_embeddings([np.arange(4), np.array([1, 3])], 9, dim=7)
    assert vectors.shape == (9, 7)
    assert not vectors[:, 4:].any()
    assert torch.allclose(vectors[:4].norm(dim=1), torch.ones(4))
