"""The edits of one sentence by a Levenshtein Transformer, as plain data.

Decoding keeps notes of them on its device, and reads them when all sentences are finished. Tokens
are strings; ``<s>`` and ``</s>`` are left out everywhere.
"""

import itertools
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, NotRequired, TypedDict

from .refine.arrays import Array, Arrays

Termination = Literal["unchanged", "loop", "max_iterations"]
#: the edit of a token
Mark = Literal["kept", "deleted", "inserted"]
MARKED: dict[Mark, str] = {"kept": "{}", "deleted": "[-{}-]", "inserted": "{{+{}+}}"}


@dataclass(frozen=True)
class Iteration:
    """One pass of Algorithm 2: delete, insert placeholders, fill them.

    >>> from lev_runtime.history import Iteration
    >>> pass_ = Iteration(("a", "bat"), (False, True), ("a", "cat"), (False, True))
    >>> pass_.merged()
    [('kept', 'a'), ('deleted', 'bat'), ('inserted', 'cat')]

    before, after: the tokens that enter the iteration, and those that leave it. deleted: of each of
    ``before``, whether it is gone. inserted: of each of ``after``, whether it is new.
    delete_probabilities: of deleting each of ``before``. token_probabilities: of what put or kept
    each of ``after``. Both are empty if unknown, and not compared: the last digits depend on the
    batch.
    """

    before: tuple[str, ...]
    deleted: tuple[bool, ...]
    after: tuple[str, ...]
    inserted: tuple[bool, ...]
    delete_probabilities: tuple[float, ...] = field(default=(), compare=False)
    token_probabilities: tuple[float, ...] = field(default=(), compare=False)

    @property
    def origins(self) -> tuple[int | None, ...]:
        """Returns where each of ``after`` stood in ``before``; None if it is new."""
        kept = iter([place for place, gone in enumerate(self.deleted) if not gone])
        return tuple(None if new else next(kept, None) for new in self.inserted)

    def merged(self) -> list[tuple[Mark, str]]:
        """Returns deletions and insertions in one sequence; in each gap deletions come first."""
        merged: list[tuple[Mark, str]] = []
        old = new = 0
        kept = [(origin, place) for place, origin in enumerate(self.origins) if origin is not None]
        # after the last token that was kept the rest of both
        kept.append((len(self.before), len(self.after)))
        for origin, place in kept:
            merged += [("deleted", token) for token in self.before[old:origin]]
            merged += [("inserted", token) for token in self.after[new:place]]
            merged += [("kept", token) for token in self.after[place : place + 1]]
            old, new = origin + 1, place + 1
        return merged

    def to_dict(self) -> dict[str, Any]:
        """Returns what JSON can hold; probabilities only where they are known."""
        fields = {name: list(values) for name, values in vars(self).items()}
        for name in ("delete_probabilities", "token_probabilities"):
            if not fields[name]:
                del fields[name]
        return fields

    @property
    def changed(self) -> bool:
        """Returns whether something was deleted or inserted, be it to the same tokens again."""
        return any(self.deleted) or any(self.inserted)


@dataclass(frozen=True)
class EditTrace:
    """A sentence, how it was edited, and how the editing ended.

    >>> from lev_runtime.history import EditTrace, Iteration
    >>> pass_ = Iteration(("a", "bat"), (False, True), ("a", "cat"), (False, True))
    >>> print(EditTrace("un chat", "a bat", "a cat", -0.1, (pass_,), "unchanged"))
    a [-bat-] {+cat+}

    source, draft: as they were given; None where there was no draft. text: the output, detokenised.
    score: the model's, in nats (a mean, or with n-best a sum). iterations: empty where they were
    not asked for; ``count`` is then how many there were. terminated: ``"unchanged"`` (nothing to
    delete, nothing to insert), ``"loop"`` (an earlier state came back) or ``"max_iterations"``.
    """

    source: str
    draft: str | None
    text: str
    score: float
    iterations: tuple[Iteration, ...]
    terminated: Termination
    count: int = field(default=0, repr=False, compare=False)

    def __str__(self) -> str:
        """Returns the tokens with all edits marked as by wdiff; the output if none were noted."""
        edits = (MARKED[mark].format(token) for mark, token in self.net().merged())
        return " ".join(edits) or self.text

    @property
    def steps(self) -> int:
        """Returns how many iterations changed something: t of Algorithm 2 if it ends by itself."""
        if not self.iterations:
            return self.count
        return sum(iteration.changed for iteration in self.iterations)

    def net(self) -> Iteration:
        """Returns all iterations as one; a token that was deleted and put back shows as both."""
        if not self.iterations:
            return Iteration((), (), (), ())
        before = self.iterations[0].before
        # for each token of the running sequence, its place in ``before``; None if it is newer
        origins: list[int | None] = list(range(len(before)))
        for iteration in self.iterations:
            places = iteration.origins
            origins = [None if place is None else origins[place] for place in places]
        survivors = set(origins)
        deleted = tuple(place not in survivors for place in range(len(before)))
        inserted = tuple(place is None for place in origins)
        after = self.iterations[-1].after
        return Iteration(before, deleted, after, inserted)

    def to_dict(self) -> dict[str, Any]:
        """Returns what JSON can hold."""
        shown = dict(vars(self))
        del shown["count"], shown["iterations"]
        steps = [iteration.to_dict() for iteration in self.iterations]
        return {**shown, "iterations": steps}


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
    """Returns the hypotheses of all sentences, in the order of their numbers.

    Args:
        outcomes: the finished sentences, in any order.
        phases: what was noted for the histories; empty where nobody asked for them.
        pad: index of padding. arrays: the library of the arrays.
    """
    host = _copies([*outcomes, *phases], arrays)
    histories: dict[int, list[Step]] = {}
    for phase in phases:
        for row, number in enumerate(phase.numbers):
            if phase.stayed is None or number in phase.stayed:
                history = histories.setdefault(number, [])
                history.append(_step(phase, row, history, host, pad))
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
