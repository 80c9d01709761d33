"""Prepares labelled text: TSV and CoNLL-U files → subwords and labels in fairseq's data sets."""

import base64
import io
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from fairseq.data import indexed_dataset
from torch import Tensor

from lev_runtime.errors import UserError, counted
from lev_runtime.io.text_files import few, read_lines
from lev_runtime.labels.pieces import EOS_ID, UNK_ID, Tokenizer
from lev_runtime.text import codec

from .dataset import LABELS, PIECES, WORD_IDS, Metadata
from .problem_types import ProblemType, bits_of, values_of

NUM_COLUMNS = 10  # of CoNLL-U
FORM, UPOS = 1, 3  #: columns of CoNLL-U, from 0
#: comments, and lines of CoNLL-U that are no word: ranges of words (1-2), empty nodes (2.1)
_NO_WORD = re.compile(r"#|[0-9]+[-.][0-9]+\t")
#: a cell with doubled quotes inside, which CSV therefore quotes
_CSV_CELL = re.compile(r'"[^"]*(?:""[^"]*)+"')
#: the largest value: single precision can hold its square
MAX_VALUE = 1e18
#: The subwords that are trained depend on the number of threads, so it is not the machine's.
NUM_THREADS = 16
#: The trainer silently leaves out texts of more bytes than this, by default 4192.
MAX_TEXT_BYTES = 2**30
NUM_SHOWN = 5  # labels, or numbers of examples, in a message


@dataclass
class Sentence:
    """One sentence of CoNLL-U: its lines, up to and including an empty one."""

    first: int  # number of its first line in the file, from 1
    lines: list[str] = field(default_factory=list)  # with their ends, if they were given with them
    rows: dict[int, list[str]] = field(default_factory=dict)  # index of a word's line → columns

    @property
    def words(self) -> list[str]:
        """Returns the words in order."""
        return [row[FORM].strip() for row in self.rows.values()]

    def tagged(self, tags: Sequence[str], column: int) -> str:
        """Returns the lines with these tags in a column, or after all others."""
        lines = list(self.lines)
        for index, tag in zip(self.rows, tags, strict=True):
            row = self.rows[index]
            _, end = _split(lines[index])
            columns = [*row[:column], tag, *row[column + 1 :]]
            lines[index] = "\t".join(columns) + end
        return "".join(lines)


def read_sentences(lines: Iterable[str], where: str) -> Iterator[Sentence]:
    """Yields the sentences of a CoNLL-U file, or of a stream as they come; those without words too.

    They keep their lines, to be written again with tags, and the number of the first one, for
    messages. (The library ``conllu`` keeps neither.)

    Args:
        where: the name of the file, for messages.

    Raises:
        UserError: a line without a word, or with more columns than CoNLL-U has.
    """
    sentence = Sentence(first=1)
    for number, line in enumerate(lines, start=1):
        sentence.lines.append(line)
        if not line.strip():
            yield sentence
            sentence = Sentence(first=number + 1)
        elif not _NO_WORD.match(line):
            body, _ = _split(line)
            row = body.split("\t")
            place = f"{where}: line {number}"
            if len(row) > NUM_COLUMNS:
                columns = counted(len(row), "column")
                raise UserError(f"{place}: {columns}, where CoNLL-U has {NUM_COLUMNS}")
            if not "".join(row[FORM : FORM + 1]).strip():
                raise UserError(f"{place}: no word in column {FORM + 1}")
            sentence.rows[number - sentence.first] = row
    if sentence.lines:
        yield sentence


def _split(line: str) -> tuple[str, str]:
    """Returns a line and its end."""
    body = line.rstrip("\r\n")
    return body, line[len(body) :]


class LabelledText(NamedTuple):
    """One example: a text, and what is to be predicted of it.

    where: file and line, for messages. texts: one or two, or the words to be tagged.
    labels: as written, without spaces around them; one for a class or a value, for tags one per
    word.
    """

    where: str
    texts: list[str]
    labels: list[str]


