"""What looks odd in examples that can be read: it is said, not refused."""

from collections import Counter
from collections.abc import Iterator

from ....io.text_files import read_lines
from ..problem_types import ProblemType
from .reading import Layout

#: fewer examples say nothing about how often a label ought to occur
ENOUGH = 20
_SHOWN = 5


def oddities(layout: Layout, path: str) -> Iterator[str]:
    """What a file of examples shows that its owner may not have meant, a line each.

    Args:
        layout: how it is written; it has been read so without an error.
    """
    if layout.form == "tsv":
        yield from _of_cells(layout, path)
    if layout.kind in (ProblemType.REGRESSION, ProblemType.TAGGING):
        return
    counts: Counter[str] = Counter()
    first: list[str] = []
    examples = 0
    for example in layout.read(path):
        examples += 1
        counts.update(example.labels)
        first = first or example.labels
    if examples < ENOUGH:
        return
    if len(counts) > examples / 2:
        yield (
            f"{path}: {len(counts):,} labels for {examples:,} examples; is column "
            f"{(layout.label or 0) + 1} the label (--label-column)?"
        )
    elif not layout.header and all(counts[label] == 1 for label in first):
        yield (
            f"{path}: the label of the first example, {','.join(first)!r}, occurs there alone; if "
            "line 1 names the columns, give --header"
        )


def _of_cells(layout: Layout, path: str) -> Iterator[str]:
    """Columns that are not read, and texts in quotes."""
    used = {layout.label, *layout.texts}
    unread: set[int] = set()
    quoted = lines = 0
    for line in read_lines(path):
        lines += 1
        cells = line.split("\t")
        unread |= set(range(len(cells))) - used
        quoted += any(_in_quotes(cells[at]) for at in layout.texts)
    if unread:
        names = ", ".join(str(column + 1) for column in sorted(unread)[:_SHOWN])
        more = ", …" if len(unread) > _SHOWN else ""
        asked = ",".join(str(column + 1) for column in layout.texts)
        how = f"--text-columns {asked}; two are given as 2,3"
        yield f"{path}: columns not read: {names}{more} ({how})"
    if quoted:
        yield f"{path}: {quoted:,} of {lines:,} texts stand in quotes, which are read as text"


def _in_quotes(cell: str) -> bool:
    """Whether a cell is quoted as a table's; a quotation cut into words has spaces inside."""
    return len(cell) > 1 and cell[0] == cell[-1] == '"' and not cell[1].isspace()


def most_frequent(names: list[str], counts: list[int]) -> str:
    """The labels that occur most often and how often, as text.

    Args:
        names, counts: of all labels, in one order.
    """
    order = sorted(range(len(names)), key=lambda at: -counts[at])
    shown = ", ".join(f"{names[at]} {counts[at]:,}" for at in order[:_SHOWN] if counts[at])
    return shown + (", …" if len(names) > _SHOWN else "")
