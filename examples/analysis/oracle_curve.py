"""Scores by the number of iterations, with and without the help of an oracle (paper, Fig. 5).

    python examples/analysis/oracle_curve.py DATA --path checkpoint_best.pt --draft-lang mt \\
        --csv curve.csv --png curve.png

Each mode is decoded once: the output for a limit of t iterations is the state after iteration t,
because decoding runs exactly as many iterations as it may (Algorithm 2). A table goes to stdout.
"""

import argparse
import csv
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from statistics import fmean
from typing import TYPE_CHECKING, Any

from oracle import ORACLES, with_oracle  # beside this file
from plotting import png

from lev_plugins.errors import UserError
from lev_plugins.fairseq_patches import run_cli
from lev_plugins.io.output import standard_output, whole_file
from lev_plugins.io.text_files import SUBWORDS, read_lines
from lev_plugins.metrics.corpus import METRICS, Metric, add_up, make_metric
from lev_plugins.systems.levenshtein.decoding.policy import EnsemblePolicy, is_edit_model

if TYPE_CHECKING:
    from fairseq.models import BaseFairseqModel
    from torch import Tensor

    from lev_plugins.data.batch import Batch
    from lev_plugins.systems.levenshtein.task import TranslationEditTask

NO_EDIT_BASELINE = "no-edit baseline"
COLUMNS = ("mode", "max_iter", "metric", "score", "mean_iterations")
# colours of Okabe and Ito; lines and markers say the same in grey
STYLES = {"none": ("#000000", "o-"), "deletion": ("#0072b2", "s--")}
STYLES["deletion+placeholder"] = ("#d55e00", "^-.")


@dataclass(frozen=True)
class Point:
    """One point of the curve: a mode, or the no-edit baseline, under a limit of iterations."""

    mode: str
    max_iter: int
    score: float
    mean_iterations: float


@dataclass(frozen=True)
class Decoded:
    """A sentence: its outputs under limits of 1, 2, … iterations, and how many it took."""

    outputs: list[str]
    steps: int


@dataclass(frozen=True)
class Corpus:
    """What is decoded: batches, and texts by the number of the sentence.

    drafts is None where there are none.
    """

    batches: list["Batch"]
    references: dict[int, str]
    drafts: dict[int, str] | None


# ---------------------------------------------------------------- the data


def load(args: argparse.Namespace) -> tuple["TranslationEditTask", list["BaseFairseqModel"]]:
    """The task for the data folder, set up as fairseq-generate does it, and the edit models.

    Raises:
        UserError: no such data, or a checkpoint that does not fit them or is no edit model's.
    """
    import torch
    from fairseq import checkpoint_utils, options, tasks

    from lev_plugins.inference.checkpoints import find_checkpoints

    words = [args.data, "--task=translation_edit", f"--path={args.path}"]
    for name in ("source_lang", "target_lang", "draft_lang", "delete_threshold"):
        if getattr(args, name, None) is not None:
            words.append(f"--{name.replace('_', '-')}={getattr(args, name)}")
    task = tasks.setup_task(options.parse_args_and_arch(options.get_generation_parser(), words))
    task.load_dataset(args.gen_subset)  # a matter of a moment; the models may not be
    if task.dataset(args.gen_subset).tgt is None:
        raise UserError(f"{args.data}: {args.gen_subset} has no {task.cfg.target_lang} side")
    models, *_ = checkpoint_utils.load_model_ensemble_and_task(
        find_checkpoints(args.path), task=task
    )
    device = "cuda" if torch.cuda.is_available() and not args.cpu else "cpu"
    return task, [model.to(device).eval() for model in models]


def read_corpus(
    task: "TranslationEditTask", models: Sequence["BaseFairseqModel"], args: argparse.Namespace
) -> Corpus:
    """The split's batches, on the models' device, and its texts.

    Raises:
        UserError: sentences that are too long, or references of another number.
    """
    from fairseq import utils

    data = task.dataset(args.gen_subset)
    iterator = task.get_batch_iterator(
        data,
        max_sentences=args.batch_size,
        max_positions=utils.resolve_max_positions(*(model.max_positions() for model in models)),
        required_batch_size_multiple=1,
    )
    batches = list(iterator.next_epoch_itr(shuffle=False))
    text = text_of(task, args.remove_bpe)
    given = None if args.references is None else list(read_lines(args.references))
    if given is not None and len(given) != len(data):
        raise UserError(
            f"--references {args.references} has {len(given)} lines for {len(data)} sentences"
        )
    references: dict[int, str] = {}
    drafts: dict[int, str] = {}
    for batch in batches:
        for row, number in enumerate(batch["id"].tolist()):
            reference = text(batch["target"][row], True) if given is None else given[number]
            references[number] = reference
            if "draft" in batch:
                drafts[number] = text(batch["draft"][row], False)
    if next(models[0].parameters()).is_cuda:
        batches = list(map(utils.move_to_cuda, batches))
    return Corpus(batches, references, drafts or None)


