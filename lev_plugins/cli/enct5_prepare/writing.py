"""Prepared data: fairseq's indexed data sets and their description."""

import base64
import io
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from fairseq.data import indexed_dataset

from ...data.text_files import LineNumbers
from ...errors import UserError
from ...models.enct5.description import LABELS, PIECES, SPANS, Description
from ...models.enct5.kinds import Kind, bits_of
from ...models.enct5.pieces import Cutter
from ...models.enct5.t5_directory import T5Directory
from ...pretrained.vocabulary import is_byte_t5, piece_model
from .reading import Labelled


def file_cutter(path: str) -> Cutter:
    """A sentencepiece model's.

    Raises:
        UserError: it cannot be read.
    """
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    return Cutter(base64.b64encode(content).decode(), name=path)


def directory_cutter(path: str) -> Cutter:
    """That of a local T5.

    Raises:
        UserError: it lacks something.
    """
    directory = T5Directory(path)
    pieces, model = directory.pieces(), piece_model(directory.place)
    if model is None:
        if not is_byte_t5(directory.place):
            raise UserError(f"{path}: no sentencepiece model in it (spiece.model)")
        return Cutter(None, pieces, path)
    name = directory.place.file(model)
    with open(name, "rb") as file:
        return Cutter(base64.b64encode(file.read()).decode(), pieces, name)


def trained_cutter(texts: Iterator[str], size: int) -> Cutter:
    """A sentencepiece model of ``size`` pieces, trained on texts.

    Raises:
        UserError: there is too little text for so many.
    """
    import sentencepiece

    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=texts,
            model_writer=model,
            vocab_size=size,
            pad_id=0,
            eos_id=1,
            unk_id=2,
            bos_id=-1,
            character_coverage=1.0,
            hard_vocab_limit=False,
            minloglevel=2,
        )
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[-1]
        raise UserError(
            f"--vocab-size {size}: no such vocabulary can be made ({reason})"
        ) from error
    return Cutter(base64.b64encode(model.getvalue()).decode())


@dataclass
class Summary:
    """What a split was made of."""

    examples: int = 0
    words: int = 0
    pieces: int = 0
    unknown: int = 0
    cut: LineNumbers = field(default_factory=LineNumbers)
    lost: int = 0


class SplitWriter:
    """Writes a split.

    Args:
        description: of the data.
        cutter: of the text.
    """

    def __init__(self, description: Description, cutter: Cutter) -> None:
        self.description, self.cutter = description, cutter
        self.kind = Kind(description.kind)
        self.index = {label: number for number, label in enumerate(description.labels)}
        self.counts: Counter[int] = Counter()
        self.values: list[float] = []

    def write(self, prefix: str, examples: Iterable[Labelled]) -> Summary:
        """Writes ``prefix.pieces``, ``.labels`` and for tagging ``.spans``, each .bin and .idx.

        Raises:
            UserError: a label that is not among those known.
        """
        tagging = self.kind is Kind.TAGGING
        names = [PIECES, LABELS, *([SPANS] if tagging else [])]
        builders = {
            name: indexed_dataset.MMapIndexedDatasetBuilder(f"{prefix}.{name}.bin", dtype=np.int32)
            for name in names
        }
        self.counts.clear()
        self.values.clear()
        summary = Summary()
        most = self.description.max_length
        for number, example in enumerate(examples, start=1):
            labels = self._labels(example)
            cut = self.cutter.words if tagging else self.cutter.texts
            found = cut(example.texts, most)
            builders[PIECES].add_item(torch.tensor(found.pieces))
            builders[LABELS].add_item(labels)
            if tagging:
                builders[SPANS].add_item(torch.tensor(found.spans))
            summary.examples = number
            summary.words += len(example.texts) if tagging else 0
            summary.pieces += len(found.pieces)
            summary.unknown += found.pieces.count(2)
            if found.cut_off:
                summary.cut.add(number)
                summary.lost += len(example.texts) - found.reached
        for name, builder in builders.items():
            builder.finalize(f"{prefix}.{name}.idx")
        return summary

    def _labels(self, example: Labelled) -> torch.Tensor:
        if self.kind is Kind.REGRESSION:
            value = _number(example)
            self.values.append(value)
            return bits_of([value])
        ids = []
        for label in example.labels:
            if label not in self.index:
                raise UserError(
                    f"{example.where}: the label {label!r} is not among the {len(self.index)} "
                    "labels; mend the line, or give --labels FILE with all of them"
                )
            ids.append(self.index[label])
        self.counts.update(set(ids) if self.kind.many else ids)
        return torch.tensor(ids, dtype=torch.int32)


def _number(example: Labelled) -> float:
    try:
        value = float(example.labels[0])
    except ValueError:
        value = float("nan")
    if not np.isfinite(value):
        raise UserError(f"{example.where}: {example.labels[0]!r} is not a number")
    return value


def found_labels(examples: Iterable[Labelled]) -> list[str]:
    """All labels of some examples, in the order of their characters."""
    return sorted({label for example in examples for label in example.labels})


def check_labels(labels: Sequence[str], where: str) -> None:
    """Raises :class:`UserError` unless there are two labels or more, all different."""
    twice = [label for label, count in Counter(labels).items() if count > 1]
    if twice:
        raise UserError(f"{where}: the label {twice[0]!r} stands there twice")
    if len(labels) < 1:
        raise UserError(f"{where}: holds no labels")


def write_labels(folder: str, labels: Sequence[str]) -> None:
    """Writes labels.txt."""
    with open(os.path.join(folder, "labels.txt"), "w", encoding="utf-8") as file:
        file.writelines(f"{label}\n" for label in labels)
