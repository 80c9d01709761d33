"""The teacher: fairseq checkpoints, and their beam search over token numbers."""

import argparse
import math
import os
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import torch
from fairseq import utils
from fairseq.data import Dictionary, LanguagePairDataset, data_utils
from fairseq.dataclass.configs import GenerationConfig
from fairseq.models import FairseqEncoderDecoderModel
from fairseq.sequence_generator import SequenceGenerator
from fairseq.tasks.translation import TranslationTask
from omegaconf import DictConfig, open_dict

from ...data.batch import Hypothesis
from ...data.binarization import dictionary_path, load_dictionary
from ...errors import UserError
from ...io.text_files import SPECIAL_TOKENS, require_files
from .. import checkpoints
from ..checkpoints import CheckpointState
from .journal import digest

TASK = "translation"  # the task whose checkpoints can teach


@dataclass(frozen=True)
class Translation:
    """A teacher's line: its tokens, and whether it ended only because it had to."""

    words: tuple[str, ...]
    endless: bool


class Teacher:
    """A left-to-right model, or several that vote, and its beam search.

    Args:
        cfg: the configuration of the first checkpoint.
        args: the command's options of search and running.
    """

    def __init__(
        self,
        models: Sequence[FairseqEncoderDecoderModel],
        task: TranslationTask,
        cfg: DictConfig,
        args: argparse.Namespace,
    ) -> None:
        cuda = torch.cuda.is_available() and not args.cpu
        self.device = torch.device("cuda" if cuda else "cpu")
        with open_dict(cfg):
            cfg.generation = GenerationConfig(
                beam=args.beam,
                lenpen=args.lenpen,
                max_len_a=args.max_len_a,
                max_len_b=args.max_len_b,
                unkpen=math.inf,
            )
        for model in models:
            if args.fp16:
                model.half()
            model.to(self.device)
            model.prepare_for_inference_(cfg)
        self.source_dictionary, self.target_dictionary = task.src_dict, task.tgt_dict
        self.left_pad = cfg.task.left_pad_source
        self.models = list(models)
        positions = [model.max_positions() for model in models]
        limits = utils.resolve_max_positions(task.max_positions(), *positions)
        #: most source tokens, ``</s>`` counted
        self.source_limit = int(limits[0])
        self.generator: SequenceGenerator = task.build_generator(
            self.models,
            cfg.generation,
            extra_gen_cls_kwargs={"tokens_to_suppress": no_text(self.target_dictionary)},
        )

    def encode(self, words: Sequence[str]) -> torch.Tensor:
        """The numbers of a source's tokens, ``</s>`` behind them; unknown ones are ``<unk>``."""
        index = self.source_dictionary.index
        return torch.tensor([*map(index, words), self.source_dictionary.eos()], dtype=torch.long)

    def translate(self, sources: Sequence[torch.Tensor]) -> list[list[Translation]]:
        """The hypotheses of the beam for each source of a batch (of :meth:`encode`), best first;
        none where the model gave every hypothesis the probability 0."""
        data = LanguagePairDataset(
            list(sources),
            [len(source) for source in sources],
            self.source_dictionary,
            tgt_dict=self.target_dictionary,
            left_pad_source=self.left_pad,
            shuffle=False,
        )
        batch = data.collater([data[i] for i in range(len(data))])
        if self.device.type == "cuda":
            batch = utils.move_to_cuda(batch)
        found = self.generator.generate(self.models, batch)
        longest = max(map(len, sources))
        translations: list[list[Translation]] = [[] for _ in sources]
        for number, hypotheses in zip(batch["id"].tolist(), found, strict=True):
            translations[number] = [self._translation(one, longest) for one in hypotheses]
        return translations

    def _translation(self, hypothesis: Hypothesis, longest: int) -> Translation:
        tokens = hypothesis["tokens"].tolist()
        limit = self.generator.max_len_a * longest + self.generator.max_len_b
        limit = min(int(limit), self.generator.max_len - 1)
        symbols = self.target_dictionary.symbols
        # Beyond the limit the search allows nothing but </s>, which is the last token.
        return Translation(tuple(symbols[token] for token in tokens[:-1]), len(tokens) > limit)


