"""Edits as HTML that a notebook shows: escaped text, struck or underlined, no style sheet."""

from collections.abc import Iterable
from html import escape

from .errors import printable

# Readable on light and on dark: the colour of the text is the notebook's own.
_DELETED = "background:rgba(220,60,50,.22);text-decoration:line-through"
_INSERTED = "background:rgba(40,120,220,.22);text-decoration:underline;font-weight:600"


def text(raw: str) -> str:
    """Text as HTML, with whatever cannot be seen as an escape."""
    return escape(printable(raw), quote=True)


def deleted(raw: str) -> str:
    """A stretch that went; nothing for none."""
    return f'<del style="{_DELETED}">{text(raw)}</del>' if raw else ""


def inserted(raw: str) -> str:
    """A stretch that came; nothing for none."""
    return f'<ins style="{_INSERTED}">{text(raw)}</ins>' if raw else ""


def small(raw: str) -> str:
    """A note below the line, such as a probability."""
    return f"<sub>{text(raw)}</sub>"


def rows(lines: Iterable[tuple[str, str]]) -> str:
    """A table of names and what they name; the latter is HTML."""
    style = 'style="text-align:start"'
    row = f'<tr><th {style}>{{}}</th><td {style} dir="auto">{{}}</td></tr>'
    table = "".join(row.format(text(name), content) for name, content in lines)
    return f"<table>{table}</table>"
