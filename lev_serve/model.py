"""Answers of a checkpoint of any kind to ``lev-serve``: it edits, corrects or predicts."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import lev_runtime
from lev_correct import Corrector, Edit
from lev_correct.packaged import ENGLISH_SPELLING
from lev_correct.propose.backend import Backend
from lev_correct.propose.editor import LevenshteinBackend, trace_edits
from lev_correct.propose.loading import plugin
from lev_correct.reasons import reason_for
from lev_runtime.beam.prefixes import MODELS as LEFT_TO_RIGHT
from lev_runtime.errors import UserError
from lev_runtime.folder import Folder, is_export
from lev_runtime.io.options import refuse_options
from lev_runtime.labels.labeler import Labeler
from lev_runtime.labels.labeling import TextLabeler
from lev_runtime.refine.editor import Editor
from lev_runtime.text.markup import write_marks
from lev_runtime.text.sentences import TextEditor

from .schema import (
    CorrectRequest,
    EditRequest,
    PredictRequest,
    Result,
    Sentence,
)

#: what the page shows of a model, in its folder: its title, an example, its scope
PAGE = "page.json"
OTHERS = 4  #: words besides the likeliest, at most
_SHOWN = ("text", "score", "terminated", "edits", "iterations")  # of a hypothesis
#: a request and some of its rows → as many results
Runner = Callable[[Any, Sequence[Any]], list[Result]]


class ServedModel(NamedTuple):
    """Holds what the page has to know of a model, and a runner for each kind of request."""

    info: Result
    runners: Mapping[str, Runner]


def load(
    path: str | None,
    data: str | None = None,
    device: str | None = None,
    settings: str | None = None,
    **processing: str,
) -> ServedModel:
    """Loads a checkpoint, or a folder of ``lev-export``; arguments as of
    :meth:`lev_correct.corrector.Corrector.from_pretrained`.

    Raises:
        UserError: no checkpoint there, or none that edits, corrects or predicts.
    """
    options: dict[str, Any] = {**processing, "data": data, "settings": settings}
    folder = Path(path or ENGLISH_SPELLING)
    page = folder / PAGE if folder.is_dir() else folder.with_name(PAGE)
    shown = json.loads(page.read_text("utf-8")) if page.exists() else {}
    served = _served(path, device, options)
    served.info.update(shown)
    return served


def _served(path: str | None, device: str | None, options: dict[str, Any]) -> ServedModel:
    """Returns the model at a path as it is served."""
    corrector = partial(Corrector.from_pretrained, device=device, grammar=True, **options)
    if path is None:
        return serve_corrector(corrector(path=None))
    is_exported = is_export(path)
    if is_exported and Folder(path).model not in LEFT_TO_RIGHT:
        refuse_options(
            {**options, "device": device}, "an export has its own, and computes on the CPU"
        )
        model = lev_runtime.load(path)
        if isinstance(model, Labeler):
            return serve_predictor(model)
        assert isinstance(model, Editor)  # a corrector serves what writes from left to right
        return ServedModel({"modes": ["edit"]}, {"edit": partial(_edit, model)})
    labeler = None if is_exported else plugin("labeler", path)(path)
    if labeler is None:
        return serve_corrector(corrector(path=path))
    refuse_options(options, "an EncT5 has its own")
    return serve_predictor(labeler(device=device))


def serve_corrector(corrector: Corrector) -> ServedModel:
    """A corrector, and the editor that is in it where it is an edit model."""
    backend = corrector.backend
    info: Result = {"modes": ["correct"], "min_confidence": corrector.min_confidence}
    language, grammar = corrector.settings.language, corrector.settings.grammar
    but = ", but for a few everyday slips" if grammar and language == "en" else ""
    info["scope"] = f"Spelling is read; grammar is not{but}."
    runners: dict[str, Runner] = {"correct": partial(_correct, corrector)}
    if isinstance(backend, LevenshteinBackend):
        info["modes"] = ["correct", "edit"] if corrector.settings_file else ["edit", "correct"]
        return ServedModel(info, {**runners, "edit": partial(_edit, backend.editor)})
    return ServedModel(info, runners)


def serve_predictor(model: TextLabeler) -> ServedModel:
    """An EncT5."""
    info: Result = {
        "modes": ["predict"],
        "labels": list(model.labels),
        "texts": model.texts_per_example,
        "top_k": min(8, len(model.labels)) or None,
    }
    return ServedModel(info, {"predict": partial(_predict, model)})


def _edit(editor: TextEditor, asked: EditRequest, rows: Sequence[Any]) -> list[Result]:
    drafts = [marked(row, f"sentences[{number}]") for number, row in enumerate(rows)]
    options = asked.model_dump(exclude={"sentences"})
    nbest = editor.edit_nbest(
        [row.source for row in rows],
        drafts,
        markup=True,
        terms=[row.terms or None for row in rows],
        old_sources=[row.old_source for row in rows],
        batch_size=len(rows),
        **options,
    )
    results: list[Result] = []
    for row, traces in zip(rows, nbest, strict=True):
        hypotheses = []
        for trace in traces:
            edits = trace_edits(replace(trace, draft=row.draft), editor.text_processing)
            record = {**trace.to_dict(), "edits": _records(edits)}
            hypotheses.append({key: record[key] for key in _SHOWN})
        results.append({"source": row.source, "draft": row.draft, "hypotheses": hypotheses})
    return results


def marked(row: Sentence, place: str) -> str | None:
    """The draft with its marks written into it; ``place`` names the sentence.

    Raises:
        UserError: marks outside of the draft, out of order, or on whitespace alone.
    """
    done, marks = 0, []
    for mark in row.marks:
        if not done <= mark.start < mark.end <= len(row.draft or ""):
            where = f"{mark.start} to {mark.end} is not in the draft, after the mark before it"
            raise UserError(f"{place}.marks: {where}")
        done = mark.end
        marks.append((mark.start, mark.end, mark.kind))
    return None if row.draft is None else write_marks(row.draft, marks)


def _correct(corrector: Corrector, asked: CorrectRequest, rows: Sequence[str]) -> list[Result]:
    """Corrects lines; tells why, and what else a word might be."""
    corrections = corrector.correct(
        rows,
        min_confidence=asked.min_confidence,
        protect_words=asked.protect_words,
        document=asked.document(corrector),
    )
    results: list[Result] = []
    for line in corrections:
        edits = _records(line.edits)
        for edit, record in zip(line.edits, edits, strict=True):
            record["message"] = reason_for(edit, corrector.backend)
            record["others"] = _others(edit, corrector.backend)
        results.append(
            {"source": line.source, "text": line.text, "edits": edits, "code": line.code}
        )
    return results


def _others(edit: Edit, backend: Backend) -> list[str]:
    """Returns what else a word might be."""
    words = backend.suggestions(edit.before)
    return [word for word in words if word not in (edit.before, edit.after)][:OTHERS]


def _records(edits: Sequence[Edit]) -> list[Result]:
    records = (edit.to_dict() for edit in edits)
    return [{**record, "probability": round(record["probability"], 6)} for record in records]


def _predict(model: TextLabeler, asked: PredictRequest, rows: Sequence[Any]) -> list[Result]:
    if model.tags and asked.pairs is not None:
        raise UserError("pairs: the model tags words of texts; leave them out")
    predictions = model.predict(rows, asked.top_k, asked.threshold)
    return [prediction.to_dict() for prediction in predictions]
