"""How the cost of LevT grows with length and with batch size, ours beside fairseq's own.

    python benchmarks/levt_growth.py --threads 1 --png growth.png

Three tables, each from one run in which the systems and the lengths (or batch sizes) take turns:

- an update of training against the length of sentences, at a fixed number of tokens a batch, as
  ``--max-tokens`` makes batches: matrix products stay as large as they are, so that what grows
  is what grows faster than the text (an exponent of 0: the cost of a token does not change);
- decoding one sentence against its length, beside fairseq's Transformer with beam search;
- decoding a sentence against the size of the batch that it comes in.

Models have random weights, and decoding follows the script of levt_speed.py. Exponents are slopes
of least squares through the medians, logarithm against logarithm: 1 is a cost that doubles with
the length. A system with a larger share of fixed cost has the smaller exponent, so the ratio at
each end counts as well: ours grows no faster where it does not fall.
"""

import argparse
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import linear_regression, mean, median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import torch  # noqa: E402

from benchmarks import levt_speed, side_by_side  # noqa: E402
from benchmarks.levt_against_ar import AutoregressiveSearch  # noqa: E402
from examples.analysis.plotting import png  # noqa: E402
from lev_plugins.errors import UserError  # noqa: E402
from lev_plugins.fairseq_patches import run_cli  # noqa: E402

OURS = "ours"
TYPICAL, EVERY = 27, 31  # a length, and one in so many tokens that is then deleted
LONGEST = 340  # sampled lengths are up to three times the mean, and positions end at 1024

Sample = dict[str, Any]
System = Callable[[Sample], float]


@dataclass
class Curves:
    """What was measured at every length or size.

    title, label: of the table. times: milliseconds by system and x. counts: what the systems
    returned. per: what times are divided by at x.
    """

    title: str
    label: str
    times: dict[str, dict[int, list[float]]]
    counts: dict[str, dict[int, list[float]]]
    per: Callable[[int], float] = lambda x: 1.0

    @property
    def points(self) -> list[int]:
        return list(next(iter(self.times.values())))

    def middle(self, name: str) -> list[float]:
        """Medians of a system, one for each x."""
        return [median(taken) / self.per(x) for x, taken in self.times[name].items()]

    def ratios(self, name: str) -> list[float]:
        """Another system's medians over ours: above 1 ours is faster."""
        return [other / ours for other, ours in zip(self.middle(name), self.middle(OURS))]

    def exponent(self, name: str) -> float:
        """Of the power of x that the medians follow best."""
        return linear_regression(
            [math.log(x) for x in self.points], [math.log(y) for y in self.middle(name)]
        ).slope

    def table(self) -> str:
        """A line for each x, then how much a system grows from the first x to the last."""
        names = list(self.times)
        others = [name for name in names if name != OURS]
        heads = [*names, *(f"{name}/{OURS}" for name in others)]
        columns = [[f"{y:.2f}" for y in self.middle(name)] for name in names]
        columns += [[f"{y:.2f}" for y in self.ratios(name)] for name in others]
        for name, column in zip(names, columns):
            first, *_, last = self.middle(name)
            column += [f"× {last / first:.2f}", f"{self.exponent(name):+.2f}"]
        labels = [*map(str, self.points), "growth", "exponent"]
        lines = [self.title, f"{self.label:>8}" + "".join(f"  {head:>16}" for head in heads)]
        for number, x in enumerate(labels):
            cells = [column[number] if number < len(column) else "" for column in columns]
            lines.append((f"{x:>8}" + "".join(f"  {cell:>16}" for cell in cells)).rstrip())
        return "\n".join(lines)

    def iterations(self) -> str:
        """Of decoding, on average over all of an x."""
        parts = []
        for name, found in self.counts.items():
            said = ", ".join(f"{mean(counts):.1f}" for counts in found.values())
            parts.append(f"{name} {said}")
        return f"iterations at {', '.join(map(str, self.points))}: {'; '.join(parts)}"


