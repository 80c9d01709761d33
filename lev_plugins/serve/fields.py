"""JSON in, dataclasses out: what a request may hold is declared once, for reading and OpenAPI.

A class of requests is a dataclass whose fields have ``help`` and, for numbers and texts, limits:

    top_k: int | None = described("also the N likeliest labels", None, minimum=1)

Types are ``str``, ``int``, ``float``, ``bool``, ``Literal`` of strings, other such classes, tuples
of any of these (``tuple[str, ...]``), and each of them or None.
"""

import dataclasses
import math
import types
from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from ..errors import UserError

T = TypeVar("T")
#: of OpenAPI
Schema = dict[str, Any]
REQUIRED: Any = dataclasses.MISSING
_NAMES = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
_JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


def described(
    help: str,
    default: Any = REQUIRED,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
) -> Any:
    """A field of a request: its meaning, default (else it has to be there) and limits."""
    limits = {"minimum": minimum, "maximum": maximum}
    return dataclasses.field(default=default, metadata={"help": help, **limits})


def read(kind: type[T], value: object, place: str = "the request") -> T:
    """An object of a class from JSON.

    Raises:
        UserError: a field that is missing, unknown, of another type or outside its limits.
    """
    if not isinstance(value, Mapping):
        raise UserError(f"{place} is {_shown(value)}, not a JSON object")
    hints = get_type_hints(kind)
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for name in value:
        if name not in fields:
            raise UserError(f"{place} has no field {name!r}; it has {', '.join(fields)}")
    found = {}
    for name, field in fields.items():
        inside = name if place == "the request" else f"{place}.{name}"
        if name in value:
            found[name] = _read(hints[name], value[name], inside, field.metadata)
        elif field.default is dataclasses.MISSING:
            raise UserError(f"{inside} is missing: {field.metadata['help']}")
    return kind(**found)


def _read(hint: Any, value: object, place: str, limits: Mapping[str, Any]) -> Any:
    options = _options(hint)
    if value is None and type(None) in options:
        return None
    hint = options[0]
    if get_origin(hint) is Literal:
        if value not in get_args(hint):
            choice = ", ".join(get_args(hint))
            raise UserError(f"{place} is {_shown(value)}; choose one of {choice}")
        return value
    if get_origin(hint) is tuple:
        if not isinstance(value, list):
            raise UserError(f"{place} is {_shown(value)}, not a list")
        inner = get_args(hint)[0]
        return tuple(
            _read(inner, one, f"{place}[{number}]", limits) for number, one in enumerate(value)
        )
    if dataclasses.is_dataclass(hint):
        return read(hint, value, place)  # type: ignore[arg-type]
    return _plain(hint, value, place, limits)


def _plain(kind: Any, value: object, place: str, limits: Mapping[str, Any]) -> Any:
    """A text, a number, or true or false."""
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise UserError(f"{place} is {_shown(value)}, not {_NAMES[kind]}")
    if isinstance(value, str):
        if any("\ud800" <= char <= "\udfff" for char in value):
            raise UserError(f"{place} has half a character (a lone surrogate); send valid Unicode")
        return value
    low, high = limits.get("minimum"), limits.get("maximum")
    if not math.isfinite(value):
        raise UserError(f"{place} is {_shown(value)}, not a finite number")
    if low is not None and value < low:
        raise UserError(f"{place} is {value}; the least is {low}")
    if high is not None and value > high:
        raise UserError(f"{place} is {value}; the most is {high}")
    return value


def _options(hint: Any) -> tuple[Any, ...]:
    """The types of a union, None last; the type itself elsewhere."""
    if get_origin(hint) in (Union, types.UnionType):
        return tuple(sorted(get_args(hint), key=lambda one: one is type(None)))
    return (hint,)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}…"


# OpenAPI -------------------------------------------------------------------------------------


def schemas(*kinds: type) -> Schema:
    """JSON schemas of classes and of all classes in them, by name."""
    found: Schema = {}
    waiting = list(kinds)
    while waiting:
        kind = waiting.pop()
        if kind.__name__ in found:
            continue
        hints = get_type_hints(kind)
        fields = dataclasses.fields(kind)  # type: ignore[arg-type]
        found[kind.__name__] = {
            "type": "object",
            "description": (kind.__doc__ or "").strip(),
            "properties": {one.name: _schema(hints[one.name], one) for one in fields},
            "required": [one.name for one in fields if one.default is dataclasses.MISSING],
            "additionalProperties": False,
        }
        waiting += [inner for hint in hints.values() for inner in _classes(hint)]
    return dict(sorted(found.items()))


def _classes(hint: Any) -> Iterator[type]:
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        yield hint
    for inner in get_args(hint) if get_origin(hint) is not Literal else ():
        yield from _classes(inner)


def _schema(hint: Any, field: "dataclasses.Field[Any]") -> Schema:
    found = _type(hint, field.metadata)
    found["description"] = field.metadata["help"]
    if field.default is not dataclasses.MISSING:
        default = field.default
        found["default"] = list(default) if isinstance(default, tuple) else default
    return found


def _type(hint: Any, limits: Mapping[str, Any]) -> Schema:
    options = _options(hint)
    found: Schema
    hint = options[0]
    if get_origin(hint) is Literal:
        found = {"type": "string", "enum": list(get_args(hint))}
    elif get_origin(hint) is tuple:
        found = {"type": "array", "items": _type(get_args(hint)[0], limits)}
    elif dataclasses.is_dataclass(hint):
        found = {"$ref": f"#/components/schemas/{hint.__name__}"}  # type: ignore[union-attr]
    else:
        found = {"type": _JSON_TYPES[hint]}
        if hint in (int, float):
            found |= {key: limits[key] for key in ("minimum", "maximum") if limits[key] is not None}
    if len(options) > 1:
        return {"anyOf": [found, {"type": "null"}]}
    return found
