"""The page's files, which ship in the package; its style begins as that of the other pages."""

from importlib.resources import files

from markupsafe import Markup

from ..reports.page import render

_TYPES = {".html": "text/html", ".js": "text/javascript"}


def page_files() -> dict[str, tuple[bytes, str]]:
    """Content and media type of each file, by name."""
    found: dict[str, tuple[bytes, str]] = {}
    rules = ""
    for file in files(__package__).joinpath("static").iterdir():
        ending = file.name[file.name.rfind(".") :]
        if ending == ".css":
            rules += file.read_text("utf-8")
        elif ending in _TYPES:
            found[file.name] = file.read_bytes(), _TYPES[ending]
    style = render("style.css", edits=True, rules=Markup(rules))
    found["style.css"] = style.encode("utf-8"), "text/css"
    return found
