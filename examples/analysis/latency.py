"""How long a sentence takes: edit models beside an autoregressive one, one sentence at a time.

    python examples/analysis/latency.py data --path levt.pt --ar-path transformer.pt

The protocol of the paper's Table 1: batches of one, a few sentences to warm up, then milliseconds
for each sentence and the mean number of iterations. Systems take turns sentence by sentence, in
changing order, so that whatever else the machine does slows all of them.
"""

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median, quantiles
from typing import Any

from lev_plugins.errors import UserError
from lev_plugins.fairseq_patches import run_cli

TASK = "translation_edit"
GREEDY = 1

Decode = Callable[[dict[str, Any]], list[dict[str, Any]]]


@dataclass
class System:
    """Something that decodes sentences: a model, its data, and what was measured.

    decode: sample → hypotheses, the best first. iterations: hypothesis → decoder iterations;
    tokens of the output, ``</s>`` included, for an autoregressive model. longest: what the model
    can read and write, in tokens.
    """

    name: str
    path: str
    data: Any
    decode: Decode
    iterations: Callable[[dict[str, Any]], int]
    longest: Any
    milliseconds: list[float] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)

    def measure(self, index: int, now: Callable[[], float], move: Callable[[Any], Any]) -> None:
        """Decode one sentence and note time and iterations."""
        sample = move(self.data.collater([self.data[index]]))
        started = now()
        found = self.decode(sample)
        self.milliseconds.append(1000 * (now() - started))
        if not found:
            raise UserError(f"{self.path}: no output for sentence {index}; is the model trained?")
        self.steps.append(int(self.iterations(found[0])))

    def line(self, first: "System", width: int) -> str:
        """Its line of the table; the ratio is its median over that of the first system."""
        times = self.milliseconds
        slow = quantiles(times, n=20, method="inclusive")[-1] if len(times) > 1 else times[0]
        ratio = median(times) / median(first.milliseconds)
        return (
            f"{self.name:{width}}  {median(times):>10.2f}{fmean(times):>10.2f}{slow:>10.2f}"
            f"{fmean(self.steps):>12.2f}{ratio:>7.2f}"
        )


def measure(systems: Sequence[System], indices: Sequence[int], args: argparse.Namespace) -> None:
    """All systems on the same sentences, in turn; the first ``--warm-up`` of them twice."""
    import torch
    from fairseq import utils

    def now() -> float:
        if args.device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()

    move = utils.move_to_cuda if args.device == "cuda" else lambda sample: sample
    for index in indices[: args.warm_up]:
        for system in systems:
            system.measure(index, now, move)
    for system in systems:
        system.milliseconds, system.steps = [], []
    for turn, index in enumerate(indices):
        first = turn % len(systems)
        for system in [*systems[first:], *systems[:first]]:
            system.measure(index, now, move)


def choose(systems: Sequence[System], wanted: int) -> tuple[list[int], int]:
    """Numbers of ``wanted`` sentences that no system finds too long, spread over the data, and how
    many are too long.

    Raises:
        UserError: the systems' data differ in size, or nothing is left.
    """
    import numpy as np

    sizes = {len(system.data) for system in systems}
    if len(sizes) > 1:
        raise UserError(
            f"the systems read {' and '.join(map(str, sorted(sizes)))} sentences; their languages "
            "differ: give -s and -t"
        )
    (size,) = sizes
    fitting = np.arange(size)
    for system in systems:
        fitting, _ = system.data.filter_indices_by_size(fitting, system.longest)
    if not len(fitting):
        raise UserError(f"none of the {size} sentences fits the models; check --gen-subset")
    places = np.linspace(0, len(fitting) - 1, min(wanted, len(fitting))).round().astype(int)
    return [int(fitting[place]) for place in places], size - len(fitting)


# ---------------------------------------------------------------- systems


def load(args: argparse.Namespace) -> list[System]:
    """The edit models as fairseq-generate runs them; the other with its own task, greedily and
    with a beam."""
    from fairseq import checkpoint_utils, tasks

    systems = []
    for path in args.path:
        cfg = _config(path, args)
        task = tasks.setup_task(cfg.task)
        models, _ = checkpoint_utils.load_model_ensemble([path], task=task)
        name = path if len(args.path) > 1 else "edit model"
        systems.append(_system(name, path, task, models, cfg, args, lambda best: best["steps"]))
    if args.ar_path is not None:
        cfg = _config(args.ar_path, args)
        names = ("source_lang", "target_lang", "draft_lang")
        given = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
        models, _, task = checkpoint_utils.load_model_ensemble_and_task(
            [args.ar_path], {"data": args.data, "eval_bleu": False, **given}
        )
        for beam in dict.fromkeys((GREEDY, args.beam)):
            cfg.generation.beam = beam
            name = "autoregressive, " + ("greedy" if beam == GREEDY else f"beam {beam}")
            written = lambda best: len(best["tokens"])  # noqa: E731
            systems.append(_system(name, args.ar_path, task, models, cfg, args, written))
    return systems


