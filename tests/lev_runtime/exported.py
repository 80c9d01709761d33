"""Tiny models of the package beside their exports."""

from pathlib import Path
from typing import Any

import tiny

from lev_plugins import LevenshteinEditor
from lev_plugins.export.folder import editor_writer, write_folder
from lev_runtime import Editor


def both_editors(
    folder: Path,
    int8: bool = False,
    joined: bool = False,
    encoders: Any = (),
    words: bool = False,
    **options: Any,
) -> tuple[LevenshteinEditor, Editor]:
    """An editor of :func:`tiny.task`'s letters, and the runtime's of its export.

    encoders: fairseq's tokenizer and subwords. words: whole ones are deleted.
    """
    # with a symbol for the space letters join to words
    letters = tiny.LETTERS.replace("h", "\u2581") if words else tiny.LETTERS
    task = tiny.task(joined, letters, delete_words=words)
    # more, and rounding decides of what comes out
    model = tiny.sharpen(tiny.model(task, 3, **options), 2.0)
    ours = LevenshteinEditor([model], task, *encoders)
    write_folder(folder, editor_writer(ours, int8), int8)
    return ours, Editor(folder, threads=1)
