"""What decoding notes on a device while it goes on, and reads when all sentences are finished."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, NotRequired, TypedDict

import torch
from torch import Tensor

from ....data.batch import Hypothesis
from ....ops.transfer import to_host
from .history import Termination


class Step(TypedDict):
    """A sentence after a phase (draft, delete, placeholder or token), its tensors (T) on the host.

    mask: for ``delete``, which tokens of the state before were kept; for ``token``, which of the
    present ones are new. scores: log-probabilities (nats) of deleting each token of the state
    before, or of what put or kept the present ones.
    """

    phase: str
    tokens: Tensor
    origin: Tensor
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
    """A batch after a phase; its tensors are those of :class:`Step`, one row a sentence.

    numbers: of the sentences, in the batch that came in.
    """

    name: str
    numbers: Sequence[int]
    tokens: Tensor
    origin: Tensor
    mask: Tensor | None
    scores: Tensor | None


def read_hypotheses(
    outcomes: Sequence[Outcome], phases: Sequence[Phase], pad: int
) -> list[EditHypothesis]:
    """The hypotheses of all sentences, in the order of their numbers; ``pad``: padding index."""
    host = _copies([*outcomes, *phases])
    histories = _histories(phases, host, pad)
    answers: dict[int, EditHypothesis] = {}
    for outcome in outcomes:
        rows = torch.tensor(list(outcome.rows.values()), device="cpu")
        tokens, origin, scores, actions = (
            host[id(tensor)].index_select(0, rows)
            for tensor in (outcome.tokens, outcome.origin, outcome.scores, outcome.actions)
        )
        real = tokens.ne(pad)
        sizes = real.sum(1).tolist()
        # of all sentences at once, then cut: fewer operations
        parts = (values[real].split(sizes) for values in (tokens, origin, scores))
        for number, action, *own in zip(outcome.rows, actions.tolist(), *parts, strict=True):
            answers[number] = {
                "tokens": own[0],
                "positional_scores": own[2],
                "score": float(own[2].mean()),
                "actions": action,
                "alignment": None,
                "attention": None,
                "origin": own[1],
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
        tokens, origin = host[id(phase.tokens)], host[id(phase.origin)]
        for row, number in enumerate(phase.numbers):
            history = histories.setdefault(number, [])
            real = tokens[row].ne(pad)
            step: Step = {
                "phase": phase.name,
                "tokens": tokens[row][real],
                "origin": origin[row][real],
            }
            if phase.mask is not None and phase.scores is not None:
                # a mask over deleted tokens is as long as the state before them
                before = slice(len(history[-1]["tokens"]))
                places = real if phase.name == "token" else before
                step["mask"] = host[id(phase.mask)][row][places]
                step["scores"] = host[id(phase.scores)][row][places]
            history.append(step)
    return histories


def _copies(records: Iterable[Outcome | Phase]) -> dict[int, Tensor]:
    """All tensors of the records on the host, by the identity of the device's."""
    tensors = {
        id(field): field for record in records for field in record if isinstance(field, Tensor)
    }
    return dict(zip(tensors, to_host(tensors.values()), strict=True))
