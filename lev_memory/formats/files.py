"""Files of translations: which there are, what language they are in, how they are read and kept."""

import gzip
import itertools
import json
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from babel import Locale, UnknownLocaleError
from babel.core import get_global

from lev_runtime.errors import UserError, printable
from lev_runtime.io.output import rewrite_file, whole_file
from lev_runtime.io.text_files import read_bytes, read_parallel

from ..memory import Pair
from ..repair.text import to_line
from .po import PoFile
from .tmx import tmx_pairs
from .units import BilingualFile, is_language, subtags
from .xliff import XliffFile

EXPORTED = "exported"  # the folder in WORK of the model that is used
XLIFF = ".xlf .xliff .mqxliff .sdlxliff .mxliff".split()  # the last: memoQ, Trados, Phrase
READERS: dict[str, Callable[[Path, bytes], BilingualFile]] = {
    ".po": PoFile,
    **{ending: XliffFile for ending in XLIFF},
}
# the language at the end of a name: app.pt_BR
_AT_END = re.compile(r"(?:.*[._-])?(([a-z]{2})(?:[_-](?:[A-Z]\w{1,3}|\d{3}))?(?:@\w+)?)")
# before a region in Android's folders: values-pt-rBR
_REGION = re.compile(r"-r(?=[A-Z]{2}$)")
_WHOLE = re.compile(r"[a-zA-Z]{2}(?:[_-].*)?")


Problems = dict[Path, Exception]  # files that cannot be used


def messages(problems: Problems) -> Iterator[str]:
    """Yields a line for each kind of files: the first error, and the other files."""
    by_kind: dict[str, list[Path]] = {}
    for path in problems:
        by_kind.setdefault(path.suffix.lower(), []).append(path)
    for kind, (first, *others) in by_kind.items():
        line = f"left alone: {problems[first]}"
        if others:
            names = ", ".join(map(str, others))
            line += f" (and {len(others)} more {kind}: {names})"
        yield printable(line)


@contextmanager
def noted(problems: Problems | None, path: Path, is_alone: bool) -> Iterator[None]:
    """Notes the error of a file; it remains one if the file is alone, or nothing collects them."""
    try:
        yield
    except UserError as error:
        if is_alone or problems is None:
            raise
        problems[path] = error


def files_in(place: Path, kinds: Iterable[str]) -> list[Path]:
    """Returns a file, or those of a folder and below it, each once; hidden ones are left out.

    Raises:
        UserError: there is none.
    """
    if place.is_file():
        return [place]
    kinds = [*kinds]
    if not place.is_dir():
        raise UserError(f"{place} does not exist; name a file or folder ({', '.join(kinds)})")
    unique = {}
    for path in sorted(place.rglob("*")):
        is_hidden = "/." in f"/{path.relative_to(place).as_posix()}"
        if path.suffix.lower() in kinds and path.is_file() and not is_hidden:
            unique[path.resolve()] = path
    if not unique:
        raise UserError(f"{place} has no file of {', '.join(kinds)}")
    return [*unique.values()]


def read_document(path: Path) -> BilingualFile:
    """Reads a .po or XLIFF file.

    Raises:
        UserError: it is none, or damaged.
    """
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise UserError(f"{path}: give one of {', '.join(READERS)}; texts by key and Markdown are "
                        "repaired beside their source (--since REVISION en.json de.json); json2po, "
                        "prop2po of translate-toolkit make a memory of them")  # fmt: skip
    return reader(path, read_bytes(str(path)))


def language_of(document: BilingualFile) -> str:
    """Returns the language of a file's translations, as the file says, else its name or that of its
    folder (es.po, app.es.po, es/app.po, es/LC_MESSAGES/app.po; of Markdown first the folder's, for
    *how-to* is no Tongan); "" if none says it."""
    path = document.path.absolute()
    folder = path.parent.parent if path.parent.name == "LC_MESSAGES" else path.parent
    names = [path.stem, _REGION.sub("-", folder.name.removesuffix(".lproj"))]
    if path.suffix.lower() not in READERS:
        names = [name for name in (folder.name, folder.parent.name) if is_locale(name)] + names
    return document.language.replace("-", "_") or language_in(*names)


def language_in(*names: str) -> str:
    """Returns the language that the first of some names says, "" where none does."""
    for name in names:
        match = _AT_END.fullmatch(name)
        if is_locale(name):
            return name.replace("-", "_")
        if match and match[2] in get_global("likely_subtags"):
            return match[1].replace("-", "_")
    return ""


def is_locale(name: str) -> bool:
    """Returns whether a name is nothing but a language of two letters, with a region where CLDR has
    it: pt-br, and no my-fr."""
    try:
        return bool(_WHOLE.fullmatch(name) and Locale.parse(name.replace("-", "_")))
    except (UnknownLocaleError, ValueError):
        return False


