"""fairseq's checkpoints as Python finds and reads them."""

import os
import zipfile
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

import torch
from fairseq import checkpoint_utils, tasks
from fairseq.data import Dictionary, encoders
from fairseq.dataclass.utils import merge_with_parent
from fairseq.models import BaseFairseqModel
from fairseq.registry import REGISTRIES
from fairseq.tasks import FairseqTask
from fairseq.tasks.translation import TranslationTask
from omegaconf import DictConfig, OmegaConf

from lev_runtime.errors import UserError, flag

from ..data.batch import TextEncoder
from ..fairseq_patches.checkpoint_files import (
    AnyPath,
    Origin,
    dictionary_folder,
    loading_checkpoint,
)
from ..fairseq_patches.checkpoint_files import find_checkpoint as find_checkpoint
from ..fairseq_patches.checkpoints import read_checkpoint, wrap_checkpoint_errors
from ..fairseq_patches.line_lengths import WORDS_LEARNT
from ..tasks.evaluated_translation import require_dictionaries

#: tasks whose models edit by deletion and insertion
EDITING = ("translation_edit", "translation_lev")
ENCODERS = {"tokenizer": encoders.build_tokenizer, "bpe": encoders.build_bpe}
SWITCHED_OFF = ("none", None)  # of these: the text is cut already
M = TypeVar("M", bound=BaseFairseqModel)
#: What fairseq saves: ``cfg``, ``model`` and what task and trainer keep.
CheckpointState = dict[str, Any]


def device_named(name: str | torch.device | None) -> torch.device:
    """Returns a device that is here; the CPU by default.

    Raises:
        UserError: there is none of that name.
    """
    try:
        return torch.empty(0, device=name or "cpu").device
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0][:120]
        raise UserError(f"device {name} cannot be used here ({reason}); leave it out") from None


def load_state(path: str) -> CheckpointState:
    """Returns what a checkpoint holds, with its configuration in today's form.

    Raises:
        UserError: it cannot be read, or is not fairseq's.
    """
    with wrap_checkpoint_errors(path):
        state = checkpoint_utils.load_checkpoint_to_cpu(path)
    cfg = state.get("cfg")
    is_complete = isinstance(cfg, DictConfig) and None not in (cfg.get("model"), cfg.get("task"))
    if not is_complete or not isinstance(state.get("model"), dict):
        raise UserError(f"checkpoint {path} is not a fairseq checkpoint")
    Origin((path,)).check_task(cfg.task)
    return state


def task_in(path: str) -> str:
    """Returns what a checkpoint calls its task; none of its tensors is read.

    Raises:
        UserError: it cannot be read.
    """
    state = read_checkpoint(path, mmap=zipfile.is_zipfile(path))
    task = _part(_part(state, "cfg"), "task")
    return str(_part(task, "_name") or "")


def _part(of: object, name: str) -> Any:
    """Returns an item of untrusted data; None without."""
    return of.get(name) if isinstance(of, Mapping) else None


def words_learnt(state: CheckpointState) -> int | None:
    """Returns how many words a checkpoint's model learnt to read at once, or None."""
    num_words = _part(state.get("extra_state"), WORDS_LEARNT)
    return num_words if type(num_words) is int and num_words > 0 else None


def load_model(path: str, task: FairseqTask, state: CheckpointState, kind: type[M]) -> M:
    """Loads a checkpoint's model.

    Raises:
        UserError: it is of another kind, or its parameters do not fit the task.
    """
    with wrap_checkpoint_errors(path):
        (model,), *_ = checkpoint_utils.load_model_ensemble_and_task([path], task=task, state=state)
    if not isinstance(model, kind):
        raise UserError(f"{path} holds a {type(model).__name__}, not a {kind.__name__}")
    return model


