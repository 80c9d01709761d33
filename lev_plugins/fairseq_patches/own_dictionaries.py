"""Fault: dictionaries are looked for beside data alone, not beside the model."""

import glob
import os
from collections.abc import Sequence
from typing import Any

from fairseq.tasks import TASK_REGISTRY
from fairseq.tasks.translation import TranslationTask
from omegaconf import DictConfig, OmegaConf

from lev_runtime.errors import UserError

from ..io.model_files import (
    REMOTE,
    dictionary_folder,
    find_checkpoint,
    has_dictionaries,
    split_folders,
)
from ..io.program import running_command
from .kept_paths import plain


def model_dictionaries(cfg: Any, paths: Sequence[str] | None, data_is_named: bool) -> str | None:
    """The folder of a model's own dictionaries, for a task by its settings; None where those of
    ``cfg.data`` are to be read: of a training, of binarised data, of a folder that is named.

    Args:
        paths: the checkpoints whose task it is; None for those of a command's ``--path``.
        data_is_named: the user has named ``cfg.data`` for them.
    """
    settings = plain(cfg)
    languages = settings.get("source_lang"), settings.get("target_lang")
    task: Any = TASK_REGISTRY.get(settings.get("task") or settings.get("_name"), object)
    if not issubclass(task, TranslationTask) or None in languages:
        return None  # it reads no ``dict.LANGUAGE.txt``
    if paths is None:
        command = cfg._get_parent() if isinstance(cfg, DictConfig) else None
        paths = _decoding_models(command)
        data_is_named = bool(paths) and _reads_binarised(command, cfg.data)
    if not paths or (data_is_named and has_dictionaries(split_folders(cfg.data)[0], languages)):
        return None
    return dictionary_folder(paths, cfg.data, languages)


def _decoding_models(command: Any) -> list[str]:
    """The checkpoints of a command's ``--path`` that are there."""
    path = None if command is None else OmegaConf.select(command, "common_eval.path")
    return [find_checkpoint(name) for name in split_folders(path) if os.path.exists(name)]


def _reads_binarised(command: DictConfig, data: str) -> bool:
    """Whether a command that decodes reads what the data's own dictionaries number."""
    split = OmegaConf.select(command, "dataset.gen_subset")
    if running_command() == "interactive" or not split:
        return False
    names = os.path.join(glob.escape(split_folders(data)[0]), f"{glob.escape(split)}.*.idx")
    return bool(glob.glob(names))


def require_data(cfg: Any) -> None:
    """Refuse a data folder that does not exist, of tasks of ours and of translation."""
    settings = plain(cfg)
    task: Any = TASK_REGISTRY.get(settings.get("_name"), object)
    is_ours = task.__module__.partition(".")[0] == __name__.partition(".")[0]
    data = settings.get("data")
    if not isinstance(data, str) or not (is_ours or issubclass(task, TranslationTask)):
        return
    for folder in split_folders(data):
        if REMOTE not in folder and not os.path.exists(folder):
            raise UserError(f"data folder {folder} does not exist; check the path")
