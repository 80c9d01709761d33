"""Whether text that is to be corrected is cut as the model's was."""

from collections.abc import Callable, Sequence
from typing import Any

from ...io.notes import ENOUGH, CutNotes
from .corrector import Corrector


def notes_on(corrector: Corrector) -> Callable[[Sequence[str]], None] | None:
    """What is shown the lines, and says once that they do not seem to be cut.

    None for a model whose words are ranked: it reads characters.
    """
    backend: Any = corrector.backend
    processing = getattr(backend, "processing", None)
    if processing is None:
        return None
    known = backend.task.source_dictionary
    # "" for what has no name here: text is cut in some way
    used = None if processing.bpe is None else ""
    notes = CutNotes(known.symbols[known.nspecial :], used)

    def look_at(lines: Sequence[str]) -> None:
        tokens: list[str] = []
        for line in () if notes.done else lines:
            tokens += backend.tokens(line)
            if len(tokens) >= ENOUGH:
                break
        unknown = sum(known.index(token) == known.unk() for token in tokens)
        notes.look_at(lines, len(tokens), unknown)

    return look_at
