"""Task ``noisy_translation``: fairseq's translation from plain text, with noise on the source."""

import copy
import dataclasses
import functools
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fairseq.data import Dictionary, encoders
from fairseq.tasks import register_task
from omegaconf import II
from torch import Tensor

from lev_runtime.errors import UserError

from ..data.batch import TextEncoder
from ..data.noise.confusions import Confusions, load_confusions
from ..data.noise.noiser import KINDS, PAPER, Noise, parse_kinds
from ..data.noisy_pairs import NoisyTranslationDataset
from ..data.text_side import TextDataset
from ..fairseq_patches.checkpoint_files import origin
from ..options import NOT_NEGATIVE, SHARE, OptionalStr, option
from .evaluated_translation import EvaluatedTranslationTask
from .validation import EvaluationConfig

logger = logging.getLogger(__name__)

#: Share of unknown source tokens from which on a warning is given.
MANY_UNKNOWN = 0.1


@dataclass
class NoisyTranslationConfig(EvaluationConfig):
    noise: str = option(
        "none",
        f"kinds of noise on the source, comma separated: {', '.join(KINDS)}; all: "
        f"{', '.join(PAPER)}. With several, one is sampled for each sentence. none: leave "
        "the source as it is",
    )
    noise_valid: OptionalStr = option(
        None,
        "noise of the splits named valid…, fixed (default: as --noise; none with "
        "--noise-target-share)",
    )
    noise_test: OptionalStr = option(
        None,
        "noise of all other splits except train, fixed (default: as --noise; none with "
        "--noise-target-share)",
    )
    noise_word_rate: float = option(
        0.3, "share of a line's words to change (1 to 10 words)", within=SHARE
    )
    noise_char_rate: float = option(
        0.3, "share of such a word's letters to change (1 to 10)", within=SHARE
    )
    noise_min_length: int = option(4, "leave shorter words alone", within=NOT_NEGATIVE)
    noise_seed: int = option(1, "seed of the noise; in training combined with --seed")
    noise_confusions: OptionalStr = option(
        None,
        "table of confusions for ocr noise, made by lev-noise --learn-confusions; its "
        "rates replace the two shares",
    )
    noise_confusion_scale: float = option(
        1.0, "factor on the rates of --noise-confusions", within=NOT_NEGATIVE
    )
    noise_target_share: float = option(
        0.0,
        "share of training lines whose source is made from the target with --noise, anew "
        "in each epoch; the other pairs and the validation and test sets are read unchanged",
        within=SHARE,
    )
    # what the commands are told about the text; a task is given nothing but its own options
    text_bpe: Any = II("bpe")
    text_tokenizer: Any = II("tokenizer")
    seed: int = II("common.seed")


#: part of the data → the flag of its noise
FLAGS = {"train": "--noise", "valid": "--noise-valid", "test": "--noise-test"}


def noises_of(cfg: NoisyTranslationConfig) -> dict[str, Noise]:
    """Returns the noise of train, valid and test, without confusions."""
    kinds = {"train": parse_kinds("--noise", cfg.noise)}
    share = cfg.noise_target_share
    table = cfg.noise_confusions
    if share and not kinds["train"]:
        raise UserError(
            f"--noise-target-share {share} needs noise: give --noise ocr or another kind"
        )
    for split, names in (("valid", cfg.noise_valid), ("test", cfg.noise_test)):
        same = () if share else kinds["train"]
        kinds[split] = same if names is None else parse_kinds(FLAGS[split], names)
    if table is not None and not any("ocr" in split_kinds for split_kinds in kinds.values()):
        raise UserError(f"--noise-confusions {table} only works with --noise ocr")
    options = ("word_rate", "char_rate", "min_length", "confusion_scale")
    numbers = {name: getattr(cfg, f"noise_{name}") for name in options}
    return {split: Noise(chosen, **numbers) for split, chosen in kinds.items()}


