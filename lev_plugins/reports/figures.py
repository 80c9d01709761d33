"""The numbers of a report, which the table and the JSON show.

fairseq prints sentences in the order in which they were decoded; here they are sorted by their
number. Sentence N, counted from 0, is line N + 1 of a text file.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
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
Figures = dict[str, Any]  # as JSON has them


@dataclass
class Corpus:
    """Sentences that belong together, in order.

    origin: side → where its sentences come from.
    """

    systems: list[Printed]
    references: list[str] | None
    drafts: list[str] | None
    origin: dict[str, str]


def read_corpus(
    printed: Sequence[str], hypotheses: Sequence[str], references: str | None, drafts: str | None
) -> Corpus:
    """Reads outputs and the text files that belong to them.

    Raises:
        UserError: a file that cannot be read, or sides that do not belong together.
    """
    systems = [read_printed(path) for path in printed]
    systems += [Printed(path, _numbered(path), {}, {}) for path in hypotheses]
    files = {"references": references, "drafts": drafts}
    sides = {side: (path, _numbered(path)) for side, path in files.items() if path is not None}
    having = [system for system in systems if system.references]
    if having and references is None:
        first = having[0]
        for system in having:
            if system.references != first.references:
                raise UserError(
                    f"{first.path} and {system.path} have different T- lines; "
                    "give --references FILE"
                )
        sides["references"] = f"T- lines of {first.path}", first.references
    outputs = [(system.path, system.outputs) for system in systems]
    _check([*sides.values(), *outputs])
    in_order = {side: [texts[n] for n in range(len(texts))] for side, (_, texts) in sides.items()}
    origin = {side: name for side, (name, _) in sides.items()}
    return Corpus(systems, in_order.get("references"), in_order.get("drafts"), origin)


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


def compute(corpus: Corpus, names: Sequence[str], wanted: Sequence[str]) -> Figures:
    """Returns the report as plain data, ready for JSON.

    Args:
        names: of the systems. wanted: names of metrics.

    Returns:
        ``sentences``, ``origin``, ``metrics`` (name → signature and direction) and ``systems`` (a
        list; where there are drafts the first is the draft itself). What cannot be computed for
        want of references, drafts or ``I-`` lines is None.
    """
    metrics: dict[str, Metric] = {}
    about: Figures = {}
    for name in wanted:
        metric = CORRECTION_METRICS.get(name) or make_metric(name)
        lacks_draft = name in CORRECTION_METRICS and corpus.drafts is None
        if corpus.references is not None and not lacks_draft:
            metrics[name] = metric
            signature = metric.signature()
            about[name] = {"higher_is_better": metric.higher_is_better, "signature": signature}
    rows = list(zip(names, corpus.systems))
    if corpus.drafts is not None:
        drafts = Printed("", dict(enumerate(corpus.drafts)), {}, {})
        rows.insert(0, (NO_EDIT_BASELINE, drafts))
    systems = [_figures(name, system, corpus, metrics) for name, system in rows]
    sentences = len(corpus.systems[0].outputs)
    return {"sentences": sentences, "origin": corpus.origin, "metrics": about, "systems": systems}


def _figures(name: str, system: Printed, corpus: Corpus, metrics: Mapping[str, Metric]) -> Figures:
    """Returns the figures of one system."""
    keys = ("scores", "unchanged", "words", "against_draft", "iterations")
    figures: Figures = {"name": name, "file": system.path or None, **dict.fromkeys(keys)}
    drafts, references = corpus.drafts, corpus.references
    outputs = [text for _, text in sorted(system.outputs.items())]
    if drafts is not None:
        figures["unchanged"] = sum(a.split() == b.split() for a, b in zip(drafts, outputs))
    if references is not None:
        counted: dict[Any, list[float]] = {}  # metrics share statistics

        def totals(metric: Metric) -> list[float]:
            if metric.statistics not in counted:
                sides = [drafts or ()] if metric.name in CORRECTION_METRICS else []
                statistics = map(metric.statistics, *sides, outputs, references)
                counted[metric.statistics] = add_up(metric, statistics)
            return counted[metric.statistics]

        figures["scores"] = {key: metric.score(totals(metric)) for key, metric in metrics.items()}
    if drafts is not None and references is not None:
        words = totals(CORRECTION_METRICS["miscorrection_rate"])
        figures["words"] = asdict(word_totals(words))
        figures["against_draft"] = _edits_against(drafts, outputs, references)
    if system.iterations:  # how many sentences took how many iterations (Table 6)
        steps = list(map(int, system.iterations.values()))
        sentences = dict(sorted(Counter(steps).items()))
        figures["iterations"] = {"mean": fmean(steps), "sentences": sentences}
    return figures


def _edits_against(
    drafts: Sequence[str], outputs: Sequence[str], references: Sequence[str]
) -> Figures:
    """Counts insertions and deletions of words to the reference, as the expert does (Eq. 8).

    Empty drafts are left out: nothing that is written can be worse.
    """
    keys = ("needed", "remaining", "better", "worse", "equal", "empty_drafts")
    figures = dict.fromkeys(keys, 0)
    for draft, output, reference in zip(drafts, outputs, references, strict=True):
        if not draft.strip():
            figures["empty_drafts"] += 1
            continue
        target = reference.split()
        before = Indel.distance(draft.split(), target)
        after = Indel.distance(output.split(), target)
        changed = "better" if after < before else "worse"
        figures["equal" if after == before else changed] += 1
        figures["needed"] += before
        figures["remaining"] += after
    return figures
