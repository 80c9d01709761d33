"""Sequence-level distillation: a bitext whose targets are a teacher's translations.

    python -m lev_plugins.cli.distill --path teacher.pt --data DATA-BIN \
        --source train.en --reference train.de --output-prefix out/train

The second expert of the paper (§3.2): a left-to-right model, trained on the same data, translates
every source by beam search, and its outputs stand for the targets (Kim and Rush 2016). Out come
``out/train.en``, the source byte for byte, and ``out/train.de``, line n of which belongs to line n
of the source.

The text is as preprocess was given it: tokens or subwords between spaces. A translation that
cannot be right (:func:`judge`) gives way to the reference where there is one, and is kept and
counted where there is none. Finished lines go into a journal beside the outputs, a chunk at a
time, from which ``--resume`` takes an interrupted run up; the outputs appear at the end, both.
"""

import argparse
import math
import os
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from typing import Any

import torch
from fairseq import utils

from ...errors import UserError
from ...io.output import whole_file
from ...io.text_files import read_parallel, refuse_special_tokens, require_files
from ..options import adder, at_least_one, make_parser
from ..preprocess import dictionary_path
from .journal import EMPTY, ENDLESS, FINE, LONG, RATIO, REASONS, Journal, Record, digest
from .teacher import Teacher, Translation, load_teacher

SLACK = 5  # tokens by which a short line may be longer than the ratio says
SHOWN = 20  # line numbers in a message
SUSPICIOUS = 0.05  # share of lines, or of tokens, at which something is wrong with the text
SECONDS = 10.0  # between two lines of progress

# ---------------------------------------------------------------- options


def build_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = make_parser(
        "distill",
        "Translate a text with a trained left-to-right model by beam search and write "
        "the bitext to train an editor on (sequence-level knowledge distillation).",
        "--path teacher.pt --data data-bin --source train.en "
        "--reference train.de --output-prefix distilled/train --beam 5 --lenpen 0.6",
    )
    add = adder(parser)
    add(
        "--path CHECKPOINT",
        "the teacher, a checkpoint of fairseq's task translation; a.pt:b.pt is an ensemble",
        required=True,
    )
    add("--data DIR", "folder with the teacher's dictionaries", required=True)
    add("--source FILE", "text as preprocess was given it", required=True)
    add(
        "--output-prefix PREFIX",
        "PREFIX.SOURCE-LANG and PREFIX.TARGET-LANG are written; neither may be there yet",
        required=True,
    )
    add("--reference FILE", "the real targets, for lines that the teacher fails")
    for side in ("source", "target"):
        add(f"--{side}-lang LANG", f"{side} language (default: the teacher's)")
    _add_search_options(parser)
    _add_running_options(parser)
    return parser


def _add_search_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "search", "As in fairseq-generate, but <unk> is never written."
    )
    add = adder(group)
    add("--beam N", "beam size (default: 5)", 5)
    add("--lenpen P", "length penalty (default: 1)", 1.0)
    add(
        "--max-len-a A",
        "a translation has at most A * source tokens + B tokens (default: 0). Above 0 only "
        "sources of one length share a batch, since the longest of a batch counts",
        0.0,
    )
    add("--max-len-b B", "see --max-len-a (default: 200)", 200)
    add(
        "--max-ratio R",
        "a translation fails that has more than R times the source's tokens, or less than an "
        f"Rth of them, by more than {SLACK} tokens; inf for any (default: 3)",
        3.0,
    )


def _add_running_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("running", "Outputs depend on none of these but --fp16.")
    add = adder(group)
    add(
        "--max-tokens N",
        "most source tokens in a batch, padding counted; a longer line is a batch of its own "
        "(default: 4000)",
        4000,
    )
    add("--batch-size N", "most sentences in a batch (default: any)", type=int)
    add(
        "--chunk-size N",
        "lines that are sorted by length together and saved together (default: 4096)",
        4096,
    )
    add("--cpu", "leave the GPU alone")
    add("--fp16", "half precision, on a GPU; close calls may differ")
    add("--resume", "take up an interrupted run, or begin if none was")