@register_task("noisy_translation", dataclass=NoisyTranslationConfig)
class NoisyTranslationTask(EvaluatedTranslationTask):
    """fairseq's translation task on plain text, with noise on the source (gated-Trans, §4.1.1).

    A data folder has ``dict.SRC.txt``, ``dict.TGT.txt`` and, one sentence a line, ``train.SRC``,
    ``train.TGT``, ``valid.SRC`` … Where only ``SPLIT.TGT`` is there it is the source as well:
    denoising. Lines are cut by ``--tokenizer`` and ``--bpe`` after the noise. Splits without text
    are looked for as fairseq-preprocess writes them, if no noise is asked for.

    Raises:
        UserError: noise that there is not, or a rate that cannot be.
    """

    cfg: NoisyTranslationConfig
    missing_dictionary_hint = "make it from text that is cut as --bpe cuts it"

    def __init__(
        self, cfg: NoisyTranslationConfig, src_dict: Dictionary, tgt_dict: Dictionary
    ) -> None:
        super().__init__(cfg, src_dict, tgt_dict)
        self.noises = noises_of(cfg)
        self.confusions: Confusions | None = None
        self.encoders: list[TextEncoder] | None = None
        self.origin = origin()  # the checkpoint that the settings come from, if any

    # data -------------------------------------------------------------------------------------

    def load_dataset(
        self, split: str, epoch: int = 1, combine: bool = False, **kwargs: object
    ) -> None:
        """Loads one split: from text, or binarised where there is no text and no noise.

        Raises:
            UserError: a file that is not there or is no plain UTF-8, or sides of different length.
        """
        folder = self.data_folder(split, epoch)
        flag, noise = self._noise_of(split)
        langs = self.cfg.source_lang, self.cfg.target_lang
        paths = {lang: os.path.join(folder, f"{split}.{lang}") for lang in langs}
        files = {lang: path for lang, path in paths.items() if os.path.isfile(path)}
        if files:
            self.datasets[split] = self._text_pairs(split, files, flag, noise)
            return
        if noise.kinds:
            raise UserError(
                f"{folder} has no text {split}.{self.cfg.target_lang}, which {flag} needs; put it "
                f"there, name another split, or give {flag} none for binarised data"
            )
        super().load_dataset(split, epoch, combine, **kwargs)

    def _noise_of(self, split: str) -> tuple[str, Noise]:
        """Returns the flag of a split's noise, and the noise."""
        part = "valid" if split.startswith("valid") else "test"
        part = "train" if split == self.cfg.train_subset else part
        noise = self.noises[part]
        table = self.cfg.noise_confusions
        # not before: a checkpoint is used without the table that it was trained with
        if table is not None and "ocr" in noise.kinds:
            if self.confusions is None:
                if self.origin is not None:
                    table = self.origin.file("noise_confusions", table, self.cfg.data)
                self.confusions = load_confusions(table)
            noise = dataclasses.replace(noise, confusions=self.confusions)
        return FLAGS[part], noise

    def _text_pairs(
        self, split: str, files: dict[str, str], flag: str, noise: Noise
    ) -> NoisyTranslationDataset:
        """Reads a split of text; ``files``: language → path, of the target, the source, or both."""
        cfg = self.cfg
        src, tgt = cfg.source_lang, cfg.target_lang
        training = split == cfg.train_subset
        mixed = training and cfg.noise_target_share > 0
        if mixed and len(files) < 2:
            raise UserError(
                f"--noise-target-share {cfg.noise_target_share}: {split} has no real pairs, "
                f"{split}.{src} or {split}.{tgt} is missing; add it, or leave the option out"
            )
        if src not in files and not noise.kinds:
            raise UserError(
                f"{files[tgt]} has no {split}.{src} beside it, and without noise it would be its "
                f"own source; give {flag} all, or the source"
            )
        encode = self.encoding()
        dictionaries = {src: self.src_dict, tgt: self.tgt_dict}
        sides = {lang: TextDataset(files[lang], encode, dictionaries[lang]) for lang in files}
        if len({len(side) for side in sides.values()}) > 1:
            counts = ", ".join(f"{side.path} has {len(side)}" for side in sides.values())
            raise UserError(f"line counts differ: {counts}; files must be line-aligned")
        clean = sides.get(src)
        if clean is None:
            clean = copy.copy(sides[tgt])
            clean.dictionary = self.src_dict
        pairs = NoisyTranslationDataset(
            clean,
            self.src_dict,
            sides.get(tgt),
            self.tgt_dict,
            noise=noise,
            seed=cfg.noise_seed,
            run=(cfg.seed or 0) if training else None,
            longest=cfg.max_source_positions,
            truncate=cfg.truncate_source,
            share=cfg.noise_target_share if mixed else 0.0,
            left_pad_source=cfg.left_pad_source,
            left_pad_target=cfg.left_pad_target,
            shuffle=split != "test",
            pad_to_multiple=cfg.required_seq_len_multiple,
        )
        _report(split, pairs)
        return pairs

    def encoding(self) -> Callable[[str], str]:
        """Returns the function that cuts a line into subwords (``--tokenizer``, ``--bpe``).

        It holds no task: data sets have it, and workers that are spawned are sent those.
        """
        if self.encoders is None:
            tokenizer, bpe = self.cfg.text_tokenizer, self.cfg.text_bpe
            if self.origin is not None:
                tokenizer = self.origin.encoder("tokenizer", tokenizer, self.cfg.data)
                bpe = self.origin.encoder("bpe", bpe, self.cfg.data)
            encoders_or_none = [encoders.build_tokenizer(tokenizer), encoders.build_bpe(bpe)]
            self.encoders = [encoder for encoder in encoders_or_none if encoder is not None]
        return functools.partial(_encode, self.encoders)

    # validation -------------------------------------------------------------------------------

    def decoded_text(self, tokens: Tensor, unknown: str) -> str:
        """Returns decoded text, joined by the task's own ``--bpe`` where no other way is given."""
        text = super().decoded_text(tokens, unknown)
        if self.cfg.eval_bleu_remove_bpe is None:
            for encoder in reversed(self.encoders or []):
                text = encoder.decode(text)
        return text


def _encode(by: Sequence[TextEncoder], line: str) -> str:
    for encoder in by:
        line = encoder.encode(line)
    return line


def _report(split: str, pairs: NoisyTranslationDataset) -> None:
    """Says what a split is made of, and where the dictionary does not fit."""
    kinds = ",".join(pairs.noise.kinds) or "none"
    way = "sampled anew every epoch" if pairs.run is not None else "fixed"
    share = f" of {100 * pairs.share:g} % of the targets" if pairs.share else ""
    logger.info("%s: %d lines of text, noise: %s%s (%s)", split, len(pairs), kinds, share, way)
    for name, side in (("source", pairs.src), ("target", pairs.tgt)):
        unknown, total = (0, 0) if side is None else side.unknown()
        if unknown > MANY_UNKNOWN * total:
            logger.warning(
                "%s: %d of %d %s tokens are unknown; is --bpe (and --tokenizer) the one that the "
                "dictionary was made with?", split, unknown, total, name,
            )  # fmt: skip
