"""The task of an edit model, of what its checkpoint keeps."""

import dataclasses
import os
from collections.abc import Sequence

from fairseq import utils
from fairseq.data import Dictionary

from ..errors import UserError
from ..systems.levenshtein.task import TranslationEditConfig, TranslationEditTask
from .checkpoints import CheckpointState


def editing_task(state: CheckpointState, path: str, data: str | None) -> TranslationEditTask:
    """The task, with the dictionaries of ``data``, else of the checkpoint, else of its data."""
    cfg = state["cfg"].task
    symbols = state.get("task_state") or {}
    if cfg._name not in ("translation_edit", "translation_lev"):
        raise UserError(f"{path} was trained with task {cfg._name}, not translation_edit")
    config = TranslationEditConfig()
    for field in dataclasses.fields(config):
        default = getattr(config, field.name)
        known = field.name in cfg and field.name != "_name"
        if known:
            setattr(config, field.name, cfg[field.name])
        elif isinstance(default, str) and default.startswith("${"):
            setattr(config, field.name, 1 if field.name == "seed" else None)
    if data is None and "source_symbols" in symbols:
        sides = (_dictionary(symbols[f"{side}_symbols"]) for side in ("source", "target"))
        return TranslationEditTask(config, *sides)
    if data is not None:
        config.data = data
    elif not os.path.isdir(utils.split_paths(config.data)[0]):
        config.data = os.path.dirname(os.path.abspath(path))
    return TranslationEditTask.setup_task(config)


def _dictionary(symbols: Sequence[str]) -> Dictionary:
    dictionary = Dictionary()
    for symbol in symbols[dictionary.nspecial :]:
        dictionary.add_symbol(symbol)
    return dictionary
