"""What the benchmarks of EncT5 have in common: options, pairs of measurements, tables and JSON."""

import argparse
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, TypeVar

import torch

from benchmarks.machine import kernels, machine
from lev_plugins.errors import UserError

Contestant = TypeVar("Contestant")


class Row(NamedTuple):
    """A line of a table: medians of both sides; median, lowest and highest ratio of single pairs.

    The ratio is the first side's measurement over the second's.
    """

    name: str
    unit: str
    first: float
    second: float
    ratio: float
    low: float
    high: float


def row(name: str, first: Sequence[float], second: Sequence[float], unit: str = "ms") -> Row:
    """A line of a table from measurements in pairs."""
    ratios = [a / b for a, b in zip(first, second, strict=True)]
    spread = median(ratios), min(ratios), max(ratios)
    return Row(name, unit, median(first), median(second), *spread)


def table(rows: Sequence[Row], sides: tuple[str, str]) -> str:
    """The rows under a head, ratios with their range."""
    width = max(len(one.name) for one in rows)
    ratio = "/".join(sides)
    lines = [f"{'':{width}}  {sides[0]:>12}  {sides[1]:>12}  {ratio}  lowest … highest"]
    for one in rows:
        lines.append(
            f"{one.name:{width}}  {one.first:>8.2f} {one.unit:>3}  {one.second:>8.2f} "
            f"{one.unit:>3}  {one.ratio:>{len(ratio)}.2f}  {one.low:.2f} … {one.high:.2f}"
        )
    return "\n".join(lines)


def in_turn(contestants: Iterable[Contestant], number: int) -> list[Contestant]:
    """Who begins changes with the number of the measurement."""
    order = list(contestants)
    return order if number % 2 else order[::-1]


def parameters(model: torch.nn.Module) -> int:
    """Numbers that are learnt; what is shared counts once."""
    return sum(one.numel() for one in model.parameters())


# ---------------------------------------------------------------- options and results


def add_machine_options(parser: argparse.ArgumentParser) -> None:
    """Options that say how and where is measured."""
    add = parser.add_argument
    add("--threads", type=int, default=0, help="torch's threads (default: torch's own choice)")
    add("--device", choices=("cpu", "cuda"), default="cpu", help="where to run (default cpu)")
    add(
        "--clock",
        choices=("wall", "cpu"),
        default="wall",
        help="wall: what one waits (default); cpu: what the process computes, all threads "
        "together, for a machine that others use meanwhile",
    )
    add("--bf16", action="store_true", help="parameters and activations in bfloat16")
    add("--seed", type=int, default=1, help="of weights, batches and dropout (default 1)")
    add("--json", metavar="FILE", help="also write the numbers there")


def check_options(args: argparse.Namespace, counts: Iterable[str]) -> None:
    """Raises :class:`UserError` for values that nothing can be measured with.

    Args:
        counts: names of options that are numbers of 1 or more.
    """
    for name in counts:
        if getattr(args, name) < 1:
            flag = name.replace("_", "-")
            raise UserError(f"--{flag} {getattr(args, name)}: give 1 or more")
    if args.device == "cuda" and not torch.cuda.is_available():
        raise UserError("--device cuda: torch finds no GPU here; leave the option out")
    if args.device == "cuda" and args.clock == "cpu":
        raise UserError("--clock cpu does not see what a GPU does; leave the option out")
    if args.json and not Path(args.json).parent.is_dir():
        raise UserError(f"--json {args.json}: there is no folder {Path(args.json).parent}")


def settle(args: argparse.Namespace) -> None:
    """Sets torch's threads and seed as the options say."""
    if args.threads:
        torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)


def precision(args: argparse.Namespace) -> torch.dtype:
    """Of parameters and activations."""
    return torch.bfloat16 if args.bf16 else torch.float32


def surroundings(args: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """What the numbers depend on.

    Args:
        names: of the benchmark's own options.
    """
    found = {
        "torch": torch.__version__,
        "device": f"{args.device} ({machine(args.device)})",
        "kernels": kernels(),
        "threads": torch.get_num_threads(),
        "cores": os.cpu_count(),
        "precision": "bf16" if args.bf16 else "fp32",
    }
    return found | {name: getattr(args, name) for name in (*names, "clock", "seed")}


def signature(found: Mapping[str, Any]) -> str:
    """The surroundings on one line."""
    return "|".join(f"{name}:{value}" for name, value in found.items())


def write_json(path: str | None, found: Mapping[str, Any]) -> None:
    """Writes the numbers, where a file was named for them."""
    if path is not None:
        Path(path).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
