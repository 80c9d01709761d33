"""The interface in words: OpenAPI 3.1, of what the model at hand can do."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from .fields import Schema, schemas
from .requests import CorrectRequest, EditRequest, PredictRequest

if TYPE_CHECKING:
    from .app import Limits


def _object(description: str = "", **properties: Schema) -> Schema:
    found: Schema = {"type": "object"}
    if description:
        found["description"] = description
    return {**found, "properties": properties}


def _array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _list_of(name: str) -> Schema:
    return _array({"$ref": f"#/components/schemas/{name}"})


_TEXT: Schema = {"type": "string"}
_MARKS, _CHANCES = _array({"type": "boolean"}), _array({"type": "number"})
_RESULTS: dict[str, Schema] = {
    "Edit": _object(
        "A stretch of whole words that the model wrote anew. Places are counted in characters "
        "(Unicode code points), from 0.",
        offset={"type": "integer", "description": "where it begins"},
        length={"type": "integer", "description": "characters of before"},
        before=_TEXT,
        after=_TEXT,
        probability={"type": "number", "minimum": 0, "maximum": 1},
        applied={"type": "boolean", "description": "whether text has it"},
        reason={"type": ["string", "null"], "description": "why it was not applied"},
    ),
    "Iteration": _object(
        "One refinement iteration: tokens before and after, which of them were deleted or "
        "inserted, and the probability of each.",
        before=_array(_TEXT),
        deleted=_MARKS,
        after=_array(_TEXT),
        inserted=_MARKS,
        delete_probabilities=_CHANCES,
        token_probabilities=_CHANCES,
    ),
    "Hypothesis": _object(
        "An output, the edits that lead to it from the draft, and how they came.",
        text=_TEXT,
        score={"description": "in nats; a text where it is infinite"},
        terminated={"enum": ["unchanged", "loop", "max_iterations"]},
        edits=_list_of("Edit"),
        iterations=_list_of("Iteration"),
    ),
    "EditResult": _object(
        source=_TEXT,
        draft={"type": ["string", "null"]},
        hypotheses={**_list_of("Hypothesis"), "description": "the best first"},
    ),
    "CorrectResult": _object(source=_TEXT, text=_TEXT, edits=_list_of("Edit")),
    "PredictResult": {
        "type": "object",
        "description": "A label, labels, a value or tags: the fields of a line of lev-predict.",
    },
    "Error": {
        **_object(error={"type": "string", "description": "one line"}),
        "required": ["error"],
    },
}
_KINDS = {
    "edit": (EditRequest, "EditResult", "Edit drafts, or write outputs anew"),
    "correct": (CorrectRequest, "CorrectResult", "Correct lines"),
    "predict": (PredictRequest, "PredictResult", "Predict labels, values or tags"),
}
_STATUS = {
    "400": "the body is not JSON",
    "403": "the token is missing or wrong",
    "413": "too many rows or bytes",
    "422": "a field or a text that cannot be used",
    "503": "too many requests wait, or the server is shutting down",
    "504": "not done in time",
}


def _content(schema: Schema) -> Schema:
    return {"application/json": {"schema": schema}}


def _operation(request: type, result: str, summary: str) -> Schema:
    results = _object(results=_list_of(result))
    error = _content({"$ref": "#/components/schemas/Error"})
    return {
        "summary": summary,
        "requestBody": {
            "required": True,
            "content": _content({"$ref": f"#/components/schemas/{request.__name__}"}),
        },
        "responses": {
            "200": {"description": "a result for each row, in order", "content": _content(results)},
            **{code: {"description": said, "content": error} for code, said in _STATUS.items()},
        },
    }


def describe(kinds: Iterable[str], limits: "Limits") -> Schema:
    """The document, of the kinds of requests that the model can answer."""
    wanted = [_KINDS[kind] for kind in kinds]
    paths: Schema = {f"/{kind}": {"post": _operation(*_KINDS[kind])} for kind in kinds}
    for path, said in (
        ("/info", "the model and its limits"),
        ("/health", "whether the server answers; needs no token"),
        ("/metrics", "counts for Prometheus"),
    ):
        paths[path] = {"get": {"summary": said, "responses": {"200": {"description": said}}}}
    paths["/health"]["get"]["security"] = []
    bearer = {"type": "http", "scheme": "bearer"}
    query = {"type": "apiKey", "in": "query", "name": "token"}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "lev-serve",
            "version": "1",
            "description": f"A request has at most {limits.rows} rows and {limits.body} bytes, and "
            f"is given up after {limits.seconds:g} s. Rows of many requests share batches.",
        },
        "paths": paths,
        "components": {
            "schemas": {**schemas(*(request for request, *_ in wanted)), **_RESULTS},
            "securitySchemes": {"bearer": bearer, "token": query},
        },
        "security": [{"bearer": []}, {"token": []}],
    }
