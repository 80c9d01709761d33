"""Prepared data: the tokenizer, fairseq's indexed data sets, and the list of labels."""

import base64
import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
import torch
from fairseq.data import indexed_dataset
from torch import Tensor

from lev_runtime import subwords
from lev_runtime.io.text_files import few
from lev_runtime.pieces import EOS_ID, UNK_ID, Tokenizer

from .metadata import LABELS, PIECES, WORD_IDS, Metadata
from .problem_types import ProblemType, values_of
from .prepare import FileFormat, LabelledText, Labels

#: The subwords that are trained depend on the number of threads, so it is not the machine's.
NUM_THREADS = 16
#: Bytes of a text: what has more, by default 4192, the trainer leaves out without a word.
MAX_TEXT_BYTES = 2**30
NUM_SHOWN = 5  # labels, or numbers of examples, in a line


def train_tokenizer(texts: Iterator[str], vocab_size: int) -> Tokenizer:
    """Returns a sentencepiece model, trained on texts; the same one from the same texts.

    Args:
        vocab_size: subwords; fewer where the texts do not give so many.

    Raises:
        UserError: a size that cannot be.
    """
    model = io.BytesIO()
    subwords.train_sentencepiece(
        texts,
        vocab_size,
        model_writer=model,
        max_sentence_length=MAX_TEXT_BYTES,
        pad_id=0,
        eos_id=EOS_ID,
        unk_id=UNK_ID,
        bos_id=-1,
        num_threads=NUM_THREADS,
    )
    return Tokenizer(model.getvalue())


def write_all(
    folder: str,
    file_format: FileFormat,
    files: Mapping[str, str],
    labels: Labels,
    tokenizer: Tokenizer,
    max_length: int,
    log: Callable[[str], None],
) -> None:
    """Writes all that EncT5 trains on.

    Args:
        files: split → file of examples; one is ``train``.
        max_length: most subwords of an example, ``</s>`` included.
        log: gets lines about each split.
    """
    model = tokenizer.model
    metadata = Metadata(
        kind=file_format.problem_type.value,
        labels=labels.names,
        pieces=tokenizer.pieces,
        texts_per_example=len(file_format.texts),
        max_length=max_length,
        model=None if model is None else base64.b64encode(model).decode(),
        hf_tokenizer=tokenizer.hf_tokenizer,
    )
    log(f"pieces: {len(tokenizer.pieces):,}")
    for split, path in files.items():
        writer = SplitWriter(os.path.join(folder, split), tokenizer, labels, max_length)
        summary = writer.write(file_format.read(path))
        log(f"{split} ({path}): {summary}")
        if split == "train":
            log(_describe_labels(metadata, torch.cat(writer.labels)))
    with open(os.path.join(folder, "labels.txt"), "w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{name}\n" for name in labels.names)
    metadata.write(folder)


class SplitWriter:
    """Writes ``prefix.pieces``, ``.labels`` and for tagging ``.spans``, each .bin and .idx.

    labels: of each example as they were written.
    """

    def __init__(self, prefix: str, tokenizer: Tokenizer, labels: Labels, max_length: int) -> None:
        self.prefix = prefix
        self.known_labels = labels
        self.max_length = max_length
        self.is_tagging = labels.problem_type is ProblemType.TAGGING
        self.encode = tokenizer.encode_words if self.is_tagging else tokenizer.encode_texts
        self.builders = {}
        for column in (PIECES, LABELS, WORD_IDS) if self.is_tagging else (PIECES, LABELS):
            path = f"{prefix}.{column}.bin"
            self.builders[column] = indexed_dataset.MMapIndexedDatasetBuilder(path, dtype=np.int32)
        self.labels: list[Tensor] = []

    def write(self, examples: Iterable[LabelledText]) -> str:
        """Writes the files; returns a line about the examples, raises :class:`UserError` as
        :meth:`.Labels.encode` does."""
        num_pieces, truncated = 0, list[int]()
        for example in examples:
            encoding = self.encode(example.texts, self.max_length)
            labels = self.known_labels.encode(example)
            self.builders[PIECES].add_item(torch.tensor(encoding.pieces))
            self.builders[LABELS].add_item(labels)
            if self.is_tagging:
                self.builders[WORD_IDS].add_item(torch.tensor(encoding.word_ids))
            self.labels.append(labels)
            num_pieces += len(encoding.pieces)
            truncated += [len(self.labels)] * encoding.truncated
        for column, builder in self.builders.items():
            builder.finalize(f"{self.prefix}.{column}.idx")
        line = f"{len(self.labels):,} examples, {num_pieces:,} pieces"
        if truncated:
            numbers = few(truncated, NUM_SHOWN)
            line += f"; {len(truncated):,} examples (number {numbers}) are longer than "
            line += f"{self.max_length} and cut off"
        return line


def _describe_labels(metadata: Metadata, train: Tensor) -> str:
    """Notes the frequencies of labels in the training set; returns a line of them, or of values."""
    names = metadata.labels
    if not names:
        values = values_of(train)
        return f"values: {values.min():g} to {values.max():g} in train"
    metadata.counts = torch.bincount(train, minlength=len(names)).tolist()
    by_count = sorted(zip(metadata.counts, names), key=lambda pair: -pair[0])
    shown = [f"{name} {count:,}" for count, name in by_count]
    return f"labels: {len(names):,} ({few(shown, NUM_SHOWN)})"
