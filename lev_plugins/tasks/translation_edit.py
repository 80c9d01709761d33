"""Task ``translation_edit``: from a source, and a draft where there is one, to a target."""

import logging
import os
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np
import torch
from fairseq import utils
from fairseq.criterions import FairseqCriterion
from fairseq.data import (
    AppendTokenDataset,
    ConcatDataset,
    Dictionary,
    EpochBatchIterator,
    FairseqDataset,
    PrependTokenDataset,
    StripTokenDataset,
    TruncateDataset,
    data_utils,
    indexed_dataset,
)
from fairseq.dataclass import ChoiceEnum
from fairseq.logging import metrics
from fairseq.models import BaseFairseqModel
from fairseq.optim import FairseqOptimizer
from fairseq.tasks import register_task
from fairseq.tasks.translation import TranslationConfig, TranslationTask
from omegaconf import II, OmegaConf
from torch import Tensor, nn

from ..data.edit_dataset import EditDataset
from ..data.roll_in import RollInOptions, build_roll_in
from ..errors import UserError
from ..generators import RefinementGenerator, RefinementOptions

logger = logging.getLogger(__name__)

PLACEHOLDER = "<plh>"
# how to read other projects' model configurations: name → function of (cfg) → our configuration
MODEL_ADAPTERS: Dict[str, Callable[[Any], Any]] = {}


@dataclass
class TranslationEditConfig(TranslationConfig):
    draft_lang: Optional[str] = field(
        default=None,
        metadata={
            "help": "suffix of the drafts y0 beside source and target (such as mt); "
            "without it sentences are generated from scratch"
        },
    )
    alpha: float = field(
        default=0.5,
        metadata={
            "help": "share of deletion states that are the draft, in [0, 1]; the others are "
            "the model's own insertions (paper, Eq. 6)"
        },
    )
    beta: float = field(
        default=0.5,
        metadata={
            "help": "share of insertion states that are the draft after the expert's deletion, "
            "in [0, 1]; the others are targets with tokens dropped at random (paper, Eq. 7)"
        },
    )
    alpha_start: Optional[float] = field(
        default=None, metadata={"help": "alpha at the first update (see --roll-in-updates)"}
    )
    beta_start: Optional[float] = field(
        default=None, metadata={"help": "beta at the first update (see --roll-in-updates)"}
    )
    roll_in_updates: int = field(
        default=0,
        metadata={
            "help": "updates over which alpha and beta move linearly from their start values to "
            "--alpha and --beta: learn to generate first, then to edit drafts"
        },
    )
    roll_in_tokens: ChoiceEnum(["argmax", "sample"]) = field(  # type: ignore[valid-type]
        default="argmax",
        metadata={"help": "the model's own insertions: argmax (Alg. 1) or sample (Eq. 6)"},
    )
    delete_threshold: float = field(
        default=0.5,
        metadata={
            "help": "decoding: a token goes when its probability of deletion is above this; "
            "0.5 is the argmax; higher leaves more of a draft alone"
        },
    )
    stock_decoding: bool = field(
        default=False,
        metadata={
            "help": "decode as fairseq's levenshtein_transformer does, token for token: one "
            "iteration more, unk refilled, whole iterations compared, its length limit"
        },
    )
    seed: int = II("common.seed")


