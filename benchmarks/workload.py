"""What the benchmarks give to models in fairseq: sizes, random sentences, batches and updates."""

import argparse
import resource
import sys
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

# first, because it imports fairseq without the lines that fairseq prints otherwise
import lev_plugins  # noqa: F401

# isort: split
from fairseq.data import Dictionary
from fairseq.optim.adam import Adam
from torch import Tensor

from benchmarks.side_by_side import check_options, clock, in_turn
from lev_plugins.errors import UserError

# ---------------------------------------------------------------- sizes


def check_sizes(args: argparse.Namespace, counts: Iterable[str]) -> None:
    """Raises :class:`UserError` for values that no model or batch can be made of.

    Args:
        counts: names of options that are numbers of 1 or more.
    """
    check_options(args, counts)
    if args.dim % args.heads:
        raise UserError(f"--heads {args.heads} does not divide --dim {args.dim}")
    if args.vocab < 20:
        raise UserError(f"--vocab {args.vocab}: give 20 or more")


def transformer_options(args: argparse.Namespace, **more: Any) -> Namespace:
    """Sizes as fairseq's Transformer names them, with shared embeddings, and ``more`` options."""
    options = Namespace(
        share_all_embeddings=True, max_source_positions=1024, max_target_positions=1024, **more
    )
    for side in ("encoder", "decoder"):
        setattr(options, f"{side}_embed_dim", args.dim)
        setattr(options, f"{side}_ffn_embed_dim", args.ffn)
        setattr(options, f"{side}_layers", args.layers)
        setattr(options, f"{side}_attention_heads", args.heads)
    return options


# ---------------------------------------------------------------- sentences and batches


def dictionary(size: int) -> Dictionary:
    """``size`` symbols, fairseq's four special ones included."""
    made = Dictionary()
    for number in range(size - made.nspecial):
        made.add_symbol(f"w{number}")
    return made


def sentences(count: int, args: argparse.Namespace, special: int) -> list[tuple[Tensor, Tensor]]:
    """Random sources and targets: lengths around ``--length``, frequencies as in Zipf's law.

    No token comes twice in a sentence: then there is one minimal script only, and the labels of
    both systems can be compared.
    """
    weights = 1 / torch.arange(1, args.vocab - special + 1, dtype=torch.float)
    longest = min(3 * args.length, args.vocab - special)

    def sentence(length: float) -> Tensor:
        words = torch.multinomial(weights, int(min(max(length, 1), longest))) + special
        return torch.cat([torch.tensor([0]), words, torch.tensor([2])])

    lengths = torch.normal(float(args.length), args.length / 3, (count,))
    stretch = 0.85 + 0.3 * torch.rand(count)  # how much longer the target is
    return [
        (sentence(source), sentence(source * factor))
        for source, factor in zip(lengths.tolist(), stretch.tolist(), strict=True)
    ]


def padded(rows: Sequence[Tensor], left: bool, device: str) -> Tensor:
    """Rows of any length → B × T, padded with 1."""
    width = max(map(len, rows))
    out = torch.ones(len(rows), width, dtype=torch.long)
    for i, row in enumerate(rows):
        start = width - len(row) if left else 0
        out[i, start : start + len(row)] = row
    return out.to(device)


def batch(pairs: Sequence[tuple[Tensor, Tensor]], device: str) -> dict[str, Any]:
    """A batch as data sets of pairs make it: sources padded on the left."""
    sources, targets = zip(*pairs)
    return {
        "id": torch.arange(len(pairs), device=device),
        "nsentences": len(pairs),
        "ntokens": sum(map(len, targets)),
        "net_input": {
            "src_tokens": padded(sources, True, device),
            "src_lengths": torch.tensor([len(row) for row in sources], device=device),
        },
        "target": padded(targets, False, device),
    }


# ---------------------------------------------------------------- updates


class Trainer:
    """One system's update: forward, backward, and fairseq's Adam."""

    def __init__(self, model: torch.nn.Module, args: argparse.Namespace) -> None:
        self.model, self.now = model, clock(args)
        # a rate of 0 takes the same time and leaves the weights as they are
        self.optimizer = Adam(model.parameters(), lr=0.0, betas=(0.9, 0.98))

    def loss(self, sample: Any) -> Tensor:
        """The loss of a batch, divided by its sample size."""
        raise NotImplementedError

    def backward(self, loss: Tensor) -> None:
        """Computes the gradients."""
        loss.backward()

    def update(self, sample: Any) -> tuple[float, float]:
        """Milliseconds until the gradients are there, and until the parameters are changed."""
        self.model.train()
        self.optimizer.zero_grad()
        started = self.now()
        self.backward(self.loss(sample))
        gradients = self.now()
        self.optimizer.step()
        return 1000 * (gradients - started), 1000 * (self.now() - started)


def time_updates(
    trainers: Mapping[str, Trainer], batches: Sequence[Any]
) -> dict[str, list[tuple[float, ...]]]:
    """What :meth:`Trainer.update` gives for every batch, in turn: all gradients, all updates."""
    for trainer in trainers.values():  # not counted: first allocations, Adam's state
        trainer.update(batches[0])
    times: dict[str, list[tuple[float, float]]] = {side: [] for side in trainers}
    for number, sample in enumerate(batches):
        for side in in_turn(trainers, number):
            times[side].append(trainers[side].update(sample))
    return {side: list(zip(*found)) for side, found in times.items()}


def peak_of_updates(
    trainer: Trainer, batches: Sequence[dict[str, Any]], device: str
) -> dict[str, float]:
    """Peak memory of two updates on the largest batch, in MiB; for a process of its own."""
    largest = max(batches, key=lambda one: one["target"].numel())
    before = _memory(device, peak=False)
    for _ in range(2):
        trainer.update(largest)
    peak = _memory(device, peak=True)
    return {"peak": peak, "update": peak - before}


def _memory(device: str, peak: bool) -> float:
    """MiB in use, or at the most so far.

    Linux hands a parent's ``ru_maxrss`` down to its children, so ``VmHWM`` is read where it can be.
    """
    if device == "cuda":
        read = torch.cuda.max_memory_allocated if peak else torch.cuda.memory_allocated
        return read() / 2**20
    status = Path("/proc/self/status")
    if status.is_file():
        name = "VmHWM:" if peak else "VmRSS:"
        line = next(one for one in status.read_text().splitlines() if one.startswith(name))
        return int(line.split()[1]) / 2**10
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / (2**20 if sys.platform == "darwin" else 2**10)
