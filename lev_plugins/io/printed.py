"""Reads what fairseq-generate and fairseq-interactive print."""

import re
from dataclasses import dataclass

from lev_runtime.errors import UserError
from lev_runtime.io.lines import STANDARD_STREAM, decode, raw_lines

# a letter, the sentence, the score of an output, the text
_LINE = re.compile(
    r"([TI])-([0-9]{1,18})\t(.*)|([HD])-([0-9]{1,18})\t(?:[-+.0-9e]+|nan|-?inf)\t(.*)", re.DOTALL
)
Texts = dict[int, str]


@dataclass
class Printed:
    """The outputs of a system, and what was printed with them, by sentence number."""

    path: str
    outputs: Texts
    references: Texts
    iterations: Texts


def read_printed(path: str) -> Printed:
    """Reads outputs; of several of a sentence (``--nbest``) the first, as fairseq's scores do.

    Args:
        path: a file, or ``-`` for standard input. Other lines, such as the log, are passed over.

    Raises:
        UserError: the file cannot be read, or holds no output.
    """
    name = "stdin" if path == STANDARD_STREAM else path
    by_letter: dict[str, Texts] = {letter: {} for letter in "THDI"}
    for number, raw in enumerate(raw_lines(path), start=1):
        line = decode(name, number, raw.rstrip(b"\r\n"), "generate again in UTF-8")
        if match := _LINE.fullmatch(line):
            letter, sentence, text = [group for group in match.groups() if group is not None]
            by_letter[letter].setdefault(int(sentence), text)
    outputs = by_letter["D"] or by_letter["H"]
    if not outputs:
        raise UserError(
            f"{name}: no H- or D- lines; give the output of fairseq-generate or "
            "fairseq-interactive (without --quiet), or text with --hypotheses"
        )
    return Printed(name, outputs, by_letter["T"], by_letter["I"])
