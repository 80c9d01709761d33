"""From a checkpoint to the backend that serves its kind of model, and to one that ranks."""

import contextlib
import copy
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from fairseq import tasks, utils
from fairseq.data import Dictionary, data_utils
from fairseq.data.encoders.characters import SPACE_ESCAPE, Characters
from fairseq.dataclass.configs import GenerationConfig
from fairseq.models import BaseFairseqModel
from fairseq.sequence_generator import SequenceGenerator
from fairseq.tasks.translation import TranslationTask
from omegaconf import open_dict

from ...data.batch import TextEncoder
from ...errors import UserError
from ...fairseq_patches.checkpoints import wrap_checkpoint_errors
from ...fairseq_patches.paths import dictionary_folder
from ...fairseq_patches.trust import settings_of
from ...nn.seq2seq.draft_guided import DraftGuidedGenerator
from ...tasks.post_editing import require_dictionaries
from ..checkpoints import (
    EDITING,
    CheckpointState,
    device_named,
    dictionary_of,
    find_checkpoint,
    load_model,
    load_state,
    symbols_in,
    text_encoders,
    words_learnt,
)
from ..editor import LevenshteinEditor
from .autoregressive import Autoregressive
from .backends import Backend, TextProcessing
from .generating import Generating
from .levenshtein import LevenshteinBackend
from .ranking import Ranker, defaults
from .settings import Settings

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
    draft_guided: bool = False,
) -> Backend:
    """Loads a checkpoint; arguments and errors are those of :meth:`.Corrector.from_pretrained`."""
    given = {name: value for name, value in (processing or {}).items() if value is not None}
    place, path = device_named(device), find_checkpoint(path)
    state = load_state(path)
    name = getattr(state["cfg"].task, "_name", None)
    if draft_guided and name in EDITING:
        raise UserError(
            f"draft-guided decoding: {path} is an edit model, which starts from the text anyway; "
            "leave it out"
        )
    if beam is not None and (beam < 1 or name in EDITING):
        why = "must be 1 or more" if beam < 1 else f"{path} is an edit model and searches none"
        raise UserError(f"beam={beam}: {why}")
    made: Generating | LevenshteinBackend
    if name not in EDITING and issubclass(tasks.TASK_REGISTRY.get(name, object), TranslationTask):
        named = {**given, **({"data": data} if data else {})}
        with wrap_checkpoint_errors(path), settings_of([path], named):
            task = _task(state, path, data)
        model = load_model(path, task, state, BaseFairseqModel)
        searches = isinstance(task.build_generator([model], GenerationConfig()), SequenceGenerator)
        encoders = text_encoders(state["cfg"], given, [path], data)
        bpe, spaces = _bpe(encoders, given, task.source_dictionary)
        text = TextProcessing(encoders[0], bpe)
        kind = Autoregressive if searches else Generating
        if draft_guided and not searches:
            raise UserError(f"draft-guided decoding: --task {name} has a generator of its own")
        beam = 1 if draft_guided else beam or 5
        made = kind(model, task, state["cfg"], text, spaces, beam, place, precision, draft_guided)
    elif name in EDITING:
        editor = LevenshteinEditor.from_pretrained(
            path, data, place, precision, state=state, **given
        )
        editor.bpe, spaces = _bpe((editor.tokenizer, editor.bpe), given, editor.task.src_dict)
        made = LevenshteinBackend(editor, spaces)
    else:
        raise UserError(
            f"{path} was trained with --task {name}; a corrector is a model of --task "
            "translation_edit, translation or one that is derived from it"
        )
    made.words_learnt = words_learnt(state)
    return made


def _task(state: CheckpointState, path: str, data: str | None) -> TranslationTask:
    """The task, with the dictionaries of ``data``, else those beside the checkpoint, else those
    that it carries, else those of its training data."""
    cfg = copy.deepcopy(state["cfg"].task)
    with open_dict(cfg):
        if "eval_bleu" in cfg:  # it would ask for a detokenizer that nothing here uses
            cfg.eval_bleu = False
    with _dictionaries(state, path, data) as folder, open_dict(cfg):
        trained, cfg.data = cfg.data, folder
        if None in (cfg.source_lang, cfg.target_lang) and os.path.isdir(folder):
            cfg.source_lang, cfg.target_lang = data_utils.infer_language_pair(folder)
        require_dictionaries(cfg, f"give the folder with the dictionaries of {path}: data=DIR")
        task = tasks.setup_task(cfg, from_checkpoint=True)  # options that have gone are left out
        task.cfg.data = data or trained
        return task


@contextlib.contextmanager
def _dictionaries(state: CheckpointState, path: str, data: str | None) -> Iterator[str]:
    """The folder of the dictionaries; one that lasts as long as the block for those of a checkpoint
    that has no other."""
    cfg, symbols = state["cfg"].task, symbols_in(state)
    languages = cfg.source_lang, cfg.target_lang
    folder = data or dictionary_folder([path], None, languages)
    if folder or not symbols or None in languages:
        trained = utils.split_paths(cfg.data)[0] if cfg.data else os.path.dirname(path)
        yield folder or dictionary_folder([path], cfg.data, languages) or trained or os.curdir
        return
    with tempfile.TemporaryDirectory(prefix="lev-dictionaries-") as made:
        for language, known in zip(languages, symbols.values(), strict=True):
            dictionary_of(known).save(os.path.join(made, f"dict.{language}.txt"))
        yield made


def _bpe(
    encoders: Sequence[TextEncoder | None], given: Mapping[str, Any], dictionary: Dictionary
) -> tuple[TextEncoder | None, bool]:
    """The subwords, of a tokenizer and these, as the checkpoint or the user says; characters where
    neither does and all symbols are such, as data with spaces between characters leave no other
    trace. Also: whether the model was trained on more than single words, as far as can be told."""
    bpe = encoders[1]
    if "bpe" not in given and not any(encoders) and single_characters(dictionary):
        bpe = Characters()
    return bpe, not isinstance(bpe, Characters) or SPACE_ESCAPE in dictionary.indices


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
        UserError: weights, bigrams or confusions where they would be of no use, or an edit model.
    """
    files = [f"{one}={file}" for one in ("bigrams", "confusions") if (file := getattr(use, one))]
    given = [*files, *(f"weights={name}" for name in weights)]
    by_word = unit in WORDS
    whole = not use.confusions or (use.bigrams and use.lexicon)
    if given and not (use.ranks and whole and (by_word or not files)):
        raise UserError(
            f"{given[0]}: needs lexicon=FILE; confusions bigrams=FILE too; and both of these "
            "unit=letters or word (settings=none where the settings name them)"
        )
    if not use.ranks:
        return backend
    if isinstance(getattr(backend, "generator", None), DraftGuidedGenerator):
        raise UserError(
            "draft-guided decoding writes one text a unit, and ranking wants several: leave it "
            "out, or --lexicon and --lookup (--settings none where the settings name them)"
        )
    if not isinstance(backend, Autoregressive):
        raise UserError("--lexicon, --lookup: need a model that writes from left to right")
    stored = use.weights if by_word == (use.unit in WORDS) else {}
    weights = {**defaults(by_word), "lookup": LISTED, **stored, **weights}
    return Ranker(backend, use.vocabulary(by_word), weights, use.longest)