@dataclass
class FileFormat:
    """Reads files of one format.

    is_conllu: else TSV. label, texts: columns, from 0; CoNLL-U has a column of its own for words.
    header: the first line of a TSV names its columns. width: columns of a TSV, None for as many as
    the first line has.
    """

    problem_type: ProblemType
    is_conllu: bool = False
    label: int = 0
    texts: Sequence[int] = (1,)
    header: bool = False
    width: int | None = None

    def read(self, path: str) -> Iterator[LabelledText]:
        """Yields the examples of a file in order.

        Raises:
            UserError: a line that is no example, or no example at all.
        """
        is_empty = True
        read = self._read_conllu if self.is_conllu else self._read_tsv
        for example in read(path):
            self._check(example)
            is_empty = False
            yield example
        if is_empty:
            raise UserError(f"{path} has no examples; is --format right?")

    def _check(self, example: LabelledText) -> None:
        where, texts, labels = example
        if self.problem_type is ProblemType.TAGGING:
            if len(texts) != len(labels) or not texts:
                raise UserError(
                    f"{where}: {len(texts)} words and {len(labels)} tags; give one tag per word"
                )
        elif not all(map(str.strip, [*texts, *labels])):
            raise UserError(f"{where}: text or label is empty; remove the line")

    def _read_tsv(self, path: str) -> Iterator[LabelledText]:
        """Yields one example per line."""
        width = self.width
        for number, line in enumerate(read_lines(path), start=1):
            where = f"{path}: line {number}"
            cells = line.split("\t")
            width = width or len(cells)
            if any(map(str.strip, cells[width:])):
                raise UserError(
                    f"{where}: {counted(len(cells), 'column')}, expected {width}; replace "
                    "tabs in a text by spaces, or see --label-column and --text-columns"
                )
            if number > self.header:
                label, *texts = _select(where, cells, [self.label, *self.texts])
                yield self._labelled_text(where, label, texts)

    def _labelled_text(self, where: str, label: str, texts: list[str]) -> LabelledText:
        if self.problem_type is ProblemType.TAGGING:
            return LabelledText(where, texts[0].split(), label.split())
        labels = [_unquoted(label).strip()]
        if self.problem_type.is_multilabel:
            labels = list(filter(None, map(str.strip, labels[0].split(","))))
        return LabelledText(where, list(map(_unquoted, texts)), labels)

    def _read_conllu(self, path: str) -> Iterator[LabelledText]:
        for sentence in read_sentences(read_lines(path), path):
            places = [f"{path}: line {sentence.first + index}" for index in sentence.rows]
            if places:
                tags = list(map(self._tag, places, sentence.rows.values()))
                yield LabelledText(places[0], sentence.words, tags)

    def _tag(self, where: str, row: list[str]) -> str:
        """Returns the tag of a word of CoNLL-U."""
        word, cell = _select(where, row, [FORM, self.label])
        tag = cell.strip()
        is_untagged = self.label == UPOS and tag == "_"
        if len(tag.split()) != 1 or is_untagged:
            raise UserError(f"{where}: the word {word!r} has the tag {tag!r}; fix the line")
        return tag


def _unquoted(cell: str) -> str:
    """Returns the text of a cell, which may be quoted as in CSV."""
    stripped = cell.strip()
    return stripped[1:-1].replace('""', '"') if _CSV_CELL.fullmatch(stripped) else cell


def _select(where: str, cells: Sequence[str], columns: Sequence[int]) -> list[str]:
    """Returns columns of a line; raises :class:`UserError` if it has fewer."""
    num_needed = max(columns) + 1
    if len(cells) < num_needed:
        raise UserError(
            f"{where}: {counted(len(cells), 'column')}, expected at least {num_needed}, "
            "separated by tabs; see --format, --label-column and --text-columns"
        )
    return [cells[column] for column in columns]


class Labels:
    """The labels of some data: their names in order, none for values."""

    def __init__(self, problem_type: ProblemType, names: Sequence[str] = ()) -> None:
        self.problem_type = problem_type
        self.names = list(names)
        self.index = {label: number for number, label in enumerate(names)}

    def encode(self, example: LabelledText) -> Tensor:
        """Returns an example's labels as the data hold them, int32.

        These are ids (for multilabel each once), or the bits of a value.

        Raises:
            UserError: an unknown label, or one that is no number or too large a number.
        """
        if self.problem_type is ProblemType.REGRESSION:
            return bits_of([_value(example)])
        for label in example.labels:
            if label not in self.index:
                raise UserError(
                    f"{example.where}: the label {label!r} is not among the {len(self.names)} "
                    "labels; fix it, list all labels in --labels FILE, or give --header if the "
                    "first line names the columns"
                )
        ids = [self.index[label] for label in example.labels]
        if self.problem_type.is_multilabel:
            ids = list(dict.fromkeys(ids))
        return torch.tensor(ids, dtype=torch.int32)


def _value(example: LabelledText) -> float:
    (written,) = example.labels
    try:
        value = float(written)
    except ValueError:
        value = float("nan")
    if not abs(value) <= MAX_VALUE:
        raise UserError(
            f"{example.where}: {written!r} is not a number from {-MAX_VALUE:g} to {MAX_VALUE:g}; "
            "fix it, or give --header if the first line names the columns"
        )
    return value


