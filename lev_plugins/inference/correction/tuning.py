"""Choosing threshold and weights on a development set, for a goal."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress

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


def tune(
    corrector: Corrector,
    noisy: Sequence[str],
    clean: Sequence[str],
    goal: Goal,
    weights_too: bool = False,
) -> tuple[Counts, list[int]]:
    """Gives a corrector the threshold that is best for a goal, of equal ones the highest, a
    temperature (:mod:`.fitting`), and the weights of its ranking.

    A threshold asks how sure the model is of one correction, the weight of the unchanged word,
    which is always sought, whether the word is wrong.

    Args:
        noisy, clean: lines that belong together; those with more or fewer words are left out.
        weights_too: all weights, by maximum likelihood, from those of the corrector.

    Returns:
        What the choice gives, and the numbers of the lines left out, from 1.

    Raises:
        UserError: lines that do not correspond, or in which no word is wrong, or for the goal
            ``changed`` none right.
    """
    noisy, clean, left_out, longest = _same_words(noisy, clean, goal)
    ranker = corrector.backend
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
    done = corrector.correct(noisy)
    best, counts = goal.best(curve(done, clean))
    found = [(edit.probability, meant == edit.after.split()) for edit, meant in made(done, clean)]
    corrector.temperature = temperature(found)
    corrector.min_confidence = calibrated(best, corrector.temperature)
    return counts, left_out


def verdict(counts: Counts) -> str:
    """Whether the corrector helps."""
    if counts.gained > 0:
        return (
            f"verdict: {counts.gained:,} words more are right than without edits "
            f"({counts.corrected:,} corrected, {counts.changed:,} right ones changed), in text of "
            f"this kind, of whose words {counts.wrong / (counts.wrong + counts.right):.1%} are "
            "wrong; fewer wrong words want a higher --min-confidence"
        )
    return (
        f"verdict: no better than the no-edit baseline yet ({counts.corrected:,} words corrected, "
        f"{counts.changed:,} right ones changed): train longer, or on more pairs"
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
    sides = [(one.split(), other.split()) for one, other in zip(noisy, clean, strict=True)]
    same = [len(before) == len(after) for before, after in sides]
    words = [both for some in compress(sides, same) for both in zip(*some, strict=True)]
    if not any(same):
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
    others = [number for number, one in enumerate(same, start=1) if not one]
    return list(compress(noisy, same)), list(compress(clean, same)), others, max(1, *grown)
