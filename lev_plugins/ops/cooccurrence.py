"""Embeddings from which symbols stand in the same sentence pairs, learnt without a network.

Symbols that translate each other stand in the same pairs, and get vectors near to each other
(Levy et al., 2017, "A strong baseline for learning cross-lingual word embeddings from sentence
alignments"). The vectors are the truncated singular value decomposition of positive pointwise
mutual information (Levy and Goldberg, 2014, "Neural word embedding as implicit matrix
factorization").
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

#: symbols with which others are counted, the most frequent
MAX_CONTEXTS = 8000
#: counts, of 4 bytes, that are kept: with many symbols there are fewer contexts
MAX_COUNTS = 2**28
#: directions that are computed beyond those that are wanted, for the sake of their precision
MORE_DIRECTIONS = 32
_EPSILON = 1e-9


def cooccurrence_embeddings(pairs: Sequence[np.ndarray], symbols: int, dim: int) -> Tensor:
    """Vectors of length 1 for each symbol, symbols × dim; zeros for what no pair has.

    pairs: the symbols of each sentence pair, each once. Where they have fewer symbols than
    ``dim``, the last dimensions are zero.
    """
    counts, contexts = _counts(pairs, symbols)
    totals = counts.sum(1)
    seen = torch.from_numpy(totals > 0)
    # counts become max(0, log p(symbol, context) / (p(symbol) p(context))), in place
    by_context = counts.sum(0)
    counts *= totals.sum()
    counts /= totals[:, None] + _EPSILON
    counts /= by_context + _EPSILON
    np.maximum(counts, 1, out=counts)
    information = torch.from_numpy(np.log(counts, out=counts))
    directions = min(dim + MORE_DIRECTIONS, *information.shape)
    left, strengths, _ = torch.svd_lowrank(information, directions)
    vectors = left[:, :dim] * strengths[:dim].sqrt()
    centred = vectors - vectors[seen].mean(0)
    lengthened = torch.nn.functional.pad(centred, (0, dim - centred.size(1)))
    return torch.nn.functional.normalize(lengthened) * seen.unsqueeze(1)


def _counts(pairs: Sequence[np.ndarray], symbols: int) -> tuple[np.ndarray, np.ndarray]:
    """Counts how often a symbol occurs with each context, symbols × contexts; and the contexts.

    A pair counts once for each of its symbols: what stands in a long one says less. A symbol
    stands next to itself: else the two sides of a translation would have directions of their own.
    """
    frequencies = np.zeros(symbols, np.int64)
    for pair in pairs:
        frequencies[pair] += 1
    limit = min(MAX_CONTEXTS, MAX_COUNTS // symbols)
    most_frequent = np.argsort(-frequencies, kind="stable")[:limit]
    contexts = most_frequent[frequencies[most_frequent] > 0]
    columns = np.full(symbols, -1)
    columns[contexts] = np.arange(len(contexts))
    counts = np.zeros((symbols, len(contexts)), np.float32)
    for pair in filter(len, pairs):
        beside = columns[pair]
        counts[pair[:, None], beside[beside >= 0]] += 1 / len(pair)
    return counts, contexts
