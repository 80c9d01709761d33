"""Averages the parameters of several checkpoints of one training.

The mean of the last checkpoints often does better than each of them (Vaswani et al., 2017, §6.1).
Everything but the parameters (options, dictionaries) is that of the last one named; the
optimizer's state, of which there is no mean, is left out: the result is for decoding, or to start
another training from.
"""

import argparse
import os
from collections.abc import Sequence
from typing import Any

from lev_runtime.errors import UserError
from lev_runtime.io.options import adder, make_parser
from lev_runtime.io.output import refuse_overwriting

from ..registration import register


def build_parser() -> argparse.ArgumentParser:
    """Returns the options of the command."""
    parser = make_parser(
        "average",
        "Average the parameters of several checkpoints of one training.",
        "checkpoints/checkpoint_1_*.pt --output checkpoints/average.pt",
    )
    add = adder(parser)
    add("checkpoints FILE", "checkpoints; settings are taken from the last one", nargs="+")
    add("--output FILE", "averaged checkpoint, complete or not written at all", required=True)
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the command; raises :class:`UserError` with nothing written."""
    args = build_parser().parse_args(argv)
    register()
    import torch

    from ..fairseq_patches.checkpoints import atomic_save

    paths = args.checkpoints
    refuse_overwriting({"--output": args.output}, (("the checkpoint", path) for path in paths))
    state = average(paths)
    with atomic_save(os.path.realpath(args.output)) as file:
        torch.save(state, file)
    print(f"{args.output}: the average of {', '.join(paths)}")


def average(paths: Sequence[str]) -> dict[str, Any]:
    """Returns the content of the last checkpoint with the mean of all parameters.

    Means are taken in double precision. Integers are those of the last checkpoint.

    Raises:
        UserError: a file that cannot be read, or has other parameters, dictionaries or labels.
    """
    state = _load(paths[-1])
    last = state["model"]
    sums = {name: value.double() for name, value in last.items() if value.is_floating_point()}
    for path in paths[:-1]:
        other = _load(path)
        if _training(other) != _training(state):
            raise UserError(
                f"{path} and {paths[-1]} were trained with different parameters, dictionaries or "
                "labels: average checkpoints of one training"
            )
        sums = {name: total + other["model"][name] for name, total in sums.items()}
    for name, total in sums.items():  # in place: a parameter with several names stays one
        last[name].copy_(total / len(paths))
    state.pop("last_optimizer_state", None)
    return state


def _load(path: str) -> dict[str, Any]:
    from ..fairseq_patches.checkpoint_files import find_checkpoint
    from ..fairseq_patches.checkpoints import read_checkpoint

    state = read_checkpoint(find_checkpoint(path))
    if not isinstance(state, dict) or not isinstance(state.get("model"), dict):
        raise UserError(f"checkpoint {path} is not a fairseq checkpoint")
    return state


def _training(state: dict[str, Any]) -> tuple[Any, ...]:
    """Returns what checkpoints of one training have in common."""
    task_state = state.get("task_state") or {}
    shapes = {name: value.shape for name, value in state["model"].items()}
    return shapes, task_state.get("symbols"), task_state.get("description")
