"""Whether trainings lose by TF32: LevT's loss in it and in full precision, with three seeds.

    python benchmarks/tf32_loss.py

Seeds meet the same batches, whose target is the source reversed; weights, dropout and the states
that the expert is asked in differ.
The loss (nats a token) is that of the last third of the updates.
"""

import argparse
from collections.abc import Sequence
from statistics import fmean
from typing import Any

import common
import levt_speed
import torch

# isort: split
from fairseq import utils
from fairseq.optim.adam import Adam

from lev_plugins.systems.levenshtein.criterion import EditPolicyLoss, EditPolicyLossConfig
from lev_runtime.io.commands import run_cli

BATCHES, DATA_SEED, RATE, WARM_UP = 20, 7, 5e-4, 40


def reversed_source(sample: dict[str, Any]) -> dict[str, Any]:
    """A batch that can be learnt, where no source is padded."""
    source = sample["net_input"]["src_tokens"]
    learnable = not bool(source[:, 0].eq(1).any())
    return {**sample, "target": source.flip(1)} if learnable else sample


def last_loss(seed: int, tf32: bool, args: argparse.Namespace) -> float:
    """The loss at the end of a training."""
    args.seed = seed
    torch.manual_seed(seed)
    with common.quiet():
        peers = levt_speed.build_peers(args)
    args.seed = DATA_SEED
    torch.manual_seed(DATA_SEED)
    batches = [reversed_source(sample) for sample in levt_speed.training_batches(args)]
    torch.manual_seed(seed)
    model, task = peers.ours.train(), peers.our_task
    criterion = EditPolicyLoss(task, EditPolicyLossConfig())
    parameters = [*model.parameters()]
    optimizer = Adam(parameters, lr=RATE, betas=(0.9, 0.98))
    losses = []
    with common.torch_settings(tf32=tf32):
        for update in range(args.updates):
            optimizer.param_groups[0]["lr"] = RATE * min(1, (update + 1) / WARM_UP)
            optimizer.zero_grad()
            epoch, number = divmod(update, len(batches))
            loss, size, _ = criterion(model, task.with_states(batches[number], 1 + epoch))
            (loss / size).backward()
            utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            losses.append(loss.detach() / size)
    return float(torch.stack(losses)[-(args.updates // 3) :].mean())


def main(argv: Sequence[str] | None = None) -> int:
    """Train three seeds in either precision, and compare."""
    parser = levt_speed.parser(__doc__)
    parser.add_argument("--updates", type=common.count, default=150)
    parser.set_defaults(
        **dict(device="cuda", layers=3, dim=256, ffn=1024, heads=4, vocab=1000, length=15),
        **dict(tokens=4000, steps=BATCHES),
    )
    args = levt_speed.ready(parser.parse_args(argv))
    seeds = (1, 2, 3)
    full, reduced = ([last_loss(seed, tf32, args) for seed in seeds] for tf32 in (False, True))
    differences = ", ".join(f"{b - a:+.4f}" for a, b in zip(full, reduced, strict=True))
    print(f"fp32 {fmean(full):.4f}, seeds differ by {max(full) - min(full):.4f}")
    print(f"TF32 {fmean(reduced):.4f}; at equal seeds {differences}")
    print(common.signature(args))
    return 0


if __name__ == "__main__":
    run_cli(main)