def parse_args(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse ``argv`` (None: the command line); raises :class:`UserError` for impossible values."""
    args = build_parser().parse_args(argv)
    at_least_one(args, "beam", "max_len_b", "max_tokens", "batch_size", "chunk_size")
    if not 0 <= args.max_len_a < math.inf:
        raise UserError(f"--max-len-a {args.max_len_a}: must be 0 or more")
    if not math.isfinite(args.lenpen):
        raise UserError(f"--lenpen {args.lenpen}: must be a number")
    if not args.max_ratio >= 1:
        raise UserError(f"--max-ratio {args.max_ratio}: must be 1 or more, or inf for any length")
    if args.fp16 and (args.cpu or not torch.cuda.is_available()):
        raise UserError("--fp16 needs a GPU; leave it out")
    return args


# ---------------------------------------------------------------- files


@dataclass(frozen=True)
class Files:
    """What is read and what is written."""

    source: str
    reference: str | None
    source_output: str
    target_output: str
    journal: str

    @property
    def inputs(self) -> list[str]:
        """The texts that are read, the source first."""
        return [self.source] if self.reference is None else [self.source, self.reference]


def plan_files(args: argparse.Namespace, source_lang: str, target_lang: str) -> Files:
    """The files of a run.

    Raises:
        UserError: an output is an input, is there already, or has no folder; or a journal is
            there and ``--resume`` was not given.
    """
    prefix = args.output_prefix
    files = Files(
        args.source,
        args.reference,
        f"{prefix}.{source_lang}",
        f"{prefix}.{target_lang}",
        f"{prefix}.{source_lang}-{target_lang}.part",
    )
    for output in (files.source_output, files.target_output):
        for path in files.inputs:
            if os.path.realpath(path) == os.path.realpath(output):
                raise UserError(f"{path} would be overwritten; choose another --output-prefix")
        if os.path.lexists(output):
            raise UserError(
                f"{output} is there already; delete it or choose another --output-prefix"
            )
    if os.path.lexists(files.journal) and not args.resume:
        raise UserError(
            f"{files.journal} is there, of a run that was interrupted; continue it with --resume, "
            "or delete it to begin anew"
        )
    return files


def require_inputs(args: argparse.Namespace) -> None:
    """Raise :class:`UserError` where a file or folder that the options name is not there."""
    for path in utils.split_paths(args.path):
        if not os.path.isfile(path):
            raise UserError(f"checkpoint {path} does not exist; check --path")
    require_files([path for path in (args.source, args.reference) if path is not None])
    if not os.path.isdir(args.data):
        raise UserError(f"--data {args.data}: no such folder; give the teacher's data folder")
    folder = os.path.dirname(args.output_prefix) or "."
    if not os.path.isdir(folder):
        raise UserError(
            f"--output-prefix {args.output_prefix}: no folder {folder}; make it: mkdir -p {folder}"
        )
    if os.path.basename(args.output_prefix) == "":
        raise UserError(
            f"--output-prefix {args.output_prefix}: names a folder; give {args.output_prefix}train"
        )


# ---------------------------------------------------------------- the text


@dataclass
class Named:
    """How many lines there were of a kind, and the numbers of the first of them."""

    count: int = 0
    first: list[int] = field(default_factory=list)

    def add(self, number: int) -> None:
        """Count line ``number``."""
        self.count += 1
        if len(self.first) < SHOWN:
            self.first.append(number)

    def __str__(self) -> str:
        return ", ".join(map(str, self.first)) + (" …" if self.count > SHOWN else "")


@dataclass
class Text:
    """What a look at the whole text has told."""

    lines: int = 0
    tokens: int = 0
    unknown: int = 0
    unaided: Named = field(default_factory=Named)  # too long, and without a reference


def check_text(files: Files, teacher: Teacher) -> Text:
    """Read source and reference once, before hours of decoding.

    Raises:
        UserError: what preprocess would refuse; line counts that differ; a source line that is
            too long for the teacher and has no reference to put in its place.
    """
    text = Text()
    dictionary, room = teacher.source_dictionary, teacher.source_limit - 1  # </s>
    for number, lines in enumerate(read_parallel(files.inputs), start=1):
        words = [line.split() for line in lines]
        for path, side in zip(files.inputs, words, strict=True):
            refuse_special_tokens(path, number, side)
        text.lines = number
        text.tokens += len(words[0])
        text.unknown += sum(word not in dictionary for word in words[0])
        if len(words[0]) > room:
            if len(words) < 2 or not words[1]:
                text.unaided.add(number)
    if not text.lines:
        raise UserError(f"{files.source}: no lines in it; give a file with sentences")
    if text.unaided.count:
        way_out = "give them a reference" if files.reference else "give --reference"
        raise UserError(
            f"{files.source}: the teacher can read {room:,} tokens, and lines with more number "
            f"{text.unaided.count:,}: {text.unaided}; shorten them, or {way_out}"
        )
    return text


def judge(source: int, translation: Translation, max_ratio: float) -> str:
    """Whether a translation can be right.

    Args:
        source: number of tokens of the source, above 0.
        translation: of that source.
        max_ratio: how many times the tokens of one the other may have.

    Returns:
        ``FINE``, ``EMPTY``, ``ENDLESS`` or ``RATIO``.
    """
    target = len(translation.words)
    if not target:
        return EMPTY
    if translation.endless:
        return ENDLESS
    longer, shorter = max(source, target), min(source, target)
    return RATIO if longer > max_ratio * shorter + SLACK else FINE


def make_batches(
    lengths: Sequence[int], max_tokens: int, batch_size: int | None, equal: bool
) -> Iterator[list[int]]:
    """Group lines of like length, the longest first.

    Args:
        lengths: source tokens of each line.
        max_tokens: most tokens in a batch, padding counted; a longer line is a batch of its own.
        batch_size: most lines in a batch, None for any number.
        equal: only lines of exactly one length share a batch.
    """
    batch: list[int] = []
    for line in sorted(range(len(lengths)), key=lambda line: -lengths[line]):
        if batch:
            longest = lengths[batch[0]]
            full = (len(batch) + 1) * longest > max_tokens or len(batch) == batch_size
            if full or (equal and lengths[line] != longest):
                yield batch
                batch = []
        batch.append(line)
    if batch:
        yield batch


class Progress:
    """Says on standard error how far it is, every :data:`SECONDS`.

    Args:
        done, total: lines of the text.
    """

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
    """Translate some lines.

    Args:
        lines: for each line number the source, and the reference where there is one.

    Returns:
        a record for each line, in order.
    """
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
        for line, translation in zip(chosen, teacher.translate(encoded), strict=True):
            reason = judge(len(sources[line]), translation, args.max_ratio)
            replaced = reason != FINE and bool(references[line])
            text = references[line] if replaced else " ".join(translation.words)
            records[line] = Record(reason, replaced, text)
        progress.add(len(batch))
    return records


def run_settings(
    args: argparse.Namespace, files: Files, languages: Sequence[str]
) -> dict[str, Any]:
    """All that the distilled lines depend on, by the flag that sets it."""
    flags = ("beam", "lenpen", "max_len_a", "max_len_b", "max_ratio", "chunk_size", "fp16")
    return {
        "--path": digest(utils.split_paths(args.path)),
        "--data": digest([dictionary_path(args.data, lang) for lang in languages]),
        "--source": digest([files.source]),
        "--reference": digest(files.inputs[1:]),
        **{"--" + flag.replace("_", "-"): getattr(args, flag) for flag in flags},
    }


# ---------------------------------------------------------------- main


@dataclass
class Figures:
    """What came of all lines. ratios: sum over lines with a source of target/source tokens."""

    lines: int = 0
    sources: int = 0  # lines with a source
    ratios: float = 0.0
    replaced: dict[str, Named] = field(default_factory=dict)  # by reason
    kept: dict[str, Named] = field(default_factory=dict)

    def add(self, source: int, record: Record) -> None:
        """Count one line of ``source`` tokens."""
        self.lines += 1
        if source:
            self.sources += 1
            self.ratios += len(record.text.split()) / source
        if record.reason != FINE:
            outcome = self.replaced if record.replaced else self.kept
            outcome.setdefault(record.reason, Named()).add(self.lines)


def publish(files: Files, journal: Journal) -> Figures:
    """Write both outputs, which appear together or not at all, and count what is in them."""
    figures = Figures()
    try:
        with ExitStack() as stack:
            source = stack.enter_context(whole_file(files.source_output))
            target = stack.enter_context(whole_file(files.target_output))
            texts = stack.enter_context(open(files.source, "rb"))
            for raw, record in zip_longest(texts, journal.records()):
                if raw is None or record is None:
                    raise UserError(f"{files.source} has changed meanwhile; delete {files.journal}")
                line = raw.decode()
                source.write(line)
                target.write(f"{record.text}\n")
                figures.add(len(line.split()), record)
    except BaseException:
        for path in (files.source_output, files.target_output):  # neither was there before
            if os.path.lexists(path):
                os.unlink(path)
        raise
    return figures


def summarise(
    args: argparse.Namespace, files: Files, figures: Figures, languages: Sequence[str]
) -> str:
    """What came of it, and the command that takes it further."""
    replaced = sum(named.count for named in figures.replaced.values())
    lines = [
        f"{files.source_output}, {files.target_output}: {figures.lines:,} lines, "
        f"{figures.lines - figures.sources:,} with an empty source, {replaced:,} replaced by the "
        "reference",
        f"target tokens per source token, mean over the lines: "
        f"{figures.ratios / max(figures.sources, 1):.2f}",
    ]
    for what, outcome in (("replaced", figures.replaced), ("kept", figures.kept)):
        for reason, said in REASONS.items():
            if reason in outcome:
                named = outcome[reason]
                lines.append(f"{what}: {said}: {named.count:,}, lines {named}")
    odd = sum(kind[RATIO].count for kind in (figures.replaced, figures.kept) if RATIO in kind)
    if odd > SUSPICIOUS * figures.sources:
        lines.append(
            f"note: {odd:,} lines are outside --max-ratio {args.max_ratio:g}; where targets are by "
            "nature much shorter or longer than sources, raise it"
        )
    return "\n".join([*lines, f"next: {next_command(args, languages)}"])


def next_command(args: argparse.Namespace, languages: Sequence[str]) -> str:
    """The command that binarises the outputs with the teacher's dictionaries."""
    source, target = languages
    preprocess_command = f"{__package__.rpartition('.')[0]}.preprocess"
    words = ["python", "-m", preprocess_command, "--source-lang", source]
    words += ["--target-lang", target, "--trainpref", args.output_prefix]
    words += ["--srcdict", dictionary_path(args.data, source)]
    words += ["--tgtdict", dictionary_path(args.data, target)]
    words += ["--destdir", f"{args.output_prefix}-bin"]
    return shlex.join(words)


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


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 or raises :class:`UserError` with no output written."""
    args = parse_args(argv)
    require_inputs(args)
    teacher, languages = load_teacher(args)
    files = plan_files(args, *languages)
    text = check_text(files, teacher)
    if text.unknown > SUSPICIOUS * text.tokens:
        print(
            f"note: {text.unknown / text.tokens:.1%} of the source tokens are not in "
            f"{dictionary_path(args.data, languages[0])}; the text has to be cut as it was for "
            "preprocess",
            file=sys.stderr,
        )
    settings = run_settings(args, files, languages)
    with Journal(files.journal, settings, args.chunk_size, text.lines) as journal:
        if journal.done:
            print(f"resuming after line {journal.done:,} of {text.lines:,}", file=sys.stderr)
        decode_all(files, journal, teacher, text.lines, args)
        figures = publish(files, journal)
        os.unlink(files.journal)
    print(summarise(args, files, figures, languages))
    return 0
