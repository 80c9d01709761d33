"""Reads prepared data: their description, examples, rows of one or several, and batches.

Shapes: B rows, S subwords of a row, L decoder positions of a row, E examples, N labels.
"""

import base64
import json
import os
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from fairseq.data import FairseqDataset, indexed_dataset
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from lev_runtime.errors import UserError
from lev_runtime.labels.pieces import FolderTokenizer, Tokenizer

from ...pretrained.directory import optional_library
from ...pretrained.vocabulary import BOS
from .problem_types import ProblemType

DESCRIPTION = "enct5.json"
#: ends of the names of a split's files
PIECES, WORD_IDS, LABELS = "pieces", "spans", "labels"
#: what the model reads, each B × S or B × L (see :meth:`.EncT5Model.forward`)
COLUMNS = (
    "tokens",
    "example_ids",
    "word_ids",
    "latents",
    "latent_example_ids",
    "latent_word_ids",
)


@dataclass
class Metadata:
    """The description of prepared data, which a checkpoint keeps."""

    kind: str  # what is predicted, see :class:`.ProblemType`
    labels: list[str]  # names in order, none for values
    pieces: list[str]  # the vocabulary
    counts: list[int] = field(default_factory=list)  # how often training has each label
    texts_per_example: int = 1
    max_length: int = 512  # most subwords of an example
    model: str | None = None  # the sentencepiece model in base64, None for bytes
    hf_tokenizer: str | None = None  # a folder's tokenizer instead, see :class:`.FolderTokenizer`

    @classmethod
    def from_state(cls, state: Any, where: str) -> "Metadata":
        """Reads it from the state of a checkpoint's task; raises UserError if it has none."""
        return cls.from_dict((state or {}).get("description"), where)

    @classmethod
    def from_folder(cls, folder: str) -> "Metadata":
        """Reads what ``lev-enct5-prepare`` wrote; raises :class:`UserError` unless it is whole."""
        path = os.path.join(folder, DESCRIPTION)
        try:
            with open(path, encoding="utf-8") as file:
                values = json.load(file)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UserError(f"{path}: {reason}; make the data with lev-enct5-prepare") from None
        return cls.from_dict(values, path)

    @classmethod
    def from_dict(cls, values: Any, where: str) -> "Metadata":
        """Makes it from its fields; raises :class:`UserError` for others."""
        try:
            return cls(**values)
        except TypeError as error:
            raise UserError(f"{where}: has no description of EncT5 data ({error})") from None

    def write(self, folder: str) -> None:
        """Writes it into a folder."""
        with open(os.path.join(folder, DESCRIPTION), "w", encoding="utf-8") as file:
            json.dump(asdict(self), file, ensure_ascii=False)
            file.write("\n")

    def check_same(self, kept: "Metadata", where: str, *names: str) -> None:
        """Raises :class:`UserError` if a checkpoint was trained on other data.

        Args:
            kept: the checkpoint's description.
            where: these data, for the message.
            names: fields that have to be equal.
        """
        for name in names:
            if getattr(self, name) != getattr(kept, name):
                raise UserError(
                    f"{where}: other {name.replace('_', ' ')} than the checkpoint was trained "
                    "with; prepare the data with its --kind and --labels, and --subwords-of "
                    "CHECKPOINT"
                )

    def tokenizer(self, where: str) -> Tokenizer:
        """Returns the tokenizer that these data were prepared with."""
        if self.hf_tokenizer is not None:
            optional_library("tokenizers", f"{where}: reading its tokenizer")
            return FolderTokenizer(self.hf_tokenizer, BOS in self.pieces, self.pieces)
        return Tokenizer(None if self.model is None else base64.b64decode(self.model))


class Example(NamedTuple):
    """One text with its labels.

    pieces, word_ids: see :class:`.Encoding`. labels: see :meth:`.prepare.Labels.encode`; a
    tagger's also of words that were cut off. number: of the example in the data, from 0.
    """

    pieces: Tensor
    word_ids: Tensor
    labels: Tensor
    number: int = 0

    @property
    def num_words(self) -> int:
        """Returns the number of words that were not cut off."""
        return int(self.word_ids.max()) if len(self.word_ids) else 0


def read_column(path: str) -> Sequence[Tensor]:
    """Reads pieces, labels or word ids of a split, one entry per example."""
    index = indexed_dataset.MMapIndexedDataset.Index(f"{path}.idx")
    if not index.sizes.any():  # no example has a label: an empty file cannot be mapped
        return [torch.zeros(0, dtype=torch.long)] * len(index)
    return indexed_dataset.MMapIndexedDataset(path)


def pack(sizes: Sequence[list[int]], limits: tuple[int, int]) -> list[list[int]]:
    """Packs examples into rows, so that little of a batch is padding (paper, §4.1).

    A row begins with the longest example left, even if that is too long. The next longest follow
    while they fit, then the shortest.

    Args:
        sizes: subwords and decoder positions of each example.
        limits: the most of both in a row.

    Returns:
        The indices of the examples of each row.
    """
    waiting = deque(sorted(range(len(sizes)), key=sizes.__getitem__))
    rows: list[list[int]] = []
    while waiting:
        longest = waiting.pop()
        row = [longest]
        pieces_left = limits[0] - sizes[longest][0]
        positions_left = limits[1] - sizes[longest][1]
        for end in (-1, 0):
            while waiting:
                pieces, positions = sizes[waiting[end]]
                if pieces > pieces_left or positions > positions_left:
                    break
                row.append(waiting.pop() if end else waiting.popleft())
                pieces_left -= pieces
                positions_left -= positions
        rows.append(row)
    return rows


