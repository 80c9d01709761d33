"""How long a sentence takes: edit models beside an autoregressive one, one sentence at a time.

    python examples/analysis/latency.py data --path levt.pt --ar-path transformer.pt

The protocol of the paper's Table 1: batches of one, a few sentences to warm up, then milliseconds
for each sentence and the mean number of iterations. Systems take turns sentence by sentence, in
changing order, so that whatever else the machine does slows all of them.
"""

import argparse
import json
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median
from typing import Any

from lev_plugins.errors import UserError
from lev_plugins.fairseq_patches import run_cli
from lev_plugins.io.output import printable, standard_output, whole_file
from lev_plugins.reports.table import short_name

TASK = "translation_edit"
GREEDY = 1
# Percentile of the slowest sentences that are told.
SLOW = 95

Clock = Callable[[], float]
Decode = Callable[[dict[str, Any]], list[dict[str, Any]]]


@dataclass
class System:
    """Something that decodes sentences: a model, its data, and what was measured.

    decode: sample → hypotheses, the best first. iterations: hypothesis → decoder iterations;
    tokens of the output, ``</s>`` included, for an autoregressive model.
    """

    name: str
    path: str
    data: Any
    decode: Decode
    iterations: Callable[[dict[str, Any]], int]
    longest: Any  # what the model can read and write, in tokens
    specials: frozenset[int]
    milliseconds: list[float] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)

    def measure(self, index: int, device: str, now: Clock) -> None:
        """Decode one sentence and note time, iterations and length."""
        from fairseq import utils

        sample = self.data.collater([self.data[index]])
        if device == "cuda":
            sample = utils.move_to_cuda(sample)
        started = now()
        found = self.decode(sample)
        self.milliseconds.append(1000 * (now() - started))
        if not found:
            raise UserError(f"{self.path}: no output for sentence {index}; is the model trained?")
        best = found[0]
        self.steps.append(int(self.iterations(best)))
        tokens = best["tokens"].tolist()
        self.lengths.append(sum(token not in self.specials for token in tokens))

    def forget(self) -> None:
        """Drop what was measured so far."""
        self.milliseconds, self.steps, self.lengths = [], [], []


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command with the arguments ``argv`` (default: those of the process)."""
    args = build_parser().parse_args(argv)
    _check(args)
    with ExitStack() as stack:
        # Opened first: a folder that cannot be written is told before anything is measured.
        file = stack.enter_context(whole_file(args.json)) if args.json else None
        figures = measure(args)
        if file is not None:
            json.dump(figures, file, ensure_ascii=True, allow_nan=False, indent=1)
            file.write("\n")
    standard_output().write(render_table(figures))


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Measure all systems on the same sentences.

    Returns:
        ``systems``, each with name, path, median_ms, mean_ms, p95_ms, iterations, output_tokens
        (means, without special symbols), ratio (its median over that of the first system) and
        milliseconds (all of them); ``sentences``, their numbers; ``left_out``, how many are too
        long for a model; ``conditions``.

    Raises:
        UserError: a model or data that cannot be used.
    """
    import torch

    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    systems = _systems(args)
    indices, left_out = choose(systems, args.sentences)
    now = clock(args.device)
    for index in indices[: args.warm_up]:
        for system in systems:
            system.measure(index, args.device, now)
    for system in systems:
        system.forget()
    for turn, index in enumerate(indices):
        first = turn % len(systems)
        for system in systems[first:] + systems[:first]:
            system.measure(index, args.device, now)
    return {
        "systems": [_summary(system, systems[0]) for system in systems],
        "sentences": indices,
        "left_out": left_out,
        "conditions": _conditions(args),
    }


def choose(systems: Sequence[System], wanted: int) -> tuple[list[int], int]:
    """Numbers of ``wanted`` sentences that no system finds too long, spread over the data.

    Returns:
        the numbers, and how many sentences are too long.

    Raises:
        UserError: the systems' data differ in size, or nothing is left.
    """
    import numpy as np

    sizes = {len(system.data) for system in systems}
    if len(sizes) > 1:
        raise UserError(
            f"the systems read {' and '.join(map(str, sorted(sizes)))} sentences; their languages "
            "differ: give --source-lang and --target-lang"
        )
    (size,) = sizes
    fitting = np.arange(size)
    for system in systems:
        fitting, _ = system.data.filter_indices_by_size(fitting, system.longest)
    if not len(fitting):
        raise UserError(f"none of the {size} sentences fits the models; check --gen-subset")
    places = np.linspace(0, len(fitting) - 1, min(wanted, len(fitting))).round().astype(int)
    return [int(fitting[place]) for place in places], size - len(fitting)