def read_labels(path: str, file_format: FileFormat, listed: bool) -> Labels:
    """Returns the labels of a file, none for values.

    Args:
        listed: the file has one label per line, in their order; else it has examples, and their
            labels are sorted.

    Raises:
        UserError: an empty label, a duplicate, or too few.
    """
    problem_type = file_format.problem_type
    if problem_type is ProblemType.REGRESSION:
        return Labels(problem_type)
    if listed:
        names = _listed_labels(path)
    else:
        names = sorted({label for example in file_format.read(path) for label in example.labels})
    if len(names) < (1 if problem_type.is_multilabel else 2):
        raise UserError(f"{path}: {len(names)} labels; at least two are needed")
    return Labels(problem_type, names)


def _listed_labels(path: str) -> list[str]:
    names: dict[str, None] = {}
    for number, line in enumerate(read_lines(path), start=1):
        name = line.strip()
        if not name or name in names:
            raise UserError(f"{path}: line {number}: the label {name!r} is empty or a duplicate")
        names[name] = None
    return list(names)


def train_tokenizer(texts: Iterator[str], vocab_size: int) -> Tokenizer:
    """Returns a sentencepiece model, trained on texts; the same one from the same texts.

    Args:
        vocab_size: subwords; fewer if the texts do not give so many.

    Raises:
        UserError: a size that cannot be.
    """
    model = io.BytesIO()
    codec.train_sentencepiece(
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
    """Writes all that EncT5 trains on: the splits, ``labels.txt`` and the description.

    Args:
        files: split → file of examples; one is ``train``.
        max_length: most subwords of an example, ``</s>`` included.
        log: gets lines about each split.
    """
    model = None
    if tokenizer.model is not None:
        model = base64.b64encode(tokenizer.model).decode()
    metadata = Metadata(
        kind=file_format.problem_type.value,
        labels=labels.names,
        pieces=tokenizer.pieces,
        texts_per_example=len(file_format.texts),
        max_length=max_length,
        model=model,
        hf_tokenizer=tokenizer.hf_tokenizer,
    )
    log(f"pieces: {len(tokenizer.pieces):,}")
    for split, path in files.items():
        prefix = os.path.join(folder, split)
        written, summary = write_split(
            prefix, file_format.read(path), tokenizer, labels, max_length
        )
        log(f"{split} ({path}): {summary}")
        if split == "train":
            log(_describe_labels(metadata, torch.cat(written)))
    with open(os.path.join(folder, "labels.txt"), "w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{name}\n" for name in labels.names)
    metadata.write(folder)


def write_split(
    prefix: str,
    examples: Iterable[LabelledText],
    tokenizer: Tokenizer,
    labels: Labels,
    max_length: int,
) -> tuple[list[Tensor], str]:
    """Writes ``prefix.pieces``, ``.labels`` and for tagging ``.spans``, each .bin and .idx.

    Returns:
        The labels of each example as they were written, and a line about the examples.

    Raises:
        UserError: as of :meth:`Labels.encode`.
    """
    is_tagging = labels.problem_type is ProblemType.TAGGING
    encode = tokenizer.encode_words if is_tagging else tokenizer.encode_texts
    builders = {}
    for column in (PIECES, LABELS, WORD_IDS) if is_tagging else (PIECES, LABELS):
        path = f"{prefix}.{column}.bin"
        builders[column] = indexed_dataset.MMapIndexedDatasetBuilder(path, dtype=np.int32)
    written, num_pieces, truncated = list[Tensor](), 0, list[int]()
    for example in examples:
        encoding = encode(example.texts, max_length)
        ids = labels.encode(example)
        builders[PIECES].add_item(torch.tensor(encoding.pieces))
        builders[LABELS].add_item(ids)
        if is_tagging:
            builders[WORD_IDS].add_item(torch.tensor(encoding.word_ids))
        written.append(ids)
        num_pieces += len(encoding.pieces)
        truncated += [len(written)] * encoding.truncated
    for column, builder in builders.items():
        builder.finalize(f"{prefix}.{column}.idx")
    line = f"{counted(len(written), 'example')}, {counted(num_pieces, 'piece')}"
    if truncated:
        numbers = few(truncated, NUM_SHOWN)
        line += f"; longer than {max_length} and cut off: "
        line += f"{counted(len(truncated), 'example')} (number {numbers})"
    return written, line


def _describe_labels(metadata: Metadata, train: Tensor) -> str:
    """Records how often training has each label; returns a line about labels or values."""
    names = metadata.labels
    if not names:
        values = values_of(train)
        return f"values: {values.min():g} to {values.max():g} in train"
    metadata.counts = torch.bincount(train, minlength=len(names)).tolist()
    counts = Counter(dict(zip(names, metadata.counts)))
    shown = [f"{name} {count:,}" for name, count in counts.most_common()]
    return f"labels: {len(names):,} ({few(shown, NUM_SHOWN)})"
