"""What fresh gates do to a trained model: gated-Trans in every variant, before any training.

    python benchmarks/fresh_gates.py my/none/checkpoint_last.pt my/data --split valid

A ``gated_transformer --gates none`` gets the gates of each row, as they start, beside its own
parameters. Bits and accuracy are of the reference's tokens, each after the reference before it.
"""

import argparse
import copy
import math
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from fairseq import checkpoint_utils, utils
from torch import Tensor

import lev_plugins  # noqa: F401
from lev_plugins.errors import UserError

ROWS = (
    ("none", "pointer"),
    ("mask,copy,generate", "pointer"),
    ("mask,copy,generate,skip", "pointer"),
    ("mask,copy,generate,skip", "paper"),
)


def batches(task: Any, split: str, tokens: int) -> Iterator[Any]:
    """The split, always in the same batches."""
    task.load_dataset(split)
    yield from task.get_batch_iterator(
        task.dataset(split), max_tokens=tokens, max_positions=task.max_positions(), seed=1
    ).next_epoch_itr(shuffle=False)


@torch.no_grad()
def judge(model: Any, data: Sequence[Any], pad: int) -> tuple[float, float]:
    """Bits and accuracy of a token."""
    bits = right = count = 0.0
    for batch in data:
        target: Tensor = batch["target"]
        output = model(**batch["net_input"])
        scores = model.get_normalized_probs(output, log_probs=True)
        real = target.ne(pad)
        found = scores.gather(2, target.unsqueeze(2)).squeeze(2)
        bits -= float(found[real].sum()) / math.log(2)
        right += int(scores.argmax(2).eq(target)[real].sum())
        count += int(real.sum())
    return bits / count, right / count


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkpoint", help="of a gated_transformer with --gates none")
    parser.add_argument("data", help="binarised data, as for fairseq-train")
    parser.add_argument("--split", default="valid")
    parser.add_argument("--max-tokens", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(arguments)
    (trained,), cfg, task = checkpoint_utils.load_model_ensemble_and_task(
        [args.checkpoint], arg_overrides={"data": args.data}
    )
    if getattr(cfg.model, "gates", None) != "none":
        raise UserError(f"{args.checkpoint}: no gated_transformer with --gates none")
    # the same noise for all
    data = [utils.move_to_cpu(one) for one in batches(task, args.split, args.max_tokens) if one]
    print(f"{'gates':<26}{'variant':<10}{'bits':>7}{'accuracy':>10}")
    for gates, variant in ROWS:
        settings = copy.deepcopy(cfg.model)
        settings.gates, settings.gate_variant = gates, variant
        torch.manual_seed(args.seed)
        model = task.build_model(settings).eval()
        model.load_state_dict(trained.state_dict(), strict=False)
        found = judge(model, data, task.target_dictionary.pad())
        shown = "–" if gates == "none" else variant
        print(f"{gates:<26}{shown:<10}{found[0]:>7.3f}{found[1]:>10.3f}", flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        sys.exit(f"error: {error}")
