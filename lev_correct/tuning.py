"""Choosing threshold and weights on a development set, for a goal."""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from rapidfuzz.distance import Levenshtein

from lev_runtime.errors import UserError, counted
from lev_runtime.logistic import most_likely
from lev_runtime.text.words import CorrectionCounts, correction_counts, line_counts

from .corrector import Corrector
from .judge.judge import calibrated
from .lines import Correction, apply_edits
from .propose.ranking import FEATURES, WordRanker
from .text.units import (
    Context,
    UnitKind,
    context,
    spans,
)

#: Thresholds that are tried: quantiles of the edits' probabilities.
STEPS = 40
OFFSETS = (-3.0, -2.0, -1.0, -0.5, 0.5, 1.0, 2.0, 3.0)  # of the weight of the unchanged word
UNCHANGED = FEATURES.index("unchanged")
#: Where a judge has the last word (:class:`.Evidence`), a ranking expects errors: it says of each
#: word what would be written if it were wrong.
EXPECTED = 0.95
#: Threshold, and what it gives; words that are not as many as they were are wrong.
Point = tuple[float, CorrectionCounts]


#: How strongly fitting holds the weights to where they began.
HELD = 2e-4
#: Words have too few examples of these in any list of misspellings; fitting keeps their weights.
KEPT = ("capital", "short", "confused", "likelier")
#: What words of a language look like, which made-up errors teach; what people make of them, the
#: other weights, they do not.
OF_LANGUAGE = ("unchanged", "length")
#: A unit, as it should be, and its context.
Example = tuple[str, str, Context]
#: Bounds of a temperature; log-odds that are fitted to have probabilities of so much, at least.
LOWEST, HIGHEST, SMALLEST = 0.05, 20.0, 1e-9


class Goal(NamedTuple):
    """Most words corrected with at most ``limit`` per cent of the right words changed; without a
    limit most words right."""

    limit: float | None = 1.0

    @classmethod
    def parse(cls, text: str) -> "Goal":
        """``changed:1`` or ``accuracy``; raises UserError for another text."""
        if text == "accuracy":
            return cls(None)
        match = re.fullmatch(r"changed(?::(\d*\.?\d+))?", text)
        if not match or float(match[1] or 1) > 100:
            forms = "changed:N (at most N per cent of the right words changed) or accuracy"
            raise UserError(f"goal={text}: give {forms}")
        return cls(float(match[1] or 1))

    def value(self, counts: CorrectionCounts) -> float:
        """The higher, the better."""
        if self.limit is None:
            return counts.word_accuracy
        over = counts.miscorrected - self.limit / 100 * counts.right_before
        return -over if over > 0 else counts.correction_recall

    def best(self, curve: Sequence[Point]) -> Point:
        """The best point; of equal ones that of the highest threshold."""
        return max(curve, key=lambda point: (self.value(point[1]), point[0]))


def tune(
    corrector: Corrector,
    noisy: Sequence[str],
    clean: Sequence[str],
    goal: Goal,
    weights_too: bool = False,
) -> tuple[CorrectionCounts, list[int]]:
    """Gives a corrector the threshold that is best for a goal, of equal ones the highest, a
    temperature (:func:`.calibrated`), and the weights of its ranking.

    A threshold asks how sure the model is of one correction, the weight of the unchanged word,
    which is always sought, whether the word is wrong; where a judge says that, the weights of the
    language are fitted for :data:`EXPECTED` errors.

    Args:
        noisy, clean: lines that belong together; those with more or fewer words are left out.
        weights_too: all weights, by maximum likelihood, from those of the corrector.

    Returns:
        What the choice gives, and the numbers of the lines left out, from 1.

    Raises:
        UserError: lines that do not correspond, or in which no word is wrong.
    """
    noisy, clean, left_out, longest = _same_words(noisy, clean)
    ranker, is_judged = corrector.backend, corrector.settings.known is not None
    use = replace(corrector.settings, longest=longest, temperature=1.0, min_confidence=0.0)
    corrector.settings = use
    if isinstance(ranker, WordRanker):
        ranker.longest = longest
        if weights_too or is_judged:
            kind: UnitKind = "letters" if corrector.unit == "word" else corrector.unit
            names = FEATURES if weights_too else OF_LANGUAGE
            share = fit(ranker, _examples(noisy, clean, kind, corrector.window), names)
        if is_judged:
            odds = share / max(1 - share, 1e-9) / (EXPECTED / (1 - EXPECTED))
            ranker.weights[UNCHANGED] += math.log(max(odds, 1e-9))
        else:
            _weigh_unchanged(corrector, ranker, noisy, clean, goal)
    done = corrector.correct(noisy)
    best, counts = goal.best(curve(done, clean))
    pairs = [(chance, corrected > lost) for chance, corrected, lost in outcomes(done, clean)]
    warmth = 1.0 if is_judged else temperature(pairs)
    least = calibrated(best, warmth)
    corrector.settings = replace(use, temperature=warmth, min_confidence=least)
    return counts, left_out


