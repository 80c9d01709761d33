"""Finds the files that a checkpoint needs; the checkpoint itself chooses no other file and no code.

Faults: fairseq keeps the names of files as they were typed, looks for dictionaries in the data
folder alone, reads or fetches any file that a checkpoint names, and runs some of its settings as
Python (``eval``).
"""

import ast
import builtins
import contextlib
import contextvars
import glob
import os
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, NoReturn

from fairseq import file_utils, models, tasks
from fairseq.tasks import TASK_REGISTRY
from fairseq.tasks.translation import TranslationTask
from hydra.core.hydra_config import HydraConfig
from hydra.utils import get_original_cwd
from omegaconf import DictConfig, OmegaConf

from lev_runtime.errors import UserError, flag
from lev_runtime.io.text_files import lacking

from ..io.patching import Stock, patches

AnyPath = str | os.PathLike[str]

#: the files that a folder may stand for; the first that exists is taken
CHECKPOINTS = ("checkpoint_best.pt", "checkpoint_last.pt", "model.pt")
REMOTE = "://"
#: files and folders that fairseq's and our tokenizers and subwords read
FILES = (
    "bpe_codes bpe_merges bpe_vocab bpe_vocab_file gpt2_encoder_json gpt2_vocab_bpe hf_directory "
    "sentencepiece_model sentencepiece_model_path"
).split()
#: sections of a training's settings, and the options in them that name one file or folder
_SECTIONS = (
    "bpe",
    "tokenizer",
    "task",
    "model",
    "task.text_bpe",
    "task.text_tokenizer",
    "checkpoint",
)
FILE_OPTIONS = (
    *FILES,
    *("noise_confusions", "backbone", "bert_dir", "t5_dir"),
    *("encoder_embed_path", "decoder_embed_path", "finetune_from_model"),
)
_FETCHED = ("gpt2", "bert")  # subwords whose files are addresses by default
_EMBEDDINGS = ("encoder_embed_path", "decoder_embed_path", "embed_path")


def plain(settings: Any) -> Mapping[str, Any]:
    """Returns settings by name, as written: a reference to another one stays ``${…}``."""
    if isinstance(settings, DictConfig):
        settings = OmegaConf.to_container(settings, resolve=False)
    if isinstance(settings, str):
        return {"_name": settings}
    return settings if isinstance(settings, Mapping) else getattr(settings, "__dict__", {})


# where files are ----------------------------------------------------------------------------------


def find_checkpoint(path: AnyPath) -> str:
    """Returns the checkpoint at ``path``: the file, or the first of ``CHECKPOINTS`` in a folder.

    Raises:
        UserError: there is none.
    """
    if not os.path.isdir(path):
        if reason := lacking(path):
            raise UserError(f"checkpoint {path} {reason}")
        return os.fspath(path)
    for name in CHECKPOINTS:
        file = os.path.join(path, name)
        if os.path.isfile(file):
            return file
    raise UserError(f"{path} contains none of {', '.join(CHECKPOINTS)}; name the checkpoint")


def _own_folders(paths: Iterable[AnyPath], data: object = None) -> list[str]:
    """Returns the folders of a checkpoint, the nearest first: its own, those of its ``data`` that
    hold dictionaries, and the parents of these.
    """
    folders = [os.path.dirname(os.path.realpath(path)) for path in paths]
    for name in str(data or "").split(os.pathsep):
        if glob.glob(f"{glob.escape(name)}/dict*.txt"):
            folders.append(os.path.realpath(name))
    return [*folders, *map(os.path.dirname, folders)]


def has_dictionaries(folder: str, languages: Iterable[str | None]) -> bool:
    """Returns whether a folder has a dictionary for each language; any for one of no name."""
    names = (glob.escape(language) if language else "*" for language in languages)
    return all(glob.glob(f"{glob.escape(folder)}/dict.{name}.txt") for name in names)


def dictionary_folder(
    paths: Iterable[AnyPath], data: str | None, languages: Iterable[str | None]
) -> str | None:
    """Returns the folder with a model's dictionaries: its own, else the first of its ``data``; None
    if there is none.
    """
    folders = [os.path.dirname(os.path.abspath(path)) for path in paths]
    folders.append((data or "").split(os.pathsep)[0])
    return next((folder for folder in folders if has_dictionaries(folder, languages)), None)


