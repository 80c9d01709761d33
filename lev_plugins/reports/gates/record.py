"""What a gated model's gates say of a line, as an object and as a line of JSON."""

import dataclasses
import json
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import UserError
from ...io.text_files import read_lines

GATES = ("mask", "copy", "generate", "skip")
END = "</s>"
_LARGEST = 1e9  # no gate has it: a bound on what is added up and plotted


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
        """Of :meth:`tokens`."""
        return getattr(self, name)

    def tokens(self, name: str) -> list[str]:
        """What a gate is of: the source's tokens for ``mask``, the target's for the others."""
        return self.source_tokens if name == "mask" else self.target_tokens


def read_records(path: str) -> Iterator[Record]:
    """The records of a JSONL file, checked.

    Raises:
        UserError: a line is no record; it is named.
    """
    for number, line in enumerate(read_lines(path), start=1):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path}: line {number} is not JSON ({error})") from error
        names = {field.name for field in dataclasses.fields(Record)}
        if not isinstance(value, dict) or set(value) != names:
            raise UserError(
                f"{path}: line {number} is no record of gates; write the file with "
                "python -m lev_plugins.cli.gates"
            )
        _check(f"{path}: line {number}", value)
        yield Record(**value)


def _check(where: str, value: dict[str, Any]) -> None:
    """Raises :class:`UserError` where a value is not what a record has there."""
    kinds = {"line": int, "source": str, "target": str, "forced": bool, "variant": str}
    for name, kind in kinds.items():
        if type(value[name]) is not kind:
            raise UserError(f"{where}: {name} is {_short(value[name])}, no {kind.__name__}")
    for name in ("source_tokens", "target_tokens"):
        if not _list_of(value[name], str):
            raise UserError(f"{where}: {name} is {_short(value[name])}, no list of texts")
    for name in (*GATES, "log_probability"):
        values = value[name]
        if values is None and name in GATES:
            continue
        size = len(value["source_tokens" if name == "mask" else "target_tokens"])
        if not _list_of(values, (int, float)) or not all(abs(one) <= _LARGEST for one in values):
            raise UserError(
                f"{where}: {name} is {_short(values)}, no list of numbers up to {_LARGEST:g}"
            )
        if len(values) != size:
            raise UserError(f"{where}: {name} has {len(values)} of {size} values")


def _list_of(value: object, kind: type | tuple[type, ...]) -> bool:
    return isinstance(value, list) and all(isinstance(one, kind) for one in value)


def _short(value: object) -> str:
    return textwrap.shorten(repr(value), 40, placeholder=" …")


def average(values: Sequence[float] | None) -> float | None:
    """The mean of a gate over a line's tokens without </s>; None where there are none."""
    kept = (values or [])[:-1]
    return sum(kept) / len(kept) if kept else None
