"""Asks git about a repository: which files it tracks, and which lines were changed."""

import os
import re
import sys
from collections import defaultdict
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lev_runtime.errors import UserError

if TYPE_CHECKING:
    from subprocess import CompletedProcess

#: Variables by which a hook of git names its own repository, whatever folder git is asked about.
_OF_HOOKS = (
    "GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_PREFIX GIT_COMMON_DIR GIT_OBJECT_DIRECTORY".split()
)
#: Changed lines alone, whatever the settings; ``>`` and ``<`` tell them from headers.
_DIFF = (
    "diff --no-ext-diff --no-textconv --no-color --no-relative --find-renames --unified=0 "
    "--inter-hunk-context=0 --src-prefix=a/ --dst-prefix=b/ --ignore-submodules "
    "--output-indicator-new=> --output-indicator-old=<"
).split()
_HUNK = re.compile(rb"@@ -\S+ \+(?P<first>\d+)(?:,(?P<count>\d+))? @@")
_EVERY = range(1, sys.maxsize)


@dataclass(frozen=True)
class Changes:
    """Lines of a repository's files that differ from a revision.

    root: its top folder. tracked: real paths of the files that git tracks. lines: numbers of the
    changed lines by real path; a file that git does not track is new in all of its lines.
    """

    root: str
    tracked: Container[str]
    lines: Mapping[str, Container[int]]

    def of(self, path: str) -> Container[int]:
        """Returns the changed lines of a file, from 1."""
        real = os.path.realpath(path)
        return self.lines.get(real, ()) if real in self.tracked else _EVERY


#: Where no revision is asked for.
ALL_LINES = Changes("", (), {})


def tracked_files(folder: str) -> list[str]:
    """Names of the files below a folder that git tracks; none outside of its repositories.

    Raises:
        UserError: git refuses to say, as of a repository that is somebody else's.
    """
    try:
        answer = _ask(folder, "ls-files", "-z")
    except OSError:  # git is not installed
        return []
    message = answer.stderr.decode("utf-8", "replace").strip()
    if answer.returncode and "not a git repository" not in message:
        raise UserError(f"{folder}: git cannot list its files: {message}")
    names = answer.stdout.decode("utf-8", "surrogateescape").split("\0")
    return sorted({name for name in names if name})


def changes_since(revision: str, folder: str) -> Changes:
    """Returns what differs in the working tree of a folder's repository from a revision, or from
    where the current branch left it.

    Raises:
        UserError: no git, no repository, no such revision.
    """
    where = f"--since {revision}"
    try:
        root = os.path.realpath(_answered(where, folder, "rev-parse", "--show-toplevel"))
    except OSError:
        raise UserError(f"{where}: git is not installed") from None
    named = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if _ask(root, *named).returncode:
        raise UserError(
            f"{where}: git knows no such commit in {root}; fetch it, as a shallow clone lacks most"
        )
    left_at = _ask(root, "merge-base", "HEAD", _answered(where, root, *named))
    base = left_at.stdout.decode().strip() or revision
    tracked = {os.path.realpath(os.path.join(root, name)) for name in tracked_files(root)}
    return Changes(root, tracked, _changed_lines(root, _answered(where, root, *_DIFF, base, "--")))


def _changed_lines(root: str, diff: str) -> dict[str, set[int]]:
    """Returns the new lines of each file of a unified diff without context."""
    changed: dict[str, set[int]] = defaultdict(set)
    path = ""
    for line in os.fsencode(diff).split(b"\n"):
        if line.startswith(b"+++ "):
            name = line[4:].removesuffix(b"\t")
            if name.startswith(b'"'):  # escaped as in C
                name = name[1:-1].decode("unicode_escape").encode("latin-1")
            path = os.path.join(root, os.fsdecode(name.removeprefix(b"b/")))
        elif hunk := _HUNK.match(line):
            first = int(hunk["first"])
            changed[path].update(range(first, first + int(hunk["count"] or 1)))
    return changed


def _answered(where: str, folder: str, *words: str) -> str:
    answer = _ask(folder, *words)
    if answer.returncode:
        raise UserError(f"{where}: git: {answer.stderr.decode('utf-8', 'replace').strip()}")
    return os.fsdecode(answer.stdout.removesuffix(b"\n"))


def _ask(folder: str, *words: str) -> "CompletedProcess[bytes]":
    import subprocess  # slow to import

    environment = {name: value for name, value in os.environ.items() if name not in _OF_HOOKS}
    command = ["git", "-C", folder, *words]
    return subprocess.run(command, capture_output=True, env={**environment, "LC_ALL": "C"})
