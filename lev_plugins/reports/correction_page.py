"""Corrections as one HTML page: changed lines with their edits, the surer the darker."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ..io.lines import STANDARD_STREAM
from ..io.output import report_file
from .correction_report import Sink
from .page import markup, render

if TYPE_CHECKING:
    from ..inference.correction import Correction, Edit

#: Probabilities from which an edit has the next darker shade.
SHADES = (0.0, 0.5, 0.75, 0.9, 0.97)


@dataclass
class FileEdits:
    """A file: its lines, its edits that were applied and that were not, and the lines that changed.

    The edits are those of ``--edits``.
    """

    name: str
    lines: int = 0
    applied: int = 0
    refused: int = 0
    shown: list[tuple[int, "Correction", "Sequence[Edit]"]] = field(default_factory=list)


@contextmanager
def html_sink(path: str, title: str) -> Iterator[Sink]:
    """Collects lines and writes the page when all are there, whole or not at all."""
    files: dict[str, FileEdits] = {}

    def add(name: str, number: int, correction: "Correction") -> None:
        shown = "standard input" if name == STANDARD_STREAM else name
        file = files.setdefault(name, FileEdits(shown))
        applied = sum(edit.applied for edit in correction.edits)
        file.lines += 1
        file.applied += applied
        file.refused += len(correction.edits) - applied
        if applied:
            file.shown.append((number, correction, correction.edits))

    with report_file(path) as stream:
        yield add
        stream.write(render_html(list(files.values()), title))


def render_html(files: Sequence[FileEdits], title: str) -> str:
    """The page for ``files``, in their order."""
    counts = {
        "files": len(files),
        "lines": sum(file.lines for file in files),
        "lines changed": sum(len(file.shown) for file in files),
        "edits applied": sum(file.applied for file in files),
        "not applied": sum(file.refused for file in files),
    }
    facts = [(what, f"{count:,}") for what, count in counts.items()]
    shown = [(i, file, [_shown(*line) for line in file.shown]) for i, file in enumerate(files)]
    return render("corrections.html", title=title, facts=facts, files=shown, shades=SHADES)


def _shown(number: int, correction: "Correction", edits: Sequence["Edit"]) -> dict[str, Any]:
    """What the template shows of a line: its number, its text and the edits not applied."""
    source, parts = correction.source, []
    # a byte order mark is no text
    place = 1 if number == 1 and source.startswith("\ufeff") else 0
    for edit in edits:
        if edit.applied:
            shade = f"s{sum(edit.probability >= low for low in SHADES) - 1}"
            parts += [_text(source[place : edit.offset]), _edit(edit, shade)]
            place = edit.end
    parts.append(_text(source[place:].removesuffix("\r")))
    refused = [(_edit(edit, ""), edit.reason) for edit in edits if not edit.applied]
    return {"number": number, "text": Markup("").join(parts), "refused": refused}


def _edit(edit: "Edit", shade: str) -> Markup:
    kind = Markup(f' class="{shade}"' if shade else "")
    before = Markup("<del>{}</del>").format(_text(edit.before)) if edit.before else ""
    after = Markup("<ins{}>{}</ins>").format(kind, _text(edit.after)) if edit.after else ""
    return Markup("{}{}<sub>{:.2f}</sub>").format(before, after, edit.probability)


def _text(raw: str) -> Markup:
    return markup(raw.replace("\t", "    "))
