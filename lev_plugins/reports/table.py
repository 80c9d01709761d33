"""A report as a table of text, one column a system."""

from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import counted
from ..io.output import printable
from .figures import Figures, System

LABELS = {
    "bleu": "BLEU",
    "ter": "TER",
    "ter_normalized": "TER, normalised",
    "chrf": "chrF",
    "rouge1": "ROUGE-1",
    "rouge2": "ROUGE-2",
    "rougeL": "ROUGE-L",
    "accuracy": "exact match, %",
    "word_accuracy": "words right, %",
    "wrr": "WRR, 100 − WER",
    "wrr_jaccard": "WRR, Jaccard",
    "wer": "WER",
    "cer": "CER",
    "correction_rate": "wrong words corrected, %",
    "words_broken": "right words miscorrected, %",
    "edit_precision": "edits, precision",
    "edit_recall": "edits, recall",
    "edit_f05": "edits, F0.5",
    "errant_precision": "ERRANT, precision",
    "errant_recall": "ERRANT, recall",
    "errant_f05": "ERRANT, F0.5",
}
EDITS = {"kept": "kept", "deleted": "deleted", "inserted": "inserted"}
JUDGED_EDITS = {
    "right_kept": "right, kept ↑",
    "right_miscorrected": "right, miscorrected ↓",
    "wrong_gone": "wrong, gone ↑",
    "wrong_left": "wrong, left ↓",
    "right_inserted": "inserted, right ↑",
    "wrong_inserted": "inserted, wrong ↓",
}
ABSENT = "–"
_LONGEST_NAME = 30

Row = tuple[str, list[str]]


def render_table(figures: Figures) -> str:
    """The figures of :func:`.figures.compute` as text that ends in a line end."""
    systems = figures["systems"]
    blocks = [
        [("", [short_name(system["name"]) for system in systems])],
        _scores(figures["metrics"], systems),
        _words(systems),
        _edits(figures, systems),
        _sentences(figures, systems),
        _iterations(figures["sentences"], systems),
        _lengths(systems),
    ]
    rows = [row for block in blocks for row in block]
    left = max(len(label) for label, _ in rows)
    widths = [max(len(cells[i]) for _, cells in rows if cells) for i in range(len(systems))]
    lines = [_title(figures), ""]
    for label, cells in rows:
        line = label.ljust(left) + "".join(
            "  " + cell.rjust(width) for cell, width in zip(cells, widths)
        )
        lines.append(line.rstrip())
    return "\n".join([*lines, "", *_remarks(figures)]) + "\n"


def short_name(name: str) -> str:
    """A system's name without what would break a line, the end of a long one."""
    shown = printable(name)
    return shown if len(shown) <= _LONGEST_NAME else "…" + shown[1 - _LONGEST_NAME :]


def _title(figures: Figures) -> str:
    parts = [counted(figures["sentences"], "sentence")]
    unit = figures["unit"]
    for side in ("reference", "draft"):
        if figures[f"{side}_tokens"] is not None:
            parts.append(f"{figures[f'{side}_tokens']} {unit}s in the {side}s")
    return ", ".join(parts)


def _row(label: str, cells: Iterable[str | None]) -> Row:
    return label, [cell or ABSENT for cell in cells]


def _share(count: int, total: int) -> str:
    """A count and its percentage, in columns of their own."""
    return f"{count}  {100 * count / total if total else 0:5.1f} %"


# ---------------------------------------------------------------- blocks


def _scores(metrics: dict[str, Any], systems: Sequence[System]) -> list[Row]:
    rows = []
    for name, about in metrics.items():
        arrow = "↑" if about["higher_is_better"] else "↓"
        label = f"{LABELS.get(name, name)} {arrow}"
        rows.append(_row(label, [f"{one['scores'][name]:.2f}" for one in systems]))
    return rows


def _words(systems: Sequence[System]) -> list[Row]:
    """What became of the references' words; the same counts as of correction_counts."""
    if systems[0]["words"] is None:
        return []
    words, right = systems[0]["words"]["words"], systems[0]["words"]["right_before"]
    found = [one["words"] for one in systems]
    return [
        ("", []),
        (f"words of the references, {words}: {right} right before", []),
        _row("  corrected ↑", [_share(one["corrected"], words - right) for one in found]),
        _row("  miscorrected ↓", [_share(one["miscorrected"], right) for one in found]),
    ]


