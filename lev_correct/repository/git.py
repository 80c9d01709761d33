"""Asks git about a repository: which files it tracks, and which lines were changed."""

import os
import re
import sys
from collections.abc import Container, Mapping
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
    "diff --text --no-ext-diff --no-textconv --no-color --no-relative --find-renames --unified=0 "
    "--inter-hunk-context=0 --src-prefix=a/ --dst-prefix=b/ --ignore-submodules "
    "--output-indicator-new=> --output-indicator-old=<"
).split()
_HUNK = re.compile(rb"@@ -\S+ \+(?P<first>\d+)(?:,(?P<count>\d+))? @@")
#: Real path of each file that git tracks → numbers of its changed lines, from 1.
ChangedLines = Mapping[str, Container[int]]
_EVERY = range(1, sys.maxsize)


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


def changed_lines(revision: str, folder: str) -> ChangedLines:
    """Returns what differs in the working tree of a folder's repository from a revision, or from
    where the current branch left it; of a pull request's merge what the request changed.

    Raises:
        UserError: no git, no repository, no such revision.
    """
    try:
        top = _ask(folder, "rev-parse", "--show-toplevel")
    except OSError:
        raise UserError(f"--since {revision}: git is not installed") from None
    if top.returncode:
        raise UserError(f"--since {revision}: {folder} is in no repository that git reads")
    root = os.path.realpath(os.fsdecode(top.stdout.removesuffix(b"\n")))
    named = f"{revision}^{{commit}}"
    commit = _ask(root, "rev-parse", "--verify", "--end-of-options", named).stdout.decode().strip()
    if not commit:
        raise UserError(f"--since {revision}: git knows no such commit in {root}; fetch it first")
    base = _merge_base(root, "HEAD", commit) or commit
    # CI names the base of a pull request by its hash, as it was before others changed it
    if revision == commit and (merged := _merged_into(root, commit)):
        base = merged
    names = tracked_files(root)
    changed = {os.path.realpath(os.path.join(root, name)): set[int]() for name in names}
    lines = set[int]()
    for line in _ask(root, *_DIFF, base, "--").stdout.split(b"\n"):
        if line.startswith(b"+++ "):
            lines = changed.setdefault(os.path.join(root, _named(line)), set())
        elif hunk := _HUNK.match(line):
            first = int(hunk["first"])
            lines.update(range(first, first + int(hunk["count"] or 1)))
    return changed


def _merged_into(root: str, commit: str) -> str:
    """Returns the first parent of HEAD where HEAD merges a branch that began before a commit into
    what came after it, else "": what others changed since the commit is no change of the branch."""
    parents = _ask(root, "rev-parse", "HEAD^@").stdout.decode().split()
    if len(parents) != 2 or _merge_base(root, parents[0], commit) != commit:
        return ""
    fork = _merge_base(root, *parents)
    return parents[0] if fork and _merge_base(root, fork, commit) == fork else ""


def _merge_base(root: str, first: str, second: str) -> str:
    return _ask(root, "merge-base", first, second).stdout.decode().strip()


def is_committed(folder: str) -> bool:
    """Returns whether a folder's repository is as its last commit left it."""
    return _ask(folder, "diff", "--quiet", "HEAD", "--").returncode == 0


def lines_that_count(changed: ChangedLines, path: str) -> Container[int]:
    """Returns the changed lines of a file; all of one that git does not track."""
    return changed.get(os.path.realpath(path), _EVERY)


def _named(header: bytes) -> str:
    """Returns the new name that a line of a diff has."""
    name = header[4:].removesuffix(b"\t")
    if name.startswith(b'"'):  # escaped as in C
        name = name[1:-1].decode("unicode_escape").encode("latin-1")
    return os.fsdecode(name.removeprefix(b"b/"))


def _ask(folder: str, *words: str) -> "CompletedProcess[bytes]":
    import subprocess  # slow to import

    environment = {name: value for name, value in os.environ.items() if name not in _OF_HOOKS}
    command = ["git", "-C", folder, *words]
    return subprocess.run(command, capture_output=True, env={**environment, "LC_ALL": "C"})
