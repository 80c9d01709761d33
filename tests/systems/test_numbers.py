"""No batch, however adverse, makes a loss or a gradient other than finite, in any system.

Each samples its dropout, takes a step of plain gradient descent and answers the batch once more: in
fp32 and in bf16, with rows of the longest length, empty ones, one token again and again, drafts
that are right and drafts that have nothing in common with the target.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import enct5_models
import pytest
import tiny
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from seq2seq_models import GATED, PBD, Seq2Seq
from tiny import Triple
from torch import Tensor, nn

from lev_plugins.systems.enct5.problem_types import ProblemType
from lev_plugins.systems.levenshtein.criterion import EditPolicyLoss

#: letters that fit beside <s> and </s> into 32 positions
LONGEST = 30
DROPOUT = {"dropout": 0.3, "attention_dropout": 0.2, "activation_dropout": 0.2}


class System(NamedTuple):
    """A small model, and its loss of a batch."""

    model: nn.Module
    loss: Callable[[list[Triple]], Tensor]


def levenshtein() -> System:
    task = tiny.task()
    model = tiny.sharpen(tiny.model(task, 1, **DROPOUT))
    criterion = EditPolicyLoss(task, 0.1, 0.01, 1.0, 1.0, 1.0)
    return System(model, lambda rows: criterion(model, tiny.training_batch(task, rows))[0])


def left_to_right(system: Seq2Seq, **values: Any) -> System:
    model = system.build(**DROPOUT, **values).float()

    def loss(rows: list[Triple]) -> Tensor:
        made, pad = system.batch(rows), system.symbols.pad()
        scores = model(made.source, None, made.before)[0]
        chances = model.get_normalized_probs((scores, None), log_probs=True)
        return F.nll_loss(chances.flatten(0, 1).float(), made.target.flatten(), ignore_index=pad)

    return System(model, loss)


def enct5(kind: ProblemType) -> System:
    model = enct5_models.build(kind, decoder_layers=2, dropout=0.3)

    def loss(rows: list[Triple]) -> Tensor:
        with torch.random.fork_rng():
            torch.manual_seed(7)
            examples = [enct5_models.example(kind, len(row.source) + 1) for row in rows]
        return enct5_models.loss(model, [[one] for one in examples], kind)

    return System(model, loss)


SYSTEMS: dict[str, Callable[[], System]] = {
    "levenshtein": levenshtein,
    "pbd": lambda: left_to_right(PBD),
    "gated, paper": lambda: left_to_right(GATED, gate_variant="paper"),
    "gated, pointer": lambda: left_to_right(GATED, gate_variant="pointer"),
    **{f"enct5, {kind.value}": lambda kind=kind: enct5(kind) for kind in ProblemType},
}
each_system = pytest.mark.parametrize("name", SYSTEMS)


def texts() -> st.SearchStrategy[str]:
    """Empty, one letter again and again, or any, up to the longest."""
    same = st.builds(lambda one, n: one * n, st.sampled_from(tiny.LETTERS), st.integers(0, LONGEST))
    full = st.text(tiny.LETTERS, min_size=LONGEST, max_size=LONGEST)
    return st.one_of(st.just(""), same, full, st.text(tiny.LETTERS, max_size=5))


@st.composite
def rows(draw: Any) -> Triple:
    source, target = draw(texts()), draw(texts())
    # nothing of the draft stands in the target: its letters are the others
    apart = "".join(letter for letter in draw(texts()) if letter not in target)
    return Triple(source, target, draw(st.sampled_from([target, apart, "", draw(texts())])))


batches = st.lists(rows(), min_size=1, max_size=3)


@each_system
@settings(max_examples=15)
@given(batch=batches, dtype=st.sampled_from([torch.float32, torch.bfloat16]))
def test_losses_and_gradients_are_finite(name, dtype, batch):
    system = SYSTEMS[name]()
    model = system.model.to(dtype).train()
    for _ in range(2):
        model.zero_grad()
        loss = system.loss(batch)
        assert loss.isfinite()
        loss.backward()
        for which, parameter in model.named_parameters():
            assert parameter.grad is None or parameter.grad.isfinite().all(), which
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.grad is not None:
                    parameter.sub_(parameter.grad)
    assert all(parameter.isfinite().all() for parameter in model.parameters())


@each_system
def test_a_seed_fixes_every_number_of_an_update(name):
    batch = [Triple("abcd", "abcde", "acd"), Triple("hg" * 9, "cafe", "cafebabe")]
    found = []
    for seed in (3, 3, 4):
        torch.manual_seed(1)
        system = SYSTEMS[name]()
        system.model.train()
        torch.manual_seed(seed)
        loss = system.loss(batch)
        loss.backward()
        gradients = [one.grad for one in system.model.parameters() if one.grad is not None]
        found.append([loss.detach(), *gradients])
    assert all(torch.equal(a, b) for a, b in zip(found[0], found[1], strict=True))
    assert not torch.equal(found[0][0], found[2][0]), "dropout was sampled"