@register_task("translation_edit", dataclass=TranslationEditConfig)
class TranslationEditTask(TranslationTask):
    """Generation and post-editing by insertion and deletion.

    fairseq's translation data, with ``train.src-tgt.DRAFT`` beside them where ``--draft-lang``
    names drafts. The target dictionary gets one symbol more, the placeholder ``<plh>``.
    """

    cfg: TranslationEditConfig

    def __init__(
        self, cfg: TranslationEditConfig, src_dict: Dictionary, tgt_dict: Dictionary
    ) -> None:
        super().__init__(cfg, src_dict, tgt_dict)
        for dictionary in {id(d): d for d in (src_dict, tgt_dict)}.values():
            dictionary.add_symbol(PLACEHOLDER)
        self.placeholder = tgt_dict.index(PLACEHOLDER)
        self.epoch = 1
        self.lines_before = 0  # what interactive has read before the present lines
        self.lines_read = 0
        self.ours = False  # whether this task has trained the checkpoint that is being loaded
        self.state.merge_state_dict(
            {"source_symbols": list(src_dict.symbols), "target_symbols": list(tgt_dict.symbols)}
        )

    @classmethod
    def setup_task(cls, cfg: TranslationEditConfig, **kwargs: Any) -> "TranslationEditTask":
        """Loads the dictionaries.

        Raises:
            UserError: a value out of range, no data folder, no language pair, no dictionary.
        """
        for name in ("alpha", "beta", "alpha_start", "beta_start", "delete_threshold"):
            value = getattr(cfg, name)
            if value is not None and not 0 <= value <= 1:
                flag = "--" + name.replace("_", "-")
                raise UserError(f"{flag} {value} is outside [0, 1]; give a share between 0 and 1")
        if cfg.num_batch_buckets > 0:
            raise UserError("--num-batch-buckets fails in the engine with numpy 2; leave it out")
        _check_data_folder(cfg)
        return super().setup_task(cfg, **kwargs)

    # data -------------------------------------------------------------------------------------

    def load_dataset(
        self, split: str, epoch: int = 1, combine: bool = False, **kwargs: Any
    ) -> None:
        """Loads one split with its drafts.

        Raises:
            UserError: a file that is not there, or sides of different length.
        """
        paths = utils.split_paths(self.cfg.data)
        if split != self.cfg.train_subset:
            paths = paths[:1]  # only training data come in shards
        folder = paths[(epoch - 1) % len(paths)]
        self.datasets[split] = self._load_triples(folder, split, combine)

    def _load_triples(self, folder: str, split: str, combine: bool) -> EditDataset:
        src, tgt, draft_lang = self.cfg.source_lang, self.cfg.target_lang, self.cfg.draft_lang
        prefixes = _split_prefixes(folder, split, src, tgt, combine, self.cfg.dataset_impl)
        source = self._load_side(prefixes, src, self.src_dict, required=True)
        if self.cfg.truncate_source:
            source = self._truncated(source)
        target = self._load_side(prefixes, tgt, self.tgt_dict, required=False)
        draft = None
        if draft_lang is not None:
            draft = self._load_side(prefixes, draft_lang, self.tgt_dict, required=True)
        for name, side in ((tgt, target), (draft_lang, draft)):
            if side is not None and len(side) != len(source):
                raise UserError(
                    f"{prefixes[0]}{{{src},{name}}}: {len(source)} sources but {len(side)} lines "
                    f"of {name}; preprocess the files again"
                )
        bos = self.tgt_dict.bos()
        source = PrependTokenDataset(source, bos)
        target, draft = (
            None if side is None else PrependTokenDataset(side, bos) for side in (target, draft)
        )
        with_drafts = " with drafts" if draft is not None else ""
        logger.info("%s %s: %d sentences%s", folder, split, len(source), with_drafts)
        return EditDataset(
            source,
            source.sizes,
            self.src_dict,
            target,
            None if target is None else target.sizes,
            self.tgt_dict,
            draft=draft,
            draft_sizes=None if draft is None else draft.sizes,
            left_pad_source=self.cfg.left_pad_source,
            left_pad_target=False,
            num_buckets=self.cfg.num_batch_buckets,
            shuffle=split != "test",
            pad_to_multiple=self.cfg.required_seq_len_multiple,
        )

    def _load_side(
        self, prefixes: List[str], lang: str, dictionary: Dictionary, required: bool
    ) -> Any:
        """One side of a split, its parts joined; None where an optional side is missing."""
        parts = []
        for prefix in prefixes:
            part = data_utils.load_indexed_dataset(prefix + lang, dictionary, self.cfg.dataset_impl)
            if part is None and required:
                flag = " --draft-lang" if lang == self.cfg.draft_lang else ""
                raise UserError(
                    f"{prefix}{lang}.bin does not exist; run preprocess with{flag} {lang}, or "
                    f"leave{flag or ' the language'} out"
                )
            if part is None:
                return None
            parts.append(part)
        if len(parts) == 1:
            return parts[0]
        ratios = [1] * len(parts)
        ratios[0] = self.cfg.upsample_primary if self.cfg.upsample_primary > 0 else 1
        return ConcatDataset(parts, ratios)

    def _truncated(self, source: FairseqDataset) -> FairseqDataset:
        eos = self.src_dict.eos()
        room = self.cfg.max_source_positions - 2  # <s> and </s>
        return AppendTokenDataset(TruncateDataset(StripTokenDataset(source, eos), room), eos)

    def filter_indices_by_size(
        self,
        indices: np.ndarray,
        dataset: FairseqDataset,
        max_positions: Union[None, int, Tuple[int, ...]] = None,
        ignore_invalid_inputs: bool = False,
    ) -> np.ndarray:
        """Names every line that is too long, and stops unless it may be skipped.

        Raises:
            UserError: a sentence longer than the model can read or write.
        """
        kept, ignored = dataset.filter_indices_by_size(indices, max_positions)
        if len(ignored) == 0:
            return kept
        long = sorted(map(int, ignored))
        lines = [index + 1 + self.lines_before for index in long]
        shown = ", ".join(map(str, lines[:20])) + (" …" if len(lines) > 20 else "")
        sizes = "/".join(map(str, dataset.size(long[0])))
        limits = (
            "/".join(map(str, max_positions))
            if isinstance(max_positions, tuple)
            else (str(max_positions))
        )
        if not ignore_invalid_inputs:
            raise UserError(
                f"line {lines[0]} has {sizes} tokens (source/target/draft) where the limit is "
                f"{limits}; {len(lines)} such lines: {shown}; raise --max-source-positions and "
                "--max-target-positions, shorten the lines, or skip them with "
                "--skip-invalid-size-inputs-valid-test"
            )
        if len(kept) == 0 and getattr(dataset, "tgt", None) is not None:
            raise UserError(
                f"all {len(lines)} lines are above the limit of {limits} tokens; raise "
                "--max-source-positions and --max-target-positions, or shorten the lines"
            )
        logger.warning(
            "%d lines above the limit of %s tokens are skipped: %s", len(lines), limits, shown
        )
        return kept

    def get_batch_iterator(
        self,
        dataset: FairseqDataset,
        *args: Any,
        epoch: int = 1,
        disable_iterator_cache: bool = False,
        update_epoch_batch_itr: bool = False,
        **options: Any,
    ) -> EpochBatchIterator:
        """The engine's, with batches that do not depend on where a training begins.

        Batches that serve all epochs are drawn by the engine with a seed that has the epoch in
        it in which the training began, or was taken up again: it then went on with others.
        """
        lasting = not (disable_iterator_cache or update_epoch_batch_itr)
        made = dataset in self.dataset_to_epoch_iter
        iterator = super().get_batch_iterator(
            dataset,
            *args,
            epoch=1 if lasting else epoch,
            disable_iterator_cache=disable_iterator_cache,
            update_epoch_batch_itr=update_epoch_batch_itr,
            **options,
        )
        if lasting and not made:
            iterator.epoch = max(epoch, 1)
        return iterator

    def max_positions(self) -> Tuple[int, int]:
        """The longest source and target in tokens, <s> and </s> included."""
        return self.cfg.max_source_positions, self.cfg.max_target_positions

    # interactive and Python -------------------------------------------------------------------

    def get_interactive_tokens_and_lengths(
        self, lines: List[str], encode_fn: Callable[[str], str]
    ) -> Tuple[List[Tuple[Tensor, Optional[Tensor]]], List[int]]:
        """Reads ``source`` or ``source<TAB>draft``; both are encoded alike.

        Returns:
            pairs of source and draft tokens (None without a draft), and the sources' lengths.
            Line numbers in messages count from the first call.

        Raises:
            UserError: a line with more than one tab.
        """
        pairs = []
        self.lines_before = self.lines_read
        self.lines_read += len(lines)
        for number, line in enumerate(lines, start=self.lines_before + 1):
            source, *rest = line.split("\t")
            if len(rest) > 1:
                raise UserError(
                    f"input line {number} has {len(rest)} tabs; write source, or source<TAB>draft"
                )
            draft = self.encode_text(rest[0], encode_fn, self.tgt_dict) if rest else None
            pairs.append((self.encode_text(source, encode_fn, self.src_dict), draft))
        return pairs, [len(source) for source, _ in pairs]

    @staticmethod
    def encode_text(text: str, encode_fn: Callable[[str], str], dictionary: Dictionary) -> Tensor:
        """<s>, the tokens of a line of text and </s>; words that are not known become <unk>."""
        tokens = dictionary.encode_line(encode_fn(text), add_if_not_exist=False).long()
        # a special symbol typed as text is not a special symbol
        words = tokens[:-1]
        special = (words < dictionary.nspecial) | words.eq(dictionary.index(PLACEHOLDER))
        words.masked_fill_(special, dictionary.unk())
        return torch.cat([tokens.new_tensor([dictionary.bos()]), tokens])

    def build_dataset_for_inference(
        self,
        src_tokens: Sequence[Union[Tensor, Tuple[Tensor, Optional[Tensor]]]],
        src_lengths: Sequence[int],
        constraints: Optional[Tensor] = None,
    ) -> EditDataset:
        """Data of sources, or of (source, draft) pairs as interactive reads them."""
        if constraints is not None:
            raise UserError("--constraints is not supported by translation_edit")
        bos = self.src_dict.bos()
        pairs = [item if isinstance(item, tuple) else (item, None) for item in src_tokens]
        sources = [s if s[0] == bos else torch.cat([s.new_tensor([bos]), s]) for s, _ in pairs]
        empty = torch.tensor([bos, self.tgt_dict.eos()])
        drafts = [empty if draft is None else draft for _, draft in pairs]
        return EditDataset(
            sources,
            [len(source) for source in sources],
            self.src_dict,
            tgt_dict=self.tgt_dict,
            draft=drafts,
            draft_sizes=[len(draft) for draft in drafts],
            draft_as_constraints=True,
            left_pad_source=self.cfg.left_pad_source,
            shuffle=False,
        )

    # training ---------------------------------------------------------------------------------

    def begin_epoch(self, epoch: int, model: nn.Module) -> None:
        self.epoch = epoch

    def train_step(
        self,
        sample: Dict[str, Any],
        model: nn.Module,
        criterion: FairseqCriterion,
        optimizer: FairseqOptimizer,
        update_num: int,
        ignore_grad: bool = False,
    ) -> Tuple[Tensor, int, Dict[str, Any]]:
        """fairseq's step, on the states that the roll-in has for this epoch and update."""
        sample = self._with_roll_in(sample, self.epoch, update_num)
        return super().train_step(sample, model, criterion, optimizer, update_num, ignore_grad)

    def valid_step(
        self, sample: Dict[str, Any], model: nn.Module, criterion: FairseqCriterion
    ) -> Tuple[Tensor, int, Dict[str, Any]]:
        # epoch 0: the same states at every validation, so that losses can be compared
        return super().valid_step(self._with_roll_in(sample, 0), model, criterion)

    def mixture(self, update: Optional[int] = None) -> Tuple[float, float]:
        """α and β at an update; their final values without one."""
        updates = self.cfg.roll_in_updates
        done = update / updates if update is not None and update < updates else 1.0

        def at(start: Optional[float], end: float) -> float:
            return end if start is None else start + done * (end - start)

        return at(self.cfg.alpha_start, self.cfg.alpha), at(self.cfg.beta_start, self.cfg.beta)

    def _with_roll_in(
        self, sample: Dict[str, Any], epoch: int, update: Optional[int] = None
    ) -> Dict[str, Any]:
        sampled = str(self.cfg.roll_in_tokens) == "sample"
        options = RollInOptions(*self.mixture(update), sampled, self.cfg.seed)
        roll_in = build_roll_in(
            sample["target"],
            sample.get("draft"),
            sample["id"],
            epoch,
            options,
            self.tgt_dict,
            self.placeholder,
        )
        return {**sample, "roll_in": roll_in}

    def reduce_metrics(
        self, logging_outputs: List[Dict[str, Any]], criterion: FairseqCriterion
    ) -> None:
        """fairseq's, and a BLEU of 0 where no n-gram was scored (fairseq then logs none)."""
        super().reduce_metrics(logging_outputs, criterion)
        if self.cfg.eval_bleu and not any(
            log.get("_bleu_totals_0", 0) > 0 for log in logging_outputs
        ):
            if any("_bleu_totals_0" in log for log in logging_outputs):
                metrics.log_scalar("bleu", 0.0)

    # models, decoding and checkpoints -----------------------------------------------------------

    def build_model(self, cfg: Any, from_checkpoint: bool = False) -> BaseFairseqModel:
        """Builds the model, that of another project in our form.

        Raises:
            UserError: it is a checkpoint's, and neither this task has trained it nor is it known.
        """
        name = getattr(cfg, "_name", None) or getattr(cfg, "arch", None)
        if from_checkpoint and name in MODEL_ADAPTERS:
            cfg = OmegaConf.structured(MODEL_ADAPTERS[name](cfg))
        elif from_checkpoint and not self.ours:
            raise UserError(
                f"the checkpoint holds a model of the kind {name}, which another task has trained; "
                "run it with that task (such as --task translation), or give a checkpoint trained "
                "with --task translation_edit or of a levenshtein_transformer"
            )
        return super().build_model(cfg, from_checkpoint)

    def build_generator(
        self,
        models: Sequence[nn.Module],
        args: Any,
        seq_gen_cls: Optional[type] = None,
        extra_gen_cls_kwargs: Optional[Dict[str, Any]] = None,
        **kwargs: Any,
    ) -> Any:
        """Refinement for models with edit policies; fairseq's beam search for any other."""
        if not all(hasattr(model, "deletion_logits") for model in models):
            return super().build_generator(
                models, args, seq_gen_cls, extra_gen_cls_kwargs, **kwargs
            )
        options = RefinementOptions.from_generation(
            args, self.cfg.delete_threshold, self.cfg.stock_decoding
        )
        return RefinementGenerator(self.tgt_dict, self.placeholder, options)

    def inference_step(
        self,
        generator: Any,
        models: Sequence[Any],
        sample: Dict[str, Any],
        prefix_tokens: Optional[Tensor] = None,
        constraints: Optional[Tensor] = None,
    ) -> List[List[Dict[str, Any]]]:
        """``constraints`` carries the drafts in fairseq-interactive (see :class:`EditDataset`)."""
        if not isinstance(generator, RefinementGenerator):
            return super().inference_step(generator, models, sample, prefix_tokens)
        if prefix_tokens is not None:
            raise UserError("--prefix-size is not supported by edit models; give the draft instead")
        if constraints is not None:
            sample = {**sample, "draft": constraints}
        with torch.no_grad():
            return generator.generate(models, sample)

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Checks that a checkpoint was trained with the same dictionaries.

        Raises:
            UserError: it was not.
        """
        self.ours = "target_symbols" in state_dict
        for side, dictionary in (("source", self.src_dict), ("target", self.tgt_dict)):
            saved, here = state_dict.get(f"{side}_symbols"), list(dictionary.symbols)
            if saved is None or list(saved) == here:
                continue
            pairs = zip(list(saved) + [None], here + [None], strict=False)
            index, (one, other) = next((i, p) for i, p in enumerate(pairs) if p[0] != p[1])
            raise UserError(
                f"the checkpoint was trained with another {side} dictionary (symbol {index} is "
                f"{one!r} there and {other!r} in {self.cfg.data}); give the data folder it was "
                "trained with, or preprocess yours with its --srcdict and --tgtdict"
            )


def _check_data_folder(cfg: TranslationEditConfig) -> None:
    if not cfg.data:
        raise UserError("no data folder given; name the folder that preprocess wrote")
    folder = utils.split_paths(cfg.data)[0]
    if not os.path.isdir(folder):
        raise UserError(f"data folder {folder} does not exist; run preprocess first")
    if cfg.source_lang is None or cfg.target_lang is None:
        source, target = data_utils.infer_language_pair(folder)
        if source is None or target is None:
            raise UserError(
                f"{folder}: no language pair found; give --source-lang and --target-lang"
            )
        cfg.source_lang, cfg.target_lang = source, target
    for lang in (cfg.source_lang, cfg.target_lang):
        path = os.path.join(folder, f"dict.{lang}.txt")
        if not os.path.isfile(path):
            raise UserError(f"dictionary {path} does not exist; run preprocess first")


def _split_prefixes(
    folder: str, split: str, src: str, tgt: str, combine: bool, impl: Optional[str]
) -> List[str]:
    """Path prefixes of a split and, with ``combine``, of its further parts (split1, split2 …)."""
    prefixes: List[str] = []
    while True:
        name = split + (str(len(prefixes)) if prefixes else "")
        for pair in (f"{src}-{tgt}", f"{tgt}-{src}"):
            prefix = os.path.join(folder, f"{name}.{pair}.")
            if indexed_dataset.dataset_exists(prefix + src, impl=impl):
                prefixes.append(prefix)
                break
        else:
            break
        if not combine:
            break
    if not prefixes:
        raise UserError(
            f"{folder} has no {split} data for {src}-{tgt} ({split}.{src}-{tgt}.{src}.bin is "
            "missing); run preprocess, or name another split"
        )
    return prefixes
