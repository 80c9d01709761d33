"""Sphinx's settings of the site: the documents of the repository and the generated reference."""

import logging
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

import reference  # noqa: E402

from lev_runtime import __version__ as version  # noqa: E402

project, author = "lev_plugins", "the lev_plugins authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "docs/index"
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
include_patterns = ["*.md", "docs/**", "examples/**.md", "benchmarks/**.md"]
include_patterns.append("lev_*/**.md")
exclude_patterns = [".*", "build", "tests", "**/__pycache__"]
html_theme = "furo"
smartquotes = False  # --task is no dash
html_title = f"{project} {version}"
html_show_copyright = False
html_additional_pages = {"index": "root.html"}
templates_path = ["templates"]
# anchors as GitHub makes them, so that links between documents work in both places
myst_heading_anchors = 4
autodoc_typehints = "none"
autodoc_member_order = "bysource"

logging.getLogger().setLevel(logging.WARNING)  # fairseq's import has set it to DEBUG
reference.write(ROOT, ROOT / "docs" / "reference")


def without_links_to_folders(app: Any, name: str, source: list[str]) -> None:
    """The site has no page for a folder, where GitHub lists its files."""
    here = (ROOT / name).parent

    def unlinked(link: re.Match[str]) -> str:
        return link[1] if (here / link[2]).is_dir() else link[0]

    source[0] = re.sub(r"\[([^\]]+)\]\(([\w./-]+)\)", unlinked, source[0])


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("source-read", without_links_to_folders)
