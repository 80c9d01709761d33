"""HTML pages that need nothing else: no script, font, image or network.

What is shown differs by command; the frame, its colours in light, dark and print, and what repeats
are in the folder ``templates``.
"""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from lev_runtime.html import text

if TYPE_CHECKING:
    from jinja2 import Environment


def markup(value: object) -> Markup:
    """What stands on a page: HTML as it is, all else as escaped text."""
    return value if isinstance(value, Markup) else Markup(text(str(value)))


@cache
def _templates() -> "Environment":
    from jinja2 import Environment, FileSystemLoader  # not for a command that writes no page

    return Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        finalize=markup,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def render(template: str, **values: object) -> str:
    """A template with values, which are escaped unless they are :class:`markupsafe.Markup`."""
    return _templates().get_template(template).render(**values)
