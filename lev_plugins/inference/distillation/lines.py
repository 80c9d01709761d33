"""Lines of a text, translated by a teacher: batches, what cannot be right, progress."""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import groupby, islice

import torch
from sacrebleu.metrics import BLEU

from ...data.batching import by_budget
from ...errors import UserError
from ...io.text_files import read_parallel
from .journal import EMPTY, ENDLESS, FINE, LONG, RATIO, Journal, Record
from .teacher import Teacher, Translation
from .text import Files

SLACK = 5  # tokens by which a short line may be longer than the ratio says
SECONDS = 10.0  # between two lines of progress


def judge(source: int, translation: Translation, max_ratio: float) -> str:
    """Whether a translation can be right: ``FINE``, ``EMPTY``, ``ENDLESS`` or ``RATIO``.

    Args:
        source: number of tokens of the source, above 0.
        max_ratio: how many times the tokens of one the other may have.
    """
    target = len(translation.words)
    if not target:
        return EMPTY
    if translation.endless:
        return ENDLESS
    longer, shorter = max(source, target), min(source, target)
    return RATIO if longer > max_ratio * shorter + SLACK else FINE


def nearest(translations: Sequence[Translation], reference: str) -> Translation:
    """The translation with the highest sentence BLEU over tokens, the earliest of equals.

    Sequence-level interpolation (Kim and Rush 2016, §3.3).
    """
    bleu = BLEU(tokenize="none", effective_order=True)
    return max(
        translations, key=lambda one: bleu.sentence_score(" ".join(one.words), [reference]).score
    )


def choose(
    translations: Sequence[Translation], source: int, reference: str, args: argparse.Namespace
) -> tuple[Translation, str]:
    """The translation to write, and what :func:`judge` says of it.

    With ``--interpolate`` one that can be right comes before one that cannot.
    """
    candidates = translations or [Translation((), False)]
    verdicts = {one: judge(source, one, args.max_ratio) for one in candidates}
    chosen = candidates[0]
    if args.interpolate and reference:
        fine = [one for one in candidates if verdicts[one] == FINE]
        chosen = nearest(fine or candidates, reference)
    return chosen, verdicts[chosen]


def make_batches(
    lengths: Sequence[int], max_tokens: int, batch_size: int | None, equal: bool
) -> Iterator[list[int]]:
    """Groups of lines (by their source tokens), the longest first, padded within ``max_tokens``.

    A longer line is a batch of its own. ``equal``: only lines of one length share a batch.
    """
    order = sorted(range(len(lengths)), key=lambda line: -lengths[line])
    for _, some in groupby(order, key=lambda line: lengths[line] if equal else 0):
        alike = list(some)
        for batch in by_budget([lengths[line] for line in alike], max_tokens, batch_size):
            yield [alike[number] for number in batch]


class Progress:
    """Says on standard error how many lines are done, every :data:`SECONDS`."""

    def __init__(self, done: int, total: int) -> None:
        self.before, self.done, self.total = done, done, total
        self.start = self.said = time.monotonic()

    def add(self, lines: int) -> None:
        """``lines`` more are done."""
        self.done += lines
        now = time.monotonic()
        if now - self.said >= SECONDS:
            self.said = now
            rate = (self.done - self.before) / (now - self.start)
            left = (self.total - self.done) / max(rate, 1e-9) / 60
            print(
                f"{self.done:,} of {self.total:,} lines, {rate:.1f} sentences/s, "
                f"{left:.0f} min left",
                file=sys.stderr,
                flush=True,
            )


def distil_chunk(
    lines: Sequence[Sequence[str]], teacher: Teacher, args: argparse.Namespace, progress: Progress
) -> list[Record]:
    """A record for each line, of which there are the source and, with ``--reference``, that."""
    records = [Record(FINE, False, "")] * len(lines)
    sources = [line[0].split() for line in lines]
    references = [" ".join(line[1].split()) if len(line) > 1 else "" for line in lines]
    work = []
    for line, words in enumerate(sources):
        if len(words) >= teacher.source_limit:
            records[line] = Record(LONG, True, references[line])
        elif words:
            work.append(line)
    progress.add(len(lines) - len(work))
    lengths = [len(sources[line]) + 1 for line in work]
    for batch in make_batches(lengths, args.max_tokens, args.batch_size, args.max_len_a > 0):
        chosen = [work[i] for i in batch]
        encoded = [teacher.encode(sources[line]) for line in chosen]
        for line, translations in zip(chosen, teacher.translate(encoded), strict=True):
            reference = references[line]
            translation, reason = choose(translations, len(sources[line]), reference, args)
            replaced = reason != FINE and bool(reference)
            text = reference if replaced else " ".join(translation.words)
            records[line] = Record(reason, replaced, text)
        progress.add(len(batch))
    return records


def decode_all(
    files: Files, journal: Journal, teacher: Teacher, total: int, args: argparse.Namespace
) -> None:
    """Translate what the journal does not hold yet, a chunk at a time.

    Raises:
        UserError: the GPU's memory does not suffice.
    """
    lines = islice(read_parallel(files.inputs), journal.done, None)
    progress = Progress(journal.done, total)
    try:
        while chunk := list(islice(lines, args.chunk_size)):
            journal.append(distil_chunk(chunk, teacher, args, progress))
    except torch.cuda.OutOfMemoryError as error:
        raise UserError(
            f"the GPU has not enough memory for --max-tokens {args.max_tokens} and --beam "
            f"{args.beam}; lower --max-tokens and continue with --resume"
        ) from error
    except KeyboardInterrupt:
        if journal.done:
            print(
                f"interrupted: {journal.done:,} of {total:,} lines are kept in {journal.path}; the "
                "same command with --resume continues",
                file=sys.stderr,
            )
        raise
