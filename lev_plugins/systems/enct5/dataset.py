"""Examples of EncT5, one or several in a row, and batches of them.

Shapes: B rows, S subwords of a row, L decoder positions of a row, N labels.
"""

from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from fairseq.data import FairseqDataset, indexed_dataset
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from .problem_types import ProblemType

#: what the model reads, each B × S or B × L (see :class:`.model.EncT5Model`)
COLUMNS = ("tokens", "segments", "spans", "latents", "latent_segments", "latent_spans")


class Example(NamedTuple):
    """One text with its label, as :class:`.tokenizer.Encoding` and :meth:`.reading.Labels.stored`
    have them; a tagger's labels are those of all words, also of those that were cut off.
    """

    pieces: Tensor
    spans: Tensor
    labels: Tensor

    @property
    def words(self) -> int:
        """How many words the row holds."""
        return int(self.spans.max()) if len(self.spans) else 0


def read_column(path: str) -> Sequence[Tensor]:
    """What ``lev-enct5-prepare`` wrote of a split: pieces, labels or spans, by example."""
    index = indexed_dataset.MMapIndexedDataset.Index(f"{path}.idx")
    if not index.sizes.any():  # no example has a label, and nothing cannot be mapped
        return [torch.zeros(0, dtype=torch.long)] * len(index)
    return indexed_dataset.MMapIndexedDataset(path)


def pack(sizes: Sequence[list[int]], limits: tuple[int, int]) -> list[list[int]]:
    """Puts examples into rows, so that little of a batch is padding (paper, §4.1).

    A row begins with the longest example left, which may be too long. The next longest follow while
    they fit, then the shortest. ``sizes``: subwords and decoder positions of each example;
    ``limits``: most of both in a row.
    """
    waiting = deque(sorted(range(len(sizes)), key=sizes.__getitem__))
    rows: list[list[int]] = []
    while waiting:
        row = [waiting.pop()]
        room = [limit - size for limit, size in zip(limits, sizes[row[0]])]
        for end in (-1, 0):
            while waiting and all(a <= b for a, b in zip(sizes[waiting[end]], room)):
                row.append(waiting.pop() if end else waiting.popleft())
                room = [free - size for free, size in zip(room, sizes[row[-1]])]
        rows.append(row)
    return rows


class EncT5Dataset(FairseqDataset):
    """Rows of examples.

    Args:
        pieces, spans, labels: one entry an example; spans for tagging.
        number: N.
        limits: with packing the most subwords and decoder positions in a row, else None.
        shuffle: whether rows of one length stand in an order given by the seed.
    """

    def __init__(
        self,
        pieces: FairseqDataset,
        spans: FairseqDataset | None,
        labels: FairseqDataset,
        kind: ProblemType,
        number: int,
        limits: tuple[int, int] | None = None,
        shuffle: bool = False,
    ) -> None:
        self.pieces, self.spans, self.labels = pieces, spans, labels
        self.kind, self.number, self.shuffle = kind, number, shuffle
        words = [0] if spans is None else [int(spans[i].max()) for i in range(len(pieces))]
        positions = [len(kind.latents(one, number)) for one in words]
        self.rows = [[i] for i in range(len(pieces))]
        #: rows × 2: subwords and decoder positions
        self.sizes = np.stack(np.broadcast_arrays(np.int64(pieces.sizes), positions), 1)
        if limits is not None:
            self.rows = pack(self.sizes.tolist(), limits)
            packed = [self.sizes[row].sum(0) for row in self.rows]
            self.sizes = np.array(packed, dtype=np.int64).reshape(-1, 2)

    def __getitem__(self, index: int) -> list[Example]:
        return [self._example(i) for i in self.rows[index]]

    def _example(self, index: int) -> Example:
        spans = torch.zeros(0) if self.spans is None else self.spans[index]
        return Example(self.pieces[index].long(), spans.long(), self.labels[index].long())

    def __len__(self) -> int:
        return len(self.rows)

    def collater(self, samples: Sequence[list[Example]]) -> dict[str, Any]:
        """Rows of examples → a batch; ``target`` are the labels of its examples in order.

        ``sentences``: for tagging, of each the ids of all its tags, and how many of its words the
        model sees; the length limit cut off the rest.
        """
        if not samples:
            return {}
        rows = collate(samples, self.kind, self.number)
        examples = [example for row in samples for example in row]
        tagging = self.kind is ProblemType.TAGGING
        reached = [one.labels[: one.words] if tagging else one.labels for one in examples]
        tags = [one.labels.tolist() for one in examples] if tagging else []
        return {
            "nsentences": len(examples),
            "ntokens": int(rows["segments"].ne(0).sum()),
            "net_input": rows,
            "target": self.kind.targets(reached, self.number),
            "sentences": list(zip(tags, map(len, reached))),
        }

    def num_tokens(self, index: int) -> int:
        """Subwords or decoder positions of a row, whichever are more."""
        return int(self.sizes[index].max())

    def num_tokens_vec(self, indices: Sequence[int]) -> np.ndarray:
        """:meth:`num_tokens` of several rows."""
        return np.asarray(self.sizes[indices].max(1))

    def ordered_indices(self) -> np.ndarray:
        """Rows by size, then by subwords; alike ones in an order given by the seed.

        Where there are many labels most rows cost as much as these: subwords still differ.
        """
        order = np.random.permutation(len(self)) if self.shuffle else np.arange(len(self))
        sizes = self.sizes[order]
        return order[np.lexsort((sizes[:, 0], sizes.max(1)))]


def collate(samples: Sequence[list[Example]], kind: ProblemType, number: int) -> dict[str, Tensor]:
    """Joins the examples of each row and pads the rows on the right with 0.

    Returns:
        :data:`COLUMNS`, long: B × S of the widest row's subwords, B × L of its decoder positions.
    """
    rows: list[list[Tensor]] = []
    for row in samples:
        columns: list[list[Tensor]] = []
        before = 0  # a word's number is its own in the whole row
        for segment, example in enumerate(row, start=1):
            words = example.words
            inside = kind.latents(words, number)
            spans = example.spans if words else torch.zeros_like(example.pieces)
            order = torch.arange(1, words + 1) if words else torch.zeros_like(inside)
            columns.append(
                [
                    example.pieces,
                    torch.full_like(example.pieces, segment),
                    torch.where(spans > 0, spans + before, spans),
                    inside,
                    torch.full_like(inside, segment),
                    torch.where(order > 0, order + before, order),
                ]
            )
            before += words
        rows.append([torch.cat(parts) for parts in zip(*columns)])
    # 0 is no segment, no span, and T5's padding
    padded = (pad_sequence(list(values), batch_first=True) for values in zip(*rows))
    return dict(zip(COLUMNS, padded))
