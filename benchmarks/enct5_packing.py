"""How much of a batch is padding, and how fast EncT5 trains, with and without packing.

    python benchmarks/enct5_packing.py DATA --threads 1

DATA is a folder of ``python -m lev_plugins enct5-prepare``. Its training set is put into
batches of at most ``--tokens`` positions in several layouts: an example a row, sorted by length as
fairseq sorts them; an example a row, in random order; and several examples a row (``--pack
--pack-length N``). One run gives forward and backward passes to all of them, one after the other
and in changing order. First it checks that packed and unpacked examples have equal logits.
"""

import argparse
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

# first, because it imports fairseq without the lines that fairseq prints otherwise
import lev_plugins  # noqa: E402, F401

# isort: split
import torch  # noqa: E402

from benchmarks import side_by_side  # noqa: E402
from lev_plugins.errors import UserError  # noqa: E402
from lev_plugins.fairseq_patches import run_cli  # noqa: E402
from lev_plugins.systems.enct5 import (  # noqa: E402
    EncT5Config,
    EncT5Model,
    EncT5Task,
    EncT5TaskConfig,
    arch,
)
from lev_plugins.systems.enct5.dataset import EncT5Dataset, collate  # noqa: E402
from lev_plugins.systems.enct5.problem_types import KINDS  # noqa: E402

SIZES = ("tiny", "small", "base")
SORTED, RANDOM = "sorted by length", "random order"
CHECKED = 32  # rows whose logits are compared


class Layout(NamedTuple):
    """One way to put the training set into batches."""

    name: str
    dataset: EncT5Dataset
    batches: list[Any]

    @property
    def pieces(self) -> int:
        """All that are real."""
        return int(self.dataset.sizes[:, 0].sum())

    @property
    def padding(self) -> float:
        """The share of the encoder's positions that hold none, in percent."""
        lengths = self.dataset.sizes[:, 0]
        positions = sum(len(one) * int(lengths[one].max()) for one in self.batches)
        return 100 * (1 - self.pieces / positions)

    def chosen(self, count: int) -> list[dict[str, Any]]:
        """That many batches, evenly spread over the epoch."""
        # the last one may be small
        spread = np.linspace(0, len(self.batches) - 1, count + 2)[1:-1].round().astype(int)
        return [self.sample(self.batches[place]) for place in spread]

    def sample(self, rows: Sequence[int]) -> dict[str, Any]:
        """A batch."""
        return self.dataset.collater([self.dataset[row] for row in rows])


class Result(NamedTuple):
    """What a layout gave.

    speeds: subwords a second in every measured batch.
    """

    layout: Layout
    speeds: list[float]


# ---------------------------------------------------------------- layouts and models


def task_of(args: argparse.Namespace, row: int | None = None) -> EncT5Task:
    """The task with its training set.

    Args:
        row: to which rows are packed, None for an example a row.
    """
    options = EncT5TaskConfig(data=args.data, kind=args.kind)
    if row is not None:
        options.pack, options.pack_length = True, row
    task = EncT5Task.setup_task(options)
    task.load_dataset("train")
    return task


def layouts(args: argparse.Namespace) -> list[Layout]:
    """All ways of making batches.

    Raises:
        UserError: a row does not fit into a batch.
    """
    plain = task_of(args).dataset("train")
    places = {SORTED: plain.ordered_indices(), RANDOM: np.random.permutation(len(plain))}
    found = [_layout(name, plain, order, args) for name, order in places.items()]
    for row in args.rows:
        packed = task_of(args, row).dataset("train")
        found.append(_layout(f"packed, rows of {row}", packed, packed.ordered_indices(), args))
    return found


def _layout(
    name: str, dataset: EncT5Dataset, order: np.ndarray, args: argparse.Namespace
) -> Layout:
    longest = int(dataset.sizes.max())
    if longest > args.tokens:
        raise UserError(f"--tokens {args.tokens}: there is a row of {longest}; give as many")
    return Layout(name, dataset, dataset.batch_by_size(order, max_tokens=args.tokens))


def build(size: str, args: argparse.Namespace) -> EncT5Model:
    """A model with random weights."""
    options = Namespace()
    getattr(arch, f"enct5_{size}")(options)
    config = EncT5Config(dropout=args.dropout, **vars(options))
    model = EncT5Model.build_model(config, task_of(args))
    return model.to(args.device, side_by_side.precision(args))


# ---------------------------------------------------------------- measurements


@torch.no_grad()
def check_logits(model: EncT5Model, packed: Layout, args: argparse.Namespace) -> float:
    """The largest difference between logits of the same examples, packed and one a row.

    Raises:
        UserError: it is more than rounding explains.
    """
    rows = [packed.dataset[row] for row in packed.batches[0][:CHECKED]]
    alone = [[example] for row in rows for example in row]
    model.eval()
    logits = []
    for samples in (rows, alone):
        inputs = collate(samples, packed.dataset.kind, packed.dataset.number)
        inputs = {name: value.to(args.device) for name, value in inputs.items()}
        logits.append(model(**inputs).float())
    worst = float((logits[0] - logits[1]).abs().max())
    if worst > (0.5 if args.bf16 else 1e-3):
        raise UserError(f"{packed.name}: logits differ by {worst:g}: no fair race")
    return worst


