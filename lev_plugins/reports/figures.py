"""The numbers of a report, computed once: the table and the JSON show the same."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from statistics import fmean
from typing import Any

from rapidfuzz.distance import Indel

from ..metrics.corpus import (
    CORRECTION_METRICS,
    FORMER_NAMES,
    METRICS,
    Metric,
    add_up,
    make_metric,
    word_statistics,
    word_totals,
)
from .input import Corpus

NO_EDIT_BASELINE = "no-edit baseline"
KNOWN = (*METRICS, *CORRECTION_METRICS)
Figures = dict[str, Any]  # as JSON has them


def compute(corpus: Corpus, names: Sequence[str], wanted: Sequence[str]) -> Figures:
    """The report as plain data, ready for JSON.

    Args:
        names: of the systems. wanted: names of metrics.

    Returns:
        ``sentences``, ``origin``, ``metrics`` (name → signature and direction), ``systems`` (a
        list; where there are drafts the first is the draft itself) and ``notes``. What cannot be
        computed for want of references, drafts or ``I-`` lines is None.
    """
    metrics = _computable(corpus, wanted)
    rows = [(name, *system) for name, system in zip(names, corpus.systems)]
    if corpus.drafts is not None:
        rows.insert(0, (NO_EDIT_BASELINE, "", corpus.drafts, []))
    outputs = rows[0][2]
    about = {}
    for name, metric in metrics.items():
        signature = metric.signature()
        about[name] = {"higher_is_better": metric.higher_is_better, "signature": signature}
    return {
        "sentences": len(outputs),
        "origin": corpus.origin,
        "metrics": about,
        "systems": [_system(*row, corpus, metrics) for row in rows],
        "notes": [*corpus.notes, *_lacking(corpus)],
    }


def _computable(corpus: Corpus, wanted: Sequence[str]) -> dict[str, Metric]:
    """The metrics of these names for which the corpus has references and drafts."""
    metrics: dict[str, Metric] = {}
    if corpus.references is None:
        return metrics
    for name in wanted:
        today = FORMER_NAMES.get(name, name)
        if today not in CORRECTION_METRICS:
            metrics[name] = make_metric(today)
        elif corpus.drafts is not None:
            metrics[name] = CORRECTION_METRICS[today]
    return metrics


def _lacking(corpus: Corpus) -> Iterator[str]:
    """Notes on what cannot be computed."""
    if corpus.references is None:
        yield "no scores: no T- lines; --references FILE"
    if corpus.drafts is None:
        yield "no words and edits: no drafts; --drafts FILE"
    if not any(steps for *_, steps in corpus.systems):
        yield "no iterations: no I- lines; generate with --print-step"


def _system(
    name: str,
    path: str,
    outputs: Sequence[str],
    steps: Sequence[int],
    corpus: Corpus,
    metrics: Mapping[str, Metric],
) -> Figures:
    """The figures of one system."""
    keys = ("scores", "unchanged", "words", "against_draft", "iterations")
    figures: Figures = {"name": name, "file": path or None, **dict.fromkeys(keys)}
    drafts, references = corpus.drafts, corpus.references
    if drafts is not None:
        figures["unchanged"] = sum(a.split() == b.split() for a, b in zip(drafts, outputs))
    counted: dict[Any, list[float]] = {}  # what metrics share is counted once
    if references is not None:
        figures["scores"] = {}
        for key, metric in metrics.items():
            if metric.statistics not in counted:
                sides = [drafts or ()] if metric.name in CORRECTION_METRICS else []
                statistics = map(metric.statistics, *sides, outputs, references)
                counted[metric.statistics] = add_up(metric, statistics)
            figures["scores"][key] = metric.score(counted[metric.statistics])
    if drafts is not None and references is not None:
        triples = list(zip(drafts, outputs, references, strict=True))
        words = counted.get(word_statistics)
        if words is None:
            of_sentences = [word_statistics(*triple) for triple in triples]
            words = add_up(CORRECTION_METRICS["miscorrection_rate"], of_sentences)
        figures |= {"words": asdict(word_totals(words)), "against_draft": _against(triples)}
    if steps:  # how many sentences took how many iterations (Table 6)
        sentences = dict(sorted(Counter(steps).items()))
        figures["iterations"] = {"mean": fmean(steps), "sentences": sentences}
    return figures


def _against(triples: Sequence[tuple[str, str, str]]) -> Figures:
    """Insertions and deletions of words from draft and output to reference, as the expert counts
    (paper, Eq. 8); without empty drafts, than which what is written cannot be worse."""
    pairs = [
        [Indel.distance(side.split(), reference.split()) for side in (draft, output)]
        for draft, output, reference in triples
        if draft.strip()
    ]
    return {
        "needed": sum(before for before, _ in pairs),
        "remaining": sum(after for _, after in pairs),
        "better": sum(after < before for before, after in pairs),
        "worse": sum(after > before for before, after in pairs),
        "equal": sum(after == before for before, after in pairs),
        "empty_drafts": len(triples) - len(pairs),
    }
