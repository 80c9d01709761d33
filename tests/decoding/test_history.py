"""The plain record of edits: what it accepts, how it composes, how it survives JSON."""

import json
from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from lev_plugins.errors import UserError
from lev_plugins.systems.levenshtein.decoding.history import TERMINATIONS, EditTrace, Iteration

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


TRACES = st.builds(
    EditTrace,
    source=st.text(),
    draft=st.none() | st.text(),
    text=st.text(),
    score=st.floats(allow_nan=False),
    iterations=chains(),
    terminated=st.sampled_from(TERMINATIONS),
)


def trace(*iterations: Iteration) -> EditTrace:
    return EditTrace("source", None, "text", -0.5, iterations, "unchanged")


def record(**changes: Any) -> dict[str, Any]:
    return {**trace(script((KEEP, "a"), (DELETE, "b"), (INSERT, "c"))).to_dict(), **changes}


@pytest.mark.parametrize(
    ("step", "nothing_deleted", "nothing_inserted"),
    [
        (Iteration((), (), (), ()), True, True),
        (script((KEEP, "a")), True, True),
        (script((DELETE, "a")), False, True),
        (script((INSERT, "a")), True, False),
        (script((DELETE, "a"), (INSERT, "a")), False, False),
    ],
)
def test_an_iteration_knows_what_it_did(step, nothing_deleted, nothing_inserted):
    assert step.nothing_deleted is nothing_deleted
    assert step.nothing_inserted is nothing_inserted
    assert step.changed is not (nothing_deleted and nothing_inserted)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ((("a",), (), ("a",), (False,)), "1 tokens before but 0"),
        ((("a",), (False,), ("a",), (False, True)), "1 tokens after but 2"),
        ((("a", "b"), (False, False), ("b", "a"), (False, False)), "kept"),
        ((("a",), (True,), ("a",), (False,)), "kept"),
        ((("a",), (False,), ("a",), (True,)), "kept"),
    ],
)
def test_impossible_iterations_are_refused(fields: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Iteration(*fields)


def test_a_sentence_of_hundreds_of_tokens_is_one_iteration_as_well() -> None:
    step = script(*[(KEEP, "a"), (DELETE, "b"), (INSERT, "c"), (INSERT, "d")] * 300)
    assert (len(step.before), len(step.after)) == (600, 900)
    assert trace(step).net() == step


def test_what_was_recorded_cannot_be_changed_afterwards() -> None:
    step = script((KEEP, "a"))
    for kept, name in ((step, "after"), (trace(step), "iterations")):
        with pytest.raises(FrozenInstanceError):
            setattr(kept, name, ())


def test_iterations_that_do_not_follow_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match=r"iteration 2 begins with \('b',\)"):
        trace(script((KEEP, "a")), script((KEEP, "b")))


def test_an_unknown_ending_is_refused() -> None:
    with pytest.raises(ValueError, match="terminated is 'tired'"):
        EditTrace("", None, "", 0.0, (), "tired")  # type: ignore[arg-type]


def test_steps_counts_only_iterations_that_changed_something() -> None:
    still = script((KEEP, "a"))
    assert trace().steps == 0
    assert trace(script((INSERT, "a")), still, still).steps == 1


def test_net_leaves_out_what_came_and_went_and_shows_what_went_and_came_back() -> None:
    net = trace(
        script((KEEP, "a"), (INSERT, "x"), (DELETE, "b"), (KEEP, "c")),
        script((KEEP, "a"), (DELETE, "x"), (INSERT, "b"), (KEEP, "c")),
    ).net()
    assert net == Iteration(
        before=("a", "b", "c"),
        deleted=(False, True, False),
        after=("a", "b", "c"),
        inserted=(False, True, False),
    )


def test_net_follows_positions_where_tokens_repeat() -> None:
    net = trace(
        script((KEEP, "a"), (INSERT, "a")),
        script((DELETE, "a"), (KEEP, "a")),
    ).net()
    assert net.deleted == (True,)
    assert net.inserted == (True,)


@given(chains())
def test_net_leads_from_the_first_tokens_to_the_last(steps: tuple[Iteration, ...]) -> None:
    net = trace(*steps).net()  # its own validation checks the kept tokens
    assert net.before == (steps[0].before if steps else ())
    assert net.after == (steps[-1].after if steps else ())
    assert sum(net.deleted) <= sum(sum(step.deleted) for step in steps)
    assert sum(net.inserted) <= sum(sum(step.inserted) for step in steps)
    if len(steps) == 1:
        assert net == steps[0]


@given(TRACES)
def test_to_dict_survives_json_and_comes_back_equal(original: EditTrace) -> None:
    text = json.dumps(original.to_dict(), allow_nan=False)
    assert EditTrace.from_dict(json.loads(text)) == original


def test_from_dict_ignores_keys_that_others_added() -> None:
    assert EditTrace.from_dict(record(reference="x")) == EditTrace.from_dict(record())


@pytest.mark.parametrize(
    ("malformed", "message"),
    [
        ([], "a JSON object, not"),
        ({}, "no 'iterations'"),
        (record(source=None), "'source' is None, not a str"),
        (record(draft=3), "'draft' is 3, not a str"),
        (record(score="good"), "'score' is 'good', not a number"),
        (record(score=True), "'score' is True, not a number"),
        (record(terminated="tired"), "terminated is 'tired'"),
        (record(iterations="none"), "'iterations' is 'none', not a list"),
        (record(iterations=[3]), "no 'before' in 3"),
        (record(iterations=[{"before": []}]), "no 'deleted'"),
        (
            record(iterations=[{"before": ["a"], "deleted": [0], "after": [], "inserted": []}]),
            "'deleted' holds 0, not a bool",
        ),
        (
            record(iterations=[{"before": ["a"], "deleted": [], "after": [], "inserted": []}]),
            "1 tokens before but 0 marks",
        ),
    ],
)
def test_malformed_records_are_a_users_mistake_told_in_one_line(malformed, message):
    with refuses(message):
        EditTrace.from_dict(malformed)


@pytest.mark.parametrize(
    ("letters", "shown"), [(58, f"'{'x' * 58}'"), (59, f"'{'x' * 56}..."), (900, f"'{'x' * 56}...")]
)
def test_a_wrong_value_is_shown_in_at_most_60_characters(letters: int, shown: str) -> None:
    with pytest.raises(UserError) as caught:
        EditTrace.from_dict(record(score="x" * letters))
    assert len(shown) == 60
    assert str(caught.value) == f"malformed edit trace: 'score' is {shown}, not a number"