class Trainer:
    """Forward and backward passes."""

    def __init__(self, model: EncT5Model, args: argparse.Namespace) -> None:
        self.model, self.device, self.now = model.train(), args.device, side_by_side.clock(args)

    def speed(self, layout: Layout, sample: dict[str, Any]) -> float:
        """Pieces a second."""
        inputs = {name: one.to(self.device) for name, one in sample["net_input"].items()}
        targets = sample["target"].to(self.device)
        self.model.zero_grad()
        started = self.now()
        loss = layout.dataset.kind.loss(self.model(**inputs).float(), targets)
        (loss / targets.numel()).backward()
        return sample["ntokens"] / (self.now() - started)


def race(model: EncT5Model, found: Sequence[Layout], args: argparse.Namespace) -> list[Result]:
    """Pieces a second in all layouts, in turn."""
    trainer = Trainer(model, args)
    batches = [layout.chosen(args.steps) for layout in found]
    for layout, samples in zip(found, batches, strict=True):  # not counted: first allocations
        trainer.speed(layout, samples[-1])
    speeds: list[list[float]] = [[] for _ in found]
    for number in range(args.steps):
        for place in side_by_side.in_turn(range(len(found)), number):
            speeds[place].append(trainer.speed(found[place], batches[place][number]))
    return [Result(layout, one) for layout, one in zip(found, speeds, strict=True)]


# ---------------------------------------------------------------- the report


def table(size: str, model: EncT5Model, results: Sequence[Result]) -> str:
    """The layouts of one model under a head."""
    count = side_by_side.parameters(model) / 1e6
    usual = median(results[0].speeds)
    lines = [
        f"enct5_{size}, {count:.2f} M parameters",
        f"{'':22}  padding  rows a batch  subwords a batch  subwords/s  "
        f"lowest … highest  of {SORTED}",
    ]
    for layout, speeds in results:
        rows, batches = len(layout.dataset), len(layout.batches)
        lines.append(
            f"{layout.name:22}  {layout.padding:5.1f} %  {rows / batches:>12.1f}  "
            f"{layout.pieces / batches:>16.0f}  {median(speeds):>10.0f}  "
            f"{min(speeds):>6.0f} … {max(speeds):<7.0f}  {median(speeds) / usual:>6.2f}"
        )
    return "\n".join(lines)


def numbers(size: str, results: Sequence[Result]) -> list[dict[str, Any]]:
    """The same for a program."""
    return [
        {
            "size": size,
            "layout": layout.name,
            "padding": layout.padding,
            "rows": len(layout.dataset),
            "batches": len(layout.batches),
            "pieces": layout.pieces,
            "pieces_per_second": median(speeds),
            "of_sorted": median(speeds) / median(results[0].speeds),
        }
        for layout, speeds in results
    ]


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = side_by_side.parser_with(__doc__, {})
    add = made.add_argument
    add("data", help="folder of python -m lev_plugins enct5-prepare")
    add("--kind", choices=KINDS, help="what is predicted (default: what the data are for)")
    add(
        "--sizes",
        nargs="+",
        choices=SIZES,
        default=["tiny", "small"],
        help="of the model (default: tiny small)",
    )
    add(
        "--rows",
        nargs="+",
        type=int,
        default=[128, 256, 512],
        metavar="N",
        help="pieces to which rows are packed (default: 128 256 512)",
    )
    add("--tokens", type=int, default=4000, help="positions of a batch (default 4000)")
    add("--dropout", type=float, default=0.1, help="default 0.1")
    add("--steps", type=int, default=5, help="measured batches of each layout (default 5)")
    side_by_side.add_machine_options(made)
    return made


def checked(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parsed options.

    Raises:
        UserError: values that no model or batch can be made of.
    """
    args = parser().parse_args(argv)
    side_by_side.check_options(args, ("tokens", "steps"))
    if min(args.rows) < 2:
        raise UserError(f"--rows {min(args.rows)}: give 2 or more")
    if not 0 <= args.dropout < 1:
        raise UserError(f"--dropout {args.dropout:g}: give a share from 0 up to 1")
    return args


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print the tables."""
    args = checked(argv)
    side_by_side.settle(args)
    np.random.seed(args.seed)
    found = layouts(args)
    everything = []
    for size in args.sizes:
        with side_by_side.quiet():
            model = build(size, args)
            worst = max(check_logits(model, layout, args) for layout in found[2:])
            results = race(model, found, args)
        print(table(size, model, results))
        print(f"logits packed and one a row: within {worst:.1e}\n", flush=True)
        everything += numbers(size, results)
    print("subwords/s: forward and backward, median over batches; padding: of the whole epoch")
    described = side_by_side.surroundings(args, ("tokens", "dropout", "steps"))
    described["kind"] = found[0].dataset.kind.value
    print(side_by_side.signature(described))
    side_by_side.write_json(args.json, {"rows": everything, "options": described})
    return 0


if __name__ == "__main__":
    run_cli(main)
