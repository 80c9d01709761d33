"""Metrics of EncT5 as sums over examples, so that any split into batches and workers gives the
score of the whole.

Statistics are plain numbers by name, which fairseq adds up over processes. Shapes: E examples,
N labels or classes.
"""

from typing import Dict, List, Mapping, Optional, Sequence, Tuple

import torch
from torch import Tensor

from .kinds import Kind

TOP = (1, 3, 5)
BINS = 100  # thresholds that are tried
CELLS = 40  # values of the histogram for Spearman, each way
GROUPS = ("all", "frequent", "few", "zero")
FREQUENT = 50  # a label that was seen more often in training is frequent (paper, §4.2)
PREFIX = "_"  # of the statistics' names in fairseq's logging outputs
Statistics = Dict[str, float]


def label_groups(counts: Sequence[int]) -> Dict[str, Tensor]:
    """Labels by how often training has them: group → N, bool.

    Args:
        counts: of each label in the training set.
    """
    seen = torch.as_tensor(list(counts))
    return {
        "all": torch.ones(len(seen), dtype=torch.bool),
        "frequent": seen > FREQUENT,
        "few": (seen >= 1) & (seen <= FREQUENT),
        "zero": seen == 0,
    }


def statistics(
    kind: Kind,
    scores: Tensor,
    targets: Tensor,
    cut: int = 0,
    groups: Optional[Mapping[str, Tensor]] = None,
    span: Tuple[float, float] = (0.0, 1.0),
) -> Statistics:
    """What one batch adds.

    Args:
        scores: probabilities of classes or labels, E × N, or values, E × 1.
        targets: as :meth:`Kind.targets` gives them.
        cut: words that the length limit cut off, which count as errors.
        groups: see :func:`label_groups`; for many labels.
        span: least and greatest value in training, for regression.
    """
    if kind is Kind.REGRESSION:
        return _value_statistics(scores.squeeze(-1).double(), targets.double(), span)
    if kind.many:
        return _label_statistics(scores, targets.bool(), groups or {})
    return _class_statistics(scores.argmax(-1), targets, scores.size(-1), cut)


def summary(kind: Kind, sums: Mapping[str, float]) -> Dict[str, float]:
    """The metrics, in percent but for the threshold and the squared error.

    Args:
        sums: of the statistics.
    """
    if kind is Kind.REGRESSION:
        return _value_summary(sums)
    return _label_summary(sums) if kind.many else _class_summary(kind, sums)


def names(kind: Kind, number: int, groups: Optional[Mapping[str, Tensor]] = None) -> List[str]:
    """The metrics that there are.

    Args:
        number: of labels or classes.
        groups: see :func:`label_groups`; those without a label have no metrics.
    """
    if kind is Kind.REGRESSION:
        return ["pearson", "spearman", "mse"]
    if kind is Kind.TAGGING:
        return ["word_accuracy"]
    if kind is Kind.CLASSIFICATION:
        return ["accuracy", "macro_f1", "mcc", *(["f1"] if number == 2 else [])]
    found = ["micro_f1", "micro_f1_tuned", "threshold"]
    for group in GROUPS:
        if group == "all" or (groups is not None and bool(groups[group].any())):
            found += [f"{_group(group)}{name}@{k}" for k in TOP for name in ("rp", "ndcg")]
    return found


def _group(name: str) -> str:
    return "" if name == "all" else f"{name}_"


# one class an example, or a word -----------------------------------------------------------


def _class_statistics(found: Tensor, targets: Tensor, number: int, cut: int) -> Statistics:
    right = found.eq(targets)
    counts = {
        "true": torch.bincount(targets, minlength=number),
        "said": torch.bincount(found, minlength=number),
        "both": torch.bincount(targets[right], minlength=number),
    }
    sums = {f"{name}_{i}": float(c) for name, per in counts.items() for i, c in enumerate(per)}
    return {**sums, "cut": float(cut)}


def _class_summary(kind: Kind, sums: Mapping[str, float]) -> Dict[str, float]:
    number = sum(name.startswith("true_") for name in sums)
    true, said, both = (
        torch.tensor([sums[f"{name}_{i}"] for i in range(number)], dtype=torch.double)
        for name in ("true", "said", "both")
    )
    total, right = float(true.sum()), float(both.sum())
    answers = total + sums.get("cut", 0.0)
    accuracy = _percent(right, answers)
    if kind is Kind.TAGGING:
        return {"word_accuracy": accuracy}
    f1 = 2 * both / (true + said).clamp(min=1)
    found = {"accuracy": accuracy, "macro_f1": 100 * float(f1.mean())}
    if number == 2:
        found["f1"] = 100 * float(f1[1])
    # Gorodkin (2004): the correlation of two assignments to any number of classes
    across = right * total - float((true * said).sum())
    spread = (total**2 - float((said**2).sum())) * (total**2 - float((true**2).sum()))
    found["mcc"] = 100 * across / spread**0.5 if spread > 0 else 0.0
    return found


# any number of labels an example -----------------------------------------------------------


