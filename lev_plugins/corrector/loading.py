"""From a checkpoint to the backend that serves its kind of model, and to one that ranks."""

from collections.abc import Mapping
from typing import Any

import torch
from fairseq.dataclass.configs import GenerationConfig
from fairseq.sequence_generator import SequenceGenerator

from ..errors import UserError
from ..inference.checkpoints import (
    EDITING,
    device_named,
    find_checkpoint,
    load_state,
    words_learnt,
)
from ..inference.editor import LevenshteinEditor
from ..inference.generation import is_generating, load_parts, subwords
from ..nn.seq2seq.draft_guided import DraftGuidedGenerator
from .autoregressive import Autoregressive
from .backends import Backend
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
            f"draft-guided decoding: {path} is an edit model and already starts from the "
            "text; leave it out"
        )
    if beam is not None and name in EDITING:
        raise UserError(f"beam={beam}: {path} is an edit model and has no beam search")
    backend: Generating | LevenshteinBackend
    if is_generating(state):
        parts = load_parts(path, state, data, given)
        generator = parts.task.build_generator([parts.model], GenerationConfig())
        searches = isinstance(generator, SequenceGenerator)
        if draft_guided and not searches:
            raise UserError(f"draft-guided decoding: --task {name} has its own generator")
        backend_class = Autoregressive if searches else Generating
        beam = 1 if draft_guided else 5 if beam is None else beam
        backend = backend_class(*parts, beam, place, precision, draft_guided)
    elif name in EDITING:
        editor = LevenshteinEditor.from_pretrained(
            path, data, place, precision, state=state, **given
        )
        editor.bpe, knows_spaces = subwords(
            (editor.tokenizer, editor.bpe), given, editor.task.src_dict
        )
        backend = LevenshteinBackend(editor, knows_spaces)
    else:
        raise UserError(
            f"{path} was trained with --task {name}; a corrector needs --task "
            "translation_edit, translation or a task derived from it"
        )
    backend.words_learnt = words_learnt(state)
    return backend


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
        raise UserError("--lexicon and --lookup need a left-to-right model")
    stored = use.weights if by_word == (use.unit in WORDS) else {}
    weights = {**defaults(by_word), "lookup": LISTED, **stored, **weights}
    return Ranker(backend, use.vocabulary(by_word), weights, use.longest)
