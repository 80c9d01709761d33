"""Metrics of EncT5 as sums over examples, so that any split into batches and workers gives the
score of the whole.

Statistics are plain numbers by name, which fairseq adds up over processes. Shapes: E examples,
N labels or classes.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from .problem_types import ProblemType

TOP = (1, 3, 5)
BINS = 100  # thresholds that are tried
CELLS = 40  # bins of values for Spearman's ρ, each way
ROUNDING = 1e-13  # of a sum of squares may be nothing but rounding
GROUPS = ("all", "frequent", "few", "zero")
FREQUENT = 50  # a label that was seen more often in training is frequent (paper, §4.2)
ENTITY_METRICS = ("entity_f1", "entity_precision", "entity_recall")
PREFIX = "_"  # of the statistics' names in fairseq's logging outputs
Statistics = dict[str, float]


def label_groups(counts: Sequence[int]) -> dict[str, Tensor]:
    """Labels by how often training has them: group → N, bool; those that have some.

    Args:
        counts: of each label in the training set.
    """
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
    return _class_statistics(scores.argmax(-1), targets, scores.size(-1), cut)


def summary(
    kind: ProblemType, sums: Mapping[str, float], threshold: float | None = None
) -> dict[str, float]:
    """The metrics, in percent but for the threshold and the squared error.

    Args:
        sums: of the statistics; for entities those of :func:`.entity_statistics` too.
        threshold: of ``micro_f1_tuned``, for many labels; None: the best one for these sums.
    """
    if kind is ProblemType.REGRESSION:
        return _value_summary(sums)
    return _label_summary(sums, threshold) if kind.many else _class_summary(kind, sums)


# one class an example, or a word -----------------------------------------------------------


def _class_statistics(found: Tensor, targets: Tensor, number: int, cut: int) -> Statistics:
    sums: Statistics = {"cut": float(cut)}
    for name, ids in (("true", targets), ("said", found), ("both", targets[found.eq(targets)])):
        sums.update(_numbered(name, torch.bincount(ids, minlength=number)))
    return sums


def _class_summary(kind: ProblemType, sums: Mapping[str, float]) -> dict[str, float]:
    number = sum(name.startswith("true_") for name in sums)
    true, said, both = (_series(sums, name, number) for name in ("true", "said", "both"))
    total, right = float(true.sum()), float(both.sum())
    accuracy = _percent(right, total + sums.get("cut", 0.0))
    if kind is ProblemType.TAGGING:
        return {"word_accuracy": accuracy, **_entity_summary(sums)}
    f1 = 2 * both / (true + said).clamp(min=1)
    found = {"accuracy": accuracy, "macro_f1": 100 * float(f1.mean())}
    # Gorodkin (2004): the correlation of two assignments to any number of classes
    across = right * total - float((true * said).sum())
    spread = (total**2 - float((said**2).sum())) * (total**2 - float((true**2).sum()))
    found["mcc"] = 100 * across / spread**0.5 if spread > 0 else 0.0
    return {**found, "f1": 100 * float(f1[1])} if number == 2 else found


def _entity_summary(sums: Mapping[str, float]) -> dict[str, float]:
    """F1 of entities, if tags mark such: one counts if its words and its type are right."""
    if "entities_true" not in sums:
        return {}
    true, said, both = (sums[f"entities_{name}"] for name in ("true", "said", "both"))
    values = _percent(2 * both, true + said), _percent(both, said), _percent(both, true)
    return dict(zip(ENTITY_METRICS, values))


# any number of labels an example -----------------------------------------------------------


def _label_statistics(scores: Tensor, truth: Tensor, groups: Mapping[str, Tensor]) -> Statistics:
    # how many of the thresholds 0.00 to 0.99 a score is above
    above = torch.bucketize(scores.double(), torch.arange(BINS, dtype=torch.double) / BINS)
    sums: Statistics = {}
    for name, chosen in (("right", truth), ("wrong", ~truth)):
        sums.update(_numbered(name, torch.bincount(above[chosen], minlength=BINS + 1)))
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


def _label_summary(sums: Mapping[str, float], threshold: float | None) -> dict[str, float]:
    right, wrong = (_series(sums, name, BINS + 1) for name in ("right", "wrong"))
    positives = float(right.sum())
    # above threshold i are the labels that are above more than i thresholds
    true, false = (one.flip(0).cumsum(0).flip(0)[1:] for one in (right, wrong))
    f1 = 100 * 2 * true / (true + false + positives).clamp(min=1)
    best = _nearest(f1, BINS // 2) if threshold is None else min(round(threshold * BINS), BINS - 1)
    found = {
        "micro_f1": float(f1[BINS // 2]),
        "micro_f1_tuned": float(f1[best]),
        "threshold": best / BINS,
    }
    for group in GROUPS:
        if f"{group}_examples" in sums:
            shown = "" if group == "all" else f"{group}_"
            for name in (f"{name}@{k}" for k in TOP for name in ("rp", "ndcg")):
                total = sums[f"{group}_{name}"], sums[f"{group}_examples"]
                found[shown + name] = _percent(*total)
    return found


def _nearest(f1: Tensor, middle: int) -> int:
    """The best threshold; of equally good ones that which is nearest to the middle."""
    best: list[int] = f1.eq(f1.max()).nonzero().flatten().tolist()
    return min(best, key=lambda i: abs(i - middle))


# a value an example ------------------------------------------------------------------------


def _value_statistics(found: Tensor, wanted: Tensor, span: tuple[float, float]) -> Statistics:
    sums = {"examples": float(len(found)), "squared": float((found - wanted).square().sum())}
    # in units of the span, so that sums of squares lose nothing to a large mean
    low, high = span
    x, y = ((values - low) / ((high - low) or 1.0) for values in (found, wanted))
    for name, value in (("x", x), ("y", y), ("xx", x * x), ("yy", y * y), ("xy", x * y)):
        sums[name] = float(value.sum())
    rows, columns = ((value.clamp(0, 1) * CELLS).long().clamp(0, CELLS - 1) for value in (x, y))
    # all of them, so that every worker has the same names
    sums.update(_numbered("cell", torch.bincount(rows * CELLS + columns, minlength=CELLS**2)))
    return sums


def _value_summary(sums: Mapping[str, float]) -> dict[str, float]:
    n = sums["examples"]
    moments = [sums[name] for name in ("x", "y", "xx", "yy", "xy")]
    cells = _series(sums, "cell", CELLS**2).view(CELLS, CELLS)
    return {
        "pearson": 100 * _correlation(n, *moments),
        "spearman": 100 * _rank_correlation(cells),
        "mse": sums["squared"] / n if n else 0.0,
    }


def _correlation(n: float, x: float, y: float, xx: float, yy: float, xy: float) -> float:
    """Pearson's r of n pairs from their sums; 0 where one side is constant."""
    spreads = []
    for total, squares in ((x, xx), (y, yy)):
        spread = n * squares - total * total
        if not spread > ROUNDING * n * squares:
            return 0.0
        spreads.append(spread)
    found = (n * xy - x * y) / (spreads[0] ** 0.5 * spreads[1] ** 0.5)
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


# sums by name ------------------------------------------------------------------------------


def _numbered(name: str, values: Tensor) -> Statistics:
    return {f"{name}_{i}": float(value) for i, value in enumerate(values.tolist())}


def _series(sums: Mapping[str, float], name: str, length: int) -> Tensor:
    return torch.tensor([sums[f"{name}_{i}"] for i in range(length)], dtype=torch.double)


def _percent(part: float, whole: float) -> float:
    return 100 * part / whole if whole else 0.0
