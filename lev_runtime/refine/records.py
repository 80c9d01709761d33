"""Notes that decoding keeps on a device, and reads when all sentences are finished."""

import itertools
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple, NotRequired, TypedDict

from .arrays import Array, Arrays
from .history import Termination


class Step(TypedDict):
    """A sentence after a phase of decoding, its arrays (T) on the host; the first is the draft.

    phase: ``draft``, ``deletion``, ``placeholder`` or ``token``. iteration: from 1 on; 0 is the
    draft. origin: position in the draft of each token, −1 if it is newer; since:
    position when the iteration began. scores: log-probabilities (nats) of deleting each token of
    the state before, or of what put or kept the present ones.
    """

    phase: str
    iteration: int
    tokens: Array
    origin: Array
    since: NotRequired[Array]
    scores: NotRequired[Array]


class EditHypothesis(TypedDict):
    """Hypothesis for a sentence, with <s> and </s>.

    positional_scores: nats, of the action that put or kept each token. score: of one answer their
    mean, of several what compares them. actions: nats, the sum of all deletions and all tokens
    written. origin: position in the draft of the tokens that stand since then, −1 for others.
    steps: iterations. history: for those who asked for it.
    """

    tokens: Array
    positional_scores: Array
    score: float
    actions: float
    alignment: None
    attention: None
    origin: Array
    steps: int
    terminated: Termination
    history: list[Step]


class Outcome(NamedTuple):
    """Sentences that were finished after the same steps for the same reason.

    rows: of each sentence, by its number in the batch that came in, the row of the arrays, which
    are as in :class:`.state.RefinementState`.
    """

    rows: Mapping[int, int]
    steps: int
    reason: Termination
    tokens: Array
    origin: Array
    scores: Array
    actions: Array


class Phase(NamedTuple):
    """A batch after a phase; its arrays are those of :class:`Step`, one row a sentence.

    numbers: of the sentences, in the batch that came in. stayed: of those that did not leave before
    the iteration was over; None: all.
    """

    name: str
    iteration: int
    numbers: Sequence[int]
    tokens: Array
    origin: Array
    since: Array | None = None
    scores: Array | None = None
    stayed: Set[int] | None = None


def read_hypotheses(
    outcomes: Sequence[Outcome], phases: Sequence[Phase], pad: int, arrays: Arrays
) -> list[EditHypothesis]:
    """Returns the hypotheses of all sentences, in the order of their numbers; ``pad``: padding
    index."""
    host = _copies([*outcomes, *phases], arrays)
    histories = _histories(phases, host, pad)
    answers: dict[int, EditHypothesis] = {}
    for outcome in outcomes:
        device = outcome.tokens, outcome.origin, outcome.scores, outcome.actions
        sides = [host[id(side)] for side in device]
        if len(outcome.rows) < len(sides[0]):
            rows = list(outcome.rows.values())
            sides = [side[rows] for side in sides]
        tokens, origin, scores, actions = sides
        real = tokens != pad
        sizes = real.sum(1).tolist()
        ends = itertools.accumulate(sizes, initial=0)
        # of all sentences at once, then cut: fewer operations
        tokens = tokens[real]
        origin = origin[real]
        scores = scores[real]
        spans = itertools.starmap(slice, itertools.pairwise(ends))
        for number, action, span in zip(outcome.rows, actions.tolist(), spans, strict=True):
            answers[number] = {
                "tokens": tokens[span],
                "positional_scores": scores[span],
                "score": float(scores[span].mean()),
                "actions": action,
                "alignment": None,
                "attention": None,
                "origin": origin[span],
                "steps": outcome.steps,
                "terminated": outcome.reason,
                "history": histories.get(number, []),
            }
    return [answers[number] for number in sorted(answers)]


def _histories(
    phases: Iterable[Phase], host: Mapping[int, Array], pad: int
) -> dict[int, list[Step]]:
    """Returns the steps of each sentence by its number."""
    histories: dict[int, list[Step]] = {}
    for phase in phases:
        for row, number in enumerate(phase.numbers):
            if phase.stayed is None or number in phase.stayed:
                history = histories.setdefault(number, [])
                history.append(_step(phase, row, history, host, pad))
    return histories


def _step(
    phase: Phase, row: int, history: Sequence[Step], host: Mapping[int, Array], pad: int
) -> Step:
    """Returns a sentence (a row of the phase) after the steps of its history."""

    def of_row(values: Array) -> Array:
        return host[id(values)][row]

    tokens = of_row(phase.tokens)
    real = tokens != pad
    step: Step = {
        "phase": phase.name,
        "iteration": phase.iteration,
        "tokens": tokens[real],
        "origin": of_row(phase.origin)[real],
    }
    if phase.since is not None:
        step["since"] = of_row(phase.since)[real]
    if phase.scores is not None:
        # what a deletion says of the tokens before it is as long as that state
        places = slice(len(history[-1]["tokens"])) if phase.name == "deletion" else real
        step["scores"] = of_row(phase.scores)[places]
    return step


def _copies(records: Sequence[Outcome | Phase], arrays: Arrays) -> dict[int, Array]:
    """Returns all arrays of the records on the host, by the identity of the device's."""
    known = {id(part): part for record in records for part in record if hasattr(part, "shape")}
    return dict(zip(known, arrays.to_host(known.values()), strict=True))
