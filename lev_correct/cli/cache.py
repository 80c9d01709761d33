"""Keeps what was found in the files of a repository for later checks.

What is found in a file depends on its text, on the program and its settings, and on what all files
of the run tell of some of its words. Where these are as they were, the file is not read again.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from ..corrector import Corrector
from ..lines import Correction, Edit, apply_edits
from ..words.prepared import keep, user_cache
from .files import CorrectedFile, FileText, corrected_files, surveyed


def cached_files(
    corrector: Corrector,
    texts: Sequence[FileText],
    args: argparse.Namespace,
    around: Sequence[str],
    root: str,
) -> Iterator[CorrectedFile]:
    """Yields what :func:`.corrected_files` does; ``root``: the folder of the repository."""
    others = surveyed(corrector, texts, around)
    judge: Any = others.judge
    program, rows = _program(corrector, args), dict[str, Any]()

    def key(text: FileText, words: Iterable[str], *found: Any) -> str:
        told = [(judge.is_term(word), judge.met_oftener(word)) for word in words]
        named = [others.names.of(word) for word in found[-1]]
        return _digest(program, text, words, told, named, found)

    name = f"check-{_digest(os.path.realpath(root))}"
    with suppress(OSError, ValueError, TypeError, AttributeError, RuntimeError):
        kept = json.loads((user_cache() / name).read_bytes())
        rows |= {path: row for path, row in kept.items() if os.path.isfile(path)}
    same = {
        text.path: row[1:]
        for text in texts
        if (row := rows.get(os.path.abspath(text.path))) and row[0] == key(text, *row[1:])
    }
    new = [text for text in texts if text.path not in same]
    corrected = corrected_files(corrector, new, args, others=others)
    for text in texts:
        if row := same.get(text.path):
            _, lines, *more = row
            yield CorrectedFile(text, [*map(_restored, text.lines, lines)], *more)
            continue
        file = next(corrected)
        yield file
        lines = [[*map(vars, line.edits)] or int(line.code) for line in file.corrections]
        found = lines, file.foreign, file.left_out, sorted(file.sought)
        row = json.loads(json.dumps([sorted(file.asked), *found]))
        rows[os.path.abspath(text.path)] = [key(text, *row), *row]
    keep(name, lambda file: file.write(json.dumps(rows).encode()))


def _restored(line: str, row: Any) -> Correction:
    """Returns a line with the edits that were kept of it, or else with whether it is code."""
    if isinstance(row, int):
        return Correction(line, line, (), code=bool(row))
    edits = tuple(Edit(**values) for values in row)
    return Correction(line, apply_edits(line, edits), edits)


def _program(corrector: Corrector, args: argparse.Namespace) -> str:
    """Returns a digest of all but the texts that decides what is found in them."""
    files = sorted(Path(__file__).parents[2].glob("lev_[cr]*/**/*.*[!c]"))  # no *.pyc
    libraries = sorted(os.listdir(Path(np.__file__).parents[1]))  # with their versions
    stays = corrector.protections[-1]
    return _digest(
        [sha256(path.read_bytes()).digest() for path in files],
        [sys.version, libraries, corrector.settings, args.min_confidence, args.precision],
        sorted(stays.words),
        [regex.pattern for regex in stays.patterns],
    )


def _digest(*values: object) -> str:
    return sha256(repr(values).encode()).hexdigest()