def no_text(dictionary: Dictionary) -> list[str]:
    """Symbols of a dictionary that must not be written: nothing in a text can be meant by them.

    ``<unk>`` and ``<pad>`` are left out: the search itself never chooses them.
    """
    special = SPECIAL_TOKENS - {dictionary.pad_word, dictionary.eos_word}
    filling = {
        symbol
        for symbol, count in zip(dictionary.symbols, dictionary.count, strict=True)
        if count == 0 and symbol.startswith("madeupword")
    }
    split = {symbol for symbol in dictionary.symbols if symbol.split() != [symbol]}
    return sorted((special & set(dictionary.symbols)) | filling | split)


def load_state(path: str) -> CheckpointState:
    """Read a checkpoint and see that it can teach.

    Raises:
        UserError: it was trained by another task than ``translation``, an editor's say.
    """
    with warnings.catch_warnings():  # hydra's, to fairseq's programmers, at an old checkpoint
        warnings.simplefilter("ignore", UserWarning)
        state = checkpoints.load_state(path)
    name = getattr(state["cfg"].task, "_name", None)
    if name != TASK:
        raise UserError(
            f"{path} was trained with --task {name}; a teacher is a left-to-right model of --task "
            f"{TASK}, such as --arch transformer"
        )
    return state


def choose_languages(args: argparse.Namespace, cfg: DictConfig) -> tuple[str, str]:
    """Source and target language: those typed, else the teacher's, else the data folder's."""
    source, target = args.source_lang or cfg.source_lang, args.target_lang or cfg.target_lang
    if not (source and target):
        found = data_utils.infer_language_pair(args.data)
        source, target = source or found[0], target or found[1]
    if not (source and target):
        raise UserError(
            "the teacher does not tell its languages; give --source-lang, --target-lang"
        )
    if source == target:
        raise UserError(f"source and target language are both {source}: the outputs need two names")
    return source, target


def load_dictionaries(folder: str, languages: Sequence[str]) -> list[Dictionary]:
    """The dictionaries of a data folder; raises :class:`UserError` where it has none."""
    paths = [dictionary_path(folder, lang) for lang in languages]
    require_files(paths, f"--data needs the teacher's dictionaries; {folder} has not got them")
    return [load_dictionary(path, TranslationTask) for path in paths]


def refuse_other_dictionaries(
    path: str,
    state: CheckpointState,
    folder: str,
    languages: Sequence[str],
    dictionaries: Sequence[Dictionary],
) -> None:
    """Compare dictionaries with the tables of a checkpoint.

    Raises:
        UserError: a dictionary has more or fewer symbols than the teacher was trained with.
    """
    for side, lang, dictionary in zip(("encoder", "decoder"), languages, dictionaries, strict=True):
        table = state["model"].get(f"{side}.embed_tokens.weight")
        if table is not None and len(table) != len(dictionary):
            raise UserError(
                f"{dictionary_path(folder, lang)} has {len(dictionary):,} symbols, but {path} was "
                f"trained with {len(table):,}; give --data with the dictionaries of its training"
            )


def note_other_words(folder: str, trained: str, languages: Sequence[str]) -> None:
    """Say so where the dictionaries are not those in the folder that the teacher was trained on.

    A note only: the folder may have been made anew since. Checkpoints do not hold the words.
    """
    for lang in languages:
        then, now = (dictionary_path(one, lang) for one in (trained, folder))
        if os.path.isfile(then) and digest([then]) != digest([now]):
            print(
                f"note: {now} differs from {then}, which the teacher was trained with; words would "
                "be taken for others",
                file=sys.stderr,
            )


def load_teacher(args: argparse.Namespace) -> tuple[Teacher, tuple[str, str]]:
    """The teacher of ``--path``, and its source and target language.

    Raises:
        UserError: a checkpoint that cannot teach, no dictionaries, or others than the teacher's.
    """
    paths = checkpoints.find_checkpoints(args.path)
    state = load_state(paths[0])
    cfg = state["cfg"]
    languages = choose_languages(args, cfg.task)
    dictionaries = load_dictionaries(args.data, languages)
    trained = utils.split_paths(cfg.task.data)[0]
    with open_dict(cfg.task):
        cfg.task.data, cfg.task.eval_bleu = os.path.abspath(args.data), False
        cfg.task.source_lang, cfg.task.target_lang = languages
    task = TranslationTask(cfg.task, *dictionaries)
    models = []
    states = chain([state], map(load_state, paths[1:]))
    for path, loaded in zip(paths, states, strict=True):
        refuse_other_dictionaries(path, loaded, args.data, languages, dictionaries)
        models.append(checkpoints.load_writer(path, task, loaded))
    note_other_words(args.data, trained, languages)
    return Teacher(models, task, cfg, args), languages
