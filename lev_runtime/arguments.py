"""Lists and streams of text as callers in Python give them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .batching import Pause
from .errors import UserError


def strings(name: str, kind: str, values: Iterable[Any], optional: bool = False) -> list[Any]:
    """A list of strings, or of strings and None; ``kind`` is what a message calls each.

    Raises:
        UserError: it is none; a single string, whose characters would be the texts, included.
    """
    return list(each_string(name, kind, values, optional))


def each_string(
    name: str, kind: str, values: Iterable[Any], optional: bool = False
) -> Iterator[Any]:
    """Yields the strings, and pauses, of a stream; arguments and errors of :func:`strings`."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise UserError(f"{name}: takes a list, not {values!r:.60}")
    number = 1
    for text in values:
        is_pause = isinstance(text, Pause)
        if not isinstance(text, str) and not is_pause and not (optional and text is None):
            raise UserError(f"{kind} {number}: {text!r:.60} is no text; give strings")
        yield text
        number += not is_pause


Terms = Iterable[Iterable[str] | None]
Row = tuple[str, str | None, Sequence[str] | None, str | None]


def read_row(number: int, row: Any) -> list[Any]:
    """Source, draft and old source of a stream's item, a string or a tuple of up to three.

    Raises:
        UserError: any other item; ``number``: its own.
    """
    fields = row if isinstance(row, list | tuple) else [row]
    is_text = fields and isinstance(fields[0], str)
    if not is_text or len(fields) > 3 or not all(isinstance(text, str | None) for text in fields):
        raise UserError(
            f"sentence {number}: {row!r:.60} is no text; give source, draft, old source"
        )
    return [*fields, None, None][:3]


def read_rows(
    sources: Iterable[str],
    drafts: Iterable[str | None] | None,
    terms: Terms | None,
    old_sources: Iterable[str | None] | None = None,
) -> list[Row]:
    """Source, draft, terms and older source of every sentence.

    Raises:
        UserError: what is no list of strings, or of another length.
    """
    sides: dict[str, list[Any]] = {"sources": strings("sources", "source", sources)}
    if drafts is not None:
        sides["drafts"] = strings("drafts", "draft", drafts, optional=True)
    if terms is not None:
        sides["terms"] = [row if row is None else strings("terms", "term", row) for row in terms]
    if old_sources is not None:
        sides["old_sources"] = strings("old_sources", "old source", old_sources, optional=True)
    count = len(sides["sources"])
    for name, side in sides.items():
        if len(side) != count:
            raise UserError(f"{count} sources but {len(side)} {name.replace('_', ' ')}")
    missing = [None] * count
    names = ("sources", "drafts", "terms", "old_sources")
    rows: Any = zip(*(sides.get(name, missing) for name in names))
    return list(rows)
