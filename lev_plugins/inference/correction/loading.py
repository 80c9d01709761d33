"""From a checkpoint to the backend that serves its kind of model, and to one that ranks."""

import copy
import os
from collections.abc import Mapping
from typing import Any

import torch
from fairseq import tasks, utils
from fairseq.data import Dictionary, data_utils
from fairseq.data.encoders.characters import SPACE_ESCAPE, Characters
from fairseq.models import FairseqEncoderDecoderModel
from fairseq.tasks.translation import TranslationTask
from omegaconf import open_dict

from ...data.batch import TextEncoder
from ...errors import UserError
from ...fairseq_patches.checkpoints import wrap_checkpoint_errors
from ...fairseq_patches.trust import settings_of
from ...tasks.post_editing import require_dictionaries
from ..checkpoints import (
    CheckpointState,
    device_named,
    find_checkpoint,
    load_model,
    load_state,
    text_encoders,
    words_learnt,
)
from ..editor import LevenshteinEditor
from .autoregressive import Autoregressive
from .backends import Backend, TextProcessing
from .levenshtein import LevenshteinBackend
from .ranking import Ranker, defaults
from .settings import Settings

EDITING = ("translation_edit", "translation_lev")
WRITING = ("translation", "translation_concat", "noisy_translation")
#: Units that are ranked as single words; None: what settings without a unit were tuned for.
WORDS = (None, "word", "letters")
#: Weight of a listed correction where none was tuned: a table that somebody wrote is followed.
LISTED = 30.0


def load_backend(
    path: str,
    data: str | None = None,
    device: str | torch.device | None = None,
    beam: int | None = None,
    precision: str = "fp32",
    processing: Mapping[str, Any] | None = None,
) -> Backend:
    """Loads a checkpoint; arguments and errors are those of :meth:`.Corrector.from_pretrained`."""
    given = {name: value for name, value in (processing or {}).items() if value is not None}
    place, paths = device_named(device), [find_checkpoint(path)]
    state = load_state(paths[0])
    name = getattr(state["cfg"].task, "_name", None)
    if beam is not None and (beam < 1 or name in EDITING):
        why = "must be 1 or more" if beam < 1 else f"{path} is an edit model and searches none"
        raise UserError(f"beam={beam}: {why}")
    made: Autoregressive | LevenshteinBackend
    if name in WRITING:
        made = _autoregressive(paths, state, data, place, beam or 5, precision, given)
    elif name in EDITING:
        editor = LevenshteinEditor.from_pretrained(
            path, data, place, precision, state=state, **given
        )
        encoders = _processing(editor.tokenizer, editor.bpe, given, editor.task.src_dict)
        made = LevenshteinBackend(editor, *encoders)
    else:
        raise UserError(
            f"{paths[0]} was trained with --task {name}; a corrector is a model of --task "
            f"{', '.join(('translation_edit', *WRITING))}"
        )
    made.words_learnt = words_learnt(state)
    return made


def _autoregressive(
    paths: list[str],
    state: CheckpointState,
    data: str | None,
    device: torch.device,
    beam: int,
    precision: str,
    given: Mapping[str, Any],
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
            told = f"was trained with --task {kind} and {paths[0]} with {cfg.task._name}"
            raise UserError(f"{one} {told}; the models of an ensemble share their task")
        models.append(load_model(one, task, loaded, FairseqEncoderDecoderModel))
    tokenizer, bpe = text_encoders(cfg, given, paths, data)
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
        raise UserError(f"{path} and {folder} do not tell the languages; give data=DIR")
    require_dictionaries(cfg, f"give the folder with the dictionaries of {path}: data=DIR")
    return tasks.setup_task(cfg, from_checkpoint=True)  # options that have gone are left out


def _processing(
    tokenizer: TextEncoder | None,
    bpe: TextEncoder | None,
    given: Mapping[str, Any],
    dictionary: Dictionary,
) -> tuple[TextProcessing, bool]:
    """As the checkpoint or the user says; characters where neither does and all symbols are such,
    as data with spaces between characters leave no other trace. Also: whether the model was trained
    on more than single words, as far as can be told."""
    if "bpe" not in given and tokenizer is None and bpe is None and single_characters(dictionary):
        bpe = Characters()
    knows_spaces = not isinstance(bpe, Characters) or SPACE_ESCAPE in dictionary.indices
    return TextProcessing(tokenizer, bpe), knows_spaces


def single_characters(dictionary: Dictionary) -> bool:
    """Whether every symbol is one character, as in text that was split into characters."""
    known = dictionary.symbols[dictionary.nspecial :]
    sizes = {len(one) for one in known if one != "<plh>" and not one.startswith("madeupword")}
    return sizes == {1}


def ranked(
    backend: Backend, use: Settings, unit: str | None, weights: Mapping[str, float]
) -> Backend:
    """The backend, its candidates ranked where there is a lexicon or a look-up table; ``weights``
    come before those that were tuned.

    Raises:
        UserError: weights, bigrams or confusions where they would be of no use, or a model that
            cannot say how probable a text is.
    """
    files = {one: file for one in ("bigrams", "confusions") if (file := getattr(use, one))}
    given = [*map("=".join, files.items()), *(f"weights={name}" for name in weights)]
    by_word = unit in WORDS
    whole = not use.confusions or (use.bigrams and use.lexicon)
    if given and not (use.ranks and whole and (by_word or not files)):
        raise UserError(
            f"{given[0]}: needs lexicon=FILE; confusions bigrams=FILE too; and both of these "
            "unit=letters or word (settings=none where the settings name them)"
        )
    if not use.ranks:
        return backend
    if not isinstance(backend, Autoregressive) or backend.drafted:
        raise UserError("--lexicon, --lookup: need a model of task translation, noisy_translation")
    stored = use.weights if by_word == (use.unit in WORDS) else {}
    weights = {**defaults(by_word), "lookup": LISTED, **stored, **weights}
    return Ranker(backend, use.resources(), weights, by_word)
