"""Validation by what a model writes: BLEU, TER, CER, exact match and others of decoded text."""

import functools
import json
import logging
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fairseq import utils
from fairseq.data import FairseqDataset, encoders
from fairseq.dataclass import ChoiceEnum
from fairseq.dataclass.configs import GenerationConfig
from fairseq.logging import metrics
from fairseq.logging.meters import MetersDict
from fairseq.tasks.translation import TranslationConfig, TranslationTask
from omegaconf import II
from torch import Tensor, nn

from lev_runtime.errors import UserError, parse_names

from ..data.batch import Batch, LogOutput, TextEncoder
from ..metrics.corpus import METRICS, Metric, add_up, bleu, make_metric
from ..nn.precision import PRECISIONS
from ..options import OptionalStr, option

logger = logging.getLogger(__name__)

# Unknown words: the one that was written never matches the one that was expected, not even in a
# letter. Words of letters, so that no tokenizer cuts them as it does <unk>.
UNKNOWN_WRITTEN, UNKNOWN_EXPECTED = "ᚢᚾᚲ", "ⵓⵏⴽ"


@dataclass
class EvaluationConfig(TranslationConfig):
    """fairseq's options of translation, and what validation and decoding compute."""

    eval_metrics: OptionalStr = option(
        None,
        "metrics of decoded text to compute in validation, comma separated: "
        f"{', '.join(METRICS)}; --eval-bleu-* flags control decoding",
    )
    decode_precision: ChoiceEnum(PRECISIONS) = option(  # type: ignore[valid-type]
        "fp32",
        "precision of fairseq-generate and fairseq-interactive; bf16 is faster and may change "
        "outputs (8 bits: lev-export --int8)",
    )
    best_checkpoint_metric: str = II("checkpoint.best_checkpoint_metric")
    maximize_best_checkpoint_metric: bool = II("checkpoint.maximize_best_checkpoint_metric")