def _label_statistics(scores: Tensor, truth: Tensor, groups: Mapping[str, Tensor]) -> Statistics:
    bins = (scores.double() * BINS).ceil().long().clamp(0, BINS)
    sums = {}
    for name, chosen in (("right", truth), ("wrong", ~truth)):
        for i, count in enumerate(torch.bincount(bins[chosen], minlength=BINS + 1)):
            sums[f"{name}_{i}"] = float(count)
    at_half = scores > 0.5
    sums["half_right"] = float((at_half & truth).sum())
    sums["half_said"] = float(at_half.sum())
    for name, members in {"all": torch.ones(truth.size(1), dtype=torch.bool), **groups}.items():
        sums.update(_ranking_statistics(scores[:, members], truth[:, members], name))
    return sums


def _ranking_statistics(scores: Tensor, truth: Tensor, group: str) -> Statistics:
    """Examples with a positive in the group, and their R-precision and nDCG at each k."""
    with_some = truth.any(1)
    scores, truth = scores[with_some], truth[with_some]
    sums = {f"{group}_examples": float(len(truth))}
    best = min(max(TOP), scores.size(1))
    order = scores.topk(best, dim=1).indices if best else scores.long()
    hits = truth.gather(1, order).double()
    positives = truth.sum(1).double()
    gain = 1 / torch.log2(torch.arange(2, best + 2, dtype=torch.double))
    for k in TOP:
        ideal = positives.clamp(max=k)
        ranks = torch.arange(best) < ideal.unsqueeze(1)
        precision = hits[:, :k].sum(1) / ideal
        quality = (hits[:, :k] * gain[:k]).sum(1) / (ranks[:, :k] * gain[:k]).sum(1)
        sums[f"{group}_rp{k}"] = float(precision.sum())
        sums[f"{group}_ndcg{k}"] = float(quality.sum())
    return sums


def _label_summary(sums: Mapping[str, float]) -> Dict[str, float]:
    right, wrong = (
        torch.tensor([sums[f"{name}_{i}"] for i in range(BINS + 1)], dtype=torch.double)
        for name in ("right", "wrong")
    )
    positives = float(right.sum())
    # a label whose score is above i / BINS stands in a bin after i
    said_right, said_wrong = right.flip(0).cumsum(0).flip(0), wrong.flip(0).cumsum(0).flip(0)
    f1 = 2 * said_right[1:] / (said_right[1:] + said_wrong[1:] + positives).clamp(min=1)
    best = int(f1.argmax())
    found = {
        "micro_f1": _percent(2 * sums["half_right"], sums["half_said"] + positives),
        "micro_f1_tuned": 100 * float(f1[best]),
        "threshold": best / BINS,
    }
    for group in GROUPS:
        examples = sums.get(f"{group}_examples", 0.0)
        for k in TOP:
            for name in ("rp", "ndcg"):
                total = sums.get(f"{group}_{name}{k}", 0.0)
                found[f"{_group(group)}{name}@{k}"] = _percent(total, examples)
    return found


# a value an example ------------------------------------------------------------------------


def _value_statistics(found: Tensor, wanted: Tensor, span: Tuple[float, float]) -> Statistics:
    sums = {"examples": float(len(found)), "squared": float((found - wanted).square().sum())}
    for name, value in (("x", found), ("y", wanted)):
        sums[name] = float(value.sum())
    for name, value in (("xx", found * found), ("yy", wanted * wanted), ("xy", found * wanted)):
        sums[name] = float(value.sum())
    bins = [_bins(value, span) for value in (found, wanted)]
    counts = torch.bincount(bins[0] * CELLS + bins[1], minlength=CELLS**2)
    # all of them, so that every worker has the same names
    sums.update({f"cell_{i}": float(count) for i, count in enumerate(counts)})
    return sums


def _bins(values: Tensor, span: Tuple[float, float]) -> Tensor:
    low, high = span
    width = (high - low) or 1.0
    return ((values - low) / width * CELLS).long().clamp(0, CELLS - 1)


def _value_summary(sums: Mapping[str, float]) -> Dict[str, float]:
    n = sums["examples"]
    cells = torch.tensor([sums[f"cell_{i}"] for i in range(CELLS**2)], dtype=torch.double)
    cells = cells.view(CELLS, CELLS)
    moments: List[float] = [sums[name] for name in ("x", "y", "xx", "yy", "xy")]
    return {
        "pearson": 100 * _correlation(n, *moments),
        "spearman": 100 * _rank_correlation(cells),
        "mse": sums["squared"] / n if n else 0.0,
    }


def _correlation(n: float, x: float, y: float, xx: float, yy: float, xy: float) -> float:
    spread = (n * xx - x * x) * (n * yy - y * y)
    return (n * xy - x * y) / spread**0.5 if spread > 0 else 0.0


def _rank_correlation(cells: Tensor) -> float:
    """Spearman's ρ of values in equal bins; those of one bin share a rank."""
    ranks = []
    for axis in (1, 0):
        counts = cells.sum(axis)
        ranks.append(counts.cumsum(0) - counts / 2)
    x, y = torch.meshgrid(*ranks, indexing="ij")
    sums = [float((cells * value).sum()) for value in (x, y, x * x, y * y, x * y)]
    return _correlation(float(cells.sum()), *sums)


def _percent(part: float, whole: float) -> float:
    return 100 * part / whole if whole else 0.0
