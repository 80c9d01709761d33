"""Reads what fairseq-generate and fairseq-interactive print."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

from lev_runtime.errors import UserError
from lev_runtime.io.lines import STANDARD_STREAM, decode, raw_lines

# a letter, the sentence, the score of an output, the text
_LINE = re.compile(
    r"([TI])-([0-9]{1,18})\t(.*)|([HD])-([0-9]{1,18})\t(?:[-+.0-9e]+|nan|-?inf)\t(.*)", re.DOTALL
)
_SETTING = re.compile(r"'(delete_threshold|iter_decode_max_iter)': ([^,}]+)")
_USUAL = {"None": 0.5}  # of a threshold that is not given
Texts = dict[int, str]


@dataclass
class Printed:
    """The outputs of a system, and what was printed with them, by sentence number.

    settings: of a LevT's decoding, if its log tells them.
    """

    path: str
    outputs: Texts
    references: Texts
    iterations: Texts
    settings: dict[str, float] = field(default_factory=dict)


def read_printed(path: str) -> Printed:
    """Reads outputs; of several of a sentence (``--nbest``) the first, as fairseq's scores do.

    Args:
        path: a file, or ``-`` for standard input. fairseq's log may be in it, or next to it with
            the ending ``.log``.

    Raises:
        UserError: the file cannot be read, or holds no output.
    """
    name = "stdin" if path == STANDARD_STREAM else path
    by_letter: dict[str, Texts] = {letter: {} for letter in "THDI"}
    settings: dict[str, float] = {}
    for number, raw in enumerate(raw_lines(path), start=1):
        line = decode(name, number, raw.rstrip(b"\r\n"), "generate again in UTF-8")
        if match := _LINE.fullmatch(line):
            letter, sentence, text = [group for group in match.groups() if group is not None]
            by_letter[letter].setdefault(int(sentence), text)
        settings |= _settings(line)
    outputs = by_letter["D"] or by_letter["H"]
    if not outputs:
        raise UserError(
            f"{name}: no H- or D- lines; give the output of fairseq-generate or "
            "fairseq-interactive (without --quiet), or text with --hypotheses"
        )
    log = Path(path).with_suffix(".log")
    if log.is_file():
        settings |= _settings(log.read_text("utf-8", "replace"))
    return Printed(name, outputs, by_letter["T"], by_letter["I"], settings)


def _settings(text: str) -> dict[str, float]:
    """Returns threshold and iterations of a LevT, if fairseq has logged its options."""
    if "'delete_threshold'" not in text:  # another model's iterations mean nothing
        return {}
    found = dict(_SETTING.findall(text))
    return {key: _USUAL.get(value) or json.loads(value) for key, value in found.items()}
