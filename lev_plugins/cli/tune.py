"""Chooses how an edit model decodes by what its outputs score on the validation set.

    python -m lev_plugins.cli.tune DATA --path checkpoint_last.pt --remove-bpe sentencepiece

The empty penalty γ (§3.3) and the probability above which a token is deleted decide how much is
written and how much of it stays. All pairs of the values given are decoded and scored; the last
line has the flags of the best for fairseq-generate and fairseq-interactive. --keep puts them
into the checkpoint, which is then decoded so unless other flags are given.
"""

import argparse
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from ..errors import UserError
from ..fairseq_patches import run_cli
from ..inference.checkpoints import load_state, separate_paths
from ..inference.corpus import Corpus, load, read_corpus, scorer, text_of
from ..io.output import standard_output
from ..io.progress import progress
from ..io.text_files import SUBWORDS
from ..metrics.corpus import METRICS, Metric, make_metric
from .options import adder, at_least_one, make_parser

if TYPE_CHECKING:
    from ..systems.levenshtein.task import TranslationEditTask

GAMMAS = "0,0.5,1,2"
THRESHOLDS = "0.5,0.7,0.8,0.9"


@dataclass(frozen=True)
class Choice:
    """A pair of settings: the corpus score, and how long outputs are to references in words."""

    gamma: float
    threshold: float
    score: float
    length: float
    iterations: float

    @property
    def flags(self) -> str:
        return f"--iter-decode-eos-penalty {self.gamma:g} --delete-threshold {self.threshold:g}"


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command with the arguments ``argv`` (default: those of the process)."""
    args = build_parser().parse_args(argv)
    check(args)
    metric = make_metric(args.metric)
    task, models = load(args)
    corpus = read_corpus(task, models, args)
    pairs = len(args.gammas) * len(args.thresholds)
    choices = list(progress(choose(task, models, corpus, metric, args), "settings", pairs))
    out = standard_output()
    out.write(f"{args.gen_subset}: {len(corpus.references)} sentences\n")
    out.write(render(choices, metric))
    if args.keep:
        keep(best_of(choices, metric), args.path)
        out.write(f"kept in {args.path}\n")


def choose(
    task: "TranslationEditTask",
    models: Sequence[Any],
    corpus: Corpus,
    metric: Metric,
    args: argparse.Namespace,
) -> Iterator[Choice]:
    """Every pair of ``args.gammas`` and ``args.thresholds``, decoded and scored."""
    score, text = scorer(metric), text_of(task, args.remove_bpe)
    words = sum(len(one.split()) for one in corpus.references.values())
    for gamma in args.gammas:
        flags = argparse.Namespace(
            iter_decode_max_iter=args.max_iter, iter_decode_eos_penalty=gamma
        )
        for threshold in args.thresholds:
            task.cfg.delete_threshold = threshold
            generator = task.build_generator(models, flags)
            outputs, steps = {}, []
            for batch in corpus.batches:
                found = generator.generate(models, batch)
                for number, (best, *_) in zip(batch["id"].tolist(), found, strict=True):
                    outputs[number] = text(best["tokens"], False)
                    steps.append(best["steps"])
            length = sum(len(one.split()) for one in outputs.values()) / max(words, 1)
            points = score(outputs, corpus.references)
            yield Choice(gamma, threshold, points, length, fmean(steps))


def keep(choice: Choice, path: str) -> None:
    """Puts a choice into a checkpoint.

    Raises:
        UserError: the checkpoint cannot be read or written.
    """
    from fairseq import checkpoint_utils
    from omegaconf import OmegaConf

    from ..systems.levenshtein.task import TUNED

    state = load_state(path)
    state["cfg"].task.delete_threshold = None  # the training's: it had nothing to choose by
    state["cfg"] = OmegaConf.to_container(state["cfg"], enum_to_str=True)  # as fairseq saves it
    tuned = {"empty_penalty": choice.gamma, "delete_threshold": choice.threshold}
    state.setdefault("task_state", {})[TUNED] = tuned
    checkpoint_utils.torch_persistent_save(state, path)


def best_of(choices: Sequence[Choice], metric: Metric) -> Choice:
    """The best score; of equal ones the first, which changes decoding least."""
    sign = 1 if metric.higher_is_better else -1
    return max(choices, key=lambda one: sign * one.score)


def render(choices: Sequence[Choice], metric: Metric) -> str:
    """A line for each pair, then the flags of the best."""
    lines = [f"{'gamma':>6} {'threshold':>9} {metric.name:>10} {'length':>7} {'iterations':>10}"]
    lines += [
        f"{one.gamma:>6g} {one.threshold:>9g} {one.score:>10.2f} {one.length:>7.3f} "
        f"{one.iterations:>10.2f}"
        for one in choices
    ]
    lines.append(f"length: words written over words of the references; {metric.signature()}")
    return "\n".join([*lines, best_of(choices, metric).flags]) + "\n"


def build_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = make_parser(
        "tune",
        "Chooses the empty penalty and the deletion threshold on a validation set.",
    )
    add = adder(parser)
    add("data DATA", "folder that preprocess wrote")
    add("--path FILES", "checkpoint, or several joined by colons: an ensemble", required=True)
    add("--gen-subset SPLIT", "split to decode (default: valid)", "valid")
    add("--source-lang -s LANG", "default: as the data folder says")
    add("--target-lang -t LANG", "default: as the data folder says")
    add("--draft-lang LANG", "suffix of the drafts (default: from nothing)")
    add("--metric NAME", f"of {', '.join(METRICS)} (default: bleu)", "bleu")
    add("--references FILE", "references as text (default: those in DATA)")
    add("--remove-bpe", "join subwords or characters to words", choices=sorted(SUBWORDS))
    add("--gammas LIST", f"empty penalties (default: {GAMMAS})", GAMMAS)
    add("--thresholds LIST", f"deletion thresholds (default: {THRESHOLDS})", THRESHOLDS)
    add("--max-iter N", "T_max (default: 10)", 10)
    add("--batch-size N", "sentences at once (default: 64)", 64)
    add("--skip-invalid-size-inputs-valid-test", "leave out lines that are too long, and name them")
    add("--keep", "put the best pair into the checkpoint")
    add("--cpu", "use no GPU")
    return parser


def check(args: argparse.Namespace) -> None:
    """Reads the lists of numbers.

    Raises:
        UserError: values that nothing can be decoded with.
    """
    at_least_one(args, "max_iter", "batch_size")
    if args.keep and len(separate_paths(args.path)) > 1:
        raise UserError(f"--keep: give one checkpoint, not several ({args.path})")
    if args.metric not in METRICS:
        raise UserError(f"--metric {args.metric}: choose one of {', '.join(METRICS)}")
    if args.references is not None and not os.path.isfile(args.references):
        raise UserError(f"--references {args.references} does not exist; check the path")
    args.gammas = _numbers("--gammas", args.gammas, 3.0)
    args.thresholds = _numbers("--thresholds", args.thresholds, 1.0)
    args.delete_threshold = args.thresholds[0]


def _numbers(flag: str, text: str, most: float) -> list[float]:
    try:
        found = [float(one) for one in text.split(",")]
    except ValueError:
        found = []
    if not found or not all(0 <= one <= most for one in found):
        raise UserError(f"{flag} {text}: give numbers from 0 to {most:g}, with commas between them")
    return found


if __name__ == "__main__":
    run_cli(main)
