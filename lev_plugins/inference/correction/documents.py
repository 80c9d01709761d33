"""Files and folders to correct: which files are read, what is written where, what is finished."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...errors import UserError
from ...io.text_files import reading

_HEAD = 8192  # bytes in which a zero byte says that a file is no text
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class Document:
    """A file to correct: paths of what is read and of what is written."""

    source: str
    target: str


@dataclass
class Plan:
    """What there is to do.

    documents: to correct, in order. finished: their target is there already. outdated: those of
    ``finished`` whose source was changed after the target. binary: files of the folders that are
    no text.
    """

    documents: list[Document] = field(default_factory=list)
    finished: list[Document] = field(default_factory=list)
    outdated: list[Document] = field(default_factory=list)
    binary: list[str] = field(default_factory=list)

    @property
    def sources(self) -> list[str]:
        """All files that are or were corrected."""
        return [document.source for document in (*self.documents, *self.finished)]

    @property
    def targets(self) -> list[str]:
        """All files that are or were written."""
        return [document.target for document in (*self.documents, *self.finished)]


def plan(paths: Sequence[str], output_dir: str) -> Plan:
    """Looks at all files before any is corrected.

    Args:
        paths: files, and folders that are searched with all their subfolders; hidden files and
            folders in them (``.name``) and ``output_dir`` are passed over.
        output_dir: gets ``name`` for a file ``…/name``, and ``a/name`` for ``a/name`` of a folder.

    Raises:
        UserError: nothing to correct, a file that cannot be read or is not UTF-8, two files with
            one target, a target that is an input or cannot be written.
    """
    made = Plan()
    sources: dict[str, str] = {}
    for source, name in _found(paths, output_dir, made.binary):
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
        _check_target(target, inputs, output_dir)
        document = Document(source, target)
        if os.path.exists(target):
            made.finished.append(document)
            if os.path.getmtime(source) > os.path.getmtime(target):
                made.outdated.append(document)
        else:
            _check_text(source)
            made.documents.append(document)
    return made


def _found(paths: Sequence[str], output_dir: str, binary: list[str]) -> Iterator[tuple[str, str]]:
    """Each file with its name below the output folder; ``binary`` gets what is no text."""
    for path in paths:
        if not os.path.isdir(path):
            if not (os.path.isfile(path) and os.access(path, os.R_OK)):
                raise UserError(f"{path}: cannot be read; give a text file or a folder of them")
            yield path, os.path.basename(path)
            continue
        for file in _files(path, os.path.realpath(output_dir)):
            if _is_binary(file):
                binary.append(file)
            else:
                yield file, os.path.relpath(file, path)


def _files(folder: str, passed_over: str) -> Iterator[str]:
    def fail(error: OSError) -> None:
        raise UserError(f"{error.filename}: cannot be read: {error.strerror}") from error

    for path, folders, files in os.walk(folder, onerror=fail):
        folders[:] = sorted(
            name
            for name in folders
            if name[0] != "." and os.path.realpath(os.path.join(path, name)) != passed_over
        )
        yield from (os.path.join(path, name) for name in sorted(files) if name[0] != ".")


def _is_binary(path: str) -> bool:
    if not os.path.isfile(path):  # a pipe, a socket, a link to nothing
        return True
    with reading(path), open(path, "rb") as file:
        head = file.read(_HEAD)
    return b"\0" in head and not head.startswith(_UTF_16)


def _check_text(path: str) -> None:
    with reading(path), open(path, "rb") as file:
        for number, raw in enumerate(file, start=1):
            try:
                raw.decode("utf-8")
            except UnicodeDecodeError as error:
                raise UserError(
                    f"{path}: line {number}, byte {error.start}: 0x{raw[error.start]:02x} is not "
                    "valid UTF-8; convert it: iconv -f ITS_ENCODING -t UTF-8"
                ) from error


def _check_target(target: str, inputs: Mapping[str, str], output_dir: str) -> None:
    if source := inputs.get(os.path.realpath(target)):
        raise UserError(f"--output-dir {output_dir} would write over {source}; choose another")
    if os.path.isdir(target):
        raise UserError(f"{target}: is a folder, and a file would be written there; move it")
    folder = os.path.dirname(os.path.abspath(target))
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK | os.X_OK):
        raise UserError(f"--output-dir {output_dir}: {folder} is no folder to write to")
