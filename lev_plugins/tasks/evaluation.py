"""Validation by what a model writes: BLEU, TER, CER, exact match and others of decoded text."""

import functools
import json
import logging
import math
import os
import re
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from fairseq import utils
from fairseq.criterions import FairseqCriterion
from fairseq.data import Dictionary, FairseqDataset, encoders
from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from fairseq.dataclass.configs import GenerationConfig
from fairseq.logging import metrics
from fairseq.logging.meters import MetersDict
from fairseq.models import BaseFairseqModel
from fairseq.tasks.translation import TranslationConfig, TranslationTask
from omegaconf import II
from torch import Tensor, nn

from ..data.batch import Batch, LogOutput, TextEncoder, shortened
from ..errors import UserError, counted
from ..io.text_files import few
from ..metrics.corpus import METRICS, WORD_METRICS, Metric, add_up, bleu, make_metric
from ..metrics.words import is_char_tokenized
from ..nn.precision import PRECISIONS
from ..options import OptionalStr, option

logger = logging.getLogger(__name__)

# what to do about lines that are too long
SHORTEN = (
    "raise --max-source-positions, --max-target-positions or --max-tokens as far as the "
    "model reads, give --truncate-source or shorten such lines"
)
SKIP = "--skip-invalid-size-inputs-valid-test"
# most tokens: of a source, or of a source and its target
Limits = None | int | tuple[int, ...]

# Unknown words: the one that was written never matches the one that was expected, not even in a
# letter. Words of letters, so that no tokeniser cuts them as it does <unk>.
UNKNOWN_WRITTEN, UNKNOWN_EXPECTED = "ᚢᚾᚲ", "ⵓⵏⴽ"


@dataclass
class EvaluationConfig(TranslationConfig):
    eval_metrics: OptionalStr = option(
        None,
        "metrics of decoded text in validation, comma separated: "
        f"{', '.join(METRICS)}; text is decoded as the --eval-bleu-* flags say",
    )
    decode_precision: ChoiceEnum(PRECISIONS) = option(  # type: ignore[valid-type]
        "fp32",
        "what fairseq-generate and fairseq-interactive compute in; bf16 and int8 (CPU) are faster "
        "and may change outputs",
    )
    best_checkpoint_metric: str = II("checkpoint.best_checkpoint_metric")
    maximize_best_checkpoint_metric: bool = II("checkpoint.maximize_best_checkpoint_metric")


