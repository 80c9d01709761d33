"""Choosing threshold and weights on a development set, for a goal."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...errors import UserError
from .corrections import Correction, Edit
from .corrector import Corrector
from .fitting import calibrated, temperature
from .ranking import FEATURES, Ranker
from .units import NO_CONTEXT, Context, context, spans

#: Thresholds that are tried: quantiles of the edits' probabilities.
STEPS = 40
OFFSETS = (-3.0, -2.0, -1.0, -0.5, 0.5, 1.0, 2.0, 3.0)  # of the weight of the unchanged word
UNCHANGED = FEATURES.index("unchanged")
GOALS = ("changed", "accuracy")
#: A unit, as it should be, and its context.
Example = tuple[str, str, Context]
#: Threshold, and what it gives.
Point = tuple[float, "Counts"]


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
        return (self.right + self.gained) / max(self.right + self.wrong, 1)

    @property
    def gained(self) -> int:
        """Words that are right afterwards, less those that were right before."""
        return self.corrected - self.changed


@dataclass(frozen=True)
class Goal:
    """``changed``: most words corrected with at most ``limit`` per cent of the right words changed;
    ``accuracy``: most words right."""

    name: str = "changed"
    limit: float = 1.0

    @classmethod
    def parse(cls, text: str) -> "Goal":
        """``changed:1`` or ``accuracy``; raises UserError for another text."""
        name, _, limit = text.partition(":")
        try:
            goal = cls(name, float(limit)) if limit else cls(name)
        except ValueError:
            goal = cls("", 0)
        if goal.name not in GOALS or not 0 <= goal.limit <= 100:
            said = "changed:N (at most N per cent of the right words changed) or accuracy"
            raise UserError(f"goal={text}: give {said}")
        return goal

    def value(self, counts: Counts) -> float:
        """The higher, the better."""
        if self.name == "accuracy":
            return counts.accuracy
        over = counts.changed - self.limit / 100 * counts.right
        return -over if over > 0 else counts.corrected / max(counts.wrong, 1)

    def best(self, curve: Sequence[Point]) -> Point:
        """The best point; of equal ones that of the highest threshold."""
        return max(curve, key=lambda point: (self.value(point[1]), point[0]))


@dataclass(frozen=True)
class Choice:
    """What was chosen, and what it gives.

    min_confidence: the threshold, of calibrated probabilities. weights: of the ranking, if there
    is one. longest: characters that a correction of the development set adds at most. temperature:
    of the probabilities (:mod:`.fitting`). peak: the threshold that makes most words right, and
    what it gives. left_out: numbers of the lines with more or fewer words in one of the texts.
    """

    min_confidence: float
    counts: Counts
    weights: dict[str, float]
    longest: int
    temperature: float
    peak: Point
    left_out: Sequence[int]


def tune(
    corrector: Corrector,
    noisy: Sequence[str],
    clean: Sequence[str],
    goal: Goal,
    weights_too: bool = False,
) -> Choice:
    """The threshold, and the weights where candidates are ranked, that are best for a goal.

    Of equal thresholds the highest is taken. The weight of the unchanged word always is sought: a
    threshold asks how sure the model is of one correction, this weight whether the word is wrong.
    The corrector gets what is found, with the temperature of its probabilities.

    Args:
        noisy, clean: lines that belong together. Those with different numbers of words between
            whitespace are left out, since their words are not known to belong together.
        weights_too: all weights, by maximum likelihood, from those of the corrector. They soon fit
            a uniform development set too well.

    Raises:
        UserError: lines that do not correspond, or in which no word is wrong, or for the goal
            ``changed`` none right.
    """
    noisy, clean, left_out, longest = _same_words(noisy, clean, goal)
    ranker, weights = corrector.backend, {}
    corrector.longest, corrector.temperature, corrector.min_confidence = longest, 1.0, 0.0
    if isinstance(ranker, Ranker):
        ranker.resources = replace(ranker.resources, longest=longest)
        if weights_too:
            lines = noisy, clean
            ranker.fit(_words(*lines) if ranker.by_word else _units(*lines, corrector.window))

        def value(weights: np.ndarray) -> float:
            ranker.weights = weights
            return goal.value(goal.best(curve(corrector.correct(noisy), clean))[1])

        steps = np.eye(len(FEATURES))[UNCHANGED] * np.array([(0.0, *OFFSETS)]).T
        ranker.weights = max([*(ranker.weights + steps)], key=value)  # the first of equal ones
        weights = ranker.named_weights()
    done = corrector.correct(noisy)
    points = curve(done, clean)
    best, counts = goal.best(points)
    found = [(edit.probability, meant == edit.after.split()) for edit, meant in made(done, clean)]
    corrector.temperature = warmth = temperature(found)
    corrector.min_confidence = threshold = calibrated(best, warmth)
    at, most = max(points, key=lambda point: point[1].gained)
    peak = calibrated(at, warmth), most
    return Choice(threshold, counts, weights, longest, warmth, peak, left_out)


def verdict(choice: Choice) -> str:
    """Whether the corrector helps, and at which threshold it would help most."""
    counts = choice.counts
    if counts.gained > 0:
        return (
            f"verdict: {counts.gained:,} words more are right than without edits "
            f"({counts.corrected:,} corrected, {counts.changed:,} right ones changed), in text of "
            f"this kind, of whose words {counts.wrong / (counts.wrong + counts.right):.1%} are "
            "wrong; fewer wrong words want a higher --min-confidence"
        )
    at, best = choice.peak
    other = f"; at best {best.gained:,} words gained, with --min-confidence {at:.3g}"
    return (
        f"verdict: no better than the no-edit baseline yet ({counts.corrected:,} words corrected, "
        f"{counts.changed:,} right ones changed{other if best.gained > 0 else ''}): train longer, "
        "about twice as long, or on more pairs"
    )


def made(done: Sequence[Correction], clean: Sequence[str]) -> Iterator[tuple[Edit, list[str]]]:
    """Each edit that was made, and the words that should stand in its place."""
    for one, meant in zip(done, clean, strict=True):
        wanted = meant.split()
        for edit in (edit for edit in one.edits if edit.applied):
            first = len(one.source[: edit.offset].split())
            yield edit, wanted[first : first + len(edit.before.split())]


def curve(done: Sequence[Correction], clean: Sequence[str]) -> list[Point]:
    """What thresholds from 0 on give for corrections with all edits made.

    A word for which more or fewer are written is wrong then.
    """
    every = [
        pair
        for one, meant in zip(done, clean, strict=True)
        for pair in zip(one.source.split(), meant.split(), strict=True)
    ]
    right = sum(one == meant for one, meant in every)
    rows = []  # of each edit its words that were right, that were wrong, that are put right
    for edit, meant in made(done, clean):
        before, after = edit.before.split(), edit.after.split()
        same = after if len(after) == len(before) else [""] * len(before)
        was = [one == wanted for one, wanted in zip(before, meant, strict=True)]
        now = [one == wanted for one, wanted in zip(same, meant, strict=True)]
        lost = sum(a and not b for a, b in zip(was, now, strict=True))
        corrected = sum(b and not a for a, b in zip(was, now, strict=True))
        rows.append((lost or int(not before), corrected, was.count(False) - corrected))
    chances = np.array([edit.probability for edit, _ in made(done, clean)])
    table = np.array(rows, dtype=int).reshape(-1, 3)
    steps = np.quantile(chances, np.linspace(0, 1, STEPS)).tolist() if rows else []
    found = []
    for threshold in [0.0, *sorted(set(steps)), 1.0]:
        lost, corrected, other = table[chances >= threshold].sum(0).tolist()
        counts = Counts(right, lost, len(every) - right, corrected, other)
        found.append((threshold, counts))
    return found


def _words(noisy: Sequence[str], clean: Sequence[str]) -> Iterator[Example]:
    """Words of letters, without the punctuation around them, and their contexts."""
    for line, meant in zip(noisy, clean, strict=True):
        places = list(spans(line, "letters"))
        words = (match.span() for match in re.finditer(r"\S+", line))  # as split() has them
        for (start, end), other in zip(words, meant.split(), strict=True):
            found = [n for n, (a, b) in enumerate(places) if start <= a and b <= end]
            wanted = [other[a:b] for a, b in spans(other, "letters")]
            if len(found) == len(wanted) == 1:
                yield line[slice(*places[found[0]])], wanted[0], context(line, places, found[0])


def _units(noisy: Sequence[str], clean: Sequence[str], window: int) -> Iterator[Example]:
    """Lines, or windows of so many words."""
    for one, other in zip(noisy, clean, strict=True):
        before, after = one.split(), other.split()
        size = window or max(len(before), 1)
        for n in range(0, len(before), size):
            yield " ".join(before[n : n + size]), " ".join(after[n : n + size]), NO_CONTEXT


def _same_words(
    noisy: Sequence[str], clean: Sequence[str], goal: Goal
) -> tuple[list[str], list[str], list[int], int]:
    """The lines with as many noisy as clean words, the numbers of the others, from 1, and how many
    characters a correction of one word adds at most, 1 or more; errors of :func:`tune`."""
    said = f"tuning: {len(noisy)} noisy and {len(clean)} clean lines"
    if len(noisy) != len(clean):
        raise UserError(f"{said}; line n of each must belong together")
    kept: list[tuple[str, str]] = []
    words: list[tuple[str, str]] = []
    others: list[int] = []
    for number, pair in enumerate(zip(noisy, clean, strict=True), start=1):
        before, after = (line.split() for line in pair)
        if len(before) == len(after):
            kept.append(pair)
            words += zip(before, after, strict=True)
        else:
            others.append(number)
    if not kept:
        raise UserError(f"{said}, no line with as many words in both; give lines that have")
    grown = [len(meant) - len(one) for one, meant in words if one != meant]
    if not grown:
        raise UserError(
            f"tuning: none of {len(words)} words is wrong; give text with errors, and the same "
            "corrected"
        )
    if len(grown) == len(words) and goal.name == "changed":
        raise UserError(
            f"tuning: all {len(words)} words are wrong, so goal=changed cannot be judged; add "
            "lines that are right, or give goal=accuracy"
        )
    return [one for one, _ in kept], [other for _, other in kept], others, max(1, *grown)
