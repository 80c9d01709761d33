"""Draws gates as heat maps, one gate a row (Figure 4 of the gated-Trans paper).

    lev-trace --path checkpoint_best.pt --json < lines.txt > gates.jsonl
    python examples/analysis/gate_pictures.py gates.jsonl gates.png --lines 1 4 7

The darker a token, the higher the probability; a row that is too long goes on in the next.
"""

import argparse
from collections.abc import Sequence
from typing import Any

from gate_figures import read_records
from plotting import png

from lev_plugins.errors import UserError
from lev_plugins.fairseq_patches import run_cli
from lev_plugins.io.output import printable, whole_file
from lev_plugins.reports.gates import Record

COLUMNS, LABEL = 110, 9  # characters a row, and of them for the names of the gates
CHARACTER, ROW = 0.073, 0.24  # inches
DARK = 0.65  # from here on letters are white

#: row, column, text, and the probability of a token; None for a label
Cell = tuple[int, float, str, float | None]


def lay_out(records: Sequence[Record]) -> list[Cell]:
    """Where everything stands."""
    cells: list[Cell] = []
    row = 0
    for record in records:
        cells.append((row, 0.0, f"line {record.line}", None))
        for name, tokens in record.shown():
            row, column = row + 1, float(LABEL)
            cells.append((row, 0.0, name, None))
            for token, value in tokens:
                text = printable(token)
                if column + len(text) + 0.8 > COLUMNS and column > LABEL:
                    row, column = row + 1, float(LABEL)
                cells.append((row, column, text, value))
                column += max(len(text), 1) + 0.8
        row += 2
    return cells


def draw(records: Sequence[Record]) -> bytes:
    """The records as a PNG; raises :class:`UserError` without matplotlib."""
    cells = lay_out(records)
    rows = cells[-1][0] + 1

    def paint(figure: Any) -> None:
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(-0.5, COLUMNS + 0.5), ylim=(rows + 0.5, -0.9))
        axes.axis("off")
        for row, column, text, value in cells:
            box = None
            if value is not None:
                shade = tuple(1 - value * (1 - part) for part in (0.03, 0.19, 0.42))
                box = {"facecolor": shade, "edgecolor": "#b8bec6", "linewidth": 0.5, "pad": 2}
            color = "white" if (value or 0) > DARK else "black"
            axes.text(column, row, text, va="center", color=color, bbox=box)

    style = {"font.family": "DejaVu Sans Mono", "font.size": 8}
    size = (COLUMNS * CHARACTER, (rows + 1.4) * ROW)
    return png(paint, style, figsize=size, dpi=150)


def main(argv: Sequence[str] | None = None) -> None:
    """Draw the chosen lines."""
    parser = argparse.ArgumentParser(description="Heat maps of gates.")
    parser.add_argument("records", metavar="JSONL", help="what lev-trace --json wrote")
    parser.add_argument("picture", metavar="PNG")
    parser.add_argument("--lines", nargs="+", type=int, default=range(1, 6), metavar="N")
    args = parser.parse_args(argv)
    records = [one for one in read_records(args.records) if one.line in args.lines]
    if not records:
        raise UserError(f"{args.records} has none of the lines {list(args.lines)}")
    with whole_file(args.picture) as file:
        file.buffer.write(draw(records))


if __name__ == "__main__":
    run_cli(main)
