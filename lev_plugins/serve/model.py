"""What a checkpoint of any kind can do for ``lev-serve``: edit, correct or predict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import UserError
from ..inference.checkpoints import find_checkpoint, load_state, separate_paths
from ..inference.correction import Corrector, Edit
from ..inference.correction.backends import TextProcessing
from ..inference.correction.levenshtein import LevenshteinBackend
from ..inference.correction.review import whole_words
from ..inference.correction.traces import trace_edits, words_only
from ..inference.editor import LevenshteinEditor
from ..inference.enct5 import EncT5
from ..systems.enct5.problem_types import ProblemType
from ..systems.levenshtein.decoding.history import EditTrace
from ..systems.levenshtein.markup import escape_markup, write_mark
from .batcher import Result, Runner
from .requests import CorrectOptions, EditOptions, PredictOptions, Sentence


@dataclass
class ServedModel:
    """A model as it is served.

    Args:
        info: what the page has to know of it, ready for JSON.
        runners: for each of ``edit``, ``correct`` and ``predict`` that it can do a function of
            options and rows that returns a result for each row.
    """

    info: dict[str, Any]
    runners: Mapping[str, Runner] = field(default_factory=dict)


def load(
    path: str,
    data: str | None = None,
    device: str | None = None,
    batch_size: int = 64,
    settings: str | None = None,
    processing: Mapping[str, str] | None = None,
) -> ServedModel:
    """Loads a checkpoint of any kind that the package has.

    Args:
        path, data, device, settings: as of :meth:`.correction.Corrector.from_pretrained`.
        batch_size: sentences that the model reads at once.
        processing: text processing as in fairseq.

    Raises:
        UserError: no checkpoint there, one that cannot be read, or none that edits, corrects or
            predicts.
    """
    given: dict[str, Any] = dict(processing or {})
    task = getattr(load_state(find_checkpoint(separate_paths(path)[0]))["cfg"].task, "_name", None)
    if task == "enct5":
        for name in (*given, *(["data"] if data else [])):
            raise UserError(f"--{name.replace('_', '-')}: an EncT5 has its own; leave it out")
        return serve_predictor(EncT5.from_pretrained(path, device=device))
    corrector = Corrector.from_pretrained(path, data, device, settings=settings, **given)
    return serve_corrector(corrector, batch_size, str(task))


def serve_corrector(corrector: Corrector, batch_size: int = 64, task: str = "") -> ServedModel:
    """A corrector, and the editor that is in it where it is an edit model."""
    ranker = getattr(corrector.backend, "ranker", None)
    backend = ranker.backend if ranker else corrector.backend
    info: dict[str, Any] = {
        "task": task,
        "device": str(getattr(backend, "device", "cpu")),
        "modes": ["correct"],
        "min_confidence": corrector.min_confidence,
    }
    runners: dict[str, Runner] = {
        "correct": lambda options, rows: _correct(corrector, options, rows, batch_size)
    }
    if isinstance(backend, LevenshteinBackend):
        tuned = corrector.settings is not None
        info["modes"] = ["correct", "edit"] if tuned else ["edit", "correct"]
        info["draft_lang"] = backend.editor.draft_lang
        runners["edit"] = lambda options, rows: _edit(backend, options, rows, batch_size)
    return ServedModel(info, runners)


def serve_editor(editor: LevenshteinEditor) -> ServedModel:
    """An editor that was loaded by hand."""
    processing = TextProcessing(editor.tokenizer, editor.bpe)
    corrector = Corrector(LevenshteinBackend(editor, processing, knows_spaces=True))
    return serve_corrector(corrector, task="translation_edit")


def serve_predictor(model: EncT5) -> ServedModel:
    """An EncT5."""
    info = {
        "task": "enct5",
        "device": str(model.device),
        "modes": ["predict"],
        "kind": model.kind.value,
        "labels": list(model.labels),
        "texts": model.metadata.texts,
    }
    return ServedModel(info, {"predict": lambda options, rows: _predict(model, options, rows)})


def _edit(
    backend: LevenshteinBackend, options: EditOptions, rows: Sequence[Sentence], size: int
) -> list[Result]:
    found = backend.editor.edit_nbest(
        [row.source for row in rows],
        [marked(row, number) for number, row in enumerate(rows)],
        markup=True,
        terms=[row.terms or None for row in rows],
        nbest=options.nbest,
        max_iter=options.max_iter,
        empty_penalty=options.empty_penalty,
        delete_threshold=options.delete_threshold,
        batch_size=size,
    )
    return [
        {
            "source": row.source,
            "draft": row.draft,
            "hypotheses": [_hypothesis(backend, replace(one, draft=row.draft)) for one in traces],
        }
        for row, traces in zip(rows, found, strict=True)
    ]


def _hypothesis(backend: LevenshteinBackend, trace: EditTrace) -> Result:
    known = trace.to_dict()
    return {
        "text": known["text"],
        "score": known["score"],
        "terminated": known["terminated"],
        "edits": [_edit_record(edit) for edit in trace_edits(trace, backend.processing)],
        "iterations": known["iterations"],
    }


def marked(row: Sentence, number: int) -> str | None:
    """The draft with its marks written into it; ``number`` counts from 0.

    Raises:
        UserError: marks without a draft, outside of it, out of order or on whitespace alone; terms
            beside a draft.
    """
    place = f"sentences[{number}]"
    if row.draft is None:
        if row.marks:
            raise UserError(f"{place}.marks: there is no draft to mark")
        return None
    if row.terms:
        raise UserError(f"{place}.terms: they are for a sentence without a draft; mark them in the "
                        "draft, with the kind term")  # fmt: skip
    parts, done = [], 0
    for mark in row.marks:
        if not done <= mark.start < mark.end <= len(row.draft):
            raise UserError(
                f"{place}.marks: {mark.start} to {mark.end} is outside of the draft (of "
                f"{len(row.draft)} characters) or before the end of the mark in front of it"
            )
        stretch = row.draft[mark.start : mark.end]
        if not stretch.strip():
            raise UserError(f"{place}.marks: there is no word from {mark.start} to {mark.end}")
        parts.append(escape_markup(row.draft[done : mark.start], before_mark=True))
        parts.append(write_mark(stretch, mark.kind))
        done = mark.end
    return "".join([*parts, escape_markup(row.draft[done:])])


def _correct(
    corrector: Corrector, options: CorrectOptions, rows: Sequence[str], size: int
) -> list[Result]:
    found = corrector.correct(
        list(rows),
        min_confidence=options.min_confidence,
        protect_words=options.protect_words,
        batch_size=size,
    )
    edits = [list(map(_edit_record, words_only(whole_words(one)))) for one in found]
    return [
        {"source": one.source, "text": one.text, "edits": some}
        for one, some in zip(found, edits, strict=True)
    ]


def _edit_record(edit: Edit) -> Result:
    return {**edit.to_dict(), "probability": round(edit.probability, 6)}


def _predict(
    model: EncT5, options: PredictOptions, rows: Sequence[tuple[str, ...]]
) -> list[Result]:
    texts = [row[0] if len(row) == 1 else row for row in rows]
    if model.kind is ProblemType.TAGGING:
        if options.threshold is not None:
            raise UserError("threshold: the model tags words; leave it out")
        if any(len(row) > 1 for row in rows):
            raise UserError("pairs: the model tags the words of single texts; leave it out")
        return [one.to_dict() for one in model.predict_tags(texts, options.top_k, options.labels)]
    found = model.predict(texts, options.top_k, options.threshold, options.labels)
    return [one.to_dict() for one in found]
