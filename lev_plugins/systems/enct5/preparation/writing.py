"""Prepared data: what cuts their text, fairseq's indexed data sets, and the list of labels."""

import base64
import io
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field

import numpy as np
import torch
from fairseq.data import indexed_dataset

from ....errors import UserError
from ....io.text_files import LineNumbers
from ....pretrained.vocabulary import is_byte_t5
from ..directory import BertDirectory, T5Directory
from ..metadata import LABELS, PIECES, SPANS, Metadata
from ..problem_types import ProblemType
from ..tokenizer import SPECIAL, UNK, Tokenizer, WordpieceTokenizer
from .labels import Labels
from .oddities import most_frequent, oddities
from .reading import Labelled, Layout

#: The subwords that are found depend on the number of threads, so it is not the machine's.
THREADS = 16
#: Characters: what has more than 4192 bytes the trainer of subwords leaves out without a word.
PORTION = 1000
#: most subwords of an example, unless told otherwise
LONGEST = 512
_TOO_FEW = re.compile(r"smaller than required_chars\. [0-9]+ vs ([0-9]+)")


# ---------------------------------------------------------------- what cuts text


def file_cutter(path: str) -> Tokenizer:
    """A sentencepiece model's.

    Raises:
        UserError: it cannot be read.
    """
    return Tokenizer(_content(path), name=path)


def directory_cutter(path: str) -> Tokenizer:
    """That of a local T5.

    Raises:
        UserError: it lacks something.
    """
    directory = T5Directory(path)
    pieces, name = directory.pieces(), directory.place.file("spiece.model")
    if is_byte_t5(directory.place):
        return Tokenizer(None, pieces, path)
    if not os.path.isfile(name):
        raise UserError(f"{path}: no sentencepiece model in it (spiece.model)")
    return Tokenizer(_content(name), pieces, name)


def longest_text(bert: str | None) -> int:
    """Most subwords of an example where nothing is said, with a local BERT or without."""
    return LONGEST if bert is None else min(LONGEST, BertDirectory(bert).plan.positions)


def bert_cutter(path: str, most: int) -> WordpieceTokenizer:
    """That of a local BERT.

    Args:
        most: subwords of an example.

    Raises:
        UserError: it lacks something, or has fewer positions than that.
    """
    directory = BertDirectory(path)
    if most > directory.plan.positions:
        raise UserError(
            f"--max-length {most}: {path} has {directory.plan.positions} positions; give no more"
        )
    return WordpieceTokenizer(directory.tokenizer(), directory.pieces(), path)


def trained_cutter(texts: Iterator[str], size: int) -> Tokenizer:
    """A sentencepiece model, trained on texts; the same one from the same texts.

    Args:
        size: how many subwords it has; fewer where the texts do not give so many.

    Raises:
        UserError: a size that cannot be.
    """
    import sentencepiece

    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=(part for text in texts for part in portions(text)),
            model_writer=model,
            vocab_size=size,
            pad_id=0,
            eos_id=1,
            unk_id=2,
            bos_id=-1,
            character_coverage=1.0,
            hard_vocab_limit=False,
            num_threads=THREADS,
            minloglevel=2,
        )
    except (RuntimeError, ValueError) as error:
        least = _TOO_FEW.search(str(error))
        reason = str(error).strip().rpartition("\n")[2]
        raise UserError(
            f"--vocab-size {size}: "
            + (f"the characters of the text are {least[1]} subwords already" if least else reason)
        ) from error
    return Tokenizer(base64.b64encode(model.getvalue()).decode())


def portions(text: str) -> Iterator[str]:
    """A text in parts of :data:`PORTION` characters at most, cut at spaces where there are any."""
    start = 0
    while len(text) - start > PORTION:
        space = text.rfind(" ", start + 1, start + PORTION + 1)
        end = space if space > 0 else start + PORTION
        yield text[start:end]
        start = end
    yield text[start:]


def _content(path: str) -> str:
    """A file as base64."""
    try:
        with open(path, "rb") as file:
            return base64.b64encode(file.read()).decode()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error


# ---------------------------------------------------------------- data


@dataclass(frozen=True)
class Sampling:
    """Copies of the examples with segmentations that are sampled (:meth:`Tokenizer.sampled`)."""

    copies: int = 0
    alpha: float = 0.2
    seed: int = 1

    def repeated(self, examples: Iterable[Labelled]) -> Iterator[tuple[Labelled, float]]:
        """All examples as they are, then their copies; each with the α of its segmentation."""
        kept = list(examples) if self.copies else examples
        yield from ((example, 0.0) for example in kept)
        for _ in range(self.copies):
            yield from ((example, self.alpha) for example in kept)


@dataclass
class Summary:
    """What a split was made of.

    examples, words, pieces: how many; words for tagging. unknown: subwords that are <unk>. cut:
    examples that are too long. lost: words that were cut off. counts: how often there is each
    label. low, high: least and greatest value.
    """

    examples: int = 0
    words: int = 0
    pieces: int = 0
    unknown: int = 0
    cut: LineNumbers = field(default_factory=LineNumbers)
    lost: int = 0
    counts: Counter[int] = field(default_factory=Counter)
    low: float = np.inf
    high: float = -np.inf


