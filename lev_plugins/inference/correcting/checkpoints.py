"""From a checkpoint to the backend that serves its kind of model."""

from collections.abc import Mapping
from typing import Any

import torch
from fairseq.dataclass.configs import GenerationConfig
from fairseq.sequence_generator import SequenceGenerator

from lev_correct.models.backend import Backend
from lev_correct.models.editor import LevenshteinBackend
from lev_runtime.errors import UserError

from ..checkpoints import (
    EDITING,
    device_named,
    find_checkpoint,
    load_state,
    words_learnt,
)
from ..editor import LevenshteinEditor
from ..generation import is_generating, load_parts, subwords
from .autoregressive import Autoregressive
from .generating import Generating


def checkpoint_backend(
    path: str,
    data: str | None = None,
    device: str | torch.device | None = None,
    beam: int | None = None,
    precision: str = "fp32",
    processing: Mapping[str, Any] | None = None,
    draft_guided: bool = False,
) -> Backend:
    """Loads a checkpoint; arguments and errors are those of :func:`.loading.load_backend`."""
    text_options = processing or {}
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
        parts = load_parts(path, state, data, text_options)
        generator = parts.task.build_generator([parts.model], GenerationConfig())
        searches = isinstance(generator, SequenceGenerator)
        if draft_guided and not searches:
            raise UserError(f"draft-guided decoding: --task {name} has its own generator")
        backend_class = Autoregressive if searches else Generating
        beam = 1 if draft_guided else 5 if beam is None else beam
        backend = backend_class(*parts, beam, place, precision, draft_guided)
    elif name in EDITING:
        editor = LevenshteinEditor.from_pretrained(
            path, data, place, precision, state=state, **text_options
        )
        editor.bpe, knows_spaces = subwords(
            (editor.tokenizer, editor.bpe), text_options, editor.task.src_dict
        )
        backend = LevenshteinBackend(editor, knows_spaces)
    else:
        raise UserError(
            f"{path} was trained with --task {name}; a corrector needs --task "
            "translation_edit, translation or a task derived from it"
        )
    backend.words_learnt = words_learnt(state)
    return backend
