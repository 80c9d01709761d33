"""Signs an output with all that one needs to repeat it, as sacrebleu does."""

from pathlib import Path

from .. import __version__
from ..errors import UserError
from ..folder import DESCRIPTION, digest

#: the file that identifies a folder's model, the first that is there
_FILES = (DESCRIPTION, "checkpoint_best.pt", "checkpoint_last.pt", "model.pt")


def signature(model: str | Path, **settings: object) -> str:
    """Returns ``version:…|model:…|name:value|…``.

    model: a file, or a folder. An export is identified by its ``runtime.json``, which has the hash
    of every other file. settings: all that decides the output; None is left out.
    """
    path = Path(model)
    files = [path / name for name in _FILES] if path.is_dir() else [path]
    file = next((file for file in files if file.is_file()), None)
    if file is None:
        raise UserError(f"{model}: no model there to sign")
    fields = {"version": __version__, "model": digest(file)[:12], **settings}
    known = {name: value for name, value in fields.items() if value is not None}
    return "|".join(
        f"{name}:{value:g}" if isinstance(value, float) else f"{name}:{value}"
        for name, value in known.items()
    )