def _edits(figures: Figures, systems: Sequence[System]) -> list[Row]:
    unit, total = figures["unit"], figures["draft_tokens"]
    if total is None:
        return []
    judged = figures["reference_tokens"] is not None
    key, parts = ("edits", JUDGED_EDITS) if judged else ("edits_made", EDITS)
    rows: list[Row] = [("", []), (f"{unit}s, of the {total} in the drafts", [])]
    for name, label in parts.items():
        rows.append(_row(f"  {label}", [_share(one[key][name], total) for one in systems]))
    if judged:
        remaining = [str(one["edits"]["remaining"]) for one in systems]
        rows.append(_row("edits still needed ↓", remaining))
    return rows


def _sentences(figures: Figures, systems: Sequence[System]) -> list[Row]:
    total = figures["sentences"]
    if figures["draft_tokens"] is None:
        return []
    rows: list[Row] = [("", []), (f"sentences, of {total}", [])]
    for key in ("better", "worse", "equal"):
        if figures["reference_tokens"] is not None:
            label = "as good as the draft" if key == "equal" else f"{key} than the draft"
            rows.append(
                _row(f"  {label}", [_share(one["against_draft"][key], total) for one in systems])
            )
    rows.append(_row("  left as they were", [_share(one["unchanged"], total) for one in systems]))
    return rows


def _iterations(total: int, systems: Sequence[System]) -> list[Row]:
    found = [one["iterations"] for one in systems if one["iterations"]]
    if not found:
        return []

    def share(system: System, count: int) -> str | None:
        if not system["iterations"]:
            return None
        counts = {
            item["iterations"]: item["sentences"] for item in system["iterations"]["histogram"]
        }
        return _share(counts.get(count, 0), total)

    def mean(system: System) -> str | None:
        return f"{system['iterations']['mean']:.2f}" if system["iterations"] else None

    seen = sorted({item["iterations"] for one in found for item in one["histogram"]})
    rows: list[Row] = [("", []), _row("iterations, mean", [mean(one) for one in systems])]
    for count in seen:
        rows.append(_row(f"  {count}", [share(one, count) for one in systems]))
    return rows


def _lengths(systems: Sequence[System]) -> list[Row]:
    """Mean iterations for each class of source lengths."""
    classes: dict[tuple[int, int], int] = {}
    for one in systems:
        for item in (one["iterations"] or {}).get("by_length") or []:
            classes[item["from"], item["to"]] = item["sentences"]
    if not classes:
        return []

    def mean(system: System, first: int) -> str | None:
        items = (system["iterations"] or {}).get("by_length") or []
        means = [item["mean_iterations"] for item in items if item["from"] == first]
        return f"{means[0]:.2f}" if means else None

    rows: list[Row] = [("", []), ("iterations by source tokens", [])]
    for (first, last), count in sorted(classes.items()):
        label = f"  {first}–{last} ({count})"
        rows.append(_row(label, [mean(one, first) for one in systems]))
    return rows


def _remarks(figures: Figures) -> list[str]:
    lines = []
    if figures["systems"][0]["words"] is not None:
        lines.append(
            "corrected: of the words that were wrong; miscorrected: of those that were right; by "
            "alignments with the fewest insertions, deletions and substitutions"
        )
    if figures["draft_tokens"] is not None and figures["reference_tokens"] is not None:
        lines.append(
            f"right: on a longest common subsequence with the reference; edits: insertions and "
            f"deletions of {figures['unit']}s; better, worse: fewer, more edits needed"
        )
    for side, name in figures["origin"].items():
        lines.append(f"{side}: {printable(name)}")
    for system in figures["systems"]:
        if system["file"] not in (None, system["name"]):
            lines.append(f"{short_name(system['name'])}: {printable(system['file'])}")
    signatures: dict[str, list[str]] = {}
    for name, about in figures["metrics"].items():
        signatures.setdefault(about["signature"], []).append(LABELS.get(name, name))
    lines += [f"{', '.join(names)}: {signature}" for signature, names in signatures.items()]
    return lines + [f"note: {printable(note)}" for note in figures["notes"]]
