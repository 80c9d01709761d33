"""Files and folders to correct: which files are read, and what is written where."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ...errors import UserError
from ...io.text_files import reading, require_files

_HEAD = 8192  # bytes in which a zero byte says that a file is no text


@dataclass
class Plan:
    """What there is to do.

    documents: to correct, in order: what is read and what is written. finished: files that are
    there already. binary: files of the folders that are no text.
    """

    documents: list[tuple[str, str]] = field(default_factory=list)
    finished: list[str] = field(default_factory=list)
    binary: list[str] = field(default_factory=list)


def plan(paths: Sequence[str], output_dir: str) -> Plan:
    """Looks at all files before any is corrected.

    Args:
        paths: files, and folders that are searched with all their subfolders; hidden files and
            folders in them (``.name``) and ``output_dir`` are passed over.
        output_dir: gets ``name`` for a file ``…/name``, and ``a/name`` for ``a/name`` of a folder.

    Raises:
        UserError: nothing to correct, a file that cannot be read, two files with one target, a
            target that is an input.
    """
    made = Plan()
    sources: dict[str, str] = {}
    for source, name in _found(paths, output_dir):
        if _is_binary(source):
            made.binary.append(source)
            continue
        target = os.path.join(output_dir, name)
        other = sources.setdefault(target, source)
        if not os.path.samefile(other, source):
            raise UserError(
                f"{other} and {source} would both be written to {target}; correct them in two "
                "runs, each with an --output-dir of its own"
            )
    if not sources:
        raise UserError(f"no text files in {', '.join(paths)}; check the path")
    inputs = {os.path.realpath(source): source for source in sources.values()}
    for target, source in sources.items():
        if taken := inputs.get(os.path.realpath(target)):
            raise UserError(f"--output-dir {output_dir} would write over {taken}; choose another")
        if os.path.exists(target):
            made.finished.append(target)
        else:
            made.documents.append((source, target))
    return made


def _found(paths: Sequence[str], output_dir: str) -> Iterator[tuple[str, str]]:
    """Each file with its name below the output folder."""

    def fail(error: OSError) -> None:
        raise UserError(f"{error.filename}: cannot be read: {error.strerror}") from error

    out = os.path.realpath(output_dir)
    for path in paths:
        if not os.path.isdir(path):
            require_files([path])
            yield path, os.path.basename(path)
        for folder, folders, files in os.walk(path, onerror=fail) if os.path.isdir(path) else ():
            inner = [one for one in folders if os.path.realpath(os.path.join(folder, one)) != out]
            folders[:] = sorted(one for one in inner if one[0] != ".")
            for file in sorted(one for one in files if one[0] != "."):
                yield (full := os.path.join(folder, file)), os.path.relpath(full, path)


def _is_binary(path: str) -> bool:
    if not os.path.isfile(path):  # a pipe, a socket, a link to nothing
        return True
    with reading(path), open(path, "rb") as file:
        return b"\0" in file.read(_HEAD)