def in_rounds(
    samples: Mapping[int, Sequence[Sample]],
    systems: Mapping[str, System],
    now: Callable[[], float],
    **about: Any,
) -> Curves:
    """Every system on every sample; in each round all x and all systems have their turn."""
    times: dict[str, dict[int, list[float]]] = {name: {x: [] for x in samples} for name in systems}
    found: dict[str, dict[int, list[float]]] = {name: {x: [] for x in samples} for name in systems}
    for x in samples:  # not counted: first allocations, Adam's state
        for system in systems.values():
            system(samples[x][0])
    for number in range(max(map(len, samples.values()))):
        for x in side_by_side.in_turn(samples, number // 2):
            if number >= len(samples[x]):
                continue
            for name in side_by_side.in_turn(systems, number):
                started = now()
                count = systems[name](samples[x][number])
                times[name][x].append(1000 * (now() - started))
                found[name][x].append(count)
    return Curves(times=times, counts=found, **about)


# ---------------------------------------------------------------- what is measured


def with_length(args: argparse.Namespace, length: int) -> argparse.Namespace:
    return argparse.Namespace(**{**vars(args), "length": length})


def training(peers: levt_speed.Peers, args: argparse.Namespace) -> Curves:
    """Updates on batches of ``--tokens`` tokens, for every length."""
    special = peers.our_task.target_dictionary.nspecial
    samples = {
        length: levt_speed.training_batches(with_length(args, length), special)
        for length in args.lengths
    }

    def updates(side: str) -> System:
        trainer = levt_speed.Trainer(peers, side, args)
        return lambda sample: sum(trainer.update(sample))

    return in_rounds(
        samples,
        {side: updates(side) for side in levt_speed.SIDES},
        side_by_side.clock(args),
        title=f"training: ms an update of at most {args.tokens} tokens",
        label="length",
    )


def iterations_of(decode: levt_speed.Decoder) -> System:
    """A decoder that says how many iterations a sentence took, on average."""
    return lambda sample: mean(one[0]["steps"] for one in decode(sample))


def prime(least: int) -> int:
    """The first prime from ``least`` on: of another number the script's remainders repeat."""
    number = max(least, 2)
    while any(number % factor == 0 for factor in range(2, math.isqrt(number) + 1)):
        number += 1
    return number


def decoding_by_length(peers: levt_speed.Peers, args: argparse.Namespace) -> Curves:
    """Single sentences; in each about as many tokens are deleted an iteration, however long."""
    special = peers.our_task.target_dictionary.nspecial
    decode = levt_speed.decoders(peers, args)
    autoregressive = AutoregressiveSearch(args, peers.stock_task)

    def search(sample: Sample) -> float:
        return len(autoregressive.search(sample, args.beam))

    samples = {}
    for length in args.lengths:
        made = levt_speed.decoding_samples(with_length(args, length), special, 1)
        samples[length] = [{**sample, "length": length} for sample in made]
    systems = {
        name: iterations_of(decode[key]) for name, key in (("stock", "stock"), (OURS, "own"))
    }
    script = levt_speed.Script(special)

    def scripted(system: System) -> System:
        def run(sample: Sample) -> float:
            script.every = prime(EVERY * sample["length"] // TYPICAL)
            return system(sample)

        return run

    with levt_speed.scripted(peers, script):
        for length in args.lengths:
            scripted(lambda sample: check(decode, sample))(samples[length][0])
        return in_rounds(
            samples,
            {name: scripted(one) for name, one in systems.items()}
            | {f"AR, beam {args.beam}": search},
            side_by_side.clock(args),
            title="decoding: ms a sentence, batch 1",
            label="length",
        )


def check(decode: dict[str, levt_speed.Decoder], sample: Sample) -> float:
    """Raises :class:`UserError` unless ours with stock's rules writes what stock writes."""
    levt_speed.agreement(decode, "same", [sample], required=True)
    return 0.0


def decoding_by_batch(peers: levt_speed.Peers, args: argparse.Namespace) -> Curves:
    """Sentences of about ``--typical`` tokens in batches of every size."""
    special = peers.our_task.target_dictionary.nspecial
    decode = levt_speed.decoders(peers, args)
    samples = {
        size: levt_speed.decoding_samples(with_length(args, args.typical), special, size)
        for size in args.batches
    }
    with levt_speed.scripted(peers, levt_speed.Script(special, EVERY)):
        for found in samples.values():
            check(decode, found[0])
        return in_rounds(
            samples,
            {"stock": iterations_of(decode["stock"]), OURS: iterations_of(decode["own"])},
            side_by_side.clock(args),
            title=f"decoding: ms a sentence of about {args.typical} tokens",
            label="batch",
            per=float,
        )


# ---------------------------------------------------------------- the picture

# Okabe and Ito's colours; markers and lines say the same without any colour
STYLES = (("#d55e00", "s", "--"), ("#0072b2", "o", "-"), ("#009e73", "^", "-."))


def draw(found: Sequence[Curves]) -> bytes:
    """A panel for each table, as a PNG; both axes are logarithmic.

    Raises:
        UserError: matplotlib is not installed.
    """

    def paint(figure: Any) -> None:
        for axes, curves in zip(figure.subplots(1, len(found), squeeze=False)[0], found):
            _panel(axes, curves)

    style = {"axes.titlelocation": "left", "axes.titlesize": 10, "font.size": 9}
    return png(paint, style, figsize=(4.4 * len(found), 3.8), layout="constrained", dpi=150)


def _panel(axes: Any, curves: Curves) -> None:
    from matplotlib.ticker import LogLocator

    kind, _, unit = curves.title.partition(": ")
    axes.set(xscale="log", yscale="log", title=kind, ylabel=unit)
    axes.set_xlabel(
        {"length": "tokens of a sentence", "batch": "sentences of a batch"}[curves.label]
    )
    highest = 0.0
    for name, (color, marker, line) in zip(curves.times, STYLES):
        label = f"{name} (exponent {curves.exponent(name):+.2f})"
        heights = curves.middle(name)
        highest = max(highest, *heights)
        axes.plot(curves.points, heights, line, label=label, color=color, marker=marker)
    axes.set_xticks(curves.points, map(str, curves.points), minor=False)
    axes.set_xticks([], minor=True)
    axes.set_yscale("log", subs=[])
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.grid(alpha=0.3, which="both")
    axes.set_ylim(top=2.5 * highest)  # space for the legend
    axes.legend(frameon=False, fontsize=8, loc="upper left")


# ---------------------------------------------------------------- options


def parser() -> argparse.ArgumentParser:
    """The options: a smaller model than levt_speed.py's, and what grows."""
    numbers = {
        "--vocab": 8000,
        "--tokens": 2000,
        "--typical": (TYPICAL, "mean length of a sentence where the batch grows"),
        "--steps": (5, "measured batches of each; three times as many single sentences"),
        "--iterations": 9,
        "--beam": (4, "width of the Transformer's search"),
        "--seed": 1,
    }
    made = side_by_side.parser_with(__doc__, side_by_side.SMALL | numbers)
    add = made.add_argument
    add("--lengths", default="8,16,32,64,128", help="mean lengths (default %(default)s)")
    add("--batches", default="1,4,16,64", help="sizes of batches (default %(default)s)")
    add("--png", metavar="FILE", help="also draw the curves")
    side_by_side.add_clock_options(made)
    return made


def growing(flag: str, given: str, most: int) -> list[int]:
    """``8,16,32`` → numbers.

    Raises:
        UserError: they do not rise from 1 or more to ``most`` or less, or there is only one.
    """
    parts = given.split(",")
    numbers = [int(part) for part in parts if part.isdecimal()]
    rising = all(a < b for a, b in zip([0, *numbers], numbers))
    if len(numbers) < max(2, len(parts)) or not rising or numbers[-1] > most:
        raise UserError(f"{flag} {given}: two or more rising numbers up to {most}, such as 8,16,32")
    return numbers


def checked(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parsed options, those of levt_speed.py among them.

    Raises:
        UserError: values that no model, batch or curve can be made of.
    """
    given = parser().parse_args(argv)
    lengths = growing("--lengths", given.lengths, LONGEST)
    batches, given.length = growing("--batches", given.batches, 4096), given.typical
    for name, least, most in (("beam", 1, given.vocab - 4), ("typical", 1, LONGEST)):
        if not least <= getattr(given, name) <= most:
            raise UserError(f"--{name} {getattr(given, name)}: give {least} to {most}")
    if given.tokens < 2 * lengths[-1]:
        raise UserError(
            f"--tokens {given.tokens}: batches of sentences of {lengths[-1]} tokens need "
            f"{2 * lengths[-1]} or more"
        )
    if given.png and not Path(given.png).resolve().parent.is_dir():
        raise UserError(f"--png {given.png}: there is no folder {Path(given.png).parent}")
    return levt_speed.checked_for(given, lengths=lengths, batches=batches)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the tables, draw."""
    args = checked(argv)
    side_by_side.settle(args)
    with side_by_side.quiet():
        peers = levt_speed.build_peers(args)
        note = levt_speed.check_training(peers, args)
        found = [training(peers, args)]
        with torch.no_grad():
            found += [decoding_by_length(peers, args), decoding_by_batch(peers, args)]
    for curves in found:
        print(curves.table())
        if curves is not found[0]:
            print(curves.iterations())
        print()
    print(f"{note}; decoding: outputs equal to stock's under stock's rules")
    print(levt_speed.described(args))
    if args.png:
        Path(args.png).write_bytes(draw(found))
    return 0


if __name__ == "__main__":
    run_cli(main)
