"""How long a sentence takes: edit models beside an autoregressive one, one sentence at a time.

    python examples/analysis/latency.py data --path levt.pt --ar-path transformer.pt
    python examples/analysis/latency.py data --ar-path pbd.pt   # and guided by drafts

The protocol of the paper's Table 1: batches of one, a few sentences to warm up, then milliseconds
for each sentence and the mean number of iterations, ten at most. Systems take turns sentence by
sentence, in changing order, so that whatever else the machine does slows all of them. Further flags
are fairseq-generate's, such as -s and -t, --gen-subset, or --draft-lang for models that edit.
"""

import argparse
import logging
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, median, quantiles
from typing import Any

from lev_runtime.errors import UserError
from lev_runtime.io.commands import run_cli
from lev_runtime.io.options import Parser

TASK = "translation_edit"
LANGUAGES = ("source_lang", "target_lang", "draft_lang")
WARM_UP = 5  # sentences
GUIDED = "draft-guided"


class System:
    """A model with its data, as fairseq-generate runs it.

    Args:
        cfg: fairseq-generate's configuration.
        edits: whether ``path`` is an edit model.
        guided: whether it reads ahead in the drafts, or in the sources where there are none.

    Iterations of an autoregressive model are the tokens it writes, ``</s>`` included; guided by
    drafts, its passes.
    """

    def __init__(
        self,
        path: str,
        task: Any,
        models: Sequence[Any],
        cfg: Any,
        edits: bool,
        guided: bool = False,
    ) -> None:
        from fairseq import utils
        from fairseq.sequence_generator import SequenceGenerator

        for model in models:
            model.eval()
            model.prepare_for_inference_(cfg)
        self.path, self.task, self.models = path, task, models
        options = argparse.Namespace(**cfg.generation, draft_guided=guided)
        self.generator = task.build_generator(models, options)
        if not edits and not isinstance(self.generator, SequenceGenerator):
            raise UserError(f"{path} is not an autoregressive model; edit models go to --path")
        split = cfg.dataset.gen_subset
        if split not in task.datasets:
            task.load_dataset(split)
        self.data = task.dataset(split)
        self.longest = utils.resolve_max_positions(task.max_positions(), models[0].max_positions())
        self.steps: list[int] = []

    def decode(self, index: int) -> None:
        """One sentence; its iterations are noted."""
        sample = self.data.collater([self.data[index]])
        hypotheses = self.task.inference_step(self.generator, self.models, sample)[0]
        if not hypotheses:
            raise UserError(f"{self.path}: no output for sentence {index}; is the model trained?")
        self.steps.append(int(hypotheses[0].get("steps", len(hypotheses[0]["tokens"]))))


def load(args: argparse.Namespace) -> dict[str, System]:
    """Returns the edit models, and the other by its own task: greedily, guided, with a beam."""
    from fairseq import checkpoint_utils, tasks

    import lev_plugins  # noqa: F401  (registers, because fairseq is loaded)

    systems = {}
    for path in args.path:
        cfg = _config(path, args)
        task = tasks.setup_task(cfg.task)
        models, _ = checkpoint_utils.load_model_ensemble([path], task=task)
        name = path if len(args.path) > 1 else "edit model"
        systems[name] = System(path, task, models, cfg, True)
    if args.ar_path is not None:
        cfg = _config(args.ar_path, args)
        languages = {name: value for name in LANGUAGES if (value := cfg.task.get(name))}
        models, _, task = checkpoint_utils.load_model_ensemble_and_task(
            [args.ar_path], {"data": args.data, "eval_bleu": False, **languages}
        )
        for name, beam in (("greedy", 1), (GUIDED, 1), (f"beam {args.beam}", args.beam)):
            cfg.generation.beam, guided = beam, name == GUIDED
            systems[f"autoregressive, {name}"] = System(
                args.ar_path, task, models, cfg, edits=False, guided=guided
            )
    return systems


def _config(path: str, args: argparse.Namespace) -> Any:
    """fairseq-generate's configuration."""
    from fairseq import options
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf

    words = [args.data, "--path", path, "--task", TASK, *args.flags]
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
    logging.disable(logging.INFO)  # fairseq's
    import torch

    sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
    import common

    torch.set_num_threads(1)
    torch.manual_seed(1)
    with warnings.catch_warnings():  # hydra's advice to fairseq's programmers
        warnings.simplefilter("ignore", UserWarning)
        systems = load(args)
    indices = choose(list(systems.values()), args.sentences)
    decode: dict[str, Callable[[int], None]] = {
        name: system.decode for name, system in systems.items()
    }
    common.milliseconds(decode, indices[:WARM_UP], time.perf_counter)
    for system in systems.values():
        system.steps.clear()
    times = common.milliseconds(decode, indices, time.perf_counter)
    width, first = max(map(len, systems)), median(next(iter(times.values())))
    print(f"{'':{width}}  ms: median      mean       p95  iterations  ratio")
    for name, taken in times.items():
        slow = quantiles(taken, n=20, method="inclusive")[-1] if len(taken) > 1 else taken[0]
        figures = f"{median(taken):>10.2f}{fmean(taken):>10.2f}{slow:>10.2f}"
        steps, ratio = fmean(systems[name].steps), median(taken) / first
        print(f"{name:{width}}  {figures}{steps:>12.2f}{ratio:>7.2f}")
    print(
        "\nbatch 1, one thread; ratio: to the first row; iterations of left-to-right models: tokens"
    )
    print(f"sentences:{len(indices)}|machine:{common.processor()}|torch:{torch.__version__}")


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("data", metavar="DATA", help="folder of preprocess; both dictionaries come from it")
    add("--path", action="append", default=[], metavar="CHECKPOINT", help="an edit model; may be "
        "given again, ratios are to the first")  # fmt: skip
    add("--ar-path", metavar="CHECKPOINT", help="an autoregressive model, run by its own task")
    add("--beam", type=int, default=4, metavar="N", help="its beam, beside greedy (default: 4)")
    add("--sentences", type=int, default=200, metavar="N", help="spread evenly (default: 200)")
    args, args.flags = parser.parse_known_args(argv)
    if not args.path and args.ar_path is None:
        raise UserError("no model: give --path, --ar-path or both")
    return args


if __name__ == "__main__":
    run_cli(main)
