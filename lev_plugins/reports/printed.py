"""What fairseq-generate and fairseq-interactive print, read back sentence by sentence."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..errors import UserError, counted
from ..io.lines import STANDARD_STREAM, decode, raw_lines

_LINE = re.compile(r"([STHDPAIEWC])-([0-9]{1,18})(?:_([0-9]+))?\t(.*)", re.DOTALL)
_CUT = re.compile(r"[STHDI]-[0-9]+( |$)")
# a line that begins behind a progress bar, and a progress bar within a line
_BEHIND_BAR = re.compile(r"\r.*(?<![A-Za-z])[STHDI]-[0-9]+\t", re.DOTALL)
_BAR = re.compile(r"\r *[0-9]+%\|")

_AGAIN = "generate it again with PYTHONIOENCODING=utf-8"

Texts = dict[int, str]
# letter → sentence → numbers of its lines and what stands behind the first tab
Lines = dict[str, dict[int, list[tuple[int, str]]]]


@dataclass
class Printed:
    """One system: its outputs, and whatever was printed beside them, by sentence number."""

    path: str
    outputs: Texts = field(default_factory=dict)
    references: Texts = field(default_factory=dict)
    sources: Texts = field(default_factory=dict)
    drafts: Texts = field(default_factory=dict)
    iterations: dict[int, int] = field(default_factory=dict)
    lines: dict[int, int] = field(default_factory=dict)  # where the output of a sentence stands
    joined: bool = False  # D- lines differ from H- lines: words were put together
    notes: list[str] = field(default_factory=list)


def read_printed(path: str) -> Printed:
    """Read what fairseq-generate or fairseq-interactive has printed.

    Args:
        path: a file, or ``-`` for standard input. Lines that are none of fairseq's lettered ones,
            such as those of the log, are passed over.

    Raises:
        UserError: the file cannot be read, is cut off, holds a sentence twice or none at all.
    """
    name = "stdin" if path == STANDARD_STREAM else path
    found: Lines = {kind: {} for kind in "STHDIE"}
    for number, line in _lines(path, name):
        match = _LINE.fullmatch(line)
        _refuse_damaged(name, number, line, match is not None)
        if match is None:
            continue
        kind, sentence, step, rest = match[1], int(match[2]), match[3], match[4]
        if kind in found and (kind != "E" or step == "0"):
            found[kind].setdefault(sentence, []).append((number, rest))
    return _assembled(name, found)


def _lines(path: str, name: str) -> Iterator[tuple[int, str]]:
    """Numbered lines; the last one has to be whole."""
    for number, raw in enumerate(raw_lines(path), start=1):
        line = decode(name, number, raw.removesuffix(b"\n").removesuffix(b"\r"), _AGAIN)
        if not raw.endswith(b"\n") and re.match(r"[STHDI]-", line):
            raise UserError(
                f"{name}: line {number}, the last, has no line end: the output is cut off; "
                "generate it again"
            )
        yield number, line


def _refuse_damaged(name: str, number: int, line: str, lettered: bool) -> None:
    """Raise where a line was one of fairseq's before something happened to it."""
    if not lettered and _CUT.match(line):
        raise UserError(
            f"{name}: line {number}: no tab after {line.split()[0]}: the line is cut off or its "
            "tabs were lost; take the output as fairseq printed it"
        )
    if (_BAR if lettered else _BEHIND_BAR).search(line):
        raise UserError(
            f"{name}: line {number}: a progress bar runs into the output; redirect standard "
            "output alone (> FILE without 2>&1), or generate with --no-progress-bar"
        )


def _assembled(name: str, found: Lines) -> Printed:
    """Check that every sentence is whole and take the best of its outputs."""
    printed = Printed(name)
    kind = "D" if found["D"] else "H"
    outputs = found[kind]
    if not outputs:
        raise UserError(
            f"{name}: no H- or D- lines; give what fairseq-generate or fairseq-interactive printed "
            "(without --quiet), or text with --hypotheses"
        )
    _check_whole(name, kind, found)
    for letter, texts in (("S", printed.sources), ("T", printed.references)):
        texts.update({sentence: items[0][1] for sentence, items in found[letter].items()})
    printed.drafts.update({sentence: items[0][1] for sentence, items in found["E"].items()})
    printed.joined = any(
        _scored(name, "H", *item)[1] != _scored(name, kind, *other)[1]
        for sentence, items in found["H"].items()
        for item, other in zip(items, outputs[sentence])
    )
    for sentence in sorted(outputs):
        items = [(line, *_scored(name, kind, line, rest)) for line, rest in outputs[sentence]]
        best = max(range(len(items)), key=lambda rank: items[rank][1])  # the first of equals
        printed.lines[sentence], _, printed.outputs[sentence] = items[best]
        if found["I"]:
            printed.iterations[sentence] = _count(name, *found["I"][sentence][best])
    if several := sum(len(items) > 1 for items in outputs.values()):
        printed.notes.append(
            f"{name}: of {counted(several, 'sentence')} with several outputs the one with the best "
            "score is taken"
        )
    return printed


def _check_whole(name: str, kind: str, found: Lines) -> None:
    """Raise where a sentence lacks a line that others have, or has one twice."""
    outputs = found[kind]
    for letter in "ST":
        for sentence, items in found[letter].items():
            if len(items) > 1:
                raise UserError(
                    f"{name}: line {items[1][0]}: {letter}-{sentence} is there already, in line "
                    f"{items[0][0]}: two outputs in one file; give them as two files"
                )
    for letter in "STHDI":
        first = {sentence: items[0][0] for sentence, items in found[letter].items()}
        lost = min(first.keys() - outputs.keys(), key=first.__getitem__, default=None)
        if lost is not None:
            raise UserError(
                f"{name}: line {first[lost]}: {letter}-{lost} stands without its {kind}- line: "
                "the output is cut off; generate it again"
            )
        lost = min(outputs.keys() - first.keys(), default=None) if first else None
        if lost is not None:
            raise UserError(
                f"{name}: line {outputs[lost][0][0]}: sentence {lost} has no {letter}- line, "
                "others have one: the output is cut off; generate it again"
            )
    for letter in "HI":
        for sentence, items in found[letter].items():
            if len(items) != len(outputs[sentence]):
                raise UserError(
                    f"{name}: line {items[0][0]}: sentence {sentence} has {len(items)} {letter}- "
                    f"lines and {len(outputs[sentence])} {kind}- lines: the output is cut off, or "
                    "holds a sentence twice; generate it again"
                )


def _scored(name: str, kind: str, line: int, rest: str) -> tuple[float, str]:
    """Score and text of an output; a score that is no number is the worst."""
    score, tab, text = rest.partition("\t")
    try:
        value = float(score)
    except ValueError:
        value, tab = 0.0, ""
    if not tab:
        raise UserError(
            f"{name}: line {line}: a {kind}- line is number, score and text with tabs between; "
            "take the output as fairseq printed it"
        )
    return (value if value == value else float("-inf")), text


def _count(name: str, line: int, text: str) -> int:
    if not re.fullmatch("[0-9]{1,9}", text):
        raise UserError(
            f"{name}: line {line}: {text[:20]!r} is no number of iterations; take the output as "
            "fairseq printed it"
        )
    return int(text)
