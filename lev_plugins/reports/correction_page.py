"""Corrections as one HTML page: changed lines with their edits, the surer the darker.

Needs nothing but the page: links between files and the order, by place or by probability, work
without a script.
"""

from collections.abc import Iterable, Iterator, Sequence
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

LINES = ("changed", "edits", "all")
#: Probabilities from which an edit has the next darker shade.
SHADES = (0.0, 0.5, 0.75, 0.9, 0.97)
# Characters of an unchanged stretch that are shown, about, on each side of what is left out of it,
# and how many that is at least.
_CONTEXT, _LEFT_OUT = 160, 200


@dataclass
class FileEdits:
    """A file, counts, and the lines to show of it.

    changed: lines. made, refused: edits of words that were applied and that were not. least: the
    smallest probability of an applied edit; None where there is none.
    """

    name: str
    lines: int = 0
    changed: int = 0
    made: int = 0
    refused: int = 0
    least: float | None = None
    shown: list[tuple[int, "Correction", "list[Edit]"]] = field(default_factory=list)

    @property
    def title(self) -> str:
        """Its name, for readers."""
        return "standard input" if self.name == STANDARD_STREAM else self.name


@contextmanager
def html_sink(path: str, title: str, show: str, finished: Sequence[str]) -> Iterator[Sink]:
    """Collects lines and writes the page when all are there, whole or not at all.

    Args:
        show: of :data:`LINES`: lines that changed, lines with edits (applied or not), or all.
        finished: files that were corrected before.
    """
    from ..inference.correction.review import whole_words

    files: dict[str, FileEdits] = {}

    def add(name: str, number: int, correction: "Correction") -> None:
        file = files.setdefault(name, FileEdits(name))
        edits = whole_words(correction)
        made = [edit.probability for edit in edits if edit.applied]
        file.lines += 1
        file.changed += bool(made)
        file.made += len(made)
        file.refused += len(edits) - len(made)
        file.least = min([*made, *([] if file.least is None else [file.least])], default=None)
        if made or show == "all" or (show == "edits" and edits):
            file.shown.append((number, correction, edits))

    with report_file(path) as stream:
        yield add
        stream.write(render_html(list(files.values()), title, finished))


def render_html(files: Sequence[FileEdits], title: str, finished: Sequence[str] = ()) -> str:
    """The page for ``files``, in their order; ``finished`` are only named."""
    lines = [(place, *line) for place, file in enumerate(files) for line in file.shown]
    by_probability = sorted(range(len(lines)), key=lambda one: _least(lines[one][3]))
    ranks = {one: rank for rank, one in enumerate(by_probability)}
    return render(
        "corrections.html",
        title=title,
        facts=_facts(files),
        files=files,
        finished=finished,
        shades=SHADES,
        lines=[_shown(files, *line, ranks[one]) for one, line in enumerate(lines)],
    )


def _least(edits: Iterable["Edit"]) -> float:
    """The smallest probability of the applied edits, else of all; 2 where there is none."""
    edits = list(edits)
    made = [edit.probability for edit in edits if edit.applied]
    return min(made or [1.0 + edit.probability / 2 for edit in edits], default=2.0)


def _facts(files: Sequence[FileEdits]) -> list[tuple[str, str]]:
    columns = (("lines", "lines"), ("changed", "lines changed"), ("made", "edits applied"))
    sums = [
        (what, sum(getattr(file, name) for file in files))
        for name, what in (*columns, ("refused", "not applied"))
    ]
    return [(what, f"{number:,}") for what, number in (("files", len(files)), *sums)]


def _shown(
    files: Sequence[FileEdits],
    place: int,
    number: int,
    correction: "Correction",
    edits: Sequence["Edit"],
    rank: int,
) -> dict[str, Any]:
    """What the template shows of a line."""
    others = [number for number, file in enumerate(files) if file.shown]
    at = others.index(place)
    applied = [edit for edit in edits if edit.applied]
    return {
        "place": place,
        "file": files[place].title,
        "neighbours": [(one, "previous") for one in others[max(at - 1, 0) : at]]
        + [(one, "next") for one in others[at + 1 : at + 2]],
        "rank": rank,
        "number": number,
        "text": _line(correction.source, applied, number == 1),
        "refused": [(_edit(edit, ""), edit.reason) for edit in edits if not edit.applied],
    }


def _line(source: str, edits: Sequence["Edit"], first: bool) -> Markup:
    """A line with its edits; of long stretches without one, what stands beside the edits."""
    parts = []
    place = 1 if first and source.startswith("\ufeff") else 0  # a byte order mark is no text
    begin = place
    for edit in edits:
        parts.append(_kept(source[place : edit.offset], place > begin, True))
        parts.append(_edit(edit, f"s{sum(edit.probability >= low for low in SHADES) - 1}"))
        place = edit.end
    parts.append(_kept(source[place:].removesuffix("\r"), place > begin, False))
    return Markup("").join(parts)


def _edit(edit: "Edit", shade: str) -> Markup:
    kind = Markup(f' class="{shade}"' if shade else "")
    before = Markup("<del>{}</del>").format(_text(edit.before)) if edit.before else ""
    after = Markup("<ins{}>{}</ins>").format(kind, _text(edit.after)) if edit.after else ""
    return Markup("{}{}<sub>{:.2f}</sub>").format(before, after, edit.probability)


def _kept(stretch: str, behind: bool, before: bool) -> Markup:
    """Unchanged text behind and before an edit; between two nothing is left out of short ones."""
    if not (behind or before) or len(stretch) <= 2 * _CONTEXT + _LEFT_OUT:
        return _text(stretch)
    # Whole words, where there are any.
    head = stretch[:_CONTEXT].rpartition(" ")[0] or stretch[:_CONTEXT] if behind else ""
    tail = stretch[-_CONTEXT:].partition(" ")[2] or stretch[-_CONTEXT:] if before else ""
    out = Markup(f'<span class="note">[{len(stretch) - len(head) - len(tail):,} characters]</span>')
    return Markup(" ").join([_text(head), out, _text(tail)])


def _text(raw: str) -> Markup:
    return markup(raw.replace("\t", "    "))