class Validation:
    """Decodes each validation batch of a task once and counts it with all metrics asked for.

    ``--eval-bleu`` asks for bleu, ``--eval-metrics`` for any; ``--best-checkpoint-metric`` can
    then name them (paper, §C.1). Logging outputs hold the sums of each metric's statistics, so
    any split into batches and processes gives the score of the whole.

    Args:
        task: whose configuration is an :class:`EvaluationConfig`.
        decode: tokens and a word for <unk> → text, subwords joined.

    Raises:
        UserError: ``--eval-metrics`` names a metric that there is not.
    """

    def __init__(self, task: TranslationTask, decode: Callable[[Tensor, str], str]) -> None:
        self.task = task
        self.cfg = task.cfg
        self.decode = decode
        names = ["bleu"] if self.cfg.eval_bleu else []
        if self.cfg.eval_metrics:
            names += parse_names("--eval-metrics", self.cfg.eval_metrics, "metric", [*METRICS])
        self.names = list(dict.fromkeys(names))
        self.metrics: list[Metric] = []
        self.generator: Any = None
        self.tokenizer: TextEncoder | None = None

    def prepare(self, model: nn.Module) -> None:
        """Makes the metrics, the generator and the detokeniser, where any metric is asked for.

        Raises:
            UserError: options of ``--eval-bleu-…`` that cannot be, or a library is missing.
        """
        if not self.names:
            return
        cfg = self.cfg
        tokenize = "none" if cfg.eval_tokenized_bleu else None
        self.metrics = [
            bleu(tokenize) if name == "bleu" else make_metric(name) for name in self.names
        ]
        detokenize = _json_options("--eval-bleu-detok-args", cfg.eval_bleu_detok_args)
        self.tokenizer = encoders.build_tokenizer(
            Namespace(tokenizer=cfg.eval_bleu_detok, **detokenize)
        )
        options = _json_options("--eval-bleu-args", cfg.eval_bleu_args)
        unknown = [name for name in options if name not in GenerationConfig.__dataclass_fields__]
        if unknown:
            raise UserError(
                f"--eval-bleu-args: no generation option {unknown[0]!r}; use the names of "
                "fairseq-generate's flags with _ for -, such as iter_decode_max_iter"
            )
        self.generator = self.task.build_generator([model], Namespace(**options))

    def check_best_checkpoint_metric(self) -> None:
        """Refuses a ``--best-checkpoint-metric`` that is not computed or goes the other way."""
        best = str(self.cfg.best_checkpoint_metric)
        flag = "--best-checkpoint-metric"
        if best not in METRICS:  # the criterion's, such as loss
            return
        if best not in self.names:
            also = "--eval-bleu or " if best == "bleu" else ""
            raise UserError(f"{flag} {best} is not computed; give {also}--eval-metrics {best}")
        (metric,) = (metric for metric in self.metrics if metric.name == best)
        if metric.higher_is_better != bool(self.cfg.maximize_best_checkpoint_metric):
            direction, way = ("higher", "give") if metric.higher_is_better else ("lower", "drop")
            raise UserError(
                f"{flag} {best}: {direction} is better; {way} --maximize-best-checkpoint-metric"
            )

    def statistics(self, sample: Batch, model: nn.Module) -> dict[str, float]:
        """Sums each metric over a batch; statistic i of a metric has the key ``_NAME_i``."""
        if not self.names:
            return {}
        if self.generator is None:  # a checkpoint's, in fairseq-validate
            self.prepare(model)
        pairs = list(self._decoded(sample, model))
        if self.cfg.eval_bleu_print_samples and pairs:
            for kind, text in zip(("hypothesis", "reference"), pairs[0]):
                for word in (UNKNOWN_WRITTEN, UNKNOWN_EXPECTED):
                    text = text.replace(word, self.task.tgt_dict.unk_word)
                logger.info("example %s: %s", kind, text)
        counted: dict[str, float] = {}
        for metric in self.metrics:
            totals = add_up(metric, (metric.statistics(*pair) for pair in pairs))
            counted.update(zip(_keys(metric), totals))
        return counted

    def _decoded(self, sample: Batch, model: nn.Module) -> Iterator[tuple[str, str]]:
        """Yields hypothesis and reference of each sentence, as texts."""
        task = self.task
        outputs = task.inference_step(self.generator, [model], sample, prefix_tokens=None)
        for (best, *_), target in zip(outputs, sample["target"]):
            expected = utils.strip_pad(target, task.tgt_dict.pad())
            written = self.text(best["tokens"], UNKNOWN_WRITTEN)
            yield written, self.text(expected, UNKNOWN_EXPECTED)

    def text(self, tokens: Tensor, unknown: str) -> str:
        """Returns the text that is counted: subwords joined, detokenised; ``unknown`` for <unk>."""
        text = self.decode(tokens, unknown)
        return text if self.tokenizer is None else self.tokenizer.decode(text)

    def log_draft_baseline(
        self, split: str, drafts: FairseqDataset, targets: FairseqDataset
    ) -> None:
        """Says what the metrics are for a split's drafts as they are."""
        for metric in self.metrics:
            written = (self.text(sentence, UNKNOWN_WRITTEN) for sentence in drafts)
            expected = (self.text(sentence, UNKNOWN_EXPECTED) for sentence in targets)
            score = metric.score(add_up(metric, map(metric.statistics, written, expected)))
            logger.info("%s: no edits, the drafts as they are: %s %.2f", split, metric.name, score)

    def reduce(self, logging_outputs: Sequence[LogOutput]) -> None:
        """Logs each metric under its name, rounded to two digits.

        A metric that met no sentence, or only empty ones, is 0; one that was not counted, as in
        training, is not logged.
        """
        for metric in self.metrics:
            keys = _keys(metric)
            if not any(keys[0] in log for log in logging_outputs):
                continue
            for key in keys:
                metrics.log_scalar(key, float(sum(log.get(key, 0) for log in logging_outputs)))
            metrics.log_derived(metric.name, functools.partial(_score, metric))


def _json_options(flag: str, text: str | None) -> dict[str, object]:
    try:
        options = json.loads(text or "{}")
    except json.JSONDecodeError:
        options = None
    if not isinstance(options, dict):
        raise UserError(f"{flag} {text} is not JSON with names; write it as '{{\"name\": value}}'")
    return options


def _keys(metric: Metric) -> list[str]:
    """Names of a metric's sums, which fairseq does not print: they begin with an underscore."""
    return [f"_{metric.name}_{i}" for i in range(metric.size)]


def _score(metric: Metric, meters: MetersDict) -> float:
    return round(metric.score([meters[key].sum for key in _keys(metric)]), 2)
