"""Which files below some paths a check reads: those of text that git tracks, else all."""

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from lev_runtime.errors import UserError
from lev_runtime.io.lines import STANDARD_STREAM, is_stream
from lev_runtime.io.text_files import reading

from ..files.markup import Knows
from .git import tracked_files
from .kinds import BINARY, HEAD, encoding_of, left_alone

#: Folders outside of git that hold what others wrote, or what programs did.
FOREIGN_FOLDERS = set(
    "bower_components build dist node_modules out site-packages target third_party venv vendor "
    "__pycache__".split()
)


@dataclass
class CheckedFiles:
    """files: to read, each once, in order. left_out: the others by kind, and folders that hold what
    others wrote. problems: a message for each path that cannot be read."""

    files: list[str] = field(default_factory=list)
    left_out: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    problems: list[str] = field(default_factory=list)


def checked_files(paths: Sequence[str], excludes: Knows) -> CheckedFiles:
    """The files of text among ``paths`` and below the folders among them; lists of words only among
    ``paths``.

    Of a folder those that git tracks, of one in which it tracks none all but those below
    :data:`FOREIGN_FOLDERS`; hidden files, links and what :func:`.left_alone` names are passed over
    there, the user's cache anywhere. A file of text that is named itself is read.

    Args:
        excludes: whether a path is left out, be it named itself.
    """
    from ..words.prepared import user_cache  # slow to import

    chosen, own = CheckedFiles(), "\0"
    with suppress(RuntimeError):  # without a home
        own = os.path.join(os.path.realpath(user_cache()), "")
    seen: set[str] = set()
    for path in paths:
        is_folder = os.path.isdir(path)
        for file in _below(path, chosen) if is_folder else [path]:
            real = file if file == STANDARD_STREAM else os.path.realpath(file)
            is_excluded = file != STANDARD_STREAM and excludes(file)
            if real not in seen and not (is_excluded or real.startswith(own)):
                seen.add(real)
                _add(file, chosen, is_named=not is_folder)
    return chosen


def _add(file: str, chosen: CheckedFiles, is_named: bool) -> None:
    try:
        kind = "" if is_stream(file) else kind_left_out(file)
    except UserError as error:
        chosen.problems.append(str(error))
        return
    if kind and not (is_named and kind != BINARY):
        chosen.left_out[kind].append(file)
    else:
        chosen.files.append(file)


def kind_left_out(path: str) -> str:
    """Returns the kind of a file that is not read, else nothing."""
    with reading(path), open(path, "rb") as file:
        head = file.read(HEAD)
    encoding = encoding_of(head)
    if b"\0" in head and not encoding:
        return BINARY
    return left_alone(path, head.decode(encoding or "utf-8", "replace"))


def _below(folder: str, chosen: CheckedFiles) -> Iterator[str]:
    """Files below a folder, in order."""
    try:
        tracked = tracked_files(folder)
    except UserError as error:
        chosen.problems.append(str(error))
        return
    for name in tracked or _walked(folder, chosen):
        path = os.path.normpath(os.path.join(folder, name))
        hidden = any(part.startswith(".") for part in name.split("/"))
        if hidden and os.path.isfile(path):
            chosen.left_out["hidden files"].append(path)
        elif os.path.isfile(path) and not os.path.islink(path):
            yield path


def _walked(folder: str, chosen: CheckedFiles) -> Iterator[str]:
    """Names of the files below a folder and those of its folders that are read."""

    def tell(error: OSError) -> None:
        chosen.problems.append(f"{error.filename}: cannot be read: {error.strerror}")

    for place, folders, files in os.walk(folder, onerror=tell):
        foreign = sorted(name for name in folders if name in FOREIGN_FOLDERS)
        if foreign:
            chosen.left_out["folders"] += (os.path.join(place, name) for name in foreign)
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and name not in foreign
        )
        for name in sorted(files):
            yield os.path.relpath(os.path.join(place, name), folder)
