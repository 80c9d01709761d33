"""The numbers of a report, which the table and the JSON show.

fairseq prints sentences in the order in which they were decoded; here they are sorted by their
number. Sentence N, counted from 0, is line N + 1 of a text file.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from rapidfuzz.distance import Indel

from lev_runtime.errors import UserError
from lev_runtime.io.text_files import read_lines

from ..io.printed import Printed, Texts, read_printed
from ..metrics.corpus import (
    CORRECTION_METRICS,
    METRICS,
    Metric,
    add_up,
    make_metric,
    word_totals,
)

NO_EDIT_BASELINE = "no-edit baseline"
KNOWN = (*METRICS, *CORRECTION_METRICS)
#: of a system, by name: numbers, and counts with what they are a share of
Figures = dict[str, float | tuple[int, int]]
Report = dict[str, Any]  # as JSON has it


@dataclass
class Corpus:
    """Sentences that belong together, in order."""

    systems: list[Printed]
    references: list[str] | None
    drafts: list[str] | None


def read_corpus(
    printed: Sequence[str], hypotheses: Sequence[str], references: str | None, drafts: str | None
) -> Corpus:
    """Reads outputs and the text files that belong to them.

    Raises:
        UserError: a file that cannot be read, or sides that do not belong together.
    """
    systems = [read_printed(path) for path in printed]
    systems += [Printed(path, _numbered(path), {}, {}) for path in hypotheses]
    files = {path: _numbered(path) for path in (references, drafts) if path is not None}
    sides = list(files.items())
    right = files[references] if references else _printed_references(systems)
    if right and not references:
        sides.append(("the T- lines", right))
    sides += [(system.path, system.outputs) for system in systems]
    _check(sides)
    in_order = [text for _, text in sorted(right.items())] if right else None
    return Corpus(systems, in_order, list(files[drafts].values()) if drafts else None)


def _printed_references(systems: Sequence[Printed]) -> Texts:
    """Returns the T- lines, which have to be the same in all outputs that have some."""
    printed = [system for system in systems if system.references]
    for system in printed:
        if system.references != printed[0].references:
            raise UserError(
                f"{printed[0].path} and {system.path} have different T- lines; "
                "give --references FILE"
            )
    return printed[0].references if printed else {}


def _numbered(path: str) -> Texts:
    return dict(enumerate(read_lines(path)))


def _check(sides: Sequence[tuple[str, Texts]]) -> None:
    """Refuses sides with other sentences than the first has, and subwords next to words."""
    first, expected = sides[0]
    if not expected:
        raise UserError(f"no lines in {first}; give files with sentences in them")
    cut = {}
    for name, texts in sides:
        if texts.keys() != set(range(len(expected))):
            last = max(texts, default=-1)
            raise UserError(
                f"{name} has {len(texts):,} sentences, the last of them number {last} from 0, and "
                f"{first} has {len(expected):,}: give files of the same sentences"
            )
        subwords = sum("\u2581" in text or "@@ " in text for text in texts.values())
        cut[2 * subwords > len(texts)] = name
    if len(cut) > 1:
        raise UserError(
            f"{cut[True]} has subwords, {cut[False]} words: give text, or generate again with "
            "--post-process KIND or --bpe characters"
        )


def compute(corpus: Corpus, names: Sequence[str], wanted: Sequence[str]) -> Report:
    """Returns the report as plain data, ready for JSON.

    Args:
        names: of the systems. wanted: names of metrics.

    Returns:
        ``sentences``, ``metrics`` (name → signature and direction) and ``systems``: where there
        are drafts the first is the draft itself. Each has a name and its :data:`Figures`, without
        those that need references, drafts or ``I-`` lines that are not there.
    """
    metrics: list[Metric] = []
    for name in wanted:
        lacks_draft = name in CORRECTION_METRICS and corpus.drafts is None
        if corpus.references is not None and not lacks_draft:
            metrics.append(CORRECTION_METRICS.get(name) or make_metric(name))
    rows = list(zip(names, corpus.systems))
    if corpus.drafts is not None:
        drafts = Printed("", dict(enumerate(corpus.drafts)), {}, {})
        rows.insert(0, (NO_EDIT_BASELINE, drafts))
    about = {}
    for metric in metrics:
        better = "higher" if metric.higher_is_better else "lower"
        about[metric.name] = {"better": better, "signature": metric.signature()}
    return {
        "sentences": len(corpus.systems[0].outputs),
        "metrics": about,
        "systems": [
            {"name": name, "figures": _figures(system, corpus, metrics)} for name, system in rows
        ],
    }


def _figures(system: Printed, corpus: Corpus, metrics: Sequence[Metric]) -> Figures:
    """Returns the figures of one system, in the order of the table."""
    figures: Figures = {}
    drafts, references = corpus.drafts, corpus.references
    outputs = [text for _, text in sorted(system.outputs.items())]
    counted: dict[Any, list[float]] = {}  # metrics share statistics

    def totals(metric: Metric) -> list[float]:
        if metric.statistics not in counted:
            sides = [drafts or ()] if metric.name in CORRECTION_METRICS else []
            statistics = map(metric.statistics, *sides, outputs, references or ())
            counted[metric.statistics] = add_up(metric, statistics)
        return counted[metric.statistics]

    for metric in metrics:
        figures[metric.name] = metric.score(totals(metric))
    if drafts is not None and references is not None:
        words = word_totals(totals(CORRECTION_METRICS["miscorrection_rate"]))
        figures["corrected"] = words.corrected, words.wrong_before
        figures["miscorrected"] = words.miscorrected, words.right_before
        figures |= _edits_against(drafts, outputs, references)
    if drafts is not None:
        unchanged = sum(a.split() == b.split() for a, b in zip(drafts, outputs))
        figures["unchanged"] = unchanged, len(outputs)
    figures |= system.settings
    steps = list(map(int, system.iterations.values()))
    if steps:  # how many sentences took how many iterations (Table 6)
        figures["iterations, mean"] = fmean(steps)
        for count, sentences in sorted(Counter(steps).items()):
            figures[str(count)] = sentences, len(outputs)
    return figures


def _edits_against(
    drafts: Sequence[str], outputs: Sequence[str], references: Sequence[str]
) -> Figures:
    """Counts insertions and deletions of words to the reference, as the expert does (Eq. 8).

    Empty drafts are left out: nothing that is written can be worse.
    """
    remaining = 0
    compared: Counter[str] = Counter()
    for draft, output, reference in zip(drafts, outputs, references, strict=True):
        if not draft.strip():
            continue
        target = reference.split()
        before = Indel.distance(draft.split(), target)
        after = Indel.distance(output.split(), target)
        changed = "better" if after < before else "worse"
        compared["equal" if after == before else changed] += 1
        remaining += after
    shares = {key: (compared[key], compared.total()) for key in ("better", "worse", "equal")}
    return {**shares, "edits still needed": remaining}
