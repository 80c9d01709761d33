"""Choosing threshold and weights on a development set, for a goal."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...errors import UserError
from .corrections import Correction, apply_edits
from .corrector import Corrector
from .fitting import calibrated, temperature
from .ranking import FEATURES, RankingBackend
from .units import NO_CONTEXT, Context, context, spans

#: Thresholds that are tried: quantiles of the edits' probabilities.
STEPS = 40
OFFSETS = (-3.0, -2.0, -1.0, -0.5, 0.5, 1.0, 2.0, 3.0)  # of the weight of the unchanged word
UNCHANGED = FEATURES.index("unchanged")
GOALS = ("changed", "f0.5", "accuracy")
#: A unit, as it should be, and its context.
Example = tuple[str, str, Context]


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
    def gained(self) -> int:
        """Words that are right afterwards, less those that were right before."""
        return self.corrected - self.changed

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
                f"goal={text}: give changed:N (at most N per cent of the right words changed), "
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
    """What was chosen, and what it gives.

    min_confidence: the threshold, of calibrated probabilities. weights: of the ranking; None:
    candidates are not ranked. longest: characters that a correction of the development set adds at
    most. temperature: of the probabilities (:mod:`.fitting`). curve: thresholds and what they give.
    left_out: numbers of the lines that have more or fewer words in one text than in the other.
    """

    min_confidence: float
    counts: Counts
    weights: dict[str, float] | None
    longest: int
    temperature: float
    curve: Sequence[tuple[float, Counts]]
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
            a uniform development set too well: one of often misspelt words makes the model correct
            into these words alone.

    Raises:
        UserError: lines that do not correspond, or in which no word is wrong, or for the goal
            ``changed`` none right.
    """
    noisy, clean, left_out, longest = _same_words(noisy, clean, goal)
    backend = corrector.backend
    corrector.longest, corrector.temperature, corrector.min_confidence = longest, 1.0, 0.0
    weights = None
    if isinstance(backend, RankingBackend):
        ranker = backend.ranker
        ranker.resources = replace(ranker.resources, longest=longest)
        if weights_too:
            lines, window = (noisy, clean), corrector.window
            ranker.fit(_words(*lines) if ranker.by_word else _units(*lines, window))

        def value(weights: np.ndarray) -> float:
            ranker.weights = weights
            return goal.value(_best(curve(corrector.correct(noisy), clean), goal)[1])

        steps = np.eye(len(FEATURES))[UNCHANGED] * np.array([(0.0, *OFFSETS)]).T
        ranker.weights = max([*(ranker.weights + steps)], key=value)  # the first of equal ones
        weights = ranker.named_weights()
    done = corrector.correct(noisy)
    points = curve(done, clean)
    best, counts = _best(points, goal)
    corrector.temperature = warmth = temperature(outcomes(done, clean))
    corrector.min_confidence = threshold = calibrated(best, warmth)
    shown = [(calibrated(at, warmth), one) for at, one in points]
    return Choice(threshold, counts, weights, longest, warmth, shown, left_out)


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
    at, best = max(choice.curve, key=lambda point: point[1].gained)
    other = f"; at best {best.gained:,} words gained, with --min-confidence {at:.3g}"
    return (
        f"verdict: no better than the no-edit baseline yet ({counts.corrected:,} words corrected, "
        f"{counts.changed:,} right ones changed{other if best.gained > 0 else ''}): train longer, "
        "about twice as long, or on more pairs"
    )


def _best(points: Sequence[tuple[float, Counts]], goal: Goal) -> tuple[float, Counts]:
    """The point of a curve that is best for a goal; of equal ones that of the highest threshold."""
    return max(points, key=lambda point: (goal.value(point[1]), point[0]))


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
    characters a correction of one word adds at most, 1 or more.

    Raises:
        UserError: there is no such line, not a clean line for each noisy one, no word is wrong, or
            for the goal ``changed`` none right.
    """
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
            "lines that are right, or give goal=f0.5"
        )
    return [one for one, _ in kept], [other for _, other in kept], others, max(1, *grown)


def curve(done: Sequence[Correction], clean: Sequence[str]) -> list[tuple[float, Counts]]:
    """What thresholds from 0 on give for corrections with all edits made."""
    chances = [edit.probability for one in done for edit in one.edits]
    steps = np.quantile(chances, np.linspace(0, 1, STEPS)).tolist() if chances else []
    found = []
    for threshold in [0.0, *sorted(set(steps)), 1.0]:
        outputs = (
            apply_edits(one.source, (edit for edit in one.edits if edit.probability >= threshold))
            for one in done
        )
        found.append((threshold, count([one.source for one in done], list(outputs), clean)))
    return found


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


def outcomes(done: Sequence[Correction], clean: Sequence[str]) -> list[tuple[float, bool]]:
    """The probability of each word's edits, all of which are made, and whether it is right then."""
    found = []
    for one, meant in zip(done, clean, strict=True):
        after, wanted, before = one.text.split(), meant.split(), one.source.split()
        for edit in filter(lambda edit: edit.applied, one.edits):
            first = len(one.source[: edit.offset].split())
            last = first + len(edit.before.split())
            same_size = len(after) == len(before) == len(wanted)
            right = after[first:last] == wanted[first:last] if same_size else after == wanted
            found.append((edit.probability, right))
    return found
