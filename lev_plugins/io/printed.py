"""What fairseq-generate and fairseq-interactive print, read back sentence by sentence."""

import re
from dataclasses import dataclass, field

from lev_runtime.errors import UserError
from lev_runtime.io.lines import STANDARD_STREAM, decode, raw_lines

# a letter, the sentence, the score of an output, the text
_LINE = re.compile(
    r"(?:([ST])-([0-9]{1,18})\t(.*)|([HD])-([0-9]{1,18})\t(?:[-+.0-9e]+|nan|-?inf)\t(.*)"
    r"|(I)-([0-9]{1,18})\t([0-9]{1,9}))",
    re.DOTALL,
)
_LETTERED = re.compile(r"[STHDI]-[0-9]+(\s|$)")  # such a line that is not whole
AGAIN = "generate it again"

Texts = dict[int, str]


@dataclass
class Printed:
    """One system: its outputs, and whatever was printed beside them, by sentence number."""

    path: str
    outputs: Texts
    references: Texts = field(default_factory=dict)
    sources: Texts = field(default_factory=dict)
    iterations: dict[int, int] = field(default_factory=dict)


def read_printed(path: str) -> Printed:
    """Read what fairseq-generate or fairseq-interactive has printed.

    Of several outputs of a sentence (``--nbest``) the first is taken, as fairseq's scores do.

    Args:
        path: a file, or ``-`` for standard input. What is none of fairseq's lettered lines, such as
            the log, is passed over.

    Raises:
        UserError: the file cannot be read, is cut off, holds a sentence twice or none at all.
    """
    name = "stdin" if path == STANDARD_STREAM else path
    texts_of: dict[str, Texts] = {letter: {} for letter in "STHDI"}
    for number, raw in enumerate(raw_lines(path), start=1):
        body = raw.removesuffix(b"\n").removesuffix(b"\r")
        line = decode(name, number, body, f"{AGAIN} with PYTHONIOENCODING=utf-8")
        if not (match := _LINE.fullmatch(line)):
            if _LETTERED.match(line):
                raise UserError(f"{name}: line {number} is cut off, or lost its tabs; {AGAIN}")
            continue
        letter, digits, text = (group for group in match.groups() if group is not None)
        sentence = int(digits)
        if letter in "ST" and sentence in texts_of[letter]:
            fault = f"{letter}-{sentence} is there already; give two outputs as two files"
            raise UserError(f"{name}: line {number}: {fault}")
        texts_of[letter].setdefault(sentence, text)
    outputs = texts_of["D"] or texts_of["H"]
    if not outputs:
        raise UserError(
            f"{name}: no H- or D- lines; give the output of fairseq-generate or "
            "fairseq-interactive (without --quiet), or text with --hypotheses"
        )
    for letter, texts in texts_of.items():
        if texts and (lost := outputs.keys() ^ texts.keys()):
            fault = f"sentence {min(lost)} lacks a {letter}- line or has no other"
            raise UserError(f"{name}: {fault}: the output is cut off; {AGAIN}")
    steps = {sentence: int(text) for sentence, text in texts_of["I"].items()}
    return Printed(name, outputs, texts_of["T"], texts_of["S"], steps)
