"""Choosing threshold and weights on a development set, for a goal."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import UserError
from .corrector import Correction, Corrector
from .ranking import FEATURES, RankedBackend
from .reranking import RerankedBackend, fit

#: Thresholds that are tried: quantiles of the edits' probabilities.
STEPS = 40
FACTORS = (0.5, 0.8, 1.25, 2.0)
GOALS = ("changed", "f0.5", "accuracy")


@dataclass(frozen=True)
class Counts:
    """Words of a development set: right ones, of them changed; wrong ones, of them corrected and
    of them changed into something else that is wrong."""

    right: int
    changed: int
    wrong: int
    corrected: int
    miscorrected: int

    @property
    def accuracy(self) -> float:
        """Share of all words that are right afterwards."""
        return (self.right - self.changed + self.corrected) / max(self.right + self.wrong, 1)

    @property
    def f_half(self) -> float:
        """F0.5 of corrections: precision counts twice as much as recall."""
        made = self.corrected + self.changed + self.miscorrected
        return 1.25 * self.corrected / max(0.25 * self.wrong + made, 1e-9)


@dataclass(frozen=True)
class Goal:
    """``changed``: most words corrected with at most ``limit`` per cent of the right words changed;
    ``f0.5`` or ``accuracy``: the highest."""

    name: str = "changed"
    limit: float = 1.0

    @classmethod
    def parse(cls, text: str) -> "Goal":
        """``changed:1``, ``f0.5`` or ``accuracy``.

        Raises:
            UserError: another text.
        """
        name, _, limit = text.partition(":")
        try:
            goal = cls(name, float(limit)) if limit else cls(name)
        except ValueError:
            goal = cls("", 0)
        if goal.name not in GOALS or not 0 <= goal.limit <= 100:
            raise UserError(
                f"--goal {text}: give changed:N (at most N per cent of the right words changed), "
                "f0.5 or accuracy"
            )
        return goal

    def value(self, counts: Counts) -> float:
        """The higher, the better."""
        if self.name == "f0.5":
            return counts.f_half
        if self.name == "accuracy":
            return counts.accuracy
        over = counts.changed - self.limit / 100 * counts.right
        return -over if over > 0 else counts.corrected / max(counts.wrong, 1)


@dataclass(frozen=True)
class Choice:
    """A threshold, what it gives, with which weights (None: candidates are not ranked), and how
    many characters a correction of the development set adds at most."""

    min_confidence: float
    counts: Counts
    weights: dict[str, float] | None = None
    longest: int = 0


def tune(
    corrector: Corrector,
    noisy: Sequence[str],
    clean: Sequence[str],
    goal: Goal,
    weights_too: bool = False,
) -> Choice:
    """The threshold, and the weights where candidates are ranked, that are best for a goal.

    Of equal thresholds the highest is taken. Weights are sought one after the other, in steps,
    twice around, from those of the corrector, which gets the best.

    Args:
        noisy, clean: lines with the same number of words between whitespace.
        weights_too: else the weights stay. They soon fit a small or uniform development set too
            well: one of often misspelt words makes the model correct into these words alone.

    Raises:
        UserError: lines that do not correspond.
    """
    _check(noisy, clean)
    backend, longest = corrector.backend, _longest(noisy, clean)
    corrector.longest = longest
    if isinstance(backend, RankedBackend):
        backend.ranker.resources = replace(backend.ranker.resources, longest=longest)

    def attempt() -> Choice:
        return _best_threshold(corrector.correct(noisy, min_confidence=0.0), clean, goal)

    if isinstance(backend, RerankedBackend):
        if weights_too:
            fit(backend.reranker, _units(corrector, noisy, clean))
        return replace(attempt(), weights=backend.reranker.named_weights(), longest=longest)
    best = attempt()
    if not isinstance(backend, RankedBackend):
        return replace(best, longest=longest)
    ranker, weights = backend.ranker, backend.ranker.weights.copy()
    for place in [*range(len(FEATURES))] * 2 * weights_too:
        center = weights[place]
        for factor in FACTORS:
            ranker.weights = weights.copy()
            ranker.weights[place] = center * factor
            found = attempt()
            if goal.value(found.counts) > goal.value(best.counts):
                best, weights = found, ranker.weights
        ranker.weights = weights
    named = {name: float(value) for name, value in zip(FEATURES, weights, strict=True)}
    return Choice(best.min_confidence, best.counts, named, longest)


def _units(
    corrector: Corrector, noisy: Sequence[str], clean: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """The units of lines, where a unit is a line or a window, with what they should be."""
    for one, other in zip(noisy, clean, strict=True):
        before, after = one.split(), other.split()
        size = corrector.window or max(len(before), 1)
        for start in range(0, len(before), size):
            yield " ".join(before[start : start + size]), " ".join(after[start : start + size])


def _check(noisy: Sequence[str], clean: Sequence[str]) -> None:
    if len(noisy) != len(clean) or not noisy:
        raise UserError(
            f"--tune: {len(noisy)} noisy and {len(clean)} clean lines; line n of each must belong "
            "together"
        )
    for number, (one, other) in enumerate(zip(noisy, clean, strict=True), start=1):
        if len(one.split()) != len(other.split()):
            raise UserError(
                f"--tune: line {number} has {len(one.split())} noisy and {len(other.split())} "
                "clean words; leave such lines out"
            )


def _longest(noisy: Sequence[str], clean: Sequence[str]) -> int:
    """Characters that a correction of one word adds, at most; never below 1."""
    words = zip(" ".join(noisy).split(), " ".join(clean).split(), strict=True)
    return max(1, *(len(meant) - len(one) for one, meant in words))


def _best_threshold(done: Sequence[Correction], clean: Sequence[str], goal: Goal) -> Choice:
    found = [Choice(threshold, counts) for threshold, counts in curve(done, clean)]
    return max(found, key=lambda one: (goal.value(one.counts), one.min_confidence))


def curve(done: Sequence[Correction], clean: Sequence[str]) -> Iterator[tuple[float, Counts]]:
    """What thresholds give, from 0 on.

    Args:
        done: corrections with all edits made.
        clean: the lines as they should be.
    """
    chances = [edit.probability for one in done for edit in one.edits]
    steps = np.quantile(chances, np.linspace(0, 1, STEPS)).tolist() if chances else []
    for threshold in [0.0, *sorted(set(steps)), 1.0]:
        outputs = (_made(one, threshold) for one in done)
        yield threshold, count([one.source for one in done], list(outputs), clean)


def _made(one: Correction, threshold: float) -> str:
    if all(edit.probability >= threshold for edit in one.edits):
        return one.text
    parts, place = [], 0
    for edit in one.edits:
        if edit.made and edit.probability >= threshold:
            parts += [one.source[place : edit.offset], edit.after]
            place = edit.end
    return "".join(parts) + one.source[place:]


def count(noisy: Sequence[str], output: Sequence[str], clean: Sequence[str]) -> Counts:
    """Counts words; where an output has more or fewer words than its line, all of it is wrong."""
    right = changed = wrong = corrected = miscorrected = 0
    for triple in zip(noisy, output, clean, strict=True):
        before, after, wanted = (line.split() for line in triple)
        if len(after) != len(before):
            after = [""] * len(before)
        for one, other, meant in zip(before, after, wanted, strict=True):
            if one == meant:
                right, changed = right + 1, changed + (other != meant)
            else:
                wrong, corrected = wrong + 1, corrected + (other == meant)
                miscorrected += other not in (one, meant)
    return Counts(right, changed, wrong, corrected, miscorrected)
