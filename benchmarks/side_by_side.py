"""What the benchmarks of two sides have in common: options, pairs of measurements, tables, JSON."""

import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, TypeVar

import torch

from benchmarks.machine import kernels, machine
from lev_plugins.errors import UserError

Contestant = TypeVar("Contestant")
Sample = TypeVar("Sample")

#: what whole numbers mean that several scripts ask for
NUMBERS = {
    "--layers": "blocks in encoder and in decoder",
    "--dim": "width",
    "--ffn": "width of the feed-forward layers",
    "--heads": "attention heads",
    "--vocab": "symbols of the joined dictionary",
    "--tokens": "tokens of a training batch",
    "--length": "mean length of a sentence",
    "--steps": "measured batches",
    "--iterations": "stock's --iter-decode-max-iter",
    "--seed": "of weights and sentences",
}
LARGE = {"--layers": 6, "--dim": 512, "--ffn": 2048, "--heads": 8, "--vocab": 8000}
SMALL = {"--layers": 3, "--dim": 256, "--ffn": 1024, "--heads": 4}
PRECISIONS = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16"}


class Row(NamedTuple):
    """A line of a table: medians of both sides; their ratio, lowest and highest of single pairs."""

    name: str
    unit: str
    first: float
    second: float
    ratio: float
    low: float
    high: float


def row(
    name: str,
    first: Sequence[float],
    second: Sequence[float],
    unit: str = "ms",
    *,
    inverse: bool = False,
    of_medians: bool = False,
) -> Row:
    """A line of a table from measurements in pairs.

    Args:
        inverse: a ratio is the second side's measurement over the first's, not the reverse.
        of_medians: the row's ratio is that of the medians, not the median of the pairs' ratios.
    """
    above, below = (second, first) if inverse else (first, second)
    ratios = [a / b for a, b in zip(above, below, strict=True)]
    ratio = median(above) / median(below) if of_medians else median(ratios)
    return Row(name, unit, median(first), median(second), ratio, min(ratios), max(ratios))


def table(
    rows: Sequence[Row],
    sides: tuple[str, str],
    ratio: str | None = None,
    *,
    digits: int = 2,
    bar: float | None = None,
) -> str:
    """The rows under a head, ratios with their range.

    Args:
        ratio: the head of the ratios (default: both sides).
        digits: of measurements, after the point.
        bar: the highest ratio of times that is wished for; who keeps it is said.
    """
    width = max(len(one.name) for one in rows)
    ratio = ratio or "/".join(sides)
    lines = [f"{'':{width}}  {sides[0]:>12}  {sides[1]:>12}  {ratio}  lowest … highest"]
    for one in rows:
        verdict = ""
        if bar is not None and one.unit == "ms":
            verdict = f"  {'within' if one.ratio <= bar else 'above'} {bar:g}"
        lines.append(
            f"{one.name:{width}}  {one.first:>8.{digits}f} {one.unit:>3}  "
            f"{one.second:>8.{digits}f} {one.unit:>3}  {one.ratio:>{len(ratio)}.2f}  "
            f"{one.low:.2f} … {one.high:.2f}{verdict}"
        )
    return "\n".join(lines)


def in_turn(contestants: Iterable[Contestant], number: int) -> list[Contestant]:
    """Who begins changes with the number of the measurement."""
    order = list(contestants)
    return order if number % 2 else order[::-1]


