"""How long a sentence takes: edit models beside an autoregressive one, one sentence at a time.

    python examples/analysis/latency.py data --path levt.pt --ar-path transformer.pt

The protocol of the paper's Table 1: batches of one, a few sentences to warm up, then milliseconds
for each sentence and the mean number of iterations. Systems take turns sentence by sentence, in
changing order, so that whatever else the machine does slows all of them.
"""

import argparse
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, median, quantiles
from typing import Any

from lev_plugins.errors import UserError
from lev_plugins.fairseq_patches import run_cli

TASK = "translation_edit"
LANGUAGES = ("source_lang", "target_lang", "draft_lang")


class System:
    """A model with its data, as fairseq-generate runs it.

    Args:
        cfg: fairseq-generate's configuration.
        edits: whether ``path`` is an edit model; one that is not counts written tokens, ``</s>``
            included, as iterations.
    """

    def __init__(
        self, path: str, task: Any, models: Sequence[Any], cfg: Any, edits: bool, device: str
    ) -> None:
        from fairseq import utils
        from fairseq.sequence_generator import SequenceGenerator

        for model in models:
            model.to(device).eval()
            model.prepare_for_inference_(cfg)
        self.path, self.task, self.models, self.edits = path, task, models, edits
        self.generator = task.build_generator(models, cfg.generation)
        if not edits and not isinstance(self.generator, SequenceGenerator):
            raise UserError(f"{path} is not an autoregressive model; edit models go to --path")
        split = cfg.dataset.gen_subset
        if split not in task.datasets:
            task.load_dataset(split)
        self.data = task.dataset(split)
        self.longest = utils.resolve_max_positions(task.max_positions(), models[0].max_positions())
        self.move = utils.move_to_cuda if device == "cuda" else lambda sample: sample
        self.steps: list[int] = []

    def decode(self, index: int) -> None:
        """One sentence; its iterations are noted."""
        sample = self.move(self.data.collater([self.data[index]]))
        found = self.task.inference_step(self.generator, self.models, sample)[0]
        if not found:
            raise UserError(f"{self.path}: no output for sentence {index}; is the model trained?")
        self.steps.append(int(found[0]["steps"] if self.edits else len(found[0]["tokens"])))


def load(args: argparse.Namespace) -> dict[str, System]:
    """The edit models, and the other with its own task, greedily and with a beam."""
    from fairseq import checkpoint_utils, tasks

    systems = {}
    for path in args.path:
        cfg = _config(path, args)
        task = tasks.setup_task(cfg.task)
        models, _ = checkpoint_utils.load_model_ensemble([path], task=task)
        name = path if len(args.path) > 1 else "edit model"
        systems[name] = System(path, task, models, cfg, True, args.device)
    if args.ar_path is not None:
        cfg = _config(args.ar_path, args)
        given = {name: getattr(args, name) for name in LANGUAGES if getattr(args, name) is not None}
        models, _, task = checkpoint_utils.load_model_ensemble_and_task(
            [args.ar_path], {"data": args.data, "eval_bleu": False, **given}
        )
        for name, beam in (("greedy", 1), (f"beam {args.beam}", args.beam)):
            cfg.generation.beam = beam
            found = System(args.ar_path, task, models, cfg, False, args.device)
            systems[f"autoregressive, {name}"] = found
    return systems


def _config(path: str, args: argparse.Namespace) -> Any:
    """fairseq-generate's configuration."""
    from fairseq import options
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf

    words = [args.data, "--path", path, "--task", TASK, "--gen-subset", args.gen_subset]
    words += ["--iter-decode-max-iter", str(args.max_iter)]
    for name in LANGUAGES:
        if (value := getattr(args, name)) is not None:
            words += ["--" + name.replace("_", "-"), value]
    parser = options.get_generation_parser(default_task=TASK)
    return convert_namespace_to_omegaconf(options.parse_args_and_arch(parser, input_args=words))


def choose(systems: Sequence[System], wanted: int) -> list[int]:
    """Numbers of ``wanted`` sentences that no system finds too long, spread over the data.

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
    fitting = np.arange(*sizes)
    for system in systems:
        fitting, _ = system.data.filter_indices_by_size(fitting, system.longest)
    if not len(fitting):
        raise UserError("no sentence fits the models; check --gen-subset")
    places = np.linspace(0, len(fitting) - 1, min(wanted, len(fitting))).round().astype(int)
    return [int(fitting[place]) for place in places]


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print."""
    args = _arguments(argv)
    import torch

    sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
    import common

    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    with warnings.catch_warnings():  # hydra's advice to fairseq's programmers
        warnings.simplefilter("ignore", UserWarning)
        systems = load(args)
    indices = choose(list(systems.values()), args.sentences)
    decode: dict[str, Callable[[int], None]] = {name: one.decode for name, one in systems.items()}
    common.milliseconds(decode, indices[: args.warm_up], common.clock(args))
    for system in systems.values():
        system.steps.clear()
    times = common.milliseconds(decode, indices, common.clock(args))
    width, first = max(map(len, systems)), median(next(iter(times.values())))
    print(f"{'':{width}}  ms: median      mean       p95  iterations  ratio")
    for name, taken in times.items():
        slow = quantiles(taken, n=20, method="inclusive")[-1] if len(taken) > 1 else taken[0]
        figures = f"{median(taken):>10.2f}{fmean(taken):>10.2f}{slow:>10.2f}"
        steps, ratio = fmean(systems[name].steps), median(taken) / first
        print(f"{name:{width}}  {figures}{steps:>12.2f}{ratio:>7.2f}")
    print("\nbatch 1; ratio: to the first; iterations of an autoregressive model: tokens written")
    print(f"sentences:{len(indices)}|machine:{common.machine(args.device)}|threads:{args.threads}"
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
    parser.set_defaults(clock="wall")
    return parser.parse_args(argv)


if __name__ == "__main__":
    run_cli(main)
