"""Gates against noise, length and what comes of them (paper, §5 and Figure 2), as numbers.

Every line counts as one point: its mean gate probabilities (without </s>), the length of its
source in words, how noisy the source is (100 − WRR), and WRR of what the model wrote.
"""

import json
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lev_plugins.errors import UserError
from lev_plugins.io.text_files import read_lines, read_parallel
from lev_plugins.metrics.corpus import Metric, make_metric
from lev_plugins.reports.gates import GATES, Record


@dataclass(frozen=True)
class Point:
    """One line. noise and wrr are percentages, None where there is nothing to compare with."""

    line: int
    length: int
    noise: float | None
    wrr: float | None
    gates: dict[str, float | None]


@dataclass(frozen=True)
class System:
    """A file of records and the points of its lines."""

    name: str
    points: list[Point]


def read_records(path: str) -> Iterator[Record]:
    """The records of a JSONL file, checked.

    Raises:
        UserError: a line is no record; it is named.
    """
    for number, line in enumerate(read_lines(path), start=1):
        try:
            record = Record(**json.loads(line))
            _check(record)
        except (ValueError, TypeError, RecursionError, OverflowError) as error:
            raise UserError(
                f"{path}: line {number} is no record of gates; write the file with lev-trace --json"
            ) from error
        yield record


def _check(record: Record) -> None:
    """Raises TypeError or ValueError where a value is not what a record has there."""
    "".join([record.source, record.target, *record.source_tokens, *record.target_tokens])
    for name in GATES:
        values = getattr(record, name)
        tokens = record.source_tokens if name == "mask" else record.target_tokens
        if values is not None and not all(0 <= value <= 1 for value in values):
            raise ValueError(name)
        if values is not None and len(values) != len(tokens):
            raise ValueError(name)
    if type(record.line) is not int:
        raise TypeError("line")


def average(values: Sequence[float] | None) -> float | None:
    """The mean of a gate over a line's tokens without </s>; None where there are none."""
    kept = (values or [])[:-1]
    return sum(kept) / len(kept) if kept else None


def read_system(path: str, name: str, reference: str | None, clean: str | None) -> System:
    """The points of a file.

    Args:
        reference: file of what the outputs should be, or None.
        clean: file of what the sources should be, or None.

    Raises:
        UserError: a file that cannot be read, or with another number of lines.
    """
    records = list(read_records(path))
    if not records:
        raise UserError(f"{path} has no lines; write it with lev-trace --json")
    metric = make_metric("wrr")
    wanted, right = _beside(path, records, reference), _beside(path, records, clean)
    points = [
        Point(
            line=record.line,
            length=len(record.source.split()),
            noise=_noise(metric, record.source, right[i]),
            wrr=_recognised(metric, record.target, wanted[i]),
            gates={gate: average(getattr(record, gate)) for gate in GATES},
        )
        for i, record in enumerate(records)
    ]
    return System(name, points)


def _beside(path: str, records: Sequence[Record], file: str | None) -> Sequence[str | None]:
    if file is None:
        return [None] * len(records)
    lines = [line for (line,) in read_parallel([file])]
    if len(lines) != len(records):
        raise UserError(
            f"line counts differ: {path} has {len(records)}, {file} has {len(lines)}; line n of "
            "each file must belong together"
        )
    return lines


def _recognised(metric: Metric, text: str, reference: str | None) -> float | None:
    """WRR of a line; None where there is no word to recognise."""
    if reference is None or not reference.split():
        return None
    return metric.score(metric.statistics(text, reference))


def _noise(metric: Metric, source: str, clean: str | None) -> float | None:
    found = _recognised(metric, source, clean)
    return None if found is None else 100.0 - found


# ---------------------------------------------------------------- classes and correlations


def compute(systems: Sequence[System], classes: int) -> dict[str, Any]:
    """All numbers that the table and the picture show, as JSON has them.

    Args:
        classes: most groups of about as many lines into which a relation is cut.
    """
    return {
        "reading": "wrr",
        "signature": make_metric("wrr").signature(),
        "systems": [_figures(system, classes) for system in systems],
    }


def _figures(system: System, classes: int) -> dict[str, Any]:
    points = system.points
    on = [gate for gate in GATES if any(one.gates[gate] is not None for one in points)]
    return {
        "name": system.name,
        "lines": len(points),
        "gates": on,
        "means": {gate: _mean([one.gates[gate] for one in points]) for gate in on},
        "noise_mean": _mean([one.noise for one in points]),
        "wrr_mean": _mean([one.wrr for one in points]),
        "without_noise": sum(one.noise is None for one in points),
        "without_wrr": sum(one.wrr is None for one in points),
        "by_noise": relation(points, [one.noise for one in points], on, classes),
        "by_length": relation(points, [float(one.length) for one in points], on, classes),
        "wrr_by_gate": {gate: _wrr_by_gate(points, gate, classes) for gate in on},
    }


def relation(
    points: Sequence[Point], x: Sequence[float | None], gates: Sequence[str], classes: int
) -> dict[str, Any]:
    """Means of the gates by classes of ``x``, and Pearson's correlation of each gate with it.

    Points without ``x`` are left out.
    """
    pairs = [(value, one) for value, one in zip(x, points) if value is not None]
    groups = cut([value for value, _ in pairs], classes)
    return {
        "classes": [
            {
                **_bounds([pairs[i][0] for i in group]),
                **{gate: _mean([pairs[i][1].gates[gate] for i in group]) for gate in gates},
            }
            for group in groups
        ],
        "correlation": {
            gate: correlation([value for value, _ in pairs], [one.gates[gate] for _, one in pairs])
            for gate in gates
        },
    }


def _wrr_by_gate(points: Sequence[Point], gate: str, classes: int) -> dict[str, Any]:
    """WRR of the output by classes of a gate's probability."""
    pairs = [
        (value, one.wrr)
        for one in points
        if (value := one.gates[gate]) is not None and one.wrr is not None
    ]
    x, y = [a for a, _ in pairs], [b for _, b in pairs]
    return {
        "classes": [
            {**_bounds([x[i] for i in group]), "wrr": _mean([y[i] for i in group])}
            for group in cut(x, classes)
        ],
        "correlation": correlation(x, y),
    }


def _bounds(values: Sequence[float]) -> dict[str, Any]:
    return {
        "lines": len(values),
        "low": min(values),
        "high": max(values),
        "mean": statistics.fmean(values),
    }


def cut(values: Sequence[float], classes: int) -> list[list[int]]:
    """Indices of ``values`` in at most so many groups, in order; equal values stay together."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    groups: list[list[int]] = []
    start = 0
    for number in range(1, classes + 1):
        end = max(round(number * len(order) / classes), start)
        while 0 < end < len(order) and values[order[end]] == values[order[end - 1]]:
            end += 1
        if end > start:
            groups.append(order[start:end])
        start = end
    return groups


def correlation(x: Sequence[float | None], y: Sequence[float | None]) -> float | None:
    """Pearson's correlation of the pairs that are there; None where it is not defined."""
    pairs = [(a, b) for a, b in zip(x, y) if a is not None and b is not None]
    try:
        return statistics.correlation([a for a, _ in pairs], [b for _, b in pairs])
    except statistics.StatisticsError:  # fewer than two, or all the same
        return None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None
