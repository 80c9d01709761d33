"""Reads what fairseq-generate and fairseq-interactive print."""

import re
from dataclasses import dataclass

from lev_runtime.errors import UserError
from lev_runtime.io.lines import STANDARD_STREAM, decode, raw_lines

# a letter, the sentence, the score of an output, the text
_LINE = re.compile(
    r"([STI])-([0-9]{1,18})\t(.*)|([HD])-([0-9]{1,18})\t(?:[-+.0-9e]+|nan|-?inf)\t(.*)", re.DOTALL
)

Texts = dict[int, str]


@dataclass
class Printed:
    """The outputs of a system, and what was printed with them, by sentence number."""

    path: str
    outputs: Texts
    references: Texts
    iterations: dict[int, int]


def read_printed(path: str) -> Printed:
    """Reads outputs; of several of a sentence (``--nbest``) the first, as fairseq's scores do.

    Args:
        path: a file, or ``-`` for standard input. Other lines, such as the log, are passed over.

    Raises:
        UserError: the file cannot be read, is cut off, holds a sentence twice or none at all.
    """
    name = "stdin" if path == STANDARD_STREAM else path
    by_letter: dict[str, Texts] = {letter: {} for letter in "STHDI"}
    for number, raw in enumerate(raw_lines(path), start=1):
        line = decode(name, number, raw.rstrip(b"\r\n"), "generate again in UTF-8")
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        letter, digits, text = filter(lambda group: group is not None, match.groups())
        sentence, texts = int(digits), by_letter[letter]
        if letter in "ST" and sentence in texts:
            fault = f"{letter}-{sentence} is there already; give two outputs as two files"
            raise UserError(f"{name}: line {number}: {fault}")
        texts.setdefault(sentence, text)
    outputs = by_letter["D"] or by_letter["H"]
    if not outputs:
        raise UserError(
            f"{name}: no H- or D- lines; give the output of fairseq-generate or "
            "fairseq-interactive (without --quiet), or text with --hypotheses"
        )
    for letter, texts in by_letter.items():
        if texts and (lost := outputs.keys() ^ texts.keys()):
            fault = f"sentence {min(lost)} lacks a {letter}- line or has no other"
            raise UserError(f"{name}: {fault}: the output is cut off; generate it again")
    iterations = {sentence: int(text) for sentence, text in by_letter["I"].items()}
    return Printed(name, outputs, by_letter["T"], iterations)
