"""What fairseq-generate and fairseq-interactive print, read back sentence by sentence."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..errors import UserError
from ..io.lines import STANDARD_STREAM, decode, raw_lines

# a letter, the sentence, the score of an output, the text
_LINE = re.compile(
    r"(?:([ST])-([0-9]{1,18})\t(.*)|([HD])-([0-9]{1,18})\t(?:[-+.0-9e]+|nan|-?inf)\t(.*)"
    r"|(I)-([0-9]{1,18})\t([0-9]{1,9}))",
    re.DOTALL,
)
_LETTERED = re.compile(r"[STHDI]-[0-9]+(\s|$)")  # such a line that is not whole

Texts = dict[int, str]


@dataclass
class Printed:
    """One system: its outputs, and whatever was printed beside them, by sentence number."""

    path: str
    outputs: Texts
    references: Texts = field(default_factory=dict)
    iterations: dict[int, int] = field(default_factory=dict)


def read_printed(path: str) -> Printed:
    """Read what fairseq-generate or fairseq-interactive has printed.

    Of several outputs of a sentence (``--nbest``) the first is taken, as fairseq's scores do.

    Args:
        path: a file, or ``-`` for standard input. Lines that are none of fairseq's lettered ones,
            such as those of the log, are passed over.

    Raises:
        UserError: the file cannot be read, is cut off, holds a sentence twice or none at all.
    """
    name = "stdin" if path == STANDARD_STREAM else path
    found: dict[str, Texts] = {letter: {} for letter in "STHDI"}
    for number, letter, sentence, text in _lines(path, name):
        if letter in "ST" and sentence in found[letter]:
            raise UserError(
                f"{name}: line {number}: {letter}-{sentence} is there already: two outputs in one "
                "file; give them as two files"
            )
        found[letter].setdefault(sentence, text)
    outputs = found["D"] or found["H"]
    if not outputs:
        raise UserError(
            f"{name}: no H- or D- lines; give what fairseq-generate or fairseq-interactive printed "
            "(without --quiet), or text with --hypotheses"
        )
    for letter, texts in found.items():
        if texts and (lost := outputs.keys() ^ texts.keys()):
            raise UserError(
                f"{name}: sentence {min(lost)} lacks a {letter}- line or has no other: the output "
                "is cut off; generate it again"
            )
    steps = {sentence: int(text) for sentence, text in found["I"].items()}
    return Printed(name, outputs, found["T"], steps)


def _lines(path: str, name: str) -> Iterator[tuple[int, str, int, str]]:
    """Line number, letter, sentence and text of fairseq's lines, of outputs without their score."""
    for number, raw in enumerate(raw_lines(path), start=1):
        body = raw.removesuffix(b"\n").removesuffix(b"\r")
        line = decode(name, number, body, "generate it again with PYTHONIOENCODING=utf-8")
        if match := _LINE.fullmatch(line):
            letter, sentence, text = (one for one in match.groups() if one is not None)
            yield number, letter, int(sentence), text
        elif _LETTERED.match(line):
            raise UserError(
                f"{name}: line {number} is cut off or has lost its tabs; generate again and "
                "redirect standard output alone: > FILE"
            )
