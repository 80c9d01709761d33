"""Decoding with LevT against an autoregressive Transformer of the same depth (paper, Table 1).

    python benchmarks/levt_against_ar.py --threads 1 --less bf16,int8

fairseq's Transformer with beam search, and ``levenshtein_editor``, one sentence at a time, in one
run and in changing order. Both have random weights. Every output of the Transformer is as long as
its source; LevT follows the script of levt_speed.py, which writes sentences of the same length in
about as many iterations as in Table 1. Shown are medians and, as Table 1 has them, means. A ratio
is the Transformer's time over LevT's: above 1 LevT is faster.
"""

import argparse
import contextlib
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import torch  # noqa: E402

from benchmarks import levt_speed, side_by_side, workload  # noqa: E402

# isort: split
from fairseq.models.transformer import TransformerModel, base_architecture  # noqa: E402
from fairseq.sequence_generator import SequenceGenerator  # noqa: E402

from lev_plugins.errors import UserError  # noqa: E402
from lev_plugins.fairseq_patches import run_cli  # noqa: E402


class AutoregressiveSearch:
    """Beam search of fairseq's Transformer over outputs as long as their sources.

    Args:
        args: sizes, as of levt_speed.py.
        task: with the dictionaries.
    """

    def __init__(self, args: argparse.Namespace, task: Any) -> None:
        self.symbols = task.target_dictionary
        options = workload.transformer_options(args, dropout=levt_speed.DROPOUT)
        base_architecture(options)
        self.model = TransformerModel.build_model(options, task).to(args.device).eval()

    def search(self, sample: dict[str, Any], beam: int) -> list[int]:
        """The best output for one sentence."""
        source = sample["net_input"]["src_tokens"][:, 1:]  # no <s>, as the translation task has it
        words = source.size(1) - 1
        generator = SequenceGenerator(
            [self.model],
            self.symbols,
            beam_size=beam,
            max_len_a=0,
            max_len_b=words,
            min_len=words,
        )
        lengths = torch.tensor([source.size(1)], device=source.device)
        inputs = {"src_tokens": source, "src_lengths": lengths}
        found = generator.generate([self.model], {"net_input": inputs})[0][0]["tokens"]
        if len(found) != words + 1:
            raise UserError(f"an output of {len(found)} tokens for a source of {words + 1}")
        return list(found.tolist())


def measure(args: argparse.Namespace) -> tuple[list["Comparison"], str]:
    """The rows of the table, and how many iterations LevT made."""
    peers = levt_speed.build_peers(args)
    special = peers.our_task.target_dictionary.nspecial
    autoregressive = AutoregressiveSearch(args, peers.stock_task)
    ours = levt_speed.decoders(peers, args)
    systems = {f"AR, beam {beam}": partial(autoregressive.search, beam=beam) for beam in args.beams}
    levt = {"LevT": ours["own"], **{f"LevT, {name}": ours[name] for name in args.less}}
    samples = levt_speed.decoding_samples(args, special, 1)
    steps: list[int] = []

    def counting(decode: levt_speed.Decoder) -> Callable[[dict[str, Any]], None]:
        return lambda sample: steps.append(decode(sample)[0][0]["steps"])

    with torch.no_grad(), levt_speed.scripted(peers, levt_speed.Script(special, args.every)):
        times = side_by_side.milliseconds(
            systems | {name: counting(decode) for name, decode in levt.items()},
            [samples[0], *samples],
            side_by_side.clock(args),
        )
    counted = {name: taken[1:] for name, taken in times.items()}  # the first warms up
    rows = [
        Comparison(f"{other} / {name}", counted[other], counted[name])
        for other in systems
        for name in levt
    ]
    return rows, f"LevT: {sum(steps) / len(steps):.2f} iterations on average"


class Comparison(NamedTuple):
    """Milliseconds of both for each sentence."""

    name: str
    autoregressive: list[float]
    levt: list[float]

    def line(self, width: int) -> str:
        """Of the table: medians and means, each with its ratio."""
        parts = []
        for middle in (median, mean):
            ar, levt = middle(self.autoregressive), middle(self.levt)
            parts.append(f"{ar:>6.1f} ms  {levt:>6.1f} ms  {ar / levt:>5.2f}")
        return f"{self.name:{width}}  " + "  ".join(parts)


def parser() -> argparse.ArgumentParser:
    """The options: those of levt_speed.py that decoding depends on."""
    numbers = {
        "--length": (27, "mean length of a sentence; </s> makes it 28, as in Table 1"),
        "--steps": (5, "a third of the measured sentences"),
        "--every": (31, "one in so many tokens is deleted; 31 takes about 2.2 iterations"),
        "--iterations": 9,
        "--seed": 1,
    }
    made = side_by_side.parser_with(__doc__, side_by_side.LARGE | numbers)
    add = made.add_argument
    add("--beams", default="4,1", help="widths of the Transformer's search (default 4,1)")
    add("--less", default="", metavar="PRECISIONS", help="LevT in bf16, int8 or bf16,int8 as well")
    side_by_side.add_clock_options(made)
    return made


def checked(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parsed options.

    Raises:
        UserError: values that no model or search can be made of.
    """
    given = parser().parse_args(argv)
    beams = given.beams.split(",")
    if not all(beam.isdecimal() and int(beam) > 0 for beam in beams):
        raise UserError(f"--beams {given.beams}: widths of 1 or more, such as 4,1")
    args = levt_speed.checked_for(given, beams=[int(beam) for beam in beams])
    side_by_side.check_counts(args, ["every"])
    return args


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print the table."""
    args = checked(argv)
    side_by_side.settle(args)
    with contextlib.redirect_stdout(sys.stderr):
        rows, note = measure(args)
    width = max(len(one.name) for one in rows)
    head = f"{'AR':>9}  {'LevT':>9}  ratio"
    print(f"{'batch 1':{width}}  {head}  {head}   (medians, then means)")
    for one in rows:
        print(one.line(width))
    print(f"{note}; {3 * args.steps} sentences")
    print(levt_speed.described(args))
    return 0


if __name__ == "__main__":
    run_cli(main)
