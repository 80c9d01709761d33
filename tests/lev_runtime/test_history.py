"""The plain record of edits: how it composes, what JSON says."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lev_runtime.history import EditTrace, Iteration

KEEP, DELETE, INSERT = "keep", "delete", "insert"
TOKENS = st.text(max_size=3)


def script(*edits: tuple[str, str]) -> Iteration:
    """Build an iteration from (what happens, token), in reading order."""
    before = [(edit == DELETE, token) for edit, token in edits if edit != INSERT]
    after = [(edit == INSERT, token) for edit, token in edits if edit != DELETE]
    return Iteration(
        before=tuple(token for _, token in before),
        deleted=tuple(gone for gone, _ in before),
        after=tuple(token for _, token in after),
        inserted=tuple(new for new, _ in after),
    )


@st.composite
def chains(draw: Any) -> tuple[Iteration, ...]:
    """Iterations each of which begins with what the one before left."""
    current = tuple(draw(st.lists(TOKENS, max_size=4)))
    steps = []
    for _ in range(draw(st.integers(0, 3))):
        edits = []
        for token in current:
            edits += [(INSERT, new) for new in draw(st.lists(TOKENS, max_size=2))]
            edits.append((draw(st.sampled_from([KEEP, DELETE])), token))
        edits += [(INSERT, new) for new in draw(st.lists(TOKENS, max_size=2))]
        steps.append(script(*edits))
        current = steps[-1].after
    return tuple(steps)


def trace(*iterations: Iteration) -> EditTrace:
    return EditTrace("source", None, "text", -0.5, iterations, "unchanged")


@given(chains())
def test_net_leads_from_the_first_tokens_to_the_last(steps: tuple[Iteration, ...]) -> None:
    net = trace(*steps).net()
    assert trace(*steps).steps == sum(any(step.deleted + step.inserted) for step in steps)
    kept = [token for token, gone in zip(net.before, net.deleted, strict=True) if not gone]
    assert kept == [token for token, new in zip(net.after, net.inserted, strict=True) if not new]
    assert net.before == (steps[0].before if steps else ())
    assert net.after == (steps[-1].after if steps else ())
    assert sum(net.deleted) <= sum(sum(step.deleted) for step in steps)
    assert sum(net.inserted) <= sum(sum(step.inserted) for step in steps)
    if len(steps) == 1:
        assert net == steps[0]
    records = json.loads(json.dumps(trace(*steps).to_dict()))["iterations"]
    again = [{name: tuple(values) for name, values in record.items()} for record in records]
    assert tuple(Iteration(**fields) for fields in again) == steps
