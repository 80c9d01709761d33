"""Where the files of a model lie: its checkpoint, its dictionaries, and what it names besides."""

import glob
import os
from collections.abc import Iterable, Sequence

from lev_runtime.errors import UserError
from lev_runtime.io.text_files import lacking

AnyPath = str | os.PathLike[str]

#: what a folder stands for, the first of them that is there
CHECKPOINTS = ("checkpoint_best.pt", "checkpoint_last.pt", "model.pt")
REMOTE = "://"


def flag(name: str) -> str:
    """An option as it is typed."""
    return "--" + name.replace("_", "-")


def split_folders(data: str | None) -> list[str]:
    """The folders of ``data``, as fairseq tells them apart: by ``:``, addresses by ``|``."""
    return data.split("|" if REMOTE in data else os.pathsep) if data else []


def find_checkpoint(path: AnyPath) -> str:
    """A checkpoint: the file itself, or the first of ``CHECKPOINTS`` in a folder.

    Raises:
        UserError: there is none.
    """
    if not os.path.isdir(path):
        if reason := lacking(path):
            raise UserError(f"checkpoint {path} {reason}")
        return os.fspath(path)
    for name in CHECKPOINTS:
        file = os.path.join(path, name)
        if os.path.isfile(file):
            return file
    raise UserError(f"{path} contains none of {', '.join(CHECKPOINTS)}; name the checkpoint")


def own_folders(paths: Iterable[AnyPath], data: object = None) -> list[str]:
    """The folders that are a checkpoint's own, the nearest first: its folder, those of its ``data``
    (``:`` between them) that hold dictionaries, and the folders above these.
    """
    folders = [os.path.dirname(os.path.realpath(path)) for path in paths]
    near = _with_parents(folders)
    for name in split_folders(data if isinstance(data, str) else None):
        for place in possible_places(name, near):
            if glob.glob(f"{glob.escape(place)}/dict*.txt"):
                folders.append(os.path.realpath(place))
                break
    return _with_parents(folders)


def _with_parents(folders: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*folders, *map(os.path.dirname, folders)]))


def possible_places(name: str, near: Sequence[str]) -> list[str]:
    """Where a file or folder that a checkpoint names may be now: there, or under its last name in
    the folders ``near``; these come first where the name does not begin at the root.
    """
    last = os.path.basename(os.path.normpath(name))
    beside = []
    if last not in ("", os.curdir, os.pardir):
        beside = [os.path.join(folder, last) for folder in near]
    return [name, *beside] if os.path.isabs(name) else [*beside, name]


def has_dictionaries(folder: str, languages: Iterable[str | None]) -> bool:
    """Whether a folder has a dictionary for each language."""
    files = (os.path.join(folder, f"dict.{language}.txt") for language in languages)
    return all(map(os.path.isfile, files))


def dictionary_folder(
    paths: Sequence[AnyPath], data: str | None, languages: Sequence[str | None]
) -> str | None:
    """The folder with a model's dictionaries: its own, else the first of its ``data``, as it is
    named or under its last name near the model; None where there are none.
    """
    folders = [os.path.dirname(os.path.abspath(path)) for path in paths]
    for name in split_folders(data)[:1]:
        folders += possible_places(name, own_folders(paths))
    return next((folder for folder in folders if has_dictionaries(folder, languages)), None)