def text_of(task: "TranslationEditTask", remove_bpe: str | None) -> Callable[["Tensor", bool], str]:
    """How fairseq-generate makes text of tokens.

    A reference's unknown words are ``<<unk>>`` with ``escape``, and never count as right.
    """
    symbol = None if remove_bpe is None else SUBWORDS[remove_bpe]
    dictionary = task.tgt_dict

    def text(tokens: "Tensor", escape: bool) -> str:
        words = tokens[tokens.ne(dictionary.pad())].int().cpu()
        return str(dictionary.string(words, symbol, escape_unk=escape))

    return text


# ---------------------------------------------------------------- the curve


def curve(
    task: "TranslationEditTask",
    models: Sequence[Any],
    corpus: Corpus,
    metric: Metric,
    args: argparse.Namespace,
) -> Iterator[Point]:
    """The points of every mode, and of the no-edit baseline where there are drafts."""
    references, statistics = corpus.references, cache(metric.statistics)

    def score(outputs: dict[int, str]) -> float:
        found = (statistics(outputs[number], references[number]) for number in sorted(references))
        return metric.score(add_up(metric, found))

    if corpus.drafts is not None:
        yield Point(NO_EDIT_BASELINE, 0, score(corpus.drafts), 0.0)
    for mode in ORACLES:
        decoded = dict(decode(task, models, corpus, mode, args))
        for limit in range(1, args.max_iter + 1):
            outputs = {number: one.outputs[limit - 1] for number, one in decoded.items()}
            iterations = fmean(min(one.steps, limit) for one in decoded.values())
            yield Point(mode, limit, score(outputs), iterations)
        print(f"{mode}: {len(decoded)} sentences decoded", file=sys.stderr)


def decode(
    task: "TranslationEditTask",
    models: Sequence[Any],
    corpus: Corpus,
    mode: str,
    args: argparse.Namespace,
) -> Iterator[tuple[int, Decoded]]:
    """Every sentence's number, with its outputs under all limits up to ``args.max_iter``."""
    flags = argparse.Namespace(
        iter_decode_max_iter=args.max_iter,
        iter_decode_eos_penalty=args.iter_decode_eos_penalty,
        max_len_b=args.max_len_b,
        retain_iter_history=True,
    )
    generator = task.build_generator(models, flags)
    for model in models:
        if not is_edit_model(model):
            raise UserError(f"{type(model).__name__} is no edit model")
    policy = models[0] if len(models) == 1 else EnsemblePolicy(models)
    text = text_of(task, args.remove_bpe)
    for batch in corpus.batches:
        helped = with_oracle(policy, mode, batch["target"], task.tgt_dict.pad())
        found = generator.generate([helped], batch)
        for number, (hypothesis, *_) in zip(batch["id"].tolist(), found, strict=True):
            states = states_by_limit(hypothesis, args.max_iter)
            yield number, Decoded([text(one, False) for one in states], hypothesis["steps"])


def states_by_limit(hypothesis: dict[str, Any], most: int) -> list[Any]:
    """The tokens that decoding with a limit of 1 … ``most`` iterations ends with.

    Args:
        hypothesis: decoded with its history and a limit of ``most``.
    """
    states = [entry["tokens"] for entry in hypothesis["history"] if entry["phase"] == "token"]
    return [*states, *[hypothesis["tokens"]] * (most - len(states))]


# ---------------------------------------------------------------- what comes out


def render_table(points: Sequence[Point], metric: Metric) -> str:
    """A line for each limit, with score and mean iterations of every mode."""
    width = max(map(len, ORACLES)) + 2
    lines = [f"{_name(metric)}: {metric.signature()}", ""]
    lines.append("T_max" + "".join(f"{mode:>{width}}" for mode in ORACLES))
    lines.append(" " * 5 + f"{'score iterations':>{width}}" * len(ORACLES))
    for limit in range(1, max(one.max_iter for one in points) + 1):
        row = {one.mode: one for one in points if one.max_iter == limit}
        shown = (f"{row[mode].score:.2f} {row[mode].mean_iterations:>10.2f}" for mode in ORACLES)
        lines.append(f"{limit:>5}" + "".join(f"{cell:>{width}}" for cell in shown))
    for one in points:
        if one.mode == NO_EDIT_BASELINE:
            lines.append(f"no-edit baseline (T_max = 0): {one.score:.2f}")
    return "\n".join(lines) + "\n"


