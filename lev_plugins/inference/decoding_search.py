"""The empty penalty and the deletion threshold with which outputs score best."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from ..metrics.corpus import Metric
from .corpus import Corpus, scorer, text_of

if TYPE_CHECKING:
    from fairseq.models import BaseFairseqModel

    from ..systems.levenshtein.task import TranslationEditTask


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
        """fairseq's flags that mean it."""
        return f"--iter-decode-eos-penalty {self.gamma:g} --delete-threshold {self.threshold:g}"


def choose(
    task: "TranslationEditTask",
    models: Sequence["BaseFairseqModel"],
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
