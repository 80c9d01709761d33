"""What decoding notes on a device while it goes on, and reads when all sentences are finished."""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, NamedTuple, NotRequired, TypedDict

import torch
from torch import Tensor

from ....data.batch import Hypothesis
from ....ops.transfer import to_host
from .history import Termination

if TYPE_CHECKING:
    from ..operations.base import Stage


class Step(TypedDict):
    """A sentence after an operation, its tensors (T) on the host; the first is the draft.

    phase: the operation's name, or ``draft``. stage: what kind of operation it is. iteration: from
    1 on; 0 is the draft. origin: position in the draft of each token, −1 if it is newer; since:
    position when the iteration began. mask: of a deletion, which tokens of the state before were
    kept; of a filling, which of the present ones are new. scores: log-probabilities (nats) of
    deleting each token of the state before, or of what put or kept the present ones.
    """

    phase: str
    stage: "Stage"
    iteration: int
    tokens: Tensor
    origin: Tensor
    since: NotRequired[Tensor]
    mask: NotRequired[Tensor]
    scores: NotRequired[Tensor]


class EditHypothesis(Hypothesis):
    """What was written for a sentence; see :meth:`.generator.RefinementGenerator.generate`."""

    actions: float
    alignment: None
    attention: None
    origin: Tensor
    steps: int
    terminated: Termination
    history: list[Step]


class Outcome(NamedTuple):
    """Sentences that were finished after the same steps for the same reason.

    rows: of each sentence, by its number in the batch that came in, the row of the tensors, which
    are as in :class:`.state.RefinementState`.
    """

    rows: Mapping[int, int]
    steps: int
    reason: Termination
    tokens: Tensor
    origin: Tensor
    scores: Tensor
    actions: Tensor


class Phase(NamedTuple):
    """A batch after an operation; its tensors are those of :class:`Step`, one row a sentence.

    numbers: of the sentences, in the batch that came in. stayed: of those that did not leave before
    the iteration was over; None: all.
    """

    name: str
    stage: "Stage"
    iteration: int
    numbers: Sequence[int]
    tokens: Tensor
    origin: Tensor
    since: Tensor | None = None
    mask: Tensor | None = None
    scores: Tensor | None = None
    stayed: Set[int] | None = None


def read_hypotheses(
    outcomes: Sequence[Outcome], phases: Sequence[Phase], pad: int
) -> list[EditHypothesis]:
    """The hypotheses of all sentences, in the order of their numbers; ``pad``: padding index."""
    host = _copies([*outcomes, *phases])
    histories = _histories(phases, host, pad)
    answers: dict[int, EditHypothesis] = {}
    for outcome in outcomes:
        left = list(outcome.rows.values())
        rows = torch.tensor(left, device="cpu")
        tokens, origin, scores, actions = (
            host[id(tensor)].index_select(0, rows)
            for tensor in (outcome.tokens, outcome.origin, outcome.scores, outcome.actions)
        )
        real = tokens.ne(pad)
        sizes = real.sum(1).tolist()
        # of all sentences at once, then cut: fewer operations
        tokens, origin, scores = (values[real] for values in (tokens, origin, scores))
        parts = tokens.split(sizes), origin.split(sizes), scores.split(sizes)
        sentences = zip(outcome.rows, actions.tolist(), *parts, strict=True)
        for number, action, own_tokens, own_origin, own_scores in sentences:
            answers[number] = {
                "tokens": own_tokens,
                "positional_scores": own_scores,
                "score": float(own_scores.mean()),
                "actions": action,
                "alignment": None,
                "attention": None,
                "origin": own_origin,
                "steps": outcome.steps,
                "terminated": outcome.reason,
                "history": histories.get(number, []),
            }
    return [answers[number] for number in sorted(answers)]


def _histories(
    phases: Iterable[Phase], host: Mapping[int, Tensor], pad: int
) -> dict[int, list[Step]]:
    """The steps of each sentence by its number."""
    histories: dict[int, list[Step]] = {}
    for phase in phases:
        for row, number in enumerate(phase.numbers):
            if phase.stayed is None or number in phase.stayed:
                history = histories.setdefault(number, [])
                history.append(_step(phase, row, history, host, pad))
    return histories


def _step(
    phase: Phase, row: int, history: Sequence[Step], host: Mapping[int, Tensor], pad: int
) -> Step:
    """A sentence (a row of the phase) after the steps of its history."""
    tokens = host[id(phase.tokens)][row]
    real = tokens.ne(pad)
    step: Step = {
        "phase": phase.name,
        "stage": phase.stage,
        "iteration": phase.iteration,
        "tokens": tokens[real],
        "origin": host[id(phase.origin)][row][real],
    }
    if phase.since is not None:
        step["since"] = host[id(phase.since)][row][real]
    # what a revision says of the tokens before it is as long as that state
    places = slice(len(history[-1]["tokens"])) if phase.stage == "revise" else real
    if phase.mask is not None:
        step["mask"] = host[id(phase.mask)][row][places]
    if phase.scores is not None:
        step["scores"] = host[id(phase.scores)][row][places]
    return step


def _copies(records: Iterable[Outcome | Phase]) -> dict[int, Tensor]:
    """All tensors of the records on the host, by the identity of the device's."""
    tensors = {
        id(field): field for record in records for field in record if isinstance(field, Tensor)
    }
    return dict(zip(tensors, to_host(tensors.values()), strict=True))
