"""Which files below some paths a check reads: those of text that git tracks, else all."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from ..errors import UserError
from ..io.lines import STANDARD_STREAM, is_stream
from ..io.text_files import reading

#: Variables by which a hook of git names its own repository, whatever folder git is asked about.
_OF_HOOKS = (
    "GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_PREFIX GIT_COMMON_DIR GIT_OBJECT_DIRECTORY".split()
)
#: Files of a folder that programs write.
GENERATED = tuple("*.lock *-lock.json *-lock.yaml go.sum *.min.js *.min.css *.map *.svg".split())
_HEAD_BYTES = 8192  # in which a zero byte says that a file is no text


@dataclass
class CheckedFiles:
    """files: to read, each once, in order. binary: those left out that are no text. problems: a
    message for each path that cannot be read."""

    files: list[str] = field(default_factory=list)
    binary: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def checked_files(paths: Sequence[str], excludes: Callable[[str], bool]) -> CheckedFiles:
    """The files of text among ``paths`` and below the folders among them.

    Of a folder those that git tracks, of one in which it tracks none all; hidden files, links and
    :data:`GENERATED` ones are passed over there.

    Args:
        excludes: whether a path is left out, be it named itself.
    """
    chosen = CheckedFiles()
    seen: set[str] = set()
    for path in paths:
        for file in _below(path, chosen.problems) if os.path.isdir(path) else [path]:
            real = file if file == STANDARD_STREAM else os.path.realpath(file)
            if real not in seen and not (file != STANDARD_STREAM and excludes(file)):
                seen.add(real)
                _add(file, chosen)
    return chosen


def _add(file: str, chosen: CheckedFiles) -> None:
    try:
        if is_stream(file) or _is_text(file):
            chosen.files.append(file)
        else:
            chosen.binary.append(file)
    except UserError as error:
        chosen.problems.append(str(error))


def _is_text(path: str) -> bool:
    with reading(path), open(path, "rb") as file:
        return b"\0" not in file.read(_HEAD_BYTES)


def _below(folder: str, problems: list[str]) -> Iterator[str]:
    """Files below a folder, in order."""
    try:
        tracked = _tracked(folder)
    except UserError as error:
        problems.append(str(error))
        return
    for name in tracked or _walked(folder, problems):
        path = os.path.normpath(os.path.join(folder, name))
        *folders, last = name.split("/")
        hidden = any(part.startswith(".") for part in (*folders, last))
        generated = any(fnmatchcase(last, pattern) for pattern in GENERATED)
        if not (hidden or generated or os.path.islink(path)) and os.path.isfile(path):
            yield path


def _tracked(folder: str) -> list[str]:
    """Names of the files below a folder that git tracks; none outside of its repositories.

    Raises:
        UserError: git refuses to say, as of a repository that is somebody else's.
    """
    import subprocess  # slow to import

    environment = {name: value for name, value in os.environ.items() if name not in _OF_HOOKS}
    command = ["git", "-C", folder, "ls-files", "-z"]
    try:
        answer = subprocess.run(command, capture_output=True, env={**environment, "LC_ALL": "C"})
    except OSError:  # git is not installed
        return []
    message = answer.stderr.decode("utf-8", "replace").strip()
    if answer.returncode and "not a git repository" not in message:
        raise UserError(f"{folder}: git cannot list its files: {message}")
    names = answer.stdout.decode("utf-8", "surrogateescape").split("\0")
    return sorted({name for name in names if name})


def _walked(folder: str, problems: list[str]) -> Iterator[str]:
    """Names of the files below a folder and those of its folders that are not hidden."""

    def tell(error: OSError) -> None:
        problems.append(f"{error.filename}: cannot be read: {error.strerror}")

    for place, folders, files in os.walk(folder, onerror=tell):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            yield os.path.relpath(os.path.join(place, name), folder)