@patches(file_utils, "cached_path")
def cached_path(stock: Stock, path: AnyPath, *more: object, **options: object) -> object:
    """Names a file that does not exist, which fairseq's error does not."""
    if REMOTE not in os.fspath(path) and not os.path.exists(path):
        raise UserError(f"{path} does not exist")
    return stock(path, *more, **options)


def make_absolute(cfg: Any) -> None:
    """Makes a training's settings name files and data by absolute paths.

    They are relative to the folder in which the command was typed, which hydra has left. A name of
    nothing stays as it is: it may be no path.

    Raises:
        UserError: a file of ``--bpe`` or ``--tokenizer`` does not exist: the trained model could
            not be used.
    """
    typed_in = get_original_cwd() if HydraConfig.initialized() else os.getcwd()

    def absolute(path: str) -> str:
        place = os.path.abspath(os.path.join(typed_in, path))
        return place if os.path.exists(place) else path

    for section in _SECTIONS:
        settings = OmegaConf.select(cfg, section, throw_on_resolution_failure=False)
        for name, path in plain(settings).items():
            if name not in FILE_OPTIONS or not isinstance(path, str) or path in ("", "???"):
                continue
            place = absolute(path)
            if name in FILES and REMOTE not in path and not os.path.exists(place):
                raise UserError(f"{flag(name)} {path} does not exist; check the path")
            setattr(settings, name, place)
    data = OmegaConf.select(cfg, "task.data")
    if isinstance(data, str):
        cfg.task.data = os.pathsep.join(map(absolute, data.split(os.pathsep)))


# what a checkpoint may ask for --------------------------------------------------------------------


@dataclass(frozen=True)
class Origin:
    """The checkpoint that settings come from. Its methods raise UserError.

    paths: its file, or those of an ensemble. overrides: settings that the user has given.
    """

    paths: tuple[str, ...]
    overrides: Mapping[str, object] = field(default_factory=dict)

    def encoder(self, kind: str, settings: Any, data: object = None) -> Any:
        """Returns settings of a ``tokenizer`` or ``bpe``, its files as :meth:`file` finds them."""
        values = plain(settings)
        name = values.get("_name") or values.get(kind)
        if name in _FETCHED:
            self._refuse(kind, f"{name}, whose files are fetched")
        named = [option for option in FILES if values.get(option)]
        files = {option: self.file(option, values[option], data) for option in named}
        return Namespace(**{**values, **files, kind: name}) if files else settings

    def file(self, name: str, value: Any, data: object = None) -> Any:
        """Returns the path of a file or folder that the checkpoint names in option ``name``.

        It is taken as named, else by file name; its real path lies in the folder of the checkpoint,
        in one of its ``data`` that holds dictionaries, or in the parent of either.
        """
        if not value or self.overrides.get(name) == value:
            return value
        if isinstance(value, str) and not {":", "$"} & set(value):
            folders = _own_folders(self.paths, data)
            last = os.path.basename(value)
            for place in (value, *(os.path.join(folder, last) for folder in folders)):
                is_plain = os.path.isfile(place) or os.path.isdir(place)
                if is_plain and os.path.dirname(os.path.realpath(place)) in folders:
                    return place
        found_nothing = "which does not exist beside it or its data: copy it there"
        self._refuse(name, f"{value!s:.200}, {found_nothing}")

    def check_task(self, settings: object) -> None:
        """Refuses languages that lead out of the data folder, and data on the network."""
        values = plain(settings)
        for name in ("source_lang", "target_lang", "draft_lang", "data"):
            value = str(values.get(name))
            outside = REMOTE if name == "data" else os.sep
            if ("$" in value or outside in value) and self.overrides.get(name) != value:
                self._refuse(name, f"{value:.80}")

    def _refuse(self, name: str, what: str) -> NoReturn:
        raise UserError(
            f"checkpoint {':'.join(self.paths)} asks for {flag(name)} {what}; if you trust the "
            f"checkpoint, give {flag(name)} yourself"
        )


_origin: contextvars.ContextVar[Origin | None] = contextvars.ContextVar("origin", default=None)
origin = _origin.get  # the checkpoint whose model or task is being built; None outside of that


