"""From a path to the backend that serves its kind of model, and to one that ranks."""

import contextlib
import glob
import os
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from lev_runtime.errors import MissingExtra, UserError, require_extra
from lev_runtime.folder import Folder, is_export
from lev_runtime.io.options import TEXT_PROCESSING

from ..settings import Settings
from .backend import Backend
from .ranking import WEIGHTS, WordRanker
from .rescoring import LINE_WEIGHTS, Rescorer
from .searching import THREADS, Exported, Searching

#: Entry points by which other packages read what this one does not.
GROUP = "lev_correct.backends"
#: Weight of a listed correction where none was tuned: a table that somebody wrote is followed.
LISTED = 30.0


def load_backend(
    path: str,
    data: str | None = None,
    device: Any = None,
    beam: int | None = None,
    precision: str = "fp32",
    processing: Mapping[str, Any] | None = None,
) -> Backend:
    """Loads an export, or a checkpoint where a folder has no export, or torch is needed for what is
    asked; arguments and errors are those of :meth:`.Corrector.from_pretrained`."""
    text_options = {name: value for name, value in (processing or {}).items() if value is not None}
    needs_torch = {
        "device": None if str(device) in ("None", "cpu") else device,
        "precision": None if precision == "fp32" else precision,
        "data": data,
        **text_options,
    }
    asked = [f"{name}={value}" for name, value in needs_torch.items() if value]
    if is_export(path):
        if not asked:
            return _exported(path, beam)
        has_checkpoint = bool(glob.glob(f"{glob.escape(path)}/*.pt"))
        unknown = sorted(text_options.keys() - TEXT_PROCESSING.keys())
        if unknown and not (has_checkpoint and find_spec("fairseq")):  # which knows more of them
            raise TypeError(f"from_pretrained() has no argument {', '.join(unknown)}")
        if not has_checkpoint:
            raise UserError(
                f"{asked[0]}: {path} is an export, which has its own text processing and computes "
                "on the CPU; leave it out"
            )
    load = plugin("backend", path, *asked[:1])
    backend: Backend = load(path, data, device, beam, precision, text_options)
    return backend


def _exported(path: str, beam: int | None) -> Backend:
    """Loads the model of an export: one that edits, or one that writes from left to right."""
    folder = Folder(path)
    if folder.model != "levenshtein_editor":
        return Exported(folder, 5 if beam is None else beam)
    from lev_runtime.refine.editor import Editor  # slow to import

    from .editor import LevenshteinBackend

    if beam is not None:
        raise UserError(f"beam={beam}: {path} is an edit model and has no beam search")
    return LevenshteinBackend.of_export(Editor(folder, THREADS))


def plugin(name: str, path: str, option: str = "") -> Any:
    """Returns what an installed package does with checkpoints: its entry point of this name.

    Args:
        name: "backend" loads a corrector's model, "labeler" one that predicts.
        path: of the checkpoint that needs it.
        option: that an export was given and that needs the checkpoint next to it.

    Raises:
        UserError: there is no such file, or nothing that is installed reads checkpoints.
    """
    from importlib.metadata import entry_points  # slow to import

    for entry in entry_points(group=GROUP, name=name):
        with contextlib.suppress(MissingExtra):
            return entry.load()
    if not os.path.exists(path):
        raise UserError(f"checkpoint {path} does not exist")
    exports = "(lev-export exports it where it was trained)"
    what = option if is_export(path) else f"{path} is a checkpoint of fairseq's {exports} and"
    require_extra("train", what=what)
    raise UserError(f"{what} needs lev_plugins, which is not installed")


def ranked(backend: Backend, use: Settings) -> Backend:
    """The backend, its candidates ranked where there is a lexicon or a look-up table.

    Raises:
        UserError: weights, bigrams or confusions where they would be of no use, or an edit model.
    """
    given = {"bigrams": use.bigrams, "confusions": use.confusions}
    files = [f"{name}={file}" for name, file in given.items() if file]
    options = [*files, *(f"weights={name}" for name in use.weights)]
    is_complete = not use.confusions or (use.bigrams and use.lexicon)
    if options and not (use.ranks and is_complete and (use.by_word or not files)):
        raise UserError(
            f"{options[0]}: needs lexicon=FILE; confusions bigrams=FILE too; and both of these "
            "unit=letters or word (settings=none where the settings name them)"
        )
    if use.beam == 0 and not (use.lexicon and use.by_word):
        raise UserError("beam=0: searches among the words of lexicon=FILE alone, by word")
    if not use.ranks:
        return backend
    if not isinstance(backend, Searching):
        raise UserError("--lexicon and --lookup need a left-to-right model")
    ranker, defaults = (WordRanker, WEIGHTS) if use.by_word else (Rescorer, LINE_WEIGHTS)
    weights = {**defaults, "lookup": LISTED, **use.weights}
    return ranker(backend, use.vocabulary(), weights, use.longest)