def clock(device: str) -> Clock:
    """A function that gives seconds once all work on the device is done."""
    if device == "cpu":
        return time.perf_counter
    import torch

    def now() -> float:
        torch.cuda.synchronize()
        return time.perf_counter()

    return now


def _summary(system: System, first: System) -> dict[str, Any]:
    import numpy as np

    times = system.milliseconds
    return {
        "name": system.name,
        "path": system.path,
        "median_ms": median(times),
        "mean_ms": fmean(times),
        "p95_ms": float(np.percentile(times, SLOW)),
        "iterations": fmean(system.steps),
        "output_tokens": fmean(system.lengths),
        "ratio": median(times) / median(first.milliseconds),
        "milliseconds": times,
    }


# ---------------------------------------------------------------- systems


def _systems(args: argparse.Namespace) -> list[System]:
    with warnings.catch_warnings():  # hydra's advice to fairseq's programmers
        warnings.simplefilter("ignore", UserWarning)
        systems = [_edit_system(path, args) for path in args.path]
        if args.ar_path is not None:
            systems += _autoregressive_systems(args)
    if len(args.path) > 1:
        for system in systems[: len(args.path)]:
            system.name = system.path
    return systems


def _config(path: str, args: argparse.Namespace) -> Any:
    """fairseq-generate's configuration for an edit model."""
    from fairseq import options
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf

    words = [args.data, "--path", path, "--task", TASK, "--gen-subset", args.gen_subset]
    words += ["--iter-decode-max-iter", str(args.max_iter)]
    for name in ("source_lang", "target_lang", "draft_lang"):
        if (value := getattr(args, name)) is not None:
            words += ["--" + name.replace("_", "-"), value]
    parser = options.get_generation_parser(default_task=TASK)
    return convert_namespace_to_omegaconf(options.parse_args_and_arch(parser, input_args=words))


def _edit_system(path: str, args: argparse.Namespace) -> System:
    """An edit model as fairseq-generate runs it."""
    from fairseq import checkpoint_utils, tasks

    cfg = _config(path, args)
    task = tasks.setup_task(cfg.task)
    models, _ = checkpoint_utils.load_model_ensemble([path], task=task)
    decode = _decoder(task, models, cfg, args)
    name = "edit model" if args.draft_lang is None else "edit model, from drafts"
    return _made(name, path, task, models, decode, args, lambda best: best["steps"])


def _autoregressive_systems(args: argparse.Namespace) -> list[System]:
    """A checkpoint with its own task, greedily and with a beam.

    Raises:
        UserError: the checkpoint is not of an autoregressive model.
    """
    from fairseq import checkpoint_utils
    from fairseq.sequence_generator import SequenceGenerator

    cfg = _config(args.ar_path, args)
    changed: dict[str, Any] = {"data": args.data, "eval_bleu": False}
    for name in ("source_lang", "target_lang", "draft_lang"):
        if getattr(args, name) is not None:  # drafts: where its task has any
            changed[name] = getattr(args, name)
    models, _, task = checkpoint_utils.load_model_ensemble_and_task([args.ar_path], changed)
    systems = []
    for beam in dict.fromkeys((GREEDY, args.beam)):
        cfg.generation.beam = beam
        if not isinstance(task.build_generator(models, cfg.generation), SequenceGenerator):
            raise UserError(
                f"{args.ar_path} is not an autoregressive model; --ar-path is for one of fairseq's "
                "transformers, edit models go to --path"
            )
        decode = _decoder(task, models, cfg, args)
        name = "autoregressive, " + ("greedy" if beam == GREEDY else f"beam {beam}")
        system = _made(
            name, args.ar_path, task, models, decode, args, lambda best: len(best["tokens"])
        )
        systems.append(system)
    return systems


def _decoder(task: Any, models: Sequence[Any], cfg: Any, args: argparse.Namespace) -> Decode:
    """A function from a batch of one to its hypotheses."""
    for model in models:
        model.to(args.device).eval()
        model.prepare_for_inference_(cfg)
    generator = task.build_generator(models, cfg.generation)
    return lambda sample: task.inference_step(generator, models, sample)[0]


def _made(
    name: str,
    path: str,
    task: Any,
    models: Sequence[Any],
    decode: Decode,
    args: argparse.Namespace,
    iterations: Callable[[dict[str, Any]], int],
) -> System:
    from fairseq import utils

    if args.gen_subset not in task.datasets:
        task.load_dataset(args.gen_subset)
    symbols = task.target_dictionary
    return System(
        name,
        path,
        task.dataset(args.gen_subset),
        decode,
        iterations,
        utils.resolve_max_positions(task.max_positions(), models[0].max_positions()),
        frozenset((symbols.bos(), symbols.pad(), symbols.eos())),
    )


