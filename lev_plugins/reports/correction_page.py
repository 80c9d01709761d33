"""Corrections as one HTML page: changed lines with their edits, the surer the darker.

Needs nothing but the page: links between files and the order, by place or by probability, work
without a script.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..io.lines import STANDARD_STREAM
from ..io.output import report_file
from .correction_report import Sink
from .page import make_style, render_page, row, text, tiles, tokens_line

if TYPE_CHECKING:
    from ..inference.correction import Correction, Edit

LINES = ("changed", "edits", "all")
#: Probabilities from which an edit has the next darker shade.
SHADES = (0.0, 0.5, 0.75, 0.9, 0.97)
# Characters of an unchanged stretch that are shown, about, on each side of what is left out of it,
# and how many that is at least.
_CONTEXT, _LEFT_OUT = 160, 200

_STYLE = make_style(
    light="--del: #a3201b; --mark: 11, 95, 190;",
    dark="--del: #ffaca3; --mark: 60, 140, 240;",
    rules="\n".join(
        [
            """
main { display: flex; flex-direction: column; }
main p { max-width: 100%; }
del { color: var(--del); text-decoration-thickness: .1em; }
ins {
  margin-left: .25em; padding: 0 .15em; border-radius: .15em; text-decoration-thickness: .1em;
  text-underline-offset: .18em; -webkit-box-decoration-break: clone; box-decoration-break: clone;
}
sub { color: var(--soft); font-size: .65em; font-variant-numeric: tabular-nums; }
h2.file { margin: 1.5rem 0 .75rem; font-size: 1.1rem; color: var(--text); overflow-wrap: anywhere; }
a { color: inherit; }
h2 a { margin-left: .75rem; font-size: .85rem; font-weight: 400; }
article .file { display: none; }
body:has(#by-probability:checked) h2.file { display: none; }
body:has(#by-probability:checked) article { order: var(--rank); }
body:has(#by-probability:checked) article .file { display: inline; }
label { margin-right: 1rem; }
.files { overflow-x: auto; margin: 0 0 1rem; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--line); text-align: end; }
th:first-child, td:first-child { text-align: start; overflow-wrap: anywhere; }
td { font-variant-numeric: tabular-nums; }""",
            *(
                f".s{number} {{ background: rgba(var(--mark), {0.08 + 0.09 * number:.2f}); }}"
                for number in range(len(SHADES))
            ),
        ]
    ),
    print_rules="""
  ins { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  .order, h2 a { display: none; }
""",
)

_ORDER = """<p class="order">Order:
<label><input type="radio" name="order" id="by-place" checked> as in the files</label>
<label><input type="radio" name="order" id="by-probability"> least probable first</label></p>"""


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


@contextmanager
def html_sink(path: str, title: str, show: str, finished: Sequence[str]) -> Iterator[Sink]:
    """Collects lines and writes the page when all are there.

    Args:
        path: the file to write; whole or not at all.
        title: shown at the top and as the page's name.
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
    lines = [(place, line) for place, file in enumerate(files) for line in file.shown]
    by_probability = sorted(range(len(lines)), key=lambda one: _least(lines[one][1][2]))
    ranks = {one: rank for rank, one in enumerate(by_probability)}
    parts: list[str] = []
    last = -1
    for one, (place, line) in enumerate(lines):
        if place != last:
            parts.append(_heading(files, place))
            last = place
        parts.append(_article(files[place].name, *line, ranks[one]))
    summary = _tiles(files) + "\n" + _table(files, finished)
    none = ["<p>There is no line to show.</p>"]
    return render_page(title, _STYLE, summary, _legend(), parts or none, kind="div")


def _least(edits: Iterable["Edit"]) -> float:
    """The smallest probability of the applied edits, else of all; 2 where there is none."""
    edits = list(edits)
    made = [edit.probability for edit in edits if edit.applied]
    return min(made or [1.0 + edit.probability / 2 for edit in edits], default=2.0)


def _tiles(files: Sequence[FileEdits]) -> str:
    facts = [("files", len(files))]
    for name, what in (
        ("lines", "lines"),
        ("changed", "lines changed"),
        ("made", "edits applied"),
        ("refused", "not applied"),
    ):
        facts.append((what, sum(getattr(file, name) for file in files)))
    return tiles([(what, f"{number:,}") for what, number in facts])


def _table(files: Sequence[FileEdits], finished: Sequence[str]) -> str:
    rows = [
        "<tr><th>file</th><th>lines</th><th>lines changed</th><th>edits applied</th>"
        "<th>not applied</th><th>least probability</th></tr>"
    ]
    for number, file in enumerate(files):
        name = text(_name(file.name))
        link = f'<a href="#file-{number}">{name}</a>' if file.shown else name
        least = "–" if file.least is None else f"{file.least:.2f}"
        rows.append(
            f'<tr><td dir="auto">{link}</td><td>{file.lines:,}</td><td>{file.changed:,}</td>'
            f"<td>{file.made:,}</td><td>{file.refused:,}</td><td>{least}</td></tr>"
        )
    for one in finished:
        rows.append(
            f'<tr><td dir="auto">{text(one)}</td><td colspan="5">finished before this run, not in '
            "this report</td></tr>"
        )
    return f'<div class="files" id="files"><table>{"".join(rows)}</table></div>'


def _legend() -> str:
    scale = " ".join(
        f'<ins class="s{number}">from {low:.2f}</ins>' for number, low in enumerate(SHADES)
    )
    return (
        "<p><del>before</del><ins class='s2'>after</ins><sub>0.80</sub>: an edit that was applied, "
        f"with its probability; the more probable, the darker: {scale}</p>\n{_ORDER}"
    )


def _heading(files: Sequence[FileEdits], place: int) -> str:
    shown = [number for number, file in enumerate(files) if file.shown]
    at = shown.index(place)
    links = [(shown[at - 1], "previous")] if at else []
    links += [(shown[at + 1], "next")] if at + 1 < len(shown) else []
    moves = "".join(f'<a href="#file-{number}">{word}</a>' for number, word in links)
    name = text(_name(files[place].name))
    moves += '<a href="#files">all files</a>'
    return f'<h2 class="file" id="file-{place}"><bdi>{name}</bdi>{moves}</h2>'


def _name(file: str) -> str:
    return "standard input" if file == STANDARD_STREAM else file


def _article(
    file: str, number: int, correction: "Correction", edits: Sequence["Edit"], rank: int
) -> str:
    title = f'<span class="file"><bdi>{text(_name(file))}</bdi>, </span>line {number:,}'
    parts = [
        f'<article style="--rank: {rank}">\n<h2>{title}</h2>',
        tokens_line(
            _line(correction.source, [edit for edit in edits if edit.applied], number == 1)
        ),
    ]
    for edit in edits:
        if not edit.applied:
            parts.append(row("not applied", tokens_line(_edit(edit, "") + f" ({edit.reason})")))
    return "\n".join([*parts, "</article>"])


def _line(source: str, edits: Sequence["Edit"], first: bool) -> str:
    """A line with its edits; of long stretches without one, what stands beside the edits."""
    parts = []
    place = 1 if first and source.startswith("\ufeff") else 0  # a byte order mark is no text
    begin = place
    for edit in edits:
        parts.append(_kept(source[place : edit.offset], place > begin, True))
        parts.append(_edit(edit, f"s{sum(edit.probability >= low for low in SHADES) - 1}"))
        place = edit.end
    parts.append(_kept(source[place:].removesuffix("\r"), place > begin, False))
    return "".join(parts)


def _edit(edit: "Edit", shade: str) -> str:
    kind = f' class="{shade}"' if shade else ""
    before = f"<del>{_shown(edit.before)}</del>" if edit.before else ""
    after = f"<ins{kind}>{_shown(edit.after)}</ins>" if edit.after else ""
    return f"{before}{after}<sub>{edit.probability:.2f}</sub>"


def _kept(stretch: str, behind: bool, before: bool) -> str:
    """Unchanged text behind and before an edit; between two nothing is left out of short ones."""
    if not (behind or before) or len(stretch) <= 2 * _CONTEXT + _LEFT_OUT:
        return _shown(stretch)
    # Whole words, where there are any.
    head = stretch[:_CONTEXT].rpartition(" ")[0] or stretch[:_CONTEXT] if behind else ""
    tail = stretch[-_CONTEXT:].partition(" ")[2] or stretch[-_CONTEXT:] if before else ""
    out = len(stretch) - len(head) - len(tail)
    return f'{_shown(head)} <span class="note">[{out:,} characters]</span> {_shown(tail)}'


def _shown(raw: str) -> str:
    return text(raw.replace("\t", "    "))