@contextlib.contextmanager
def loading_checkpoint(
    paths: Sequence[str], overrides: Mapping[str, object] | None = None
) -> Iterator[Origin]:
    """Makes models and tasks inside those of a checkpoint (see :class:`Origin`)."""
    checkpoint = Origin(tuple(map(str, paths)), dict(overrides or {}))
    token = _origin.set(checkpoint)
    try:
        yield checkpoint
    finally:
        _origin.reset(token)


def evaluate(text: Any, *scopes: Any) -> Any:
    """Evaluates a setting, as fairseq's modules do by ``eval``; of a checkpoint only literals."""
    return builtins.eval(text, *scopes) if origin() is None else ast.literal_eval(text)


def evaluate_literals() -> None:
    """Makes all modules of fairseq evaluate settings by :func:`evaluate`."""
    for name, module in list(sys.modules.items()):
        if name.startswith("fairseq."):
            vars(module)["eval"] = evaluate


@patches(models, "build_model")
def build_model(stock: Stock, cfg: Any, *args: object, **options: object) -> object:
    """Reads no embeddings for a checkpoint's model: the checkpoint has the parameters."""
    if origin() is not None:
        for part in (cfg, getattr(cfg, "encoder", None), getattr(cfg, "decoder", None)):
            for file in _EMBEDDINGS:
                if getattr(part, file, None):
                    setattr(part, file, None)
    return stock(cfg, *args, **options)


@patches(tasks, "setup_task")
def setup_task(stock: Stock, cfg: Any, **options: object) -> object:
    """Sets up a checkpoint's task with the dictionaries near it."""
    checkpoint = origin()
    folder = None
    if checkpoint is not None:
        checkpoint.check_task(cfg)
        folder = _dictionaries(cfg, checkpoint)
    if folder is None:
        return stock(cfg, **options)
    data, cfg.data = cfg.data, folder
    try:
        task = stock(cfg, **options)
    finally:
        cfg.data = data
    task.cfg.data = data
    return task


def _dictionaries(cfg: Any, checkpoint: Origin) -> str | None:
    """Returns the folder of a checkpoint's dictionaries; None if those of ``cfg.data`` are to be
    read: the user has given the folder, and it has them.
    """
    settings = plain(cfg)
    languages = settings.get("source_lang"), settings.get("target_lang")
    task: Any = TASK_REGISTRY.get(settings.get("task") or settings.get("_name"), object)
    if not issubclass(task, TranslationTask) or None in languages:
        return None  # it reads no ``dict.LANGUAGE.txt``
    folder = str(cfg.data).split(os.pathsep)[0]
    if "data" in checkpoint.overrides and has_dictionaries(folder, languages):
        return None
    return dictionary_folder(checkpoint.paths, cfg.data, languages)


# symbols ------------------------------------------------------------------------------------------

_SYMBOLS = "symbols"  # in a checkpoint's ``task_state``


def difference(there: Sequence[str], here: Sequence[str]) -> str | None:
    """Returns the first symbol that differs, in words; None if all are equal."""
    for position, symbols in enumerate(zip_longest(there, here)):
        if symbols[0] != symbols[1]:
            theirs, ours = ("missing" if symbol is None else repr(symbol) for symbol in symbols)
            return f"symbol {position} is {theirs} there and {ours} here"
    return None


@patches(TranslationTask, "state_dict")
def state_dict(stock: Stock, self: TranslationTask) -> dict[str, Any]:
    """Saves the symbols too. Fault: with a dictionary in another order a model decodes other words
    without an error.
    """
    source, target = list(self.src_dict.symbols), list(self.tgt_dict.symbols)
    if source == target:
        target = source  # stored once
    return {**stock(self), _SYMBOLS: {"source": source, "target": target}}


@patches(TranslationTask, "load_state_dict")
def load_state_dict(stock: Stock, self: TranslationTask, state_dict: dict[str, Any]) -> None:
    """Refuses a checkpoint with other symbols.

    A dictionary may be longer than the checkpoint's: ours have a placeholder.
    """
    state = dict(state_dict)
    kept = state.pop(_SYMBOLS, {})
    for side, dictionary in (("source", self.src_dict), ("target", self.tgt_dict)):
        there = kept.get(side, [])
        if differs := difference(there, dictionary.symbols[: len(there)]):
            raise UserError(
                f"the checkpoint was trained with another {side} dictionary ({differs}, in "
                f"{self.cfg.data}); give the data folder it was trained with"
            )
    stock(self, state)