class EvaluatedTask(TranslationTask):
    """Decodes every validation batch once and counts it with all metrics that were asked for.

    ``--eval-bleu`` asks for bleu, ``--eval-metrics`` for any; ``--best-checkpoint-metric`` can
    then name them (paper, §C.1). Logging outputs hold the sums of each metric's statistics, so
    any split into batches and processes gives the score of the whole.

    Raises:
        UserError: ``--eval-metrics`` names a metric that there is not.
    """

    cfg: EvaluationConfig
    #: What a data set's sizes are of.
    sides = "source/target"
    #: What interactive has read, before the present lines and with them.
    lines_before = lines_read = 0
    #: Most source tokens of the models that were loaded.
    learnt_positions = math.inf

    def __init__(self, cfg: EvaluationConfig, src_dict: Dictionary, tgt_dict: Dictionary) -> None:
        super().__init__(cfg, src_dict, tgt_dict)
        self.metric_names = _metric_names(cfg)
        self.text_metrics: list[Metric] = []
        self.sequence_generator: Any = None
        self.tokenizer: TextEncoder | None = None
        self.trains = False
        self.text_seen = False

    @classmethod
    def setup_task(cls, cfg: EvaluationConfig, **kwargs: object) -> Self:
        """Loads the dictionaries.

        Raises:
            UserError: no data folder, no languages, no dictionary.
        """
        if cfg.num_batch_buckets > 0:
            raise UserError("--num-batch-buckets fails in fairseq with numpy 2; leave it out")
        cls.check_data_folder(cfg)
        return super().setup_task(cfg, **kwargs)

    @classmethod
    def check_data_folder(cls, cfg: EvaluationConfig) -> None:
        """Refuses a folder that the task cannot read."""
        raise NotImplementedError

    def data_folder(self, split: str, epoch: int) -> str:
        """Where a split is read in an epoch; only training data come in shards."""
        paths = utils.split_paths(self.cfg.data)
        return str(paths[(epoch - 1) % len(paths) if split == self.cfg.train_subset else 0])

    def filter_indices_by_size(
        self,
        indices: np.ndarray,
        dataset: FairseqDataset,
        max_positions: Limits = None,
        ignore_invalid_inputs: bool = False,
    ) -> np.ndarray:
        """Names every line that is too long, and stops unless it may be skipped.

        Raises:
            UserError: a sentence longer than the model can read or write, or all are.
        """
        kept, ignored = dataset.filter_indices_by_size(indices, max_positions)
        if len(ignored) == 0:
            return kept
        long = sorted(map(int, ignored))
        lines = [index + 1 + self.lines_before for index in long]
        shown, limits, sizes = few(lines), _joined(max_positions), dataset.size(long[0])
        if not ignore_invalid_inputs:
            all_lines = f"; {len(lines)} such lines: {shown}" if len(lines) > 1 else ""
            raise UserError(
                f"line {lines[0]} has {_joined(sizes)} tokens ({self.sides}) where the limit is "
                f"{limits}{all_lines}; {SHORTEN}, or leave them out with {SKIP}"
            )
        if len(kept) == 0 and getattr(dataset, "tgt", None) is not None:
            raise UserError(
                f"all {len(lines)} lines are above the limit of {limits} tokens; {SHORTEN}"
            )
        count, are = counted(len(lines), "line"), "is" if len(lines) == 1 else "are"
        logger.warning("%s above the limit of %s tokens %s skipped: %s", count, limits, are, shown)
        return kept

    @property
    def longest_source(self) -> int:
        """Most tokens of a source that the task and the models that were loaded read."""
        return int(min(self.cfg.max_source_positions, self.learnt_positions))

    def cut_source(self, tokens: Tensor) -> Tensor:
        """A source with its end; the text is cut where ``--truncate-source`` asks for it."""
        return shortened(tokens, self.longest_source) if self.cfg.truncate_source else tokens

    def count_lines(self, lines: list[str]) -> None:
        """Notes lines that interactive has read, for their numbers in messages."""
        self.lines_before = self.lines_read
        self.lines_read += len(lines)

    def get_interactive_tokens_and_lengths(
        self, lines: list[str], encode_fn: Callable[[str], str]
    ) -> tuple[list[Any], list[int]]:
        """fairseq's, with ``--truncate-source``; messages count lines from the first call."""
        self.count_lines(lines)
        found, _ = super().get_interactive_tokens_and_lengths(lines, encode_fn)
        sources = list(map(self.cut_source, found))
        return sources, list(map(len, sources))

    def build_model(self, cfg: FairseqDataclass, from_checkpoint: bool = False) -> BaseFairseqModel:
        """Builds the model and, for a training, what decodes and counts in validation.

        Raises:
            UserError: options of ``--eval-bleu-…`` that cannot be, or a library is missing.
        """
        # not TranslationTask's own: it prepares for BLEU alone
        model = super(TranslationTask, self).build_model(cfg, from_checkpoint)
        self.trains = not from_checkpoint
        if from_checkpoint:
            limits = getattr(model, "max_positions", lambda: None)()
            if isinstance(limits, tuple):
                self.learnt_positions = min(limits[0], self.learnt_positions)
        else:
            self._prepare(model)
            for metric in self.text_metrics:
                logger.info("validation: %s (%s)", metric.name, metric.signature())
        return model

    def build_criterion(self, cfg: FairseqDataclass) -> FairseqCriterion:
        """Builds the criterion; what selects checkpoints in a training is checked here as well.

        Raises:
            UserError: ``--best-checkpoint-metric`` is not computed or goes the other way, or the
                criterion logs a metric of the same name.
        """
        criterion = super().build_criterion(cfg)
        counted = bool(getattr(criterion, "report_accuracy", False))
        if counted and "accuracy" in self.metric_names:
            raise UserError(
                "--report-accuracy and --eval-metrics accuracy (sentences that are right) go by "
                "one name; leave one of them out"
            )
        if self.trains and not (counted and self.cfg.best_checkpoint_metric == "accuracy"):
            self._check_best_metric()
        return criterion

    def _check_best_metric(self) -> None:
        best = str(self.cfg.best_checkpoint_metric)
        name = {_plain(known): known for known in METRICS}.get(_plain(best))
        if name is None:  # the criterion's, such as loss
            return
        if name != best:
            raise UserError(f"--best-checkpoint-metric {best}: the metric is written {name}")
        if name not in self.metric_names:
            also = "--eval-bleu or " if name == "bleu" else ""
            raise UserError(
                f"--best-checkpoint-metric {name} is not computed; give {also}--eval-metrics {name}"
            )
        (metric,) = (metric for metric in self.text_metrics if metric.name == name)
        flag = "--maximize-best-checkpoint-metric"
        if metric.higher_is_better != bool(self.cfg.maximize_best_checkpoint_metric):
            way = f"higher is better; give {flag}"
            if not metric.higher_is_better:
                way = f"lower is better; leave {flag} out"
            raise UserError(f"--best-checkpoint-metric {name}: {way}")

    def _prepare(self, model: nn.Module) -> None:
        """Makes the metrics, the generator and the detokeniser, where any metric is asked for."""
        if not self.metric_names:
            return
        tokenize = "none" if self.cfg.eval_tokenized_bleu else None
        self.text_metrics = [
            bleu(tokenize) if name == "bleu" else make_metric(name) for name in self.metric_names
        ]
        detokenize = _json_options("--eval-bleu-detok-args", self.cfg.eval_bleu_detok_args)
        self.tokenizer = encoders.build_tokenizer(
            Namespace(tokenizer=self.cfg.eval_bleu_detok, **detokenize)
        )
        options = _json_options("--eval-bleu-args", self.cfg.eval_bleu_args)
        unknown = [name for name in options if name not in GenerationConfig.__dataclass_fields__]
        if unknown:
            raise UserError(
                f"--eval-bleu-args: there is no generation option {unknown[0]!r}; names are those "
                "of fairseq-generate's flags with _ for -, such as iter_decode_max_iter"
            )
        self.sequence_generator = self.build_generator([model], Namespace(**options))

    def valid_step(
        self, sample: Batch, model: nn.Module, criterion: FairseqCriterion
    ) -> tuple[Tensor, int, LogOutput]:
        """The criterion's, and the statistics of all metrics in the logging output.

        Statistic i of a metric has the key ``_NAME_i`` and is a number, the sum over the batch.
        """
        # not TranslationTask's own, which would decode for BLEU a second time
        loss, sample_size, logged = super(TranslationTask, self).valid_step(
            sample, model, criterion
        )
        if self.metric_names:
            if self.sequence_generator is None:  # a checkpoint's, in fairseq-validate
                self._prepare(model)
            logged = {**logged, **self._statistics(sample, model)}
        return loss, sample_size, logged

    def _statistics(self, sample: Batch, model: nn.Module) -> dict[str, float]:
        pairs = list(self._decoded(sample, model))
        self._look_at(expected for _, expected in pairs)
        if self.cfg.eval_bleu_print_samples and pairs:
            for kind, text in zip(("hypothesis", "reference"), pairs[0]):
                for word in (UNKNOWN_WRITTEN, UNKNOWN_EXPECTED):
                    text = text.replace(word, self.tgt_dict.unk_word)
                logger.info("example %s: %s", kind, text)
        counted: dict[str, float] = {}
        for metric in self.text_metrics:
            totals = add_up(metric, (metric.statistics(*pair) for pair in pairs))
            counted.update(zip(_keys(metric), totals))
        return counted

    def _look_at(self, references: Iterable[str]) -> None:
        """Warns, once, where words are to be counted and the text is cut into characters."""
        chosen = [name for name in self.metric_names if name in WORD_METRICS]
        if chosen and not self.text_seen and is_char_tokenized(references):
            logger.warning(
                "validation: the references are single characters with spaces between them, and "
                "%s will count each as a word; --eval-bleu-remove-bpe sentencepiece joins them",
                ", ".join(chosen),
            )
        self.text_seen = True

    def _decoded(self, sample: Batch, model: nn.Module) -> Iterator[tuple[str, str]]:
        """What the model writes and what it should write, as texts, one sentence after another."""
        outputs = self.inference_step(self.sequence_generator, [model], sample, prefix_tokens=None)
        for best, target in zip((output[0] for output in outputs), sample["target"]):
            expected = utils.strip_pad(target, self.tgt_dict.pad())
            yield (
                self.decoded_text(best["tokens"], UNKNOWN_WRITTEN),
                self.decoded_text(expected, UNKNOWN_EXPECTED),
            )

    def log_no_edit(self, split: str, drafts: FairseqDataset, targets: FairseqDataset) -> None:
        """Says what the metrics of a training are for a split's drafts as they are."""
        for metric in self.text_metrics if self.trains else ():
            written = (self.decoded_text(one, UNKNOWN_WRITTEN) for one in drafts)
            expected = (self.decoded_text(one, UNKNOWN_EXPECTED) for one in targets)
            score = metric.score(add_up(metric, map(metric.statistics, written, expected)))
            logger.info("%s: no edits, the drafts as they are: %s %.2f", split, metric.name, score)

    def decoded_text(self, tokens: Tensor, unknown: str) -> str:
        """Words as they are counted: subwords joined, detokenised; ``unknown`` for <unk>."""
        text = self.tgt_dict.string(
            tokens.int().cpu(), self.cfg.eval_bleu_remove_bpe, unk_string=unknown
        )
        return text if self.tokenizer is None else self.tokenizer.decode(text)

    def reduce_metrics(self, logging_outputs: list[LogOutput], criterion: FairseqCriterion) -> None:
        """The criterion's, and each metric under its name, rounded to two digits.

        A metric that met no sentence, or only empty ones, is 0; one that was not counted, as in
        training, is not logged.
        """
        # not TranslationTask's own, which logs no BLEU where no n-gram was seen
        super(TranslationTask, self).reduce_metrics(logging_outputs, criterion)
        for metric in self.text_metrics:
            keys = _keys(metric)
            if not any(keys[0] in log for log in logging_outputs):
                continue
            for key in keys:
                metrics.log_scalar(key, float(sum(log.get(key, 0) for log in logging_outputs)))
            metrics.log_derived(metric.name, functools.partial(_score, metric))


