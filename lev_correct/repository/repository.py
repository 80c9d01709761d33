"""Settings of a repository: ``[tool.lev-correct]`` of its ``pyproject.toml``, and
a list of its words."""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from lev_runtime.errors import UserError
from lev_runtime.io.output import whole_file
from lev_runtime.io.text_files import read_lines, reading

FILE = "pyproject.toml"
SECTION = "lev-correct"
#: The list of words of a repository whose settings name no file.
WORD_LIST = ".lev-correct-words.txt"
#: What ``protect`` knows by name.
NAMED = ("code", "none")


@dataclass(frozen=True)
class Repository:
    """Settings of the texts below a folder.

    root: the folder of its settings file, else the top of a git repository, else the current one.
    protect: as of ``--protect``. words: that stay as they are. exclude: patterns of paths from the
    root, as of :meth:`excludes`. threshold: as of ``--min-confidence``. word_list: path of the file
    of words that :meth:`accept` writes. named_at: the setting that names it, where one does.
    """

    root: str
    protect: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    threshold: float | None = None
    word_list: str = WORD_LIST
    named_at: str | None = None

    def listed_words(self, accepting: bool = False) -> list[str]:
        """The words of its list.

        Args:
            accepting: whether a list that a setting names may be missing, to be written.

        Raises:
            UserError: a list that cannot be read.
        """
        if self.named_at and not accepting and not os.path.exists(self.word_list):
            where, path = self.named_at, self.word_list
            raise UserError(f"{where}: {path} does not exist; --accept writes it")
        return _read_words(self.word_list)

    def accept(self, words: Iterable[str]) -> list[str]:
        """Writes words after those of the list, whole or not at all; returns the new ones."""
        listed = _read_words(self.word_list)
        new = sorted({*words} - {*listed}, key=lambda word: (word.casefold(), word))
        if new:
            with whole_file(self.word_list) as stream:
                stream.writelines(f"{word}\n" for word in (*listed, *new))
        return new

    def excludes(self, path: str) -> bool:
        """Returns whether a pattern matches a path or a folder that it lies in: from the root, or
        for a pattern without a slash any of their names. ``*`` stands for any characters."""
        if os.path.realpath(path) == os.path.realpath(self.word_list):
            return True
        parts = os.path.relpath(path, self.root).split(os.sep)
        folders = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
        for pattern in map(os.path.normpath, self.exclude):
            names = folders if "/" in pattern else parts
            if any(fnmatchcase(name, pattern) for name in names):
                return True
        return False


def find_repository(paths: Sequence[str]) -> Repository:
    """The repository of files and folders; of none the current folder's.

    Its settings stand in the folder that has all of them, or in the nearest one above, not above
    the top of a git repository.

    Raises:
        UserError: settings that cannot be read, or are wrong: the file and the name.
    """
    start = folder = common_folder(paths)
    while True:
        path = os.path.join(folder, FILE)
        if os.path.isfile(path) and (repository := _read(path)):
            return repository
        if os.path.exists(os.path.join(folder, ".git")):
            return Repository(_shown(folder), word_list=_shown(os.path.join(folder, WORD_LIST)))
        if folder == os.path.dirname(folder):
            return Repository(_shown(start), word_list=_shown(os.path.join(start, WORD_LIST)))
        folder = os.path.dirname(folder)


def common_folder(paths: Sequence[str]) -> str:
    """Returns the folder that has all files and folders; of none the current one."""
    folders = [path if os.path.isdir(path) else os.path.dirname(path) for path in paths]
    return os.path.commonpath([os.path.abspath(path) for path in folders or [os.curdir]])


def _read(path: str) -> Repository | None:
    """The settings of a file; None where it has no such section."""
    import tomllib  # slow to import

    with reading(path), open(path, "rb") as file:
        text = file.read().decode("utf-8", "replace")
    if SECTION not in text:
        return None
    shown = _shown(path)
    try:
        section = tomllib.loads(text)["tool"][SECTION].items()
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{shown} is not valid TOML: {error}") from None
    except (KeyError, TypeError, AttributeError):  # of something else
        return None
    folder = _shown(os.path.dirname(path))
    fields: dict[str, Any] = {"word_list": os.path.normpath(os.path.join(folder, WORD_LIST))}
    for name, value in section:
        where = f"{shown}: {name} of [tool.{SECTION}]"
        if name == "words" and isinstance(value, str) and value:
            fields["word_list"] = os.path.normpath(os.path.join(folder, value))
            fields["named_at"] = where
        elif name == "threshold":
            fields[name] = _threshold(where, value)
        elif name in _LISTS:
            fields[name] = _strings(where, value)
        else:
            names = ", ".join(["threshold", *_LISTS])
            raise UserError(f"{where}: unknown setting; choose from {names}")
    return Repository(folder, **fields)


_LISTS = ("exclude", "protect", "words")


def _threshold(where: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise UserError(f"{where} = {value!r}: give a probability from 0 to 1")
    return float(value)


def _strings(where: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise UserError(f"{where} = {value!r}: give a list of texts in quotes, none of them empty")
    return tuple(value)


def _read_words(path: str) -> list[str]:
    """The lines of a list of words; none where there is no file."""
    if not os.path.exists(path):
        return []
    return list(read_lines(path))


def _shown(path: str) -> str:
    """A path as it is told: from the current folder, where it lies below it or near."""
    return re.sub(r"^(\.\./){3,}.*", lambda _: path, os.path.relpath(path))
