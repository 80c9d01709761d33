"""Prepared data: what cuts their text, fairseq's indexed data sets, and the list of labels."""

import base64
import io
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

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
from .reading import Labelled, Labels, Layout

#: The subwords that are found depend on the number of threads, so it is not the machine's.
THREADS = 16
#: Characters: what has more than 4192 bytes the trainer of subwords leaves out without a word.
PORTION = 1000
#: most subwords of an example, unless told otherwise
LONGEST = 512
#: of subwords that are sampled, see :meth:`.Tokenizer.sampled`
ALPHA, SEED = 0.2, 1


# ---------------------------------------------------------------- what cuts text


def file_cutter(path: str) -> Tokenizer:
    """A sentencepiece model's; raises :class:`UserError` where it is none."""
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
        reason = str(error).strip().rpartition("\n")[2]
        raise UserError(f"--vocab-size {size}: {reason}") from error
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
    return base64.b64encode(Path(path).read_bytes()).decode()


# ---------------------------------------------------------------- data


@dataclass
class Summary:
    """What a split was made of.

    words: for tagging. unknown: subwords that are <unk>. cut: examples that are too long. lost:
    words that were cut off. counts: how often there is each label. values: of regression.
    """

    examples: int = 0
    words: int = 0
    pieces: int = 0
    unknown: int = 0
    cut: LineNumbers = field(default_factory=LineNumbers)
    lost: int = 0
    counts: Counter[int] = field(default_factory=Counter)
    values: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        words = f"{self.words:,} words, " if self.words else ""
        unknown = f", {self.unknown:,} of them unknown" if self.unknown else ""
        return f"{self.examples:,} examples, {words}{self.pieces:,} pieces{unknown}"


def write_split(
    prefix: str,
    examples: Iterable[Labelled],
    tokenizer: Tokenizer,
    labels: Labels,
    max_length: int,
) -> Summary:
    """Writes ``prefix.pieces``, ``.labels`` and for tagging ``.spans``, each .bin and .idx.

    No example has more than ``max_length`` subwords, ``</s>`` included.
    """
    tagging = labels.kind is ProblemType.TAGGING
    cut = tokenizer.words if tagging else tokenizer.texts
    builders = {
        name: indexed_dataset.MMapIndexedDatasetBuilder(f"{prefix}.{name}.bin", dtype=np.int32)
        for name in (PIECES, LABELS, *([SPANS] if tagging else []))
    }
    summary = Summary()
    for number, example in enumerate(examples, start=1):
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
        if labels.names:
            summary.counts.update(labels.ids(example))
        else:
            summary.values.append(labels.value(example))
    for name, builder in builders.items():
        builder.finalize(f"{prefix}.{name}.idx")
    return summary


def repeated(layout: Layout, path: str, tokenizer: Tokenizer, copies: int) -> Iterator[Labelled]:
    """The examples of a file, and copies behind them: what cuts one samples its subwords."""
    yield from layout.read(path)
    if copies:
        with tokenizer.sampled(ALPHA, SEED):
            for _ in range(copies):
                yield from layout.read(path)


def write_all(
    folder: str,
    layout: Layout,
    files: Mapping[str, str],
    labels: Labels,
    tokenizer: Tokenizer,
    max_length: int,
    say: Callable[[str], None],
    copies: int = 0,
) -> None:
    """Writes all that EncT5 trains on.

    Args:
        files: split → file of examples; one is ``train``.
        max_length: most subwords of an example, ``</s>`` included.
        say: gets what is worth knowing, line by line.
        copies: of the examples of ``train``, behind them, with subwords that are sampled.
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
    say(f"pieces: {len(tokenizer.pieces):,}")
    for split, path in files.items():
        examples = repeated(layout, path, tokenizer, copies if split == "train" else 0)
        prefix = os.path.join(folder, split)
        found = write_split(prefix, examples, tokenizer, labels, max_length)
        say(f"{split} ({path}): {found}")
        if found.cut:
            lost = f"; {found.lost:,} words lost, which count as errors" if found.lost else ""
            say(
                f"{split}: {found.cut.count:,} examples are longer than {max_length} subwords and "
                f"were cut off{lost} (examples {found.cut})"
            )
        if split == "train":
            _keep_targets(metadata, found, say)
    with open(os.path.join(folder, "labels.txt"), "w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{name}\n" for name in labels.names)
    metadata.write(folder)


def _keep_targets(metadata: Metadata, train: Summary, say: Callable[[str], None]) -> None:
    """Notes the values or the frequencies of labels in the training set."""
    names = metadata.labels
    if not names:
        metadata.low, metadata.high = min(train.values), max(train.values)
        say(f"values: {metadata.low:g} to {metadata.high:g} in train")
        return
    metadata.counts = [train.counts[i] for i in range(len(names))]
    usual = [f"{names[i]} {count:,}" for i, count in train.counts.most_common(6)]
    usual[5:] = ["…"] * len(usual[5:])
    absent = len(names) - len(train.counts)
    missing = f", {absent:,} not in train" if absent else ""
    say(f"labels: {len(names):,}{missing} ({', '.join(usual)})")
