"""py3langid for a few languages, prepared once for all later runs.

Its own file takes most of a second and 170 MB to load: what is needed of it is kept as arrays in
the user's cache, from where only the parts are read that a text leads to.
"""

import contextlib
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..words.kept_lists import user_cache

DESCRIPTION = "description.json"
#: of what is kept
_FORM = 1
_ARRAYS = ("scores", "priors", "moves", "rows", "features")


def load_identifier(languages: Sequence[str], cache: Path | None = None) -> Any:
    """A ``LanguageIdentifier`` of some languages; None where py3langid is not installed.

    Args:
        cache: folder where it is kept (default: ``lev_plugins`` in the user's cache). Where it can
            be neither read nor written, the library's own file is loaded.
    """
    try:
        from py3langid import __version__ as version
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError:
        return None
    own = {"form": _FORM, "py3langid": version, "languages": list(languages)}
    folder = (cache or user_cache()) / f"py3langid-{own['py3langid']}"
    with contextlib.suppress(OSError, ValueError):
        return _kept(LanguageIdentifier, folder, own)
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
    identifier.set_languages(languages)
    with contextlib.suppress(OSError):
        _keep(identifier, folder, own)
    return identifier


def _kept(identifier_class: Any, folder: Path, own: dict[str, Any]) -> Any:
    """From what :func:`_keep` wrote; raises OSError and ValueError where there is no such thing."""
    described = json.loads((folder / DESCRIPTION).read_text("utf-8"))
    if {**described, **own} != described:
        raise ValueError("of other languages")
    arrays = [np.load(folder / f"{name}.npy", mmap_mode="r") for name in _ARRAYS]
    scores, priors, moves, rows, features = arrays
    return identifier_class(
        scores,
        np.asarray(priors),
        described["classes"],
        memoryview(moves),
        features.tolist(),
        tk_row=rows.tolist(),
    )


def _keep(identifier: Any, folder: Path, own: dict[str, Any]) -> None:
    """Writes it, whole or not at all; raises OSError where it cannot."""
    import tempfile  # slow to import

    folder.parent.mkdir(parents=True, exist_ok=True)
    parts = (
        identifier.nb_ptc,
        identifier.nb_pc,
        identifier.tk_nextmove,
        identifier.tk_row,
        identifier.tk_output,
    )
    staging = Path(tempfile.mkdtemp(prefix=".py3langid-", dir=folder.parent))
    try:
        for name, part in zip(_ARRAYS, parts, strict=True):
            np.save(staging / f"{name}.npy", np.ascontiguousarray(part))
        described = own | {"classes": list(identifier.nb_classes)}
        (staging / DESCRIPTION).write_text(json.dumps(described), "utf-8")
        shutil.rmtree(folder, ignore_errors=True)  # of another form
        staging.rename(folder)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
