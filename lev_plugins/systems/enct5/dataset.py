"""Examples of EncT5, one or several in a row, and batches of them.

Shapes: B rows, S subwords of a row, L decoder positions of a row, N labels.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from fairseq.data import FairseqDataset
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from .entities import Sentences
from .packing import pack
from .problem_types import ProblemType

#: what the model reads, each B × S or B × L (see :class:`.model.EncT5Model`)
COLUMNS = ("tokens", "segments", "spans", "latents", "latent_segments", "latent_spans")


class Example(NamedTuple):
    """One text with its label.

    pieces: indices, with </s>. spans: for tagging the word of each subword, from 1; 0 at </s>.
    labels: class; value; ids of the labels that hold; or the tag of each word, of those too that
    the text was cut off before.
    """

    pieces: Tensor
    spans: Tensor
    labels: Tensor

    @property
    def words(self) -> int:
        """How many words the row holds."""
        return int(self.spans.max()) if len(self.spans) else 0


class EncT5Dataset(FairseqDataset):
    """Rows of examples.

    Args:
        pieces, spans, labels: fairseq's data sets, one entry an example; spans for tagging.
        kind: what is predicted.
        number: N.
        row: with packing the most subwords in a row, else None.
        most: most decoder positions in a row.
        shuffle: whether rows of one length stand in an order given by the seed.
    """

    def __init__(
        self,
        pieces: FairseqDataset,
        spans: FairseqDataset | None,
        labels: FairseqDataset,
        kind: ProblemType,
        number: int,
        row: int | None = None,
        most: int = 1024,
        shuffle: bool = False,
    ) -> None:
        self.pieces, self.spans, self.labels = pieces, spans, labels
        self.kind, self.number, self.shuffle = kind, number, shuffle
        sizes = np.stack([np.asarray(pieces.sizes, dtype=np.int64), self._positions()])
        self.rows = [[i] for i in range(len(pieces))]
        if row is not None:
            self.rows = pack(sizes[0].tolist(), sizes[1].tolist(), row, most)
        order = np.array([i for inside in self.rows for i in inside], dtype=np.int64)
        row_of = np.repeat(np.arange(len(self.rows)), [len(inside) for inside in self.rows])
        self.row_sizes = np.zeros((len(self.rows), 2), dtype=np.int64)
        np.add.at(self.row_sizes, row_of, sizes[:, order].T)

    def _positions(self) -> np.ndarray:
        """Decoder positions of each example."""
        if self.kind is not ProblemType.TAGGING:
            same = self.kind.latents(0, self.number).numel()
            return np.full(len(self.pieces), same, dtype=np.int64)
        assert self.spans is not None
        words = [int(self.spans[i].max()) for i in range(len(self.pieces))]
        return np.array(words, dtype=np.int64)

    def example(self, index: int) -> Example:
        """One example."""
        spans = torch.zeros(0) if self.spans is None else self.spans[index]
        return Example(self.pieces[index].long(), spans.long(), self.labels[index].long())

    def __getitem__(self, index: int) -> list[Example]:
        return [self.example(i) for i in self.rows[index]]

    def __len__(self) -> int:
        return len(self.rows)

    def collater(self, samples: Sequence[list[Example]]) -> dict[str, Any]:
        """Rows of examples → a batch; ``target`` are the labels of its examples in order.

        ``cut``: how many words the length limit cut off. ``sentences``: for tagging, the tags of
        each sentence.
        """
        if not samples:
            return {}
        rows = collate(samples, self.kind, self.number)
        examples = [example for row in samples for example in row]
        reached = [self._reached(example) for example in examples]
        sentences = Sentences([one.labels for one in examples], [len(tags) for tags in reached])
        return {
            "nsentences": len(examples),
            "ntokens": int(rows["segments"].ne(0).sum()),
            "net_input": rows,
            "target": self.kind.targets(reached, self.number),
            "cut": sum(map(len, sentences.tags)) - sum(sentences.reached),
            "sentences": sentences,
        }

    def _reached(self, example: Example) -> Tensor:
        tagging = self.kind is ProblemType.TAGGING
        return example.labels[: example.words] if tagging else example.labels

    def num_tokens(self, index: int) -> int:
        """What a row costs: its subwords or its decoder positions, whichever are more."""
        return int(self.row_sizes[index].max())

    def size(self, index: int) -> tuple[int, int]:
        """Subwords and decoder positions of a row."""
        pieces, latents = self.row_sizes[index].tolist()
        return pieces, latents

    def num_tokens_vec(self, indices: Sequence[int]) -> np.ndarray:
        """:meth:`num_tokens` of several rows."""
        found: np.ndarray = self.row_sizes[indices].max(1)
        return found

    @property
    def sizes(self) -> np.ndarray:
        """Rows × 2: subwords and decoder positions."""
        return self.row_sizes

    def ordered_indices(self) -> np.ndarray:
        """Rows by size, then by subwords; alike ones in an order given by the seed.

        Where there are many labels most rows cost as much as these: subwords still differ.
        """
        order = np.random.permutation(len(self)) if self.shuffle else np.arange(len(self))
        sizes = self.row_sizes[order]
        return order[np.lexsort((sizes[:, 0], sizes.max(1)))]


def collate(samples: Sequence[list[Example]], kind: ProblemType, number: int) -> dict[str, Tensor]:
    """Joins the examples of each row and pads the rows on the right with 0.

    Args:
        samples: B rows.
        kind: what is predicted.
        number: N.

    Returns:
        :data:`COLUMNS`, long: B × S of the widest row's subwords, B × L of its decoder positions.
    """
    parts: dict[str, list[Tensor]] = {name: [] for name in COLUMNS}
    for row in samples:
        columns: dict[str, list[Tensor]] = {name: [] for name in COLUMNS}
        before = 0  # a word's number is its own in the whole row
        for segment, example in enumerate(row, start=1):
            words = example.words
            inside = kind.latents(words, number)
            spans = example.spans if words else torch.zeros_like(example.pieces)
            order = torch.arange(1, words + 1) if words else torch.zeros_like(inside)
            columns["tokens"].append(example.pieces)
            columns["segments"].append(torch.full_like(example.pieces, segment))
            columns["spans"].append(torch.where(spans > 0, spans + before, spans))
            columns["latents"].append(inside)
            columns["latent_segments"].append(torch.full_like(inside, segment))
            columns["latent_spans"].append(torch.where(order > 0, order + before, order))
            before += words
        for name, values in columns.items():
            parts[name].append(torch.cat(values))
    # 0 is no segment, no span, and T5's padding
    return {name: pad_sequence(values, batch_first=True) for name, values in parts.items()}
