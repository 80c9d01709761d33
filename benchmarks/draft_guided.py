"""Draft-guided decoding beside greedy decoding of the same model: texts, processor time, passes.

    python benchmarks/draft_guided.py WORK/data --path WORK/pbd/checkpoint_last.pt --batches 1,64

DATA is what the checkpoint was trained on, or as that. The systems take turns, batch by batch:
fairseq's generator with a beam of 1; ours without any guess, which is the same decoding with less
around it; ours guided by the drafts, or by the sources where there are none; and, with --beam N,
fairseq's beam search. One thread. Speeds are ratios to the faster of the two greedy ones, by the
medians of milliseconds a sentence. Outputs have to be equal token for token; where one differs, the
two best of the model's choices are looked at, and a difference below 1e-5 is a tie. --outputs
FOLDER gets the references and what each system wrote as lines of text, for ``lev_plugins report``.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

import common
import numpy as np
import torch
from common import count, milliseconds, processor, quiet

from lev_runtime.io.commands import run_cli

# isort: split
from fairseq import checkpoint_utils, utils
from fairseq.dataclass.configs import GenerationConfig

TIE = 1e-5
WARM_UP = 1  # batches
GREEDY, UNGUIDED, GUIDED = "greedy, fairseq's", "greedy, no guess", "draft-guided"


class System:
    """A way to decode; texts: what it wrote, by the sentences' numbers; passes: of the decoder."""

    def __init__(self, name: str, task: Any, model: Any, beam: int = 1) -> None:
        options: Any = GenerationConfig(beam=beam)
        options.draft_guided = name in (UNGUIDED, GUIDED)
        self.task, self.models = task, [model]
        self.generator = task.build_generator([model], options)
        if name == UNGUIDED:
            self.generator.drafts = lambda sample: [[]] * len(sample["id"])
            self.generator.sources = None
        self.texts: dict[int, list[int]] = {}
        self.passes = 0

    def decode(self, sample: Any) -> None:
        hypotheses = self.task.inference_step(self.generator, self.models, sample)
        for number, (best, *_) in zip(sample["id"].tolist(), hypotheses, strict=True):
            self.texts[number] = best["tokens"].tolist()
            self.passes += best.get("steps", len(best["tokens"]))


def is_tie(model: Any, data: Any, number: int, text: Sequence[int], place: int) -> bool:
    """Whether the model's two best choices behind so many tokens of a text are equally good."""
    sample = data.collater([data[number]])
    before = torch.tensor([[data.eos, *text[:place]]])
    inputs = {**sample["net_input"], "prev_output_tokens": before}
    with torch.no_grad():
        logs = model.get_normalized_probs(model(**inputs), log_probs=True)[0, -1]
    first, second = logs.topk(2).values.tolist()
    return first - second <= TIE


def compare(model: Any, data: Any, expected: System, guided: System) -> tuple[int, int]:
    """Texts that differ, and how many of them at ties."""
    differing = ties = 0
    for number, text in expected.texts.items():
        other = guided.texts[number]
        if text != other:
            place = next(i for i, pair in enumerate(zip(text, other)) if pair[0] != pair[1])
            differing += 1
            ties += is_tie(model, data, number, text, place)
    return differing, ties


def main(argv: Sequence[str] | None = None) -> int:
    """Measures, prints a table for each size of a batch; status 1 where a text differs."""
    args = _arguments(argv)
    torch.set_num_threads(1)
    # text that is noisy already gets no more noise
    overrides = {"data": args.data, "eval_bleu": False, "noise_test": "none"}
    with quiet():
        (model,), _, task = checkpoint_utils.load_model_ensemble_and_task([args.path], overrides)
        task.load_dataset(args.subset)
    model.eval()
    if args.double:
        model.double()
    model.make_generation_fast_()
    data = task.dataset(args.subset)
    limits = utils.resolve_max_positions(task.max_positions(), model.max_positions())
    fitting, _ = data.filter_indices_by_size(np.arange(len(data)), limits)
    wrong = 0
    for size in args.batches:
        wanted = max(args.sentences, 4 * size)
        places = np.linspace(0, len(fitting) - 1, min(wanted, len(fitting))).round().astype(int)
        numbers = sorted(fitting[places].tolist(), key=lambda number: data.size(number)[0])
        rows = [numbers[i : i + size] for i in range(0, len(numbers), size)]
        samples = [data.collater([data[number] for number in row]) for row in rows]
        wrong += _measure(args, task, model, data, samples, size)
    print(
        f"sentences: {args.subset} of {args.data}|machine: {processor()}|torch {torch.__version__}"
    )
    return int(wrong > 0)


