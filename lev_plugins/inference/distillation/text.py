"""The text that is distilled: what is read, what is wrong with it, and what is written."""

import os
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import zip_longest

from ...errors import UserError
from ...io.output import whole_file
from ...io.text_files import LineNumbers, read_parallel, refuse_special_tokens
from .journal import FINE, Journal, Record
from .teacher import Teacher


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


def plan_files(
    source: str, reference: str | None, prefix: str, languages: tuple[str, str], resume: bool
) -> Files:
    """The files of a run.

    Raises:
        UserError: an output is an input, is there already, or has no folder; or a journal is
            there and ``--resume`` was not given.
    """
    source_lang, target_lang = languages
    files = Files(
        source,
        reference,
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
    if os.path.lexists(files.journal) and not resume:
        raise UserError(
            f"{files.journal} is there, of a run that was interrupted; continue it with --resume, "
            "or delete it to begin anew"
        )
    return files


class Named(LineNumbers):
    """How many lines there were of a kind, and the numbers of more of them."""

    shown, more = 20, " …"


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
        if len(words[0]) > room and (len(words) < 2 or not words[1]):
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
