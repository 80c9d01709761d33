"""Average the parameters of several checkpoints of one training.

The mean of the last checkpoints often does better than each of them (Vaswani et al., 2017, §6.1).
Everything but the parameters (options, dictionaries) is that of the last one named; the
optimizer's state, of which there is no mean, is left out: the result is for decoding, or to start
another training from.
"""

import argparse
import os
from collections.abc import Sequence

from lev_runtime.io.options import adder, make_parser
from lev_runtime.io.output import refuse_overwriting

from ..registration import register


def build_parser() -> argparse.ArgumentParser:
    """The options of the command."""
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
    """Run the command; raises :class:`UserError` with nothing written."""
    args = build_parser().parse_args(argv)
    register()
    import torch

    from ..fairseq_patches.checkpoints import atomic_save
    from ..inference.averaging import average

    paths = args.checkpoints
    refuse_overwriting({"--output": args.output}, (("the checkpoint", path) for path in paths))
    state = average(paths)
    with atomic_save(os.path.realpath(args.output)) as file:  # whole or not at all
        torch.save(state, file)
    print(f"{args.output}: the average of {', '.join(paths)}")