def fit(
    ranker: WordRanker, examples: Iterable[Example], names: Collection[str] = FEATURES,
    batch_size: int = 64,
) -> float:  # fmt: skip
    """Fits a ranking by conditional maximum likelihood: the best candidates get most probable.

    They have the fewest wrong words, of these the fewest wrong characters.

    Args:
        examples: units, as they should be, and their contexts.
        names: of the weights that may change.

    Returns:
        The share of wrong ones among the examples that tell something.
    """
    kept = [(" ".join(unit.split()), right, beside) for unit, right, beside in examples]
    kept = [example for example in kept if example[0] and ranker.readable(example[0])]
    kept = [example for example in kept if ranker.form(example[0]) not in ranker.confused]
    candidates = ranker.candidates([(ranker.form(unit), ()) for unit, _, _ in kept], batch_size)
    telling = []
    for unit_candidates, (unit, right, beside) in zip(candidates, kept, strict=True):
        texts = [ranker.cased(text, unit) for text in unit_candidates.texts]
        errors = [_errors(text, right) for text in texts]
        if len(set(errors)) > 1 and right.lower() in map(str.lower, texts):
            features = ranker.features(unit_candidates, ranker.form(unit), beside)
            fewest = min(errors)
            telling.append((features, [number == fewest for number in errors]))
    if telling:
        free = [name in names and name not in KEPT for name in FEATURES]
        spread = np.concatenate([features for features, _ in telling]).var(0)
        held = HELD * len(telling) * np.maximum(spread, 1e-12)
        ranker.weights = most_likely(telling, ranker.weights, free, ridge=held)
    return sum(not best[0] for _, best in telling) / max(len(telling), 1)


def _errors(text: str, right: str) -> tuple[int, int]:
    """How many words of a text are wrong, and how many characters."""
    return Levenshtein.distance(text.split(), right.split()), Levenshtein.distance(text, right)


def _weigh_unchanged(
    corrector: Corrector, ranker: WordRanker, noisy: Sequence[str], clean: Sequence[str], goal: Goal
) -> None:
    """Gives the unchanged word the weight that is best for a goal, of equal ones the nearest."""

    def value(weights: np.ndarray) -> float:
        ranker.weights = weights
        points = curve(corrector.correct(noisy), clean)
        _, counts = goal.best(points)
        return goal.value(counts)

    offsets = np.array([(0.0, *OFFSETS)]).T
    steps = np.eye(len(FEATURES))[UNCHANGED] * offsets
    ranker.weights = max([*(ranker.weights + steps)], key=value)  # the first of equal ones


def temperature(outcomes: Sequence[tuple[float, bool]]) -> float:
    """Returns the temperature under which outcomes are most probable; 1 where all are alike."""
    if len({is_right for _, is_right in outcomes}) < 2:
        return 1.0
    units = []
    for chance, is_right in outcomes:
        inner = min(max(chance, SMALLEST), 1 - SMALLEST)
        odds = math.log(inner / (1 - inner))
        units.append((np.array([[odds], [0.0]]), [is_right, not is_right]))
    (weight,) = most_likely(units, np.ones(1), ridge=1e-4 * len(units)).tolist()
    return round(1 / min(max(weight, 1 / HIGHEST), 1 / LOWEST), 4)


#: An edit's probability, and of the words of the reference how many it put right, and how many are
#: no longer right.
Outcome = tuple[float, int, int]


def outcomes(done: Sequence[Correction], clean: Sequence[str]) -> Iterator[Outcome]:
    """Yields one of each edit that was made, as if it were the only one; words that are added count
    as one that is no longer right."""
    for correction, line in zip(done, clean, strict=True):
        source = correction.source
        for edit in (edit for edit in correction.edits if edit.applied):
            counts = line_counts(source, apply_edits(source, [edit]), line)
            lost = counts.miscorrected or int(not edit.before.strip())
            yield edit.probability, counts.corrected, lost


def curve(done: Sequence[Correction], clean: Sequence[str]) -> list[Point]:
    """Returns what thresholds from 0 on give for corrections with all edits made."""
    sources = [correction.source for correction in done]
    before = correction_counts(sources, sources, clean)
    table = np.array([*outcomes(done, clean)]).reshape(-1, 3)
    chances = table[:, 0]
    steps = np.quantile(chances, np.linspace(0, 1, STEPS)).tolist() if len(table) else []
    points = []
    for threshold in (0.0, *sorted(set(steps)), 1.0):
        changed = table[chances >= threshold, 1:].sum(0).astype(int).tolist()
        points.append((threshold, CorrectionCounts(before.words, before.right_before, *changed)))
    return points


def _examples(
    noisy: Sequence[str], clean: Sequence[str], kind: UnitKind, window: int
) -> Iterator[Example]:
    """The units of lines, where they are alone in their words, and what should stand there."""
    for line, right in zip(noisy, clean, strict=True):
        words = right.split()
        places = list(spans(line, kind, window))
        first = [len(f"{line[:start]}.".split()) - 1 for start, _ in places]
        for n, (start, end) in enumerate(places):
            last = len(line[:end].split())
            meant = " ".join(words[first[n] : last])
            units = list(spans(meant, kind, window))
            if first.count(first[n]) == len(units) == 1:
                begin, stop = units[0]
                yield line[start:end], meant[begin:stop], context(line, places, n)


def _same_words(
    noisy: Sequence[str], clean: Sequence[str]
) -> tuple[list[str], list[str], list[int], int]:
    """The lines with as many noisy as clean words, the numbers of the others, from 1, and how many
    characters a correction of one word adds at most, 1 or more; errors of :func:`tune`."""
    amounts = f"tuning: {len(noisy)} noisy and {counted(len(clean), 'clean line')}"
    if len(noisy) != len(clean):
        raise UserError(f"{amounts}; files must be line-aligned")
    same, others, grown = [], [], []
    for number, pair in enumerate(zip(noisy, clean, strict=True), start=1):
        before, after = map(str.split, pair)
        if len(before) != len(after):
            others.append(number)
            continue
        same.append(pair)
        both = zip(before, after, strict=True)
        grown += [len(meant) - len(word) for word, meant in both if word != meant]
    if not grown:
        what = "no word is wrong in lines that have as many words in both"
        raise UserError(f"{amounts}, {what}; give text with errors, and the same corrected")
    first, second = zip(*same, strict=True)
    return list(first), list(second), others, max(1, *grown)