def existing_folder(cfg: EvaluationConfig, what: str, way: str) -> str:
    """The first data folder; refused with ``what`` it is and the ``way`` to it, if it is none."""
    if not cfg.data:
        raise UserError(f"no data folder given; name the folder {what}")
    folder = str(utils.split_paths(cfg.data)[0])
    if not os.path.isdir(folder):
        raise UserError(f"data folder {folder} does not exist; {way}")
    return folder


def require_dictionaries(cfg: EvaluationConfig, folder: str, way: str) -> None:
    """Both languages' dictionaries are in the folder."""
    for lang in (cfg.source_lang, cfg.target_lang):
        path = os.path.join(folder, f"dict.{lang}.txt")
        if not os.path.isfile(path):
            raise UserError(f"dictionary {path} does not exist; {way}")


def _metric_names(cfg: EvaluationConfig) -> list[str]:
    """The metrics asked for, each once, in order."""
    names = ["bleu"] if cfg.eval_bleu else []
    if cfg.eval_metrics:
        names += [name.strip() for name in cfg.eval_metrics.split(",")]
    for name in names:
        if name not in METRICS:
            raise UserError(
                f"--eval-metrics {cfg.eval_metrics}: there is no metric {name!r}; "
                f"there are {', '.join(METRICS)}"
            )
    return list(dict.fromkeys(names))


def _plain(name: str) -> str:
    """``ROUGE-2`` → ``rouge2``."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _json_options(flag: str, text: str | None) -> dict[str, object]:
    try:
        options = json.loads(text or "{}")
    except json.JSONDecodeError as error:
        raise UserError(
            f"{flag} {text} is not JSON: {error.msg} at character {error.pos + 1}; write it as "
            "'{\"name\": value}'"
        ) from error
    if not isinstance(options, dict):
        raise UserError(f"{flag} {text} holds no names; write it as '{{\"name\": value}}'")
    return options


def _keys(metric: Metric) -> list[str]:
    """Names of a metric's sums in logging outputs and meters; fairseq hides what begins so."""
    return [f"_{metric.name}_{i}" for i in range(metric.size)]


def _score(metric: Metric, meters: MetersDict) -> float:
    return round(metric.score([meters[key].sum for key in _keys(metric)]), 2)


def _joined(sizes: Limits) -> str:
    return "/".join(map(str, sizes)) if isinstance(sizes, tuple) else str(sizes)