def load_task(state: CheckpointState, path: str, data: AnyPath | None = None) -> TranslationTask:
    """Sets up the task of a translation or edit model.

    Its dictionaries are those of the folder ``data``, else those that the checkpoint carries, else
    those near it or in its training data.

    Raises:
        UserError: no dictionaries, or a task of another kind.
    """
    cfg = state["cfg"].task
    name = EDITING[0] if cfg._name in EDITING else cfg._name  # fairseq's LevT is read as ours
    task, config = tasks.TASK_REGISTRY.get(name, object), tasks.TASK_DATACLASS_REGISTRY.get(name)
    if config is None or not issubclass(task, TranslationTask):
        raise UserError(f"{path} was trained with task {name}, which translates no text")
    options = merge_with_parent(config(), cfg, remove_missing=True)
    options.eval_bleu = False  # it would ask for a detokenizer that nothing here uses
    named = {"data": data} if data else {}
    with wrap_checkpoint_errors(path), loading_checkpoint([path], named):
        carried = (state.get("task_state") or {}).get("symbols")
        if carried and not data:
            source, target = (dictionary_of(carried[side]) for side in ("source", "target"))
            return task(options, source, target)
        sides = options.source_lang, options.target_lang
        folder = data or dictionary_folder([path], options.data, sides) or os.path.dirname(path)
        options.data = os.fspath(folder) or os.curdir
        if None not in sides:
            way = f"give the folder with the dictionaries of {path}: data=FOLDER"
            require_dictionaries(options, way)
        return task.setup_task(options)


def dictionary_of(symbols: Sequence[str]) -> Dictionary:
    """Makes a dictionary of these symbols, without counts."""
    dictionary = Dictionary()
    for symbol in symbols[dictionary.nspecial :]:
        dictionary.add_symbol(symbol)
    return dictionary


def _names(options: Any) -> set[str]:
    """Returns the options of a dataclass; none of None."""
    return {option.name for option in fields(options)} if options else set()


def text_encoders(
    cfg: DictConfig,
    overrides: Mapping[str, object],
    paths: Sequence[str],
    data: AnyPath | None = None,
) -> list[TextEncoder | None]:
    """Builds fairseq's tokenizer and BPE by the checkpoint's configuration and ``overrides``.

    Raises:
        TypeError: an override that is no option of text processing.
        UserError: an override that nothing reads, a name that is not known, a file or package that
            is not there, or a file of the checkpoint's choice that lies neither next to it nor
            next to its data.
    """
    known = {*ENCODERS}
    for kind in ENCODERS:
        for options in REGISTRIES[kind]["dataclass_registry"].values():
            known |= _names(options)
    if unknown := overrides.keys() - known:
        raise TypeError(f"from_pretrained() has no argument {', '.join(sorted(unknown))}")
    origin = Origin(tuple(paths), overrides)
    folder = os.fspath(data) if data else getattr(cfg.task, "data", None)
    built: list[TextEncoder | None] = []
    read = {*ENCODERS}
    for kind, build in ENCODERS.items():
        wanted = cfg.get(kind)
        off = overrides.get(kind, kind) in SWITCHED_OFF
        try:
            if kind in overrides:
                wanted = Namespace(**overrides)
                options = REGISTRIES[kind]["dataclass_registry"].get(overrides[kind])
                read |= _names(options)
            elif wanted is not None:
                typed = {name: value for name, value in overrides.items() if name in wanted}
                wanted = OmegaConf.merge(wanted, typed)
                read |= typed.keys()
                wanted = origin.encoder(kind, wanted, folder)
            built.append(None if off or wanted is None else build(wanted))
        except UserError:
            raise
        except Exception as error:  # not of fairseq, no such file or package, a damaged setting
            raise UserError(
                f"{kind}: {error}; name one of fairseq's and its file (--sentencepiece-model FILE, "
                "--bpe-codes FILE; in Python sentencepiece_model=…, bpe_codes=…)"
            ) from None
    if unread := sorted(overrides.keys() - read):
        raise UserError(
            f"{flag(unread[0])}: not used by anything here; also give the --bpe or --tokenizer "
            "that reads it"
        )
    return built
