"""From a checkpoint to the backend that serves its kind of model."""

import copy
import os
from collections.abc import Mapping
from typing import Any

import torch
from fairseq import tasks, utils
from fairseq.data import Dictionary, data_utils
from fairseq.data.encoders.characters import SPACE_ESCAPE, Characters
from fairseq.tasks.translation import TranslationTask
from omegaconf import open_dict

from ...data.batch import TextEncoder
from ...errors import UserError
from ...fairseq_patches import settings_of, wrap_checkpoint_errors
from ...tasks.post_editing import require_dictionaries
from ..checkpoints import (
    CheckpointState,
    device_named,
    find_checkpoints,
    load_state,
    load_writer,
    text_encoders,
    words_learnt,
)
from ..editor import LevenshteinEditor
from .autoregressive import Autoregressive
from .backends import Backend, TextProcessing
from .levenshtein import LevenshteinBackend
from .settings import Settings

EDITING = ("translation_edit", "translation_lev")
WRITING = ("translation", "translation_concat", "noisy_translation")
SWITCHED_OFF = "none"


def load_backend(
    path: str,
    data: str | None = None,
    device: str | torch.device | None = None,
    beam: int | None = None,
    max_iter: int | None = None,
    delete_threshold: float | None = None,
    precision: str = "fp32",
    processing: Mapping[str, object] | None = None,
    stored: Settings | None = None,
) -> Backend:
    """Loads a checkpoint, or several joined by ``:``.

    Args:
        path … precision: as of :meth:`.Corrector.from_pretrained`.
        processing: fairseq's names of text processing and their values; ``none`` switches the
            tokenizer or the subwords off.
        stored: whose beam, max_iter and delete_threshold are taken where none is given.

    Raises:
        UserError: no checkpoint there, one of a kind that does not correct, dictionaries that are
            not found, options that the kind does not have.
    """
    given = {name: value for name, value in (processing or {}).items() if value is not None}
    place = device_named(device)
    paths = find_checkpoints(path)
    state = load_state(paths[0])
    name = getattr(state["cfg"].task, "_name", None)
    if name not in (*EDITING, *WRITING):
        raise UserError(
            f"{paths[0]} was trained with --task {name}; a corrector is a model of --task "
            f"{', '.join(('translation_edit', *WRITING))}"
        )
    _check_options(paths[0], name in EDITING, beam, max_iter, delete_threshold)
    stored = stored or Settings()
    made: Autoregressive | LevenshteinBackend
    if name in WRITING:
        beam = beam or stored.beam or 5
        made = _autoregressive(paths, state, data, place, beam, precision, given)
    else:
        if delete_threshold is None:
            delete_threshold = stored.delete_threshold
        editor = LevenshteinEditor.from_pretrained(
            path, data, place, precision=precision, **_overrides(given)
        )
        encoders = _processing(editor.tokenizer, editor.bpe, given, editor.task.src_dict)
        max_iter = max_iter or stored.max_iter or 10
        made = LevenshteinBackend(editor, *encoders, max_iter, delete_threshold)
    made.words_learnt = words_learnt(state)
    return made


def _check_options(
    path: str, edits: bool, beam: int | None, max_iter: int | None, delete_threshold: float | None
) -> None:
    """Refuses what the kind of model does not have, and numbers out of range."""
    if edits and beam is not None:
        raise UserError(f"--beam {beam}: {path} is an edit model, which has no beam")
    for flag, value in (("--max-iter", max_iter), ("--delete-threshold", delete_threshold)):
        if value is not None and not edits:
            raise UserError(
                f"{flag} {value}: {path} writes from left to right and has no such option"
            )
    for flag, number in (("--max-iter", max_iter), ("--beam", beam)):
        if number is not None and number < 1:
            raise UserError(f"{flag} {number}: must be 1 or more")


def _autoregressive(
    paths: list[str],
    state: CheckpointState,
    data: str | None,
    device: torch.device,
    beam: int,
    precision: str,
    given: Mapping[str, object],
) -> Autoregressive:
    """Task, models and text processing of left-to-right checkpoints."""
    cfg = state["cfg"]
    with wrap_checkpoint_errors(paths[0]), settings_of(paths, given):
        task = _task(state, paths[0], data)
    models = []
    for one in paths:
        loaded = state if one == paths[0] else load_state(one)
        kind = getattr(loaded["cfg"].task, "_name", None)
        if kind != cfg.task._name:
            raise UserError(
                f"{one} was trained with --task {kind} and {paths[0]} with {cfg.task._name}; the "
                "models of an ensemble share their task"
            )
        models.append(load_writer(one, task, loaded))
    tokenizer, bpe = text_encoders(cfg, _overrides(given), paths, data)
    encoders = _processing(tokenizer, bpe, given, task.source_dictionary)
    return Autoregressive(models, task, cfg, *encoders, beam, device, precision)


def _task(state: CheckpointState, path: str, data: str | None) -> TranslationTask:
    """The task, with the dictionaries of ``data``, else of the training data, else beside it."""
    cfg = copy.deepcopy(state["cfg"].task)
    folder = data
    if folder is None:
        trained = utils.split_paths(cfg.data)[0] if cfg.data else ""
        folder = trained if os.path.isdir(trained) else os.path.dirname(os.path.abspath(path))
    with open_dict(cfg):
        cfg.data = folder
        if "eval_bleu" in cfg:  # it would ask for a detokenizer that nothing here uses
            cfg.eval_bleu = False
        if None in (cfg.source_lang, cfg.target_lang) and os.path.isdir(folder):
            cfg.source_lang, cfg.target_lang = data_utils.infer_language_pair(folder)
    if None in (cfg.source_lang, cfg.target_lang):
        raise UserError(
            f"{path} does not tell its languages, and {folder} has no data that do; give the "
            "folder that it was trained on: --data DIR"
        )
    way = f"give the folder with the dictionaries of {path}: --data DIR"
    require_dictionaries(cfg, folder, way)
    return tasks.setup_task(cfg)


def _overrides(given: Mapping[str, object]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value != SWITCHED_OFF}


def _processing(
    tokenizer: TextEncoder | None,
    bpe: TextEncoder | None,
    given: Mapping[str, object],
    dictionary: Dictionary,
) -> tuple[TextProcessing, bool]:
    """As the checkpoint or the user says; characters where neither does and all symbols are such.

    Data files in which characters are set apart by spaces leave no trace in a checkpoint but that.

    Returns:
        also whether the model was trained on more than single words, as far as can be told.
    """
    if given.get("tokenizer") == SWITCHED_OFF:
        tokenizer = None
    if given.get("bpe") == SWITCHED_OFF:
        bpe = None
    elif tokenizer is None and bpe is None and single_characters(dictionary):
        bpe = Characters()
    knows_spaces = not isinstance(bpe, Characters) or SPACE_ESCAPE in dictionary.indices
    return TextProcessing(tokenizer, bpe), knows_spaces


def single_characters(dictionary: Dictionary) -> bool:
    """Whether every symbol is one character, as in text that was split into characters."""
    words = [
        symbol
        for symbol in dictionary.symbols[dictionary.nspecial :]
        if symbol != "<plh>" and not symbol.startswith("madeupword")
    ]
    return bool(words) and all(len(word) == 1 for word in words)