def memory_of(path: Path, language: str) -> tuple[list[Pair], set[str]]:
    """Returns what a file has translated, as pairs of lines, and the languages of the translations.

    language: the only one that is wanted; "" for any.

    Raises:
        UserError: the file cannot be read.
    """
    if path.suffix.lower() == ".tmx":
        pairs, languages = tmx_pairs(path, read_bytes(str(path)), language)
    else:
        document = read_document(path)
        pairs, named = document_pairs(document), language_of(document)
        languages = {named} - {""}
        if not is_language(named, language):
            pairs = []
    return [(to_line(source), to_line(target)) for source, target in pairs], languages


def document_pairs(document: BilingualFile, drafts: bool = False) -> list[Pair]:
    """Returns what a file has translated, obsolete entries too; ``drafts``: also what its fuzzy
    entries were made from."""
    pairs = [(unit.source, unit.target) for unit in document.units if unit.state == "translated"]
    pairs += document.obsolete
    if drafts:
        fuzzy = (unit for unit in document.units if unit.state == "fuzzy" and not unit.proposed)
        pairs += [(unit.old, unit.draft or unit.target) for unit in fuzzy if unit.old]
    return pairs


def folder_memory(place: Path, language: str, problems: Problems | None) -> tuple[list[Pair], str]:
    """Returns the pairs of all files of a place, and the language of the translations.

    problems: collects the files of a folder that cannot be read.

    Raises:
        UserError: there are no files, or translations into several languages.
    """
    pairs: list[Pair] = []
    first: dict[str, Path] = {}
    for path in files_in(place, [*READERS, ".tmx"]):
        with noted(problems, path, path == place):
            more, languages = memory_of(path, language)
            pairs += more
            for named in languages:
                if is_language(named, language):
                    first.setdefault(named, path)
    kinds = {subtags(named)[:2] for named in first}
    if len(kinds) > 1 and not language:
        there = ", ".join(f"{named} ({path})" for named, path in first.items())
        raise UserError(f"{place} has translations into several languages: {there}; "
                        f"--language {min(first)} takes those of one")  # fmt: skip
    return pairs, language or next(iter(first), "")


def is_there(path: Path) -> bool:
    """Returns whether a file is there, plain or as .gz."""
    return path.is_file() or path.with_name(path.name + ".gz").is_file()


def read_lines(*paths: Path) -> list[tuple[str, ...]]:
    """Reads line-aligned files, plain or .gz, as rows of texts as they stand there."""
    with tempfile.TemporaryDirectory() as folder:
        plain = [str(path) for path in paths]
        for number, path in enumerate(paths):
            if is_there(path) and not path.is_file():
                plain[number] = f"{folder}/{number}-{path.name}"
                with gzip.open(f"{path}.gz") as packed, open(plain[number], "wb") as file:
                    shutil.copyfileobj(packed, file)
        return [*read_parallel(plain)]


def stored_pairs(work: Path) -> list[Pair]:
    """Reads the memory of a WORK.

    Raises:
        UserError: it has none.
    """
    rows = read_lines(work / "memory.src", work / "memory.tgt")
    return [(source, target) for source, target in rows]


def stored_language(work: Path) -> str:
    """Returns the language that the memory of a WORK translates into, "" if unknown."""
    path = work / "memory.json"
    return str(read_settings(path).get("language", "")) if path.is_file() else ""


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Writes lines of text, each with its end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line + "\n" for line in lines), "utf-8", newline="\n")


def write_json(path: Path, content: object) -> None:
    """Writes settings, all or none."""
    with whole_file(str(path)) as file:
        file.write(json.dumps(content, indent=1) + "\n")


def read_settings(path: Path) -> dict[str, Any]:
    """Reads what :func:`write_json` has written.

    Raises:
        UserError: it cannot be read.
    """
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read ({error}): delete it") from None
    if not isinstance(content, dict):
        raise UserError(f"{path}: has no settings in it: delete it")
    return content


def require_work(work: Path) -> None:
    """Refuses a WORK that is no folder."""
    if not work.is_dir():
        raise UserError(f"{work} is not a folder; create it with lev-memory prepare")


def replace_file(
    path: Path, data: bytes, backup: bool = False, before: bytes | None = None
) -> None:
    """Writes new bytes into a file, all or none; what a link names is written.

    Args:
        before: what was read of it, if it is to have that still.

    Raises:
        UserError: it cannot be written, or has changed.
    """
    target = path.resolve()
    try:
        if backup and target.exists():
            shutil.copy2(target, backup_of(target))
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            rewrite_file(target, target.read_bytes() if before is None else before, data)
            return
        with whole_file(str(target)) as file:
            file.buffer.write(data)
    except OSError as error:
        raise UserError(f"{path}: not written ({error.strerror or error})") from None


def backup_of(path: Path) -> Path:
    """Returns a free name: FILE.bak, FILE.bak1 …"""
    numbered = (path.with_name(f"{path.name}.bak{number or ''}") for number in itertools.count())
    return next(name for name in numbered if not name.exists())
