"""Files and folders to correct: which files are read, and where each is written."""

import os
from collections.abc import Iterator, Sequence

from lev_runtime.errors import UserError
from lev_runtime.io.text_files import require_files

from .checked_files import kind_left_out


def plan(paths: Sequence[str], output_dir: str) -> dict[str, str]:
    """Each file to write, and what is read for it: ``output_dir/name`` for ``…/name``,
    ``output_dir/a/name`` for ``a/name`` of a folder.

    Hidden and binary files of folders, links to folders, and ``output_dir``, are passed over.

    Raises:
        UserError: nothing to correct, a file that cannot be read, two files with one target, a
            target that is an input.
    """
    source_of: dict[str, str] = {}
    for source, name in _found(paths, output_dir):
        target = os.path.join(output_dir, name)
        if source_of.setdefault(target, source) != source:
            raise UserError(
                f"{source_of[target]} and {source} would both be written to {target}; correct them "
                "in two runs, each with an --output-dir of its own"
            )
    if not source_of:
        raise UserError(f"no text files in {', '.join(paths)}; check the path")
    inputs = {os.path.realpath(source): source for source in source_of.values()}
    for taken in filter(None, (inputs.get(os.path.realpath(target)) for target in source_of)):
        raise UserError(f"--output-dir {output_dir} would overwrite {taken}; choose another")
    return source_of


def _found(paths: Sequence[str], output_dir: str) -> Iterator[tuple[str, str]]:
    """Each file of text with its name below the output folder."""

    def fail(error: OSError) -> None:
        raise UserError(f"{error.filename}: cannot be read: {error.strerror}") from error

    out = os.path.realpath(output_dir)
    for path in paths:
        if not os.path.isdir(path):
            require_text([path])
            yield path, os.path.basename(path)
            continue
        for folder, folders, files in os.walk(path, onerror=fail):
            inner = [
                name for name in folders if os.path.realpath(os.path.join(folder, name)) != out
            ]
            folders[:] = sorted(name for name in inner if name[0] != ".")
            for full in (os.path.join(folder, name) for name in sorted(files) if name[0] != "."):
                if _is_text(full):
                    yield full, os.path.relpath(full, path)


def require_text(paths: Sequence[str]) -> None:
    """Raises :class:`UserError` for what is no file, and for one that is no text."""
    require_files(paths)
    for path in paths:
        if os.path.isfile(path) and not _is_text(path):
            raise UserError(f"{path} contains zero bytes, so it is not text")


def _is_text(path: str) -> bool:
    if not os.path.isfile(path):  # a pipe, a socket, a link to nothing
        return False
    return kind_left_out(path) != "binary files"
