"""Models that edit by deletion and insertion: each unit is its own draft."""

import math
from collections.abc import Sequence
from typing import Self

from lev_runtime.beam.search import LENGTH_SHARE
from lev_runtime.history import EditTrace
from lev_runtime.refine.editor import Editor
from lev_runtime.text.codec import TextProcessing
from lev_runtime.text.sentences import TextEditor

from ..lines import Edit, placed
from ..text.units import ModelUnit
from .backend import Answer, Backend, Rewriting

_SMALLEST = 1e-9


class LevenshteinBackend(Backend):
    """A :class:`.Backend` over Algorithm 2 of the Levenshtein Transformer paper.

    The probability of a change is that of its trace (:func:`rewriting`).
    """

    def __init__(self, editor: TextEditor, knows_spaces: bool, max_iter: int = 10) -> None:
        self.editor = editor
        self.processing = editor.text_processing
        self.knows_spaces = knows_spaces
        self.max_iter = max_iter
        source, target, *_ = editor.limits
        self.limit = max(1, min(source - 2, int(LENGTH_SHARE * target)))

    @classmethod
    def of_export(cls, editor: Editor) -> Self:
        """Returns the backend of an exported model."""
        codec = editor.codec
        knows_spaces = codec.bpe != "characters" or codec.encode(" ") in editor.source.symbols
        return cls(editor, knows_spaces)

    def write(
        self,
        units: Sequence[ModelUnit],
        batch_size: int,
        doubts: bool = False,
    ) -> list[Answer | None]:
        """See :class:`~.backend.Backend`; an answer always comes to an end."""
        texts = [unit.text for unit in units]
        traces = self.editor.edit(texts, texts, max_iter=self.max_iter, batch_size=batch_size)
        answers: list[Answer | None] = []
        for text, trace in zip(texts, traces, strict=True):
            answers.append(rewriting(trace, self.editor.unknown).answer(text, self.processing))
        return answers


def rewriting(trace: EditTrace, unknown: str | None = None) -> Rewriting:
    """Returns what a trace changed; ``unknown``: the symbol that is no text if the model wrote it.

    The probability of a token that is gone is that of its deletion, of one that came that of its
    insertion, each given what stood when the action was taken.
    """
    if not trace.iterations:
        return Rewriting((), (), (), ())
    unit = trace.iterations[0].before
    gone: list[float | None] = [None] * len(unit)
    # of each token that stands its place in the draft, or None and how likely it was to come
    tokens: list[tuple[int | None, float | None]] = [(place, None) for place in range(len(unit))]
    for step in trace.iterations:
        chances = step.delete_probabilities or (1.0,) * len(tokens)
        for (place, _), is_deleted, chance in zip(tokens, step.deleted, chances, strict=True):
            if is_deleted and place is not None:
                gone[place] = _log(chance)
        chances = step.token_probabilities or (1.0,) * len(step.after)
        tokens = [
            (None, _log(chance)) if origin is None else tokens[origin]
            for origin, chance in zip(step.origins, chances, strict=True)
        ]
    written: list[str | None] = []
    for symbol, (place, _) in zip(trace.iterations[-1].after, tokens, strict=True):
        is_text = place is not None or symbol != unknown
        written.append(symbol if is_text else None)
    return Rewriting(unit, written, gone, [chance for _, chance in tokens])


def _log(probability: float) -> float:
    return math.log(max(probability, _SMALLEST))


def trace_edits(trace: EditTrace, processing: TextProcessing) -> list[Edit]:
    """Returns the edits, of whole words and in order, that turn the draft of a trace with
    probabilities into its text; ``processing``: of its model."""
    draft = trace.draft
    if not draft or not draft.strip():
        return []
    if not trace.iterations or trace.text == draft:
        return []
    answer = rewriting(trace).answer(draft, processing)
    changes = [placed(draft, 0, len(draft), edit, chance) for edit, chance in answer.items()]
    return [
        Edit(start, draft[start:end], after, chance)
        for start, end, after, chance in changes
        if after != draft[start:end]
    ]
