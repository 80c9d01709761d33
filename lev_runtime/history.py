"""The edits of one sentence by a Levenshtein Transformer, as plain data.

Decoding keeps notes of them on its device, and reads them when all sentences are finished. Tokens
are strings; ``<s>`` and ``</s>`` are left out everywhere.
"""

from collections.abc import Mapping, Sequence
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

    numbers: of the sentences, in the batch that came in.
    """

    name: str
    iteration: int
    numbers: Sequence[int]
    tokens: Array
    origin: Array
    since: Array | None = None
    scores: Array | None = None


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
    steps = {number: outcome.steps for outcome in outcomes for number in outcome.rows}
    histories: dict[int, list[Step]] = {}
    for phase in phases:
        for row, number in enumerate(phase.numbers):
            if phase.iteration <= steps[number]:  # else it left before the iteration was over
                history = histories.setdefault(number, [])
                history.append(_step(phase, row, history, host, pad))
    answers: dict[int, EditHypothesis] = {}
    for outcome in outcomes:
        device = outcome.tokens, outcome.origin, outcome.scores, outcome.actions
        tokens, origin, scores, actions = (host[id(side)] for side in device)
        sizes = (tokens != pad).sum(1).tolist()
        for number, row in outcome.rows.items():
            place = row, slice(sizes[row])
            answers[number] = {
                "tokens": tokens[place],
                "positional_scores": scores[place],
                "score": float(scores[place].mean()),
                "actions": float(actions[row]),
                "alignment": None,
                "attention": None,
                "origin": origin[place],
                "steps": outcome.steps,
                "terminated": outcome.reason,
                "history": histories.get(number, []),
            }
    return [answers[number] for number in sorted(answers)]


def _step(
    phase: Phase, row: int, history: Sequence[Step], host: Mapping[int, Array], pad: int
) -> Step:
    """Returns a sentence (a row of the phase) after the steps of its history."""
    size = int((host[id(phase.tokens)][row] != pad).sum())

    def of_row(values: Array, size: int = size) -> Array:
        return host[id(values)][row, :size]

    step: Step = {
        "phase": phase.name,
        "iteration": phase.iteration,
        "tokens": of_row(phase.tokens),
        "origin": of_row(phase.origin),
    }
    if phase.since is not None:
        step["since"] = of_row(phase.since)
    if phase.scores is not None:
        # what a deletion says of the tokens before it is as long as that state
        before = len(history[-1]["tokens"]) if phase.name == "deletion" else size
        step["scores"] = of_row(phase.scores, before)
    return step


def _copies(records: Sequence[Outcome | Phase], arrays: Arrays) -> dict[int, Array]:
    """Returns all arrays of the records on the host, by the identity of the device's."""
    known = {id(part): part for record in records for part in record if hasattr(part, "shape")}
    return dict(zip(known, arrays.to_host(known.values()), strict=True))
