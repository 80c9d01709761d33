"""The numbers of a report, computed once: the table and the JSON show the same."""

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from statistics import fmean
from typing import Any

from ..metrics.corpus import METRICS, Metric, add_up, bleu, make_metric
from ..metrics.correction import (
    CORRECTION_METRICS,
    WORD_COUNTS,
    CorrectionMetric,
    make_correction_metric,
    word_totals,
)
from .edits import EditCounts, count_edits
from .input import Corpus

NO_EDIT_BASELINE = "no-edit baseline"
DEFAULT_METRICS = (*METRICS, *CORRECTION_METRICS)
Figures = dict[str, Any]  # as JSON has them
Metrics = Mapping[str, Metric | CorrectionMetric]


def compute(corpus: Corpus, names: Sequence[str], args: argparse.Namespace) -> Figures:
    """The report as plain data, ready for JSON.

    Args:
        args: the options of ``report``.

    Returns:
        ``sentences``, ``reference_tokens``, ``draft_tokens``, ``origin``, ``metrics`` (name →
        signature and direction), ``systems`` (a list; where there are drafts the first is the
        draft itself) and ``notes``. What cannot be computed for want of references, drafts or
        ``I-`` lines is None.
    """
    metrics = {
        name: _metric(name, args)
        for name in (args.metrics if corpus.references is not None else ())
        if name not in CORRECTION_METRICS or corpus.drafts is not None
    }
    rows = [(name, *system) for name, system in zip(names, corpus.systems)]
    if corpus.drafts is not None:
        rows.insert(0, (NO_EDIT_BASELINE, "", corpus.drafts, []))
    notes = {
        "no scores: no T- lines; --references FILE": corpus.references is None,
        "no words and edits: no drafts; --drafts FILE": corpus.drafts is None,
        "no iterations: no I- lines; generate with --print-step": not any(
            steps for *_, steps in corpus.systems
        ),
    }
    return {
        "sentences": len(rows[0][2]),
        "reference_tokens": _size(corpus.references),
        "draft_tokens": _size(corpus.drafts),
        "origin": corpus.origin,
        "metrics": {
            name: {"higher_is_better": one.higher_is_better, "signature": one.signature()}
            for name, one in metrics.items()
        },
        "systems": [_system(*row, corpus, metrics) for row in rows],
        "notes": [*corpus.notes, *(note for note, holds in notes.items() if holds)],
    }


def _metric(name: str, args: argparse.Namespace) -> Metric | CorrectionMetric:
    if name in CORRECTION_METRICS:
        return make_correction_metric(name)
    if name == "bleu":
        return bleu(args.bleu_tokenize)
    return make_metric(name)


def _size(texts: Sequence[str] | None) -> int | None:
    return None if texts is None else sum(len(text.split()) for text in texts)


def _system(
    name: str,
    path: str,
    outputs: Sequence[str],
    steps: Sequence[int],
    corpus: Corpus,
    metrics: Metrics,
) -> Figures:
    """The figures of one system."""
    keys = ("scores", "unchanged", "edits", "words", "against_draft", "verdict", "iterations")
    found: Figures = {"name": name, "file": path or None, **dict.fromkeys(keys)}
    drafts, references = corpus.drafts, corpus.references
    if drafts is not None:
        found["unchanged"] = sum(a.split() == b.split() for a, b in zip(drafts, outputs))
    if references is not None:
        pairs = list(zip(outputs, references, strict=True))
        found["scores"] = {
            name: one.score(add_up(one, (one.statistics(*pair) for pair in pairs)))
            for name, one in metrics.items()
            if not isinstance(one, CorrectionMetric)
        }
    if drafts is not None and references is not None:
        corrected, scores = _corrected(list(zip(drafts, outputs, references)), metrics)
        found |= corrected
        found["scores"] |= scores
    if steps:  # how many sentences took how many iterations (Table 6)
        histogram = [{"iterations": n, "sentences": m} for n, m in sorted(Counter(steps).items())]
        found["iterations"] = {"mean": fmean(steps), "histogram": histogram}
    return found


def _corrected(
    triples: Sequence[tuple[str, str, str]], metrics: Metrics
) -> tuple[Figures, dict[str, float]]:
    """What was done to words and sentences, and scores, of drafts, outputs and references."""
    ours = {name: one for name, one in metrics.items() if isinstance(one, CorrectionMetric)}
    totals = {  # each counting is done once, that of the words in any case
        one: add_up(one, (one.statistics(*triple) for triple in triples))
        for one in {WORD_COUNTS, *(metric.counts for metric in ours.values())}
    }
    edits = [count_edits(*(text.split() for text in triple)) for triple in triples]
    # what is written from nothing cannot be worse than its draft
    filled = [one for one, (draft, *_) in zip(edits, triples) if draft.strip()]
    changes, real = ([one.remaining - one.needed for one in some] for some in (edits, filled))
    counts = {
        "words": asdict(word_totals(totals[WORD_COUNTS])),
        "edits": EditCounts(*map(sum, zip(*edits)))._asdict(),
        "against_draft": {
            "better": sum(one < 0 for one in changes),
            "worse": sum(one > 0 for one in changes),
            "equal": changes.count(0),
        },
        "verdict": {
            "needed": sum(one.needed for one in filled),
            "remaining": sum(one.remaining for one in filled),
            "better": sum(one < 0 for one in real),
            "worse": sum(one > 0 for one in real),
            "empty_drafts": len(edits) - len(filled),
        },
    }
    return counts, {name: one.score(totals[one.counts]) for name, one in ours.items()}