def _measure(
    args: argparse.Namespace, task: Any, model: Any, data: Any, samples: list[Any], size: int
) -> int:
    """One table; returns how many texts differ though there is no tie."""
    systems = {name: System(name, task, model) for name in (GREEDY, UNGUIDED, GUIDED)}
    if args.beam:
        systems[f"beam {args.beam}"] = System("beam", task, model, args.beam)
    decode = {name: system.decode for name, system in systems.items()}
    milliseconds(decode, samples[:WARM_UP], common.time.process_time)
    for system in systems.values():
        system.passes = 0
    times = milliseconds(decode, samples, common.time.process_time)
    each = {
        name: [time / len(sample["id"]) for time, sample in zip(taken, samples, strict=True)]
        for name, taken in times.items()
    }
    fastest = min((GREEDY, UNGUIDED), key=lambda name: median(each[name]))
    targets = [data[number]["target"] for number in systems[GREEDY].texts]
    print(f"batch {size}: ms a sentence: median      mean  speed  tokens a pass  exact %")
    for name, system in systems.items():
        tokens = sum(map(len, system.texts.values()))
        exact = [
            target is not None and target.tolist() == system.texts[number]
            for number, target in zip(system.texts, targets, strict=True)
        ]
        speed = median(each[fastest]) / median(each[name])
        figures = f"{median(each[name]):>8.2f}{fmean(each[name]):>10.2f}{speed:>7.2f}"
        print(f"{name:>28}{figures}{tokens / system.passes:>15.2f}{100 * fmean(exact):>9.1f}")
    differing, ties = compare(model, data, systems[GREEDY], systems[GUIDED])
    total = len(systems[GREEDY].texts)
    print(f"differing texts: {differing} of {total}, {ties} of them at ties\n", flush=True)
    if args.outputs:
        texts = {name: system.texts for name, system in systems.items()}
        numbers = systems[GREEDY].texts
        texts["reference"] = {number: data[number]["target"].tolist() for number in numbers}
        _write(args.outputs, task, texts)
    return differing - ties


def _write(folder: Path, task: Any, texts: dict[str, dict[int, list[int]]]) -> None:
    """A file for each system, in the order of the data set."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, written in texts.items():
        with open(folder / name.replace(", ", "-").replace(" ", "-"), "w", encoding="utf-8") as out:
            for number in sorted(written):
                pieces = task.target_dictionary.string(torch.tensor(written[number]))
                print(pieces.replace(" ", "").replace("▁", " ").strip(), file=out)


def _sizes(text: str) -> list[int]:
    return [count(size) for size in text.split(",")]


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("data", metavar="DATA", help="folder of preprocess")
    add("--path", required=True, metavar="CHECKPOINT", help="a model that writes left to right")
    add("--subset", default="test", metavar="NAME", help="part of the data (default: test)")
    add("--batches", type=_sizes, default=[1], metavar="N,…", help="sentences at once (default: 1)")
    add("--sentences", type=count, default=200, metavar="N", help="spread evenly (default: 200; 4 "
        "batches at least)")  # fmt: skip
    add("--beam", type=count, metavar="N", help="also fairseq's beam search of this width")
    add("--outputs", type=Path, metavar="FOLDER", help="write texts there (one that begins its "
        "words with ▁)")  # fmt: skip
    add("--double", action="store_true", help="in double precision, where nothing may differ")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(run_cli(main))
