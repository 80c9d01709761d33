"""Prepared data: what cuts their text, fairseq's indexed data sets, and the list of labels."""

import base64
import io
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
import torch
from fairseq.data import indexed_dataset
from torch import Tensor

from ...data.subwords import train_sentencepiece
from ...io.text_files import few
from .metadata import LABELS, PIECES, SPANS, Metadata
from .problem_types import ProblemType, values_of
from .reading import Labelled, Labels, Layout
from .tokenizer import SPECIAL, UNK, Tokenizer

#: The subwords that are found depend on the number of threads, so it is not the machine's.
THREADS = 16
#: Bytes of a text: what has more, by default 4192, the trainer leaves out without a word.
LINE = 2**30
#: of subwords that are sampled, see :attr:`.Tokenizer.alpha`
ALPHA = 0.2


def trained_cutter(texts: Iterator[str], size: int) -> Tokenizer:
    """A sentencepiece model, trained on texts; the same one from the same texts.

    Args:
        size: how many subwords it has; fewer where the texts do not give so many.

    Raises:
        UserError: a size that cannot be.
    """
    model = io.BytesIO()
    train_sentencepiece(
        texts,
        size,
        model_writer=model,
        max_sentence_length=LINE,
        pad_id=0,
        eos_id=1,
        unk_id=2,
        bos_id=-1,
        num_threads=THREADS,
    )
    return Tokenizer(base64.b64encode(model.getvalue()).decode())


def write_all(
    folder: str,
    layout: Layout,
    files: Mapping[str, str],
    labels: Labels,
    tokenizer: Tokenizer,
    max_length: int,
    say: Callable[[str], None],
    copies: int = 0,
    seed: int = 1,
) -> None:
    """Writes all that EncT5 trains on.

    Args:
        files: split → file of examples; one is ``train``.
        max_length: most subwords of an example, ``</s>`` included.
        say: gets what is worth knowing, line by line.
        copies: of the examples of ``train``, behind them, with subwords that are sampled; others
            with another ``seed``.
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
        examples = repeated(layout, path, tokenizer, copies if split == "train" else 0, seed)
        prefix = os.path.join(folder, split)
        written, told = write_split(prefix, examples, tokenizer, labels, max_length)
        say(f"{split} ({path}): {told}")
        if split == "train":
            own = written[: len(written) // (1 + max(copies, 0))]  # not those of copies
            say(_keep_targets(metadata, torch.cat(own)))
    with open(os.path.join(folder, "labels.txt"), "w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{name}\n" for name in labels.names)
    metadata.write(folder)


def repeated(
    layout: Layout, path: str, tokenizer: Tokenizer, copies: int, seed: int
) -> Iterator[Labelled]:
    """The examples of a file, and copies behind them: what cuts one samples its subwords.

    They are the same with the same ``seed``, of the generator that sentencepiece has for a thread.
    """
    yield from layout.read(path)
    if copies:
        import sentencepiece

        sentencepiece.set_random_generator_seed(seed)
    tokenizer.alpha = ALPHA
    for _ in range(copies):
        yield from layout.read(path)
    tokenizer.alpha = 0.0


def write_split(
    prefix: str,
    examples: Iterable[Labelled],
    tokenizer: Tokenizer,
    labels: Labels,
    max_length: int,
) -> tuple[list[Tensor], str]:
    """Writes ``prefix.pieces``, ``.labels`` and for tagging ``.spans``, each .bin and .idx.

    Returns the labels of each example as they were written, and a line about all.
    """
    tagging = labels.kind is ProblemType.TAGGING
    encode = tokenizer.words if tagging else tokenizer.texts
    builders = {
        name: indexed_dataset.MMapIndexedDatasetBuilder(f"{prefix}.{name}.bin", dtype=np.int32)
        for name in (PIECES, LABELS, *([SPANS] if tagging else []))
    }
    written: list[Tensor] = []
    total, cut = Counter[str](), list[int]()
    for number, example in enumerate(examples, start=1):
        found = encode(example.texts, max_length)
        written.append(labels.stored(example))
        columns = {PIECES: torch.tensor(found.pieces), LABELS: written[-1]}
        for name, builder in builders.items():
            builder.add_item(columns[name] if name in columns else torch.tensor(found.spans))
        unknown = found.pieces.count(SPECIAL.index(UNK))
        lost = len(example.texts) - found.reached
        total.update(words=len(example.texts), pieces=len(found.pieces), unknown=unknown, lost=lost)
        if found.cut_off:
            cut.append(number)
    for name, builder in builders.items():
        builder.finalize(f"{prefix}.{name}.idx")
    words = f"{total['words']:,} words, " if tagging else ""
    told = f"{len(written):,} examples, {words}{total['pieces']:,} pieces"
    told += f", {total['unknown']:,} of them unknown" if total["unknown"] else ""
    if cut:
        told += f"; {len(cut):,} examples (number {few(cut, 5)}) are longer than {max_length}"
        told += " and cut off"
        told += f", {total['lost']:,} words lost, which count as errors" if total["lost"] else ""
    return written, told


def _keep_targets(metadata: Metadata, train: Tensor) -> str:
    """Notes the values or the frequencies of labels in the training set; returns a line of them."""
    names = metadata.labels
    if not names:
        values = values_of(train)
        metadata.low, metadata.high = values.min().item(), values.max().item()
        return f"values: {metadata.low:g} to {metadata.high:g} in train"
    metadata.counts = torch.bincount(train, minlength=len(names)).tolist()
    usual = sorted(zip(metadata.counts, names), key=lambda one: -one[0])[:5]
    shown = [f"{name} {count:,}" for count, name in usual] + ["…"] * (len(names) > 5)
    absent = metadata.counts.count(0)
    missing = f", {absent:,} not in train" if absent else ""
    return f"labels: {len(names):,}{missing} ({', '.join(shown)})"