def milliseconds(
    contestants: Mapping[str, Callable[[Sample], object]],
    samples: Iterable[Sample],
    now: Callable[[], float],
) -> dict[str, list[float]]:
    """Of everybody with every sample, in turn."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for number, sample in enumerate(samples):
        for name in in_turn(contestants, number):
            started = now()
            contestants[name](sample)
            times[name].append(1000 * (now() - started))
    return times


def parameters(model: torch.nn.Module) -> int:
    """Numbers that are learnt; what is shared counts once."""
    return sum(one.numel() for one in model.parameters())


def clock(args: argparse.Namespace) -> Callable[[], float]:
    """A function that gives seconds, all work on the device done."""
    if args.clock == "cpu":
        return time.process_time
    if args.device == "cpu":
        return time.perf_counter

    def now() -> float:
        torch.cuda.synchronize()
        return time.perf_counter()

    return now


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Hides what fairseq prints and warns of inside the block."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# ---------------------------------------------------------------- processes of their own


def from_own_process(what: str, command: Sequence[str], **environ: str) -> dict[str, float]:
    """What a benchmark prints last, as JSON.

    Args:
        what: is measured, for the message.
        command: the script and its options.
        environ: the environment, where it is not this process's.

    Raises:
        UserError: it failed.
    """
    words = [sys.executable, *command]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **environ})
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise UserError(f"measuring {what} failed: {last}")
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def memory_rows(
    script: str, sides: tuple[str, str], argv: Sequence[str], inverse: bool = False
) -> list[Row]:
    """Peak of the process, and how much of it the updates took, each side in its own process.

    Args:
        script: prints both in MiB for a side that ``--memory-of`` names.
        argv: its other options.
    """
    found = [
        from_own_process(f"the memory of {side}", [script, *argv, "--memory-of", side])
        for side in sides
    ]
    names = {"peak": "memory: process at its peak", "update": "memory: two updates on top"}
    return [
        row(name, *([one[key]] for one in found), "MiB", inverse=inverse)
        for key, name in names.items()
    ]


# ---------------------------------------------------------------- options and results


def parser_with(
    description: str | None, numbers: Mapping[str, int | tuple[int, str]]
) -> argparse.ArgumentParser:
    """A parser whose first options are whole numbers.

    Args:
        numbers: defaults, with what is meant where :data:`NUMBERS` does not say it.
    """
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for flag, one in numbers.items():
        default, what = one if isinstance(one, tuple) else (one, NUMBERS[flag])
        made.add_argument(flag, type=int, default=default, help=f"{what} (default {default})")
    return made


def add_clock_options(parser: argparse.ArgumentParser) -> None:
    """Options that say where is measured, and what time is."""
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


def add_machine_options(parser: argparse.ArgumentParser) -> None:
    """Options that say how and where is measured."""
    add_clock_options(parser)
    add = parser.add_argument
    add("--bf16", action="store_true", help="parameters and activations in bfloat16")
    add("--seed", type=int, default=1, help="of weights, batches and dropout (default 1)")
    add("--json", metavar="FILE", help="also write the numbers there")


def check_counts(args: argparse.Namespace, names: Iterable[str]) -> None:
    """Raises :class:`UserError` unless all of these options are 1 or more."""
    for name in names:
        if getattr(args, name) < 1:
            flag = name.replace("_", "-")
            raise UserError(f"--{flag} {getattr(args, name)}: give 1 or more")


def check_options(args: argparse.Namespace, counts: Iterable[str]) -> None:
    """Raises :class:`UserError` for values that nothing can be measured with.

    Args:
        counts: names of options that are numbers of 1 or more.
    """
    check_counts(args, counts)
    if args.device == "cuda" and not torch.cuda.is_available():
        raise UserError("--device cuda: torch finds no GPU here; leave the option out")
    if args.device == "cuda" and args.clock == "cpu":
        raise UserError("--clock cpu does not see what a GPU does; leave the option out")
    path = getattr(args, "json", None)  # not every script has it
    if path and not Path(path).parent.is_dir():
        raise UserError(f"--json {path}: there is no folder {Path(path).parent}")


def settle(args: argparse.Namespace) -> None:
    """Sets torch's threads and seed as the options say."""
    if args.threads:
        torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)


def precision(args: argparse.Namespace) -> torch.dtype:
    """Of parameters and activations."""
    if args.bf16:
        return torch.bfloat16
    return torch.float16 if getattr(args, "fp16", False) else torch.float32


def surroundings(args: argparse.Namespace, names: Iterable[str], **more: Any) -> dict[str, Any]:
    """What the numbers depend on.

    Args:
        names: of the benchmark's own options.
        more: what is not named as its option.
    """
    found = {
        "torch": torch.__version__,
        "device": f"{args.device} ({machine(args.device)})",
        "kernels": kernels(),
        "threads": torch.get_num_threads(),
        "cores": os.cpu_count(),
        "precision": PRECISIONS[precision(args)],
    }
    return found | more | {name: getattr(args, name) for name in (*names, "clock", "seed")}


def signature(found: Mapping[str, Any]) -> str:
    """The surroundings on one line."""
    return "|".join(f"{name}:{value}" for name, value in found.items())


def write_json(path: str | None, found: Mapping[str, Any]) -> None:
    """Writes the numbers, where a file was named for them."""
    if path is not None:
        Path(path).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
