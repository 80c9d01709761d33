"""Files and folders that options and checkpoints name: whether they are there, how a checkpoint
keeps their names, where they are found again, and where a model's dictionaries lie.

Faults: fairseq keeps names as they were typed, which lead nowhere from another folder; a file that
does not exist is told late, as a damaged one or by a traceback; and dictionaries are looked for
beside data alone, not beside the model.
"""

import errno
import glob
import os
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from fairseq import file_utils, utils
from fairseq.tasks import TASK_REGISTRY
from fairseq.tasks.translation import TranslationTask
from hydra.core.hydra_config import HydraConfig
from hydra.utils import get_original_cwd
from omegaconf import DictConfig, OmegaConf

from ..errors import UserError
from ..io.patching import Stock, patches
from ..io.program import running_command
from ..io.text_files import lacking

AnyPath = str | os.PathLike[str]

#: what a folder stands for, the first of them that is there
CHECKPOINTS = ("checkpoint_best.pt", "checkpoint_last.pt", "model.pt")
#: files and folders that fairseq's and our tokenizers and subwords read
FILES = (
    "bpe_codes bpe_merges bpe_vocab bpe_vocab_file gpt2_encoder_json gpt2_vocab_bpe hf_directory "
    "sentencepiece_model sentencepiece_model_path"
).split()
#: section of a training's settings → its options that name one file or folder
KEPT: Mapping[str, Sequence[str]] = {
    "bpe": FILES,
    "tokenizer": FILES,
    "task": ("noise_confusions",),
    "model": ("backbone", "bert_dir", "t5_dir", "encoder_embed_path", "decoder_embed_path"),
    "task.text_bpe": FILES,
    "task.text_tokenizer": FILES,
    "checkpoint": ("finetune_from_model",),
}
_REMOTE = "://"
_UNSET = ("", "???")


def flag(name: str) -> str:
    """An option as it is typed."""
    return "--" + name.replace("_", "-")


def plain(settings: Any) -> Mapping[str, Any]:
    """Settings by name as they are written: one that refers to another is a text with ``${``."""
    if isinstance(settings, DictConfig):
        settings = OmegaConf.to_container(settings, resolve=False)
    settings = {"_name": settings} if isinstance(settings, str) else settings
    return settings if isinstance(settings, Mapping) else getattr(settings, "__dict__", {})


def find_checkpoint(path: AnyPath) -> str:
    """A checkpoint: the file itself, or the first of ``CHECKPOINTS`` in a folder.

    Raises:
        UserError: there is none.
    """
    if not os.path.isdir(path):
        if lacks := lacking(path):
            raise UserError(f"checkpoint {path} {lacks}")
        return os.fspath(path)
    for name in CHECKPOINTS:
        if os.path.isfile(file := os.path.join(path, name)):
            return file
    raise UserError(f"{path} holds none of {', '.join(CHECKPOINTS)}; name the checkpoint")


# what a training keeps ----------------------------------------------------------------------------


def _named(cfg: Any, sections: Iterable[str]) -> Iterator[tuple[Any, str, str]]:
    """The settings of sections that name a local file or folder: section, name and value."""
    for section in sections:
        how = {"throw_on_resolution_failure": False}
        whole = isinstance(cfg, DictConfig)
        settings = OmegaConf.select(cfg, section, **how) if whole else getattr(cfg, section, None)
        known = plain(settings)
        for name in KEPT[section]:
            value = known.get(name)
            if isinstance(value, str) and value not in _UNSET and _REMOTE not in value:
                yield settings, name, value


def require_subwords(cfg: Any) -> None:
    """Refuse a training whose ``--bpe`` or ``--tokenizer`` has a file that does not exist.

    Fault: binarised data do not need it, so that only the trained model cannot be used.
    """
    for _, name, value in _named(cfg, ("bpe", "tokenizer")):
        if not os.path.exists(value):
            raise UserError(f"{flag(name)} {value} does not exist; check the path")


def make_absolute(cfg: Any) -> None:
    """Let a training's settings name its files and data from the root on.

    They lead from the folder in which the command was typed, which hydra has left. What is not
    there stays as it is: it may be no path.
    """
    typed = get_original_cwd() if HydraConfig.initialized() else os.getcwd()

    def absolute(path: str) -> str:
        there = os.path.join(typed, path)
        return os.path.abspath(there) if os.path.exists(there) else path

    for settings, name, value in _named(cfg, KEPT):
        setattr(settings, name, absolute(value))
    data = getattr(getattr(cfg, "task", None), "data", None)
    if isinstance(data, str) and _REMOTE not in data:
        cfg.task.data = os.pathsep.join(map(absolute, data.split(os.pathsep)))