# ---------------------------------------------------------------- the report


def _conditions(args: argparse.Namespace) -> dict[str, Any]:
    """What the times depend on."""
    import torch

    sys.path.append(str(Path(__file__).resolve().parents[2]))
    from benchmarks.machine import machine

    return {
        "machine": f"{machine(args.device)}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "device": args.device,
        "threads": torch.get_num_threads(),
        "split": args.gen_subset,
        "drafts": args.draft_lang or "none",
        "warm_up": args.warm_up,
        "max_iter": args.max_iter,
    }


def render_table(figures: dict[str, Any]) -> str:
    """The figures of :func:`measure` as text that ends in a line end."""
    systems, about = figures["systems"], figures["conditions"]
    heads = ("ms: median", "mean", "p95", "iterations", "output tokens", "ratio")
    names = [short_name(one["name"]) for one in systems]
    left = max(map(len, names))
    lines = [" " * left + "".join(f"  {head:>{max(len(head), 8)}}" for head in heads)]
    for name, one in zip(names, systems):
        numbers = (
            f"{one['median_ms']:.2f}",
            f"{one['mean_ms']:.2f}",
            f"{one['p95_ms']:.2f}",
            f"{one['iterations']:.2f}",
            f"{one['output_tokens']:.1f}",
            f"{one['ratio']:.2f}",
        )
        cells = [f"  {n:>{max(len(head), 8)}}" for n, head in zip(numbers, heads)]
        lines.append(name.ljust(left) + "".join(cells))
    lines += [
        "",
        f"batch 1; ratio: median over that of {names[0]}; iterations of an autoregressive model: "
        "tokens written, </s> included",
    ]
    if figures["left_out"]:
        lines.append(f"note: {figures['left_out']} sentences are too long for a model: left out")
    said = {"sentences": len(figures["sentences"]), **about}
    lines.append("|".join(f"{name}:{printable(str(value))}" for name, value in said.items()))
    return "\n".join(lines) + "\n"


# ---------------------------------------------------------------- options


def build_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        description="Milliseconds and iterations a sentence, one at a time, of edit models and of "
        "an autoregressive model, which take turns.",
        epilog="example: %(prog)s data --path levt.pt --ar-path transformer.pt --sentences 200 "
        "--device cuda --json latency.json",
    )
    add = parser.add_argument
    add("data", metavar="DATA", help="folder of preprocess; both dictionaries come from it")
    add(
        "--path",
        action="append",
        required=True,
        metavar="CHECKPOINT",
        help="an edit model; give it again for another one, ratios are to the first",
    )
    add("--ar-path", metavar="CHECKPOINT", help="an autoregressive model, run by its own task")
    add("--beam", type=int, default=4, metavar="N", help="its beam, beside greedy (default: 4)")
    add("--gen-subset", default="test", metavar="SPLIT", help="split of DATA (default: test)")
    add("--source-lang", metavar="LANG", help="source language (default: as DATA says)")
    add("--target-lang", metavar="LANG", help="target language (default: as DATA says)")
    add("--draft-lang", metavar="LANG", help="edit drafts of this suffix, not from nothing")
    add("--max-iter", type=int, default=10, metavar="N", help="most iterations (default: 10)")
    add(
        "--sentences",
        type=int,
        default=200,
        metavar="N",
        help="how many, spread over the split (default: 200; all where there are fewer)",
    )
    add("--warm-up", type=int, default=5, metavar="N", help="sentences before (default: 5)")
    add("--threads", type=int, default=1, metavar="N", help="threads of torch (default: 1)")
    add("--device", choices=("cpu", "cuda"), default="cpu", help="where to run (default: cpu)")
    add("--json", metavar="FILE", help="also write all numbers as JSON")
    return parser


def _check(args: argparse.Namespace) -> None:
    import torch

    for name, least in (
        ("beam", 1), ("max_iter", 1), ("sentences", 1), ("warm_up", 0), ("threads", 1)
    ):  # fmt: skip
        if getattr(args, name) < least:
            flag = "--" + name.replace("_", "-")
            raise UserError(f"{flag} {getattr(args, name)}: give {least} or more")
    if not os.path.isdir(args.data):
        raise UserError(f"data folder {args.data} does not exist; run preprocess first")
    for path in [*args.path, *([args.ar_path] if args.ar_path is not None else [])]:
        if not os.path.isfile(path):
            raise UserError(f"checkpoint {path} does not exist; check --path and --ar-path")
    if args.json == "":
        raise UserError("--json needs the name of a file")
    if args.device == "cuda" and not torch.cuda.is_available():
        raise UserError("--device cuda: torch finds no GPU here; leave the option out")


if __name__ == "__main__":
    run_cli(main)
