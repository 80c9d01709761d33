"""From a path to the backend that serves its kind of model, and to one that ranks."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lev_plugins.io.model_files import find_checkpoint
from lev_runtime.errors import UserError
from lev_runtime.extras import require_extra
from lev_runtime.folder import is_export

from ..ranking.ranking import Ranker, defaults
from ..settings import Settings
from .backend import Backend
from .exported import Exported, serves
from .searching import Searching

if TYPE_CHECKING:
    import torch

#: Units that are ranked as single words; None: what settings without a unit were tuned for.
WORDS = (None, "word", "letters")
#: Weight of a listed correction where none was tuned: a table that somebody wrote is followed.
LISTED = 30.0


def load_backend(
    path: str,
    data: str | None = None,
    device: "str | torch.device | None" = None,
    beam: int | None = None,
    precision: str = "fp32",
    processing: Mapping[str, Any] | None = None,
    draft_guided: bool = False,
) -> Backend:
    """Loads an export, or a checkpoint where a folder has no export, or torch is needed for what is
    asked; arguments and errors are those of :meth:`.Corrector.from_pretrained`."""
    text_options = {name: value for name, value in (processing or {}).items() if value is not None}
    needs_torch = {
        "device": None if str(device) in ("None", "cpu") else device,
        "precision": None if precision == "fp32" else precision,
        "draft_guided": draft_guided,
        "data": data,
        **text_options,
    }
    if serves(path, needs_torch):
        return Exported(path, 5 if beam is None else beam)
    asked = [f"{name}={value}" for name, value in needs_torch.items() if value]
    require_reader(path, *asked[:1])
    from lev_plugins.inference.correcting.checkpoints import (
        checkpoint_backend,  # torch and fairseq are slow to import
    )

    return checkpoint_backend(path, data, device, beam, precision, text_options, draft_guided)


def require_reader(path: str, option: str = "") -> None:
    """Raises :class:`UserError` where there is no checkpoint, or nothing that reads it.

    Args:
        option: that an export was given and that needs the checkpoint beside it.
    """
    find_checkpoint(path)
    exports = "(lev-export exports it where it was trained)"
    what = option if is_export(path) else f"{path} is a checkpoint of fairseq's {exports} and"
    require_extra("train", what=what)


def ranked(
    backend: Backend, use: Settings, unit: str | None, weights: Mapping[str, float]
) -> Backend:
    """The backend, its candidates ranked where there is a lexicon or a look-up table; ``weights``
    come before those that were tuned.

    Raises:
        UserError: weights, bigrams or confusions where they would be of no use, or an edit model.
    """
    files = [f"{name}={file}" for name in ("bigrams", "confusions") if (file := getattr(use, name))]
    options = [*files, *(f"weights={name}" for name in weights)]
    by_word = unit in WORDS
    is_complete = not use.confusions or (use.bigrams and use.lexicon)
    if options and not (use.ranks and is_complete and (by_word or not files)):
        raise UserError(
            f"{options[0]}: needs lexicon=FILE; confusions bigrams=FILE too; and both of these "
            "unit=letters or word (settings=none where the settings name them)"
        )
    if not use.ranks:
        return backend
    if backend.draft_guided:
        raise UserError(
            "draft-guided decoding writes one text a unit, and ranking wants several: leave it "
            "out, or --lexicon and --lookup (--settings none where the settings name them)"
        )
    if not isinstance(backend, Searching):
        raise UserError("--lexicon and --lookup need a left-to-right model")
    stored = use.weights if by_word == (use.unit in WORDS) else {}
    weights = {**defaults(by_word), "lookup": LISTED, **stored, **weights}
    return Ranker(backend, use.vocabulary(by_word), weights, use.longest)
