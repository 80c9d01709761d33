"""What a gated model's gates say of a line, as an object and as a line of JSON."""

import dataclasses
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...data.text_files import read_lines
from ...errors import UserError

GATES = ("mask", "copy", "generate", "skip")
END = "</s>"


@dataclass(frozen=True)
class Record:
    """One line.

    line: its number, from 1. source, target: texts. source_tokens: with </s>. mask: u of the
    paper's Eq. 1 for each of them; None where the gate is off. target_tokens: of the hypothesis
    or of what was forced, with </s>. copy, generate, skip: Eq. 6 for each of them, None where the
    gate is off. log_probability: of each of them, in nats. forced: whether the target was given.
    variant: the model's ``--gate-variant``.
    """

    line: int
    source: str
    source_tokens: list[str]
    mask: list[float] | None
    target: str
    target_tokens: list[str]
    copy: list[float] | None
    generate: list[float] | None
    skip: list[float] | None
    log_probability: list[float]
    forced: bool
    variant: str

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON has it."""
        return dataclasses.asdict(self)

    def gate(self, name: str) -> list[float] | None:
        """Of the source's tokens for ``mask``, of the target's for the others."""
        return getattr(self, name)


def read_records(path: str) -> Iterator[Record]:
    """The records of a JSONL file, checked.

    Raises:
        UserError: a line is no record; it is named.
    """
    for number, line in enumerate(read_lines(path), start=1):
        try:
            value = json.loads(line)
        except ValueError as error:
            raise UserError(f"{path}: line {number} is not JSON ({error})") from error
        names = {field.name for field in dataclasses.fields(Record)}
        if not isinstance(value, dict) or set(value) != names:
            raise UserError(
                f"{path}: line {number} is no record of gates; write the file with "
                "python -m lev_plugins.cli.gates"
            )
        record = Record(**value)
        sizes = {"mask": len(record.source_tokens)}
        for name in (*GATES, "log_probability"):
            values = getattr(record, name)
            size = sizes.get(name, len(record.target_tokens))
            if values is not None and len(values) != size:
                raise UserError(f"{path}: line {number}: {name} has {len(values)} of {size} values")
        yield record


def average(values: Sequence[float] | None) -> float | None:
    """The mean of a gate over a line's tokens without </s>; None where there are none."""
    kept = (values or [])[:-1]
    return sum(kept) / len(kept) if kept else None