@patches(file_utils, "cached_path")
def cached_path(stock: Stock, url_or_filename: AnyPath, *more: object, **named: object) -> object:
    """Fault: an error about a file that does not exist does not say which in a way to be told."""
    path = os.fspath(url_or_filename)
    if _REMOTE not in path and not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    return stock(url_or_filename, *more, **named)


# what a checkpoint names --------------------------------------------------------------------------


def homes(paths: Iterable[AnyPath], data: object = None) -> list[str]:
    """The folders that are a checkpoint's own, the nearest first: its folder, those of its ``data``
    (``:`` between them) that hold dictionaries, and the folders above these.
    """
    beside = [os.path.dirname(os.path.realpath(path)) for path in paths]
    near = list(dict.fromkeys([*beside, *map(os.path.dirname, beside)]))
    folders = data.split(os.pathsep) if isinstance(data, str) and data else []
    for folder in folders:
        there = (p for p in places(folder, near) if glob.glob(f"{glob.escape(p)}/dict*.txt"))
        beside += [os.path.realpath(place) for place in islice(there, 1)]
    return list(dict.fromkeys([*beside, *map(os.path.dirname, beside)]))


def places(value: str, near: Sequence[str]) -> list[str]:
    """Where a file or folder that a checkpoint names may be now: there, or under its last name in
    the folders ``near``; these come first where the name does not begin at the root.
    """
    last = os.path.basename(os.path.normpath(value))
    known = last not in ("", os.curdir, os.pardir)
    beside = [os.path.join(folder, last) for folder in near if known]
    return [value, *beside] if os.path.isabs(value) else [*beside, value]


def with_paths(settings: Any, found: Mapping[str, str]) -> Any:
    """A copy of settings in which some files lie elsewhere."""
    if isinstance(settings, Namespace):
        return Namespace(**{**vars(settings), **found})
    return OmegaConf.merge(settings, found)


# dictionaries -------------------------------------------------------------------------------------


def has_dictionaries(folder: str, languages: Iterable[str | None]) -> bool:
    """Whether a folder has a dictionary for each language."""
    names = [f"dict.{language}.txt" for language in languages]
    return all(os.path.isfile(os.path.join(folder, name)) for name in names)


def dictionary_folder(
    paths: Iterable[AnyPath], data: str | None, languages: Sequence[str | None]
) -> str | None:
    """The folder with a model's dictionaries: its own, else the first of its ``data``, as it is
    named or under its last name near the model; None where there are none.
    """
    files = list(paths)
    beside = [os.path.dirname(os.path.abspath(path)) for path in files]
    trained = places(utils.split_paths(data)[0], homes(files)) if data else []
    folders = [*beside, *trained]
    return next((folder for folder in folders if has_dictionaries(folder, languages)), None)


def reads_dictionaries(cfg: Any) -> bool:
    """Whether a task, by its settings, is of those that read ``dict.LANGUAGE.txt``."""
    kind: Any = TASK_REGISTRY.get(plain(cfg).get("task") or plain(cfg).get("_name"))
    languages = plain(cfg).get("source_lang"), plain(cfg).get("target_lang")
    return kind is not None and issubclass(kind, TranslationTask) and None not in languages


def decoding_models(cfg: Any) -> list[str]:
    """The checkpoints of ``--path`` that are there, by the settings of a command's task."""
    whole = cfg._get_parent() if isinstance(cfg, DictConfig) else None
    path = None if whole is None else OmegaConf.select(whole, "common_eval.path")
    names = utils.split_paths(path) if path else []
    return [find_checkpoint(name) for name in names if os.path.exists(name)]


def reads_binarised(cfg: DictConfig) -> bool:
    """Whether a command that decodes reads what ``cfg.data``'s own dictionaries number."""
    split = OmegaConf.select(cfg._get_parent(), "dataset.gen_subset")
    if running_command() == "interactive" or not split:
        return False
    folder = glob.escape(utils.split_paths(cfg.data)[0])
    return bool(glob.glob(f"{folder}/{glob.escape(split)}.*.idx"))


def require_data(cfg: Any) -> None:
    """Refuse a data folder that does not exist, of tasks of ours and of translation."""
    data, name = plain(cfg).get("data"), plain(cfg).get("_name")
    kind: Any = TASK_REGISTRY.get(name, object)
    ours = kind.__module__.partition(".")[0] == __name__.partition(".")[0]
    if isinstance(data, str) and data and (ours or issubclass(kind, TranslationTask)):
        for folder in utils.split_paths(data):
            if _REMOTE not in folder and not os.path.exists(folder):
                raise UserError(f"data folder {folder} does not exist; check the path")
