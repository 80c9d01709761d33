"""Gates as a PNG of heat maps (paper, Figure 4), with the shades of the page."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...errors import UserError
from ...io.output import printable
from ..plotting import png, require_matplotlib
from .record import GATES, Record
from .scale import SHADES, Scale, gate_scales
from .words import Piece, pieces, subword_marks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_LINES = 40  # a picture of more could not be looked at
_COLUMNS = 110  # characters a row
_LABEL = 9  # columns for the names of the gates
_CHARACTER, _ROW = 0.073, 0.24  # inches
_DOTS = 150  # an inch


class Cell(NamedTuple):
    """A token on the picture: its row and column, its width in characters, text and shade."""

    row: int
    column: float
    width: float
    text: str
    shade: int


class Layout(NamedTuple):
    """cells, labels (row, column, text), and how many rows there are."""

    cells: list[Cell]
    labels: list[tuple[int, float, str]]
    rows: int


def draw(records: Sequence[Record], title: str, scale: str = "data") -> bytes:
    """The records as a PNG.

    Raises:
        UserError: matplotlib is not installed, or there is nothing to draw.
    """
    require_matplotlib()
    if not records:
        raise UserError("--png: there are no lines to draw")
    scales = gate_scales(records, scale)
    layout = _lay_out(records, scales)
    width, height = _COLUMNS * _CHARACTER, (layout.rows + 3) * _ROW

    def paint(figure: "Figure") -> None:
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(-0.5, _COLUMNS + 0.5), ylim=(layout.rows + 1.6, -1.4))
        axes.axis("off")
        axes.text(0, -0.8, printable(title), fontsize=10, weight="bold", va="center")
        _draw_cells(axes, layout)
        _draw_legend(axes, layout.rows + 0.7, scales)

    style = {"font.family": "DejaVu Sans Mono", "font.size": 8}
    return png(paint, style, figsize=(width, height), dpi=_DOTS)


def _draw_cells(axes: "Axes", layout: Layout) -> None:
    from matplotlib.patches import Rectangle

    for row, column, label in layout.labels:
        axes.text(column, row, label, va="center", color="#444b53")
    for cell in layout.cells:
        back, front = SHADES[cell.shade]
        place = (cell.column, cell.row - 0.42)
        axes.add_patch(
            Rectangle(place, cell.width, 0.84, facecolor=back, edgecolor="#b8bec6", linewidth=0.5)
        )
        middle = cell.column + cell.width / 2
        axes.text(middle, cell.row, cell.text, ha="center", va="center", color=front)


def _draw_legend(axes: "Axes", row: float, scales: dict[str, Scale]) -> None:
    from matplotlib.patches import Rectangle

    column = 0.0
    for scale in dict.fromkeys(scales.values()):
        names = ", ".join(name for name, other in scales.items() if other == scale)
        start = f"{names}: {scale.low:.2f} "
        axes.text(column, row, start, va="center", color="#444b53")
        column += len(start)
        for back, _ in SHADES:
            axes.add_patch(
                Rectangle(
                    (column, row - 0.3), 1.5, 0.6,
                    facecolor=back, edgecolor="#b8bec6", linewidth=0.5,
                )
            )  # fmt: skip
            column += 1.5
        axes.text(column + 0.5, row, f"{scale.high:.2f}", va="center", color="#444b53")
        column += 9


def _lay_out(records: Sequence[Record], scales: dict[str, Scale]) -> Layout:
    """Where everything stands; a line of the text that is too long continues in the next row."""
    marks = subword_marks([t for one in records for t in (*one.source_tokens, *one.target_tokens)])
    cells: list[Cell] = []
    labels: list[tuple[int, float, str]] = []
    row = 0
    for record in records:
        labels.append((row, 0, f"line {record.line}"))
        row += 1
        for name in GATES:
            values = record.gate(name)
            if values is None:
                continue
            labels.append((row, 0, name))
            placed = _place(pieces(record.tokens(name), marks), values, scales[name], row)
            cells += placed
            row = placed[-1].row + 1
        row += 1
    return Layout(cells, labels, row)


def _place(shown: Sequence[Piece], values: Sequence[float], scale: Scale, row: int) -> list[Cell]:
    """The cells of one gate from ``row`` on; words are kept whole where they fit."""
    cells = []
    column = float(_LABEL)
    for place, (piece, value) in enumerate(zip(shown, values)):
        text = printable(piece.text)
        width = max(len(text), 1) + 0.6
        rest = width
        for following in shown[place + 1 :]:
            if following.starts:
                break
            rest += max(len(printable(following.text)), 1) + 0.6
        if piece.starts and place:
            column += 0.8
        needed = rest if piece.starts and rest <= _COLUMNS - _LABEL else width
        if column + needed > _COLUMNS and column > _LABEL:
            row, column = row + 1, float(_LABEL)
        cells.append(Cell(row, column, width, text, scale.shade(value)))
        column += width
    return cells