def write_split(
    prefix: str,
    examples: Iterable[Labelled],
    tokenizer: Tokenizer,
    labels: Labels,
    max_length: int,
    sampling: Sampling = Sampling(),
) -> Summary:
    """Writes ``prefix.pieces``, ``.labels`` and for tagging ``.spans``, each .bin and .idx.

    Args:
        max_length: most subwords of an example, ``</s>`` included.
        sampling: copies of all examples that follow them.

    Raises:
        UserError: a label that is not known, or a value that is no number.
    """
    tagging = labels.kind is ProblemType.TAGGING
    cut = tokenizer.words if tagging else tokenizer.texts
    names = [PIECES, LABELS, *([SPANS] if tagging else [])]
    builders = {
        name: indexed_dataset.MMapIndexedDatasetBuilder(f"{prefix}.{name}.bin", dtype=np.int32)
        for name in names
    }
    summary = Summary()
    for number, (example, alpha) in enumerate(sampling.repeated(examples), start=1):
        with tokenizer.sampled(alpha, sampling.seed + number) if alpha else nullcontext():
            found = cut(example.texts, max_length)
        builders[PIECES].add_item(torch.tensor(found.pieces))
        builders[LABELS].add_item(labels.stored(example))
        if tagging:
            builders[SPANS].add_item(torch.tensor(found.spans))
            summary.words += len(example.texts)
        summary.examples = number
        summary.pieces += len(found.pieces)
        summary.unknown += found.pieces.count(SPECIAL.index(UNK))
        if found.cut_off:
            summary.cut.add(number)
            summary.lost += len(example.texts) - found.reached
        if labels.kind is ProblemType.REGRESSION:
            value = labels.value(example)
            summary.low, summary.high = min(summary.low, value), max(summary.high, value)
        else:
            summary.counts.update(labels.ids(example))
    for name, builder in builders.items():
        builder.finalize(f"{prefix}.{name}.idx")
    return summary


def write_all(
    folder: str,
    layout: Layout,
    files: Mapping[str, str],
    labels: Labels,
    tokenizer: Tokenizer,
    max_length: int,
    wanted: int | None,
    say: Callable[[str], None],
    sampling: Sampling = Sampling(),
) -> None:
    """Writes all that EncT5 trains on.

    Args:
        files: split → file of examples; one is ``train``.
        max_length: most subwords of an example, ``</s>`` included.
        wanted: subwords that were asked for, None where they are a given model's.
        say: gets what is worth knowing, line by line.
        sampling: copies of the examples of ``train``.

    Raises:
        UserError: as :func:`write_split`.
    """
    metadata = Metadata(
        kind=layout.kind.value,
        labels=labels.names,
        pieces=tokenizer.pieces,
        texts=len(layout.texts),
        max_length=max_length,
        model=tokenizer.serialised,
        wordpiece=tokenizer.wordpiece,
    )
    count = len(tokenizer.pieces)
    fewer = f", the text gives no {wanted:,}" if wanted is not None and count < wanted else ""
    say(f"pieces: {count:,}{fewer}")
    for split, path in files.items():
        prefix = os.path.join(folder, split)
        copies = sampling if split == "train" else Sampling()
        summary = write_split(prefix, layout.read(path), tokenizer, labels, max_length, copies)
        _report(split, path, summary, max_length, say)
        if split == "train":
            _keep_targets(metadata, labels, summary, say)
    for path in files.values():
        for odd in oddities(layout, path):
            say(odd)
    with open(os.path.join(folder, "labels.txt"), "w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{name}\n" for name in labels.names)
    metadata.write(folder)


def _keep_targets(
    metadata: Metadata, labels: Labels, summary: Summary, say: Callable[[str], None]
) -> None:
    """Notes the values or the frequencies of labels in the training set."""
    if labels.kind is ProblemType.REGRESSION:
        metadata.low, metadata.high = summary.low, summary.high
        say(f"values: {summary.low:g} to {summary.high:g} in train")
        return
    metadata.counts = [summary.counts[i] for i in range(len(labels.names))]
    zero = metadata.counts.count(0)
    absent = f", {zero:,} not in train" if zero else ""
    shown = most_frequent(labels.names, metadata.counts)
    say(f"labels: {len(labels.names):,}{absent} ({shown})")


def _report(split: str, path: str, summary: Summary, most: int, say: Callable[[str], None]) -> None:
    words = f"{summary.words:,} words, " if summary.words else ""
    unknown = f", {summary.unknown:,} of them unknown" if summary.unknown else ""
    say(
        f"{split}: {summary.examples:,} examples of {path}, {words}{summary.pieces:,} pieces"
        + unknown
    )
    if summary.cut:
        lost = f"; {summary.lost:,} words lost, which count as errors" if summary.lost else ""
        say(
            f"{split}: {summary.cut.count:,} examples are longer than {most} subwords and were cut "
            f"off{lost} (examples {summary.cut})"
        )
