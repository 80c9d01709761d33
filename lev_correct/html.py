"""Corrections as one HTML page: changed lines with their edits, the surer the darker."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from lev_runtime.io.lines import STANDARD_STREAM
from lev_runtime.io.output import whole_file

from .page import markup, render
from .report import Sink

if TYPE_CHECKING:
    from .corrector import Correction, Edit

#: Probabilities from which an edit has the next darker shade.
SHADES = (0.0, 0.5, 0.75, 0.9, 0.97)
#: name of a file → its lines that changed, with their numbers
Changed = Mapping[str, Sequence[tuple[int, "Correction"]]]


@contextmanager
def html_sink(path: str, title: str) -> Iterator[Sink]:
    """Collects lines and writes the page when all are there, whole or not at all."""
    files: dict[str, list[tuple[int, Correction]]] = {}
    counts = Counter(dict.fromkeys(("lines", "lines changed", "edits applied", "not applied"), 0))

    def add(name: str, number: int, correction: "Correction") -> None:
        shown = files.setdefault("standard input" if name == STANDARD_STREAM else name, [])
        applied = sum(edit.applied for edit in correction.edits)
        counts.update({"lines": 1, "lines changed": bool(applied), "edits applied": applied})
        counts["not applied"] += len(correction.edits) - applied
        if applied:
            shown.append((number, correction))

    with whole_file(path) as stream:
        yield add
        stream.write(render_html(files, counts, title))


def render_html(files: Changed, counts: Mapping[str, int], title: str) -> str:
    """The page for ``files``, in their order; ``counts`` stand at its head."""
    totals = {"files": len(files), **counts}
    facts = [(what, f"{count:,}") for what, count in totals.items()]
    shown = {}
    for name, lines in files.items():
        shown[name] = [_shown(number, correction) for number, correction in lines]
    return render("corrections.html", title=title, facts=facts, files=shown, shades=SHADES)


def _shown(number: int, correction: "Correction") -> dict[str, Any]:
    """What the template shows of a line: its number, its text and the edits not applied."""
    source, parts = correction.source, []
    # a byte order mark is no text
    place = 1 if number == 1 and source.startswith("\ufeff") else 0
    for edit in correction.edits:
        if edit.applied:
            shade = f"s{sum(edit.probability >= low for low in SHADES) - 1}"
            parts += [_text(source[place : edit.offset]), _edit(edit, shade)]
            place = edit.end
    parts.append(_text(source[place:].removesuffix("\r")))
    refused = [(_edit(edit, ""), edit.reason) for edit in correction.edits if not edit.applied]
    return {"number": number, "text": Markup("").join(parts), "refused": refused}


def _edit(edit: "Edit", shade: str) -> Markup:
    shown = Markup("")
    if edit.before:
        shown += Markup("<del>{}</del>").format(_text(edit.before))
    if edit.after:
        kind = Markup(f' class="{shade}"' if shade else "")
        shown += Markup("<ins{}>{}</ins>").format(kind, _text(edit.after))
    return shown + Markup("<sub>{:.2f}</sub>").format(edit.probability)


def _text(raw: str) -> Markup:
    return markup(raw.replace("\t", "    "))