def _config(path: str, args: argparse.Namespace) -> Any:
    """fairseq-generate's configuration."""
    from fairseq import options
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf

    words = [args.data, "--path", path, "--task", TASK, "--gen-subset", args.gen_subset]
    words += ["--iter-decode-max-iter", str(args.max_iter)]
    for name in ("source_lang", "target_lang", "draft_lang"):
        if (value := getattr(args, name)) is not None:
            words += ["--" + name.replace("_", "-"), value]
    parser = options.get_generation_parser(default_task=TASK)
    return convert_namespace_to_omegaconf(options.parse_args_and_arch(parser, input_args=words))


def _system(
    name: str,
    path: str,
    task: Any,
    models: Sequence[Any],
    cfg: Any,
    args: argparse.Namespace,
    iterations: Callable[[dict[str, Any]], int],
) -> System:
    from fairseq import utils
    from fairseq.sequence_generator import SequenceGenerator

    for model in models:
        model.to(args.device).eval()
        model.prepare_for_inference_(cfg)
    generator = task.build_generator(models, cfg.generation)
    if path == args.ar_path and not isinstance(generator, SequenceGenerator):
        raise UserError(f"{path} is not an autoregressive model; edit models go to --path")
    if args.gen_subset not in task.datasets:
        task.load_dataset(args.gen_subset)

    def decode(sample: dict[str, Any]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = task.inference_step(generator, models, sample)[0]
        return found

    longest = utils.resolve_max_positions(task.max_positions(), models[0].max_positions())
    return System(name, path, task.dataset(args.gen_subset), decode, iterations, longest)


# ---------------------------------------------------------------- command


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print."""
    args = _arguments(argv)
    import torch

    sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
    from common import machine

    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    with warnings.catch_warnings():  # hydra's advice to fairseq's programmers
        warnings.simplefilter("ignore", UserWarning)
        systems = load(args)
    indices, left_out = choose(systems, args.sentences)
    measure(systems, indices, args)
    width = max(len(one.name) for one in systems)
    print(f"{'':{width}}  ms: median      mean       p95  iterations  ratio")
    print(*(one.line(systems[0], width) for one in systems), sep="\n")
    print(f"\nbatch 1; ratio: median over that of {systems[0].name}; iterations of an")
    print("autoregressive model: tokens written, </s> included")
    if left_out:
        print(f"note: {left_out} sentences are too long for a model: left out")
    print(f"sentences:{len(indices)}|machine:{machine(args.device)}|threads:{args.threads}"
          f"|torch:{torch.__version__}|max_iter:{args.max_iter}")  # fmt: skip


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("data", metavar="DATA", help="folder of preprocess; both dictionaries come from it")
    add("--path", action="append", required=True, metavar="CHECKPOINT", help="an edit model; may "
        "be given again, ratios are to the first")  # fmt: skip
    add("--ar-path", metavar="CHECKPOINT", help="an autoregressive model, run by its own task")
    add("--beam", type=int, default=4, metavar="N", help="its beam, beside greedy (default: 4)")
    add("--gen-subset", default="test", metavar="SPLIT", help="split of DATA (default: test)")
    add("-s", "--source-lang", metavar="LANG", help="source language (default: as DATA says)")
    add("-t", "--target-lang", metavar="LANG", help="target language (default: as DATA says)")
    add("--draft-lang", metavar="LANG", help="edit drafts of this suffix, not from nothing")
    add("--max-iter", type=int, default=10, metavar="N", help="most iterations (default: 10)")
    add("--sentences", type=int, default=200, metavar="N", help="spread evenly (default: 200)")
    add("--warm-up", type=int, default=5, metavar="N", help="sentences before (default: 5)")
    add("--threads", type=int, default=1, metavar="N", help="threads of torch (default: 1)")
    add("--device", choices=("cpu", "cuda"), default="cpu", help="where to run (default: cpu)")
    args = parser.parse_args(argv)
    for name in ("beam", "max_iter", "sentences", "threads"):
        if getattr(args, name) < 1:
            raise UserError(f"--{name.replace('_', '-')} {getattr(args, name)}: give 1 or more")
    if not os.path.isdir(args.data):
        raise UserError(f"data folder {args.data} does not exist; run preprocess first")
    for path in filter(None, [*args.path, args.ar_path]):
        if not os.path.isfile(path):
            raise UserError(f"checkpoint {path} does not exist; check --path and --ar-path")
    return args


if __name__ == "__main__":
    run_cli(main)
