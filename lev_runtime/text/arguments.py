"""Lists of text as callers in Python give them."""

from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import UserError


def strings(name: str, values: Iterable[Any], optional: bool = False, first: int = 1) -> list[Any]:
    """Returns a list of strings, or of strings and None; ``first``: the number of the first.

    Raises:
        UserError: it is none; a single string, whose characters would be the texts, included.
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise UserError(f"{name}: takes a list, not {values!r:.60}")
    texts = list(values)
    for number, text in enumerate(texts, first):
        if not isinstance(text, str) and not (optional and text is None):
            kind = name.replace("_", " ").removesuffix("s")
            raise UserError(f"{kind} {number}: {text!r:.60} is not text; give strings")
    return texts


Terms = Iterable[Iterable[str] | None]
Row = tuple[str, str | None, Sequence[str] | None, str | None]


def read_rows(
    sources: Iterable[str],
    drafts: Iterable[str | None] | None,
    terms: Terms | None,
    old_sources: Iterable[str | None] | None = None,
    first: int = 1,
) -> list[Row]:
    """Returns source, draft, terms and older source of each sentence; ``first``: its number.

    Raises:
        UserError: what is no list of strings, or of another length.
    """
    columns = {"sources": sources, "drafts": drafts, "old_sources": old_sources}
    sides = {
        name: strings(name, column, name != "sources", first)
        for name, column in columns.items()
        if column is not None
    }
    if terms is not None:
        sides["terms"] = [row if row is None else strings("terms", row) for row in terms]
    count = len(sides["sources"])
    for name, side in sides.items():
        if len(side) != count:
            raise UserError(f"{count} sources but {len(side)} {name.replace('_', ' ')}")
    missing = [None] * count
    rows: Any = zip(
        *(sides.get(name, missing) for name in ("sources", "drafts", "terms", "old_sources"))
    )
    return list(rows)
