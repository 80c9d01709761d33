"""Metrics of EncT5 as sums over examples, so that any split into batches and workers gives the
score of the whole: numbers and tensors by name. Shapes: E examples, N labels or classes.

Entities: tags are ``O`` and a prefix, a hyphen and a type (IOB1, IOB2, IOBES, BILOU). What counts
as an entity, in tags too that break their scheme, is what conlleval of CoNLL-2000 to 2003 says: one
begins with B, S or U, and with any other prefix after O, E, L, S or U, or where the type changes.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ...metrics.words import percent
from .problem_types import ProblemType

TOP = (1, 3, 5)
BINS = 100  # thresholds that are tried
CELLS = 40  # bins of values for Spearman's ρ, each way
ROUNDING = 1e-13  # of a sum of squares may be nothing but rounding
GROUPS = ("all", "frequent", "few", "zero")
FREQUENT = 50  # a label that was seen more often in training is frequent (paper, §4.2)
PREFIX = "_"  # of the statistics' names in fairseq's logging outputs
OUTSIDE = "O"
FIRST = frozenset("BSU")  # prefixes that always begin an entity
LAST = frozenset("ELSU")  # … and that always end one
_TAG = re.compile(r"[BIELSU]-.+", re.DOTALL)
Statistics = dict[str, Any]


def label_groups(counts: Sequence[int]) -> dict[str, Tensor]:
    """Labels by how often training has them, ``counts``: group → N, bool; those that have some."""
    seen = torch.tensor(counts)
    frequent, few = seen > FREQUENT, (seen >= 1) & (seen <= FREQUENT)
    groups = zip(GROUPS, (torch.ones_like(frequent), frequent, few, seen == 0))
    return {name: members for name, members in groups if bool(members.any())}


def statistics(
    kind: ProblemType,
    scores: Tensor,
    targets: Tensor,
    cut: int = 0,
    groups: Mapping[str, Tensor] | None = None,
    span: tuple[float, float] = (0.0, 1.0),
) -> Statistics:
    """What one batch adds.

    Args:
        scores: probabilities of classes or labels, E × N, or values, E × 1.
        targets: as :meth:`.ProblemType.targets` gives them.
        cut: words that the length limit cut off, which count as errors.
        groups: see :func:`label_groups`; for many labels.
        span: least and greatest value in training, for regression.
    """
    if kind is ProblemType.REGRESSION:
        return _value_statistics(scores.squeeze(-1).double(), targets.double(), span)
    if kind.many:
        return _label_statistics(scores, targets.bool(), groups or {})
    found = scores.argmax(-1)
    ids = {"true": targets, "said": found, "both": targets[found.eq(targets)]}
    counts = {name: _counts(one, scores.size(-1)) for name, one in ids.items()}
    return {"cut": float(cut), **counts}


def summary(
    kind: ProblemType, sums: Mapping[str, Any], threshold: float | None = None
) -> dict[str, float]:
    """The metrics, in percent but for the threshold and the squared error.

    Args:
        sums: of the statistics; for entities those of :func:`entity_statistics` too.
        threshold: of ``micro_f1_tuned``, for many labels; None: the best one for these sums.
    """
    if kind is ProblemType.REGRESSION:
        return _value_summary(sums)
    return _label_summary(sums, threshold) if kind.many else _class_summary(kind, sums)


def _class_summary(kind: ProblemType, sums: Mapping[str, Any]) -> dict[str, float]:
    true, said, both = (sums[name] for name in ("true", "said", "both"))
    total, right = float(true.sum()), float(both.sum())
    accuracy = percent(right, total + sums["cut"])
    if kind is ProblemType.TAGGING:
        if "entities" not in sums:
            return {"word_accuracy": accuracy}
        true, said, both = sums["entities"].tolist()
        found = {"entity_f1": percent(2 * both, true + said)}
        found |= {"entity_precision": percent(both, said), "entity_recall": percent(both, true)}
        return {"word_accuracy": accuracy, **found}
    f1 = 2 * both / (true + said).clamp(min=1)
    found = {"accuracy": accuracy, "macro_f1": 100 * float(f1.mean())}
    # Gorodkin (2004): the correlation of two assignments to any number of classes
    across = right * total - float((true * said).sum())
    spread = (total**2 - float((said**2).sum())) * (total**2 - float((true**2).sum()))
    found["mcc"] = 100 * across / spread**0.5 if spread > 0 else 0.0
    return {**found, "f1": 100 * float(f1[1])} if len(true) == 2 else found


class Entity(NamedTuple):
    """Words of a sentence, from ``start`` up to and without ``end``, counted from 0."""

    label: str
    start: int
    end: int


def marks_entities(labels: Sequence[str]) -> bool:
    """Whether labels are tags of entities: ``O``, others with prefixes, and nothing else."""
    others = [label for label in labels if label != OUTSIDE]
    return 0 < len(others) < len(labels) and all(_TAG.fullmatch(one) for one in others)


def entities(tags: Sequence[str]) -> list[Entity]:
    """The entities of one sentence, in order."""
    found = []
    start, prefix, kind = 0, OUTSIDE, ""
    for place, tag in enumerate([*tags, OUTSIDE]):
        before, kind_before = prefix, kind
        prefix, _, kind = tag.partition("-")
        inside = before != OUTSIDE and before not in LAST and kind == kind_before
        begins = prefix in FIRST or (prefix != OUTSIDE and not inside)
        if before != OUTSIDE and (begins or prefix == OUTSIDE):
            found.append(Entity(kind_before, start, place))
        if begins:
            start = place
    return found


def entity_statistics(
    labels: Sequence[str], found: Tensor, sentences: Sequence[tuple[Sequence[int], int]]
) -> Statistics:
    """How many entities there are, were found, and both with words and type, over sentences.

    Args:
        found: ids of the tags of all words that the model sees, one sentence after the other.
        sentences: of each the ids of its right tags, and how many of its words the model sees.
    """
    sums = torch.zeros(3, dtype=torch.double)
    seen = found.split([reached for _, reached in sentences])
    for (ids, _), here in zip(sentences, seen):
        tags = ids, here.tolist()
        true, said = (set(entities([labels[i] for i in one])) for one in tags)
        sums += torch.tensor([len(true), len(said), len(true & said)])
    return {"entities": sums}


def _label_statistics(scores: Tensor, truth: Tensor, groups: Mapping[str, Tensor]) -> Statistics:
    # how many of the thresholds 0.00 to 0.99 a score is above
    above = torch.bucketize(scores.double(), torch.arange(BINS, dtype=torch.double) / BINS)
    sums = {"right": _counts(above[truth], BINS + 1), "wrong": _counts(above[~truth], BINS + 1)}
    for name, members in {"all": truth.new_ones(truth.size(1)), **groups}.items():
        sums.update(_ranking_statistics(scores[:, members], truth[:, members], name))
    return sums


def _ranking_statistics(scores: Tensor, truth: Tensor, group: str) -> Statistics:
    """Examples with a positive in the group, and their R-precision and nDCG at each k."""
    with_some = truth.any(1)
    scores, truth = scores[with_some], truth[with_some]
    sums = {f"{group}_examples": float(len(truth))}
    best = min(max(TOP), scores.size(1))
    order = scores.topk(best, dim=1).indices
    hits = truth.gather(1, order).double()
    positives = truth.sum(1).double()
    gain = 1 / torch.log2(torch.arange(2, best + 2, dtype=torch.double))
    for k in TOP:
        ideal = positives.clamp(max=k)
        ranks = torch.arange(best) < ideal.unsqueeze(1)
        precision = hits[:, :k].sum(1) / ideal
        quality = (hits[:, :k] * gain[:k]).sum(1) / (ranks[:, :k] * gain[:k]).sum(1)
        sums[f"{group}_rp@{k}"] = float(precision.sum())
        sums[f"{group}_ndcg@{k}"] = float(quality.sum())
    return sums


def _label_summary(sums: Mapping[str, Any], threshold: float | None) -> dict[str, float]:
    right, wrong = sums["right"], sums["wrong"]
    positives = float(right.sum())
    # above threshold i are the labels that are above more than i thresholds
    true, false = (one.flip(0).cumsum(0).flip(0)[1:] for one in (right, wrong))
    f1 = 100 * 2 * true / (true + false + positives).clamp(min=1)
    middle = BINS // 2
    if threshold is None:  # of equally good ones that which is nearest to the middle
        best = min(f1.eq(f1.max()).nonzero().flatten().tolist(), key=lambda i: abs(i - middle))
    else:
        best = min(round(threshold * BINS), BINS - 1)
    found = {
        "micro_f1": float(f1[middle]),
        "micro_f1_tuned": float(f1[best]),
        "threshold": best / BINS,
    }
    for group in GROUPS:
        if f"{group}_examples" in sums:
            shown = "" if group == "all" else f"{group}_"
            for name in (f"{name}@{k}" for k in TOP for name in ("rp", "ndcg")):
                total = sums[f"{group}_examples"]
                found[shown + name] = percent(sums[f"{group}_{name}"], total)
    return found


def _value_statistics(found: Tensor, wanted: Tensor, span: tuple[float, float]) -> Statistics:
    # in units of the span, so that sums of squares lose nothing to a large mean
    low, high = span
    x, y = ((values - low) / ((high - low) or 1.0) for values in (found, wanted))
    rows, columns = ((value.clamp(0, 1) * CELLS).long().clamp(0, CELLS - 1) for value in (x, y))
    return {
        "examples": float(len(found)),
        "squared": float((found - wanted).square().sum()),
        "moments": torch.stack([value.sum() for value in (x, y, x * x, y * y, x * y)]),
        "cells": _counts(rows * CELLS + columns, CELLS**2),
    }


def _value_summary(sums: Mapping[str, Any]) -> dict[str, float]:
    n = sums["examples"]
    return {
        "pearson": 100 * _correlation(n, *sums["moments"].tolist()),
        "spearman": 100 * _rank_correlation(sums["cells"].view(CELLS, CELLS)),
        "mse": sums["squared"] / n if n else 0.0,
    }


def _correlation(n: float, x: float, y: float, xx: float, yy: float, xy: float) -> float:
    """Pearson's r of n pairs from their sums; 0 where one side is constant."""
    spread_x, spread_y = n * xx - x * x, n * yy - y * y
    if not (spread_x > ROUNDING * n * xx and spread_y > ROUNDING * n * yy):
        return 0.0
    found = (n * xy - x * y) / (spread_x**0.5 * spread_y**0.5)
    return min(max(found, -1.0), 1.0)


def _rank_correlation(cells: Tensor) -> float:
    """Spearman's ρ of values in equal bins; those of one bin share a rank."""
    n = float(cells.sum())
    ranks = []
    for axis in (1, 0):
        counts = cells.sum(axis)
        ranks.append(counts.cumsum(0) - counts / 2 - n / 2)
    x, y = torch.meshgrid(*ranks, indexing="ij")
    return _correlation(n, *(float((cells * value).sum()) for value in (x, y, x * x, y * y, x * y)))


def _counts(ids: Tensor, number: int) -> Tensor:
    return torch.bincount(ids, minlength=number).double()
