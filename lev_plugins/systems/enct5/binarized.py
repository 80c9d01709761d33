"""What was prepared, as it lies on the disk: looked at closely before it is believed."""

import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from fairseq.data import indexed_dataset

from ...errors import UserError
from .metadata import LABELS, PIECES, SPANS
from .problem_types import ProblemType


class Part(NamedTuple):
    """One indexed data set: entries, the length of each, and all numbers one after the other."""

    entries: Sequence[torch.Tensor]
    sizes: np.ndarray
    numbers: np.ndarray

    def within(self, limit: int) -> bool:
        """Whether all numbers are in [0, limit)."""
        return len(self.numbers) == 0 or 0 <= self.numbers.min() <= self.numbers.max() < limit


class BinarizedSplit:
    """What ``enct5_prepare`` wrote of one split: pieces, labels and for tagging spans.

    Args:
        prefix: path without ``.pieces.idx``.
        kind: what is predicted.
        number: labels or classes.
        vocabulary: how many subwords there are.
        first: how many of them stand before every text and belong to no word.
        longest: most subwords of an example, None for any number.

    Raises:
        UserError: a file is missing, cut off or damaged, or the files do not belong together.
    """

    def __init__(
        self,
        prefix: str,
        kind: ProblemType,
        number: int,
        vocabulary: int,
        first: int = 0,
        longest: int | None = None,
    ) -> None:
        self.prefix = prefix
        pieces, labels = self._read(PIECES), self._read(LABELS)
        self.pieces, self.labels = pieces.entries, labels.entries
        self._demand(PIECES, pieces.within(vocabulary) and bool((pieces.sizes > 0).all()))
        self._demand(PIECES, longest is None or int(pieces.sizes.max()) <= longest)
        self._demand(LABELS, len(labels.sizes) == len(pieces.sizes))
        if kind is ProblemType.REGRESSION:
            values = labels.numbers.view(np.double) if len(labels.numbers) % 2 == 0 else [np.nan]
            self._demand(LABELS, bool((labels.sizes == 2).all() and np.isfinite(values).all()))
        else:
            self._demand(LABELS, labels.within(number))
        if kind is ProblemType.CLASSIFICATION:
            self._demand(LABELS, bool((labels.sizes == 1).all()))
        self.spans: Sequence[torch.Tensor] | None = None
        if kind is ProblemType.TAGGING:
            spans = self._read(SPANS)
            self.spans = spans.entries
            self._demand(SPANS, np.array_equal(spans.sizes, pieces.sizes))
            self._demand(SPANS, _numbers_words(spans, labels.sizes, first))

    def _demand(self, name: str, holds: bool) -> None:
        if not holds:
            raise UserError(
                f"{self.prefix}.{name}: damaged, or of other data; prepare the data again"
            )

    def _read(self, name: str) -> Part:
        path = f"{self.prefix}.{name}"
        try:
            index = indexed_dataset.MMapIndexedDataset.Index(f"{path}.idx")
            kind, sizes = index.dtype, np.array(index.sizes)
        except OSError as error:
            raise UserError(
                f"{path}.idx: cannot be read ({error.strerror}); prepare the data again"
            ) from error
        except (AssertionError, KeyError, ValueError, struct.error):
            kind, sizes = np.dtype(np.void), np.zeros(0)
        self._demand(name, kind == np.int32 and len(sizes) > 0)
        if not sizes.any():  # no example has a label, and nothing cannot be mapped
            empty = [torch.zeros(0, dtype=torch.long)] * len(sizes)
            return Part(empty, sizes, np.zeros(0, np.int32))
        numbers = np.memmap(f"{path}.bin", np.int32, "r")
        return Part(indexed_dataset.MMapIndexedDataset(path), sizes, numbers)


def _numbers_words(spans: Part, words: np.ndarray, first: int) -> bool:
    """Whether spans count words from 1 on, as many as there are at most, and end in a 0.

    Args:
        first: how many zeros stand before them.
    """
    if not (spans.sizes > 1 + first).all():
        return False
    ends = spans.sizes.cumsum(dtype=np.int64)
    begins = ends - spans.sizes
    numbers = np.asarray(spans.numbers)
    steps = np.diff(numbers, prepend=0)
    steps[begins] = steps[ends - 1] = 0
    holds = (
        *(numbers[begins + place] == 0 for place in range(first)),
        numbers[begins + first] == 1,
        numbers[ends - 1] == 0,
        numbers[ends - 2] <= words,
        (steps == 0) | (steps == 1),
    )
    return all(bool(one.all()) for one in holds)