def _name(metric: Metric) -> str:
    better = "higher" if metric.higher_is_better else "lower"
    return f"{metric.name} ({better} is better)"


def draw(points: Sequence[Point], metric: Metric) -> bytes:
    """The curve as a PNG, legible without colours."""

    def paint(figure: Any) -> None:
        axes = figure.subplots()
        for mode, (color, style) in STYLES.items():
            some = [one for one in points if one.mode == mode]
            limits, scores = [one.max_iter for one in some], [one.score for one in some]
            name = "no oracle" if mode == "none" else f"oracle {mode}"
            axes.plot(limits, scores, style, color=color, markerfacecolor="none", label=name)
        for one in points:
            if one.mode == NO_EDIT_BASELINE:
                axes.axhline(one.score, color="#808080", linestyle=":", label=NO_EDIT_BASELINE)
        axes.set(xlabel="most iterations, T_max", ylabel=_name(metric))
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)

    return png(paint, 6.4, 4.8)


def main(argv: Sequence[str] | None = None) -> None:
    """Decode, score, write."""
    args = _arguments(argv)
    metric = make_metric(args.metric)
    with ExitStack() as stack:
        # Opened first: a folder that cannot be written is told before the model loads.
        outputs = {
            kind: stack.enter_context(whole_file(path))
            for kind in ("csv", "png")
            if (path := getattr(args, kind)) is not None
        }
        task, models = load(args)
        corpus = read_corpus(task, models, args)
        points = list(curve(task, models, corpus, metric, args))
        if "csv" in outputs:
            writer = csv.writer(outputs["csv"], lineterminator="\n")
            writer.writerow(COLUMNS)
            for one in points:
                numbers = f"{one.score:.4f}", f"{one.mean_iterations:.4f}"
                writer.writerow([one.mode, one.max_iter, metric.name, *numbers])
        if "png" in outputs:
            outputs["png"].buffer.write(draw(points, metric))
    drafts = f"drafts {args.draft_lang}" if corpus.drafts is not None else "no drafts"
    out = standard_output()
    out.write(f"{args.gen_subset}: {len(corpus.references)} sentences, {drafts}\n")
    out.write(render_table(points, metric))


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("data", metavar="DATA", help="folder that preprocess wrote")
    add("--path", required=True, metavar="FILES", help="checkpoint, or several joined by colons")
    add("--gen-subset", default="test", metavar="SPLIT", help="split to decode (default: test)")
    add("--source-lang", "-s", metavar="LANG", help="default: as the data folder says")
    add("--target-lang", "-t", metavar="LANG", help="default: as the data folder says")
    add("--draft-lang", metavar="LANG", help="suffix of the drafts (default: from nothing)")
    add("--metric", default="bleu", choices=METRICS, metavar="NAME", help="default: bleu")
    add("--references", metavar="FILE", help="references as text (default: those in DATA, their "
        "words as the dictionary knows them)")  # fmt: skip
    add("--remove-bpe", choices=sorted(SUBWORDS), help="join subwords or characters to words")
    add("--csv", metavar="FILE", help="write all points: " + ", ".join(COLUMNS))
    add("--png", metavar="FILE", help="draw the curve")
    add("--max-iter", type=int, default=10, metavar="N", help="largest T_max (default: 10)")
    add("--iter-decode-eos-penalty", type=float, default=0.0, metavar="F", help="default: 0")
    add("--delete-threshold", type=float, default=0.5, metavar="F", help="default: 0.5")
    add("--max-len-b", type=int, default=200, metavar="B", help="default: 200")
    add("--batch-size", type=int, default=64, metavar="N", help="at once (default: 64)")
    add("--cpu", action="store_true", help="use no GPU")
    args = parser.parse_args(argv)
    for flag, value in (("--max-iter", args.max_iter), ("--batch-size", args.batch_size)):
        if value < 1:
            raise UserError(f"{flag} {value}: must be 1 or more")
    return args


if __name__ == "__main__":
    run_cli(main)