class EncT5Dataset(FairseqDataset):
    """Rows of examples.

    Args:
        pieces, word_ids, labels: one entry per example; ``word_ids`` for tagging.
        num_labels: N.
        limits: the most subwords and decoder positions in a row; None: one example per row.
        shuffle: rows of equal length are ordered by the seed.
    """

    def __init__(
        self,
        pieces: FairseqDataset,
        word_ids: FairseqDataset | None,
        labels: FairseqDataset,
        problem_type: ProblemType,
        num_labels: int,
        limits: tuple[int, int] | None = None,
        shuffle: bool = False,
    ) -> None:
        self.pieces = pieces
        self.word_ids = word_ids
        self.labels = labels
        self.problem_type = problem_type
        self.num_labels = num_labels
        self.shuffle = shuffle
        num_examples = len(pieces)
        num_words = [0] * num_examples
        if word_ids is not None:
            num_words = [int(word_ids[index].max()) for index in range(num_examples)]
        positions = [len(problem_type.latents(words, num_labels)) for words in num_words]
        self.rows = [[index] for index in range(num_examples)]
        #: rows × 2: subwords and decoder positions
        self.sizes = np.column_stack([np.int64(pieces.sizes), np.array(positions, np.int64)])
        if limits is not None:
            self.rows = pack(self.sizes.tolist(), limits)
            packed = [self.sizes[row].sum(0) for row in self.rows]
            self.sizes = np.array(packed, dtype=np.int64).reshape(-1, 2)

    def __getitem__(self, index: int) -> list[Example]:
        return [self._example(example) for example in self.rows[index]]

    def _example(self, index: int) -> Example:
        pieces = self.pieces[index].long()
        labels = self.labels[index].long()
        word_ids = torch.zeros(0, dtype=torch.long)
        if self.word_ids is not None:
            word_ids = self.word_ids[index].long()
        return Example(pieces, word_ids, labels, index)

    def __len__(self) -> int:
        return len(self.rows)

    def collater(self, samples: Sequence[list[Example]]) -> dict[str, Any]:
        """Makes a batch of rows of examples.

        Returns:
            net_input: :data:`COLUMNS`. target: :meth:`.ProblemType.targets`, of words that were not
            cut off. id: E, the numbers of the examples. labels: the ids, tags (of all words) or
            value of each. num_predictions: of each, 1 or the words that were not cut off.
            nsentences, ntokens: examples and subwords.
        """
        if not samples:
            return {}
        columns = collate(samples, self.problem_type, self.num_labels)
        examples = [example for row in samples for example in row]
        labels = [example.labels for example in examples]
        num_predictions = [1] * len(examples)
        seen = labels
        if self.problem_type is ProblemType.TAGGING:
            num_predictions = [example.num_words for example in examples]
            seen = [tags[:words] for tags, words in zip(labels, num_predictions)]
        plain = [self.problem_type.plain_labels(example) for example in labels]
        return {
            "id": torch.tensor([example.number for example in examples]),
            "nsentences": len(examples),
            "ntokens": int(columns["example_ids"].ne(0).sum()),
            "net_input": columns,
            "target": self.problem_type.targets(seen, self.num_labels),
            "labels": plain,
            "num_predictions": num_predictions,
        }

    def num_tokens(self, index: int) -> int:
        """Returns the subwords or decoder positions of a row, whichever are more."""
        return int(self.sizes[index].max())

    def num_tokens_vec(self, indices: Sequence[int]) -> np.ndarray:
        """Returns :meth:`num_tokens` of several rows."""
        return np.asarray(self.sizes[indices].max(1))

    def ordered_indices(self) -> np.ndarray:
        """Returns the rows by :meth:`num_tokens`, then by subwords; equal ones shuffled.

        With many labels, decoder positions decide the first of most rows: subwords still differ.
        """
        num_rows = len(self)
        order = np.random.permutation(num_rows) if self.shuffle else np.arange(num_rows)
        sizes = self.sizes[order]
        by_size = np.lexsort((sizes[:, 0], sizes.max(1)))
        return order[by_size]


def collate(
    samples: Sequence[list[Example]], problem_type: ProblemType, num_labels: int
) -> dict[str, Tensor]:
    """Joins the examples of each row and pads rows on the right with 0.

    Returns:
        :data:`COLUMNS`, long, B × S or B × L.
    """
    rows = [_join(row, problem_type, num_labels) for row in samples]
    # 0 is no example, no word, and T5's padding
    padded = [pad_sequence(list(column), batch_first=True) for column in zip(*rows)]
    return dict(zip(COLUMNS, padded))


def _join(row: Sequence[Example], problem_type: ProblemType, num_labels: int) -> list[Tensor]:
    """Returns the :data:`COLUMNS` of a row, S or L; words are numbered through the whole row."""
    columns: list[list[Tensor]] = []
    num_before = 0
    for number, example in enumerate(row, start=1):
        num_words = example.num_words
        latents = problem_type.latents(num_words, num_labels)
        word_ids = torch.zeros_like(example.pieces)
        latent_word_ids = torch.zeros_like(latents)
        if num_words:
            word_ids = example.word_ids + num_before * example.word_ids.gt(0)
            latent_word_ids = torch.arange(1, num_words + 1) + num_before
        columns.append(
            [
                example.pieces,
                torch.full_like(example.pieces, number),
                word_ids,
                latents,
                torch.full_like(latents, number),
                latent_word_ids,
            ]
        )
        num_before += num_words
    return [torch.cat(parts) for parts in zip(*columns)]
