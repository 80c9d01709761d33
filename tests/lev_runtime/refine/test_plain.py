"""The loop over one sentence answers as the one over a batch does."""

from typing import Any

from closeness import near
from fake_policy import LETTERS, SYMBOLS, FakePolicy, sentence, single, stack
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_form import Likeliest, one_by_one

from lev_runtime.history import EditHypothesis
from lev_runtime.refine.options import RefinementOptions

PAIRS = st.lists(st.tuples(st.text(LETTERS, max_size=4), st.text(LETTERS, max_size=7)), min_size=1)
POLICIES = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10**6),
        "growth": st.sampled_from([-1.0, 0.0, 2.0]),
        "traces": st.booleans(),
        "longest": st.sampled_from([14, 40]),
    }
)
OPTIONS = st.fixed_dictionaries(
    {
        "delete_threshold": st.sampled_from([0.0, 0.2, 0.5, 0.8]),
        "max_iter": st.sampled_from([1, 3, 7]),
        "max_len_a": st.sampled_from([0.0, 1.5]),
        "max_len_b": st.sampled_from([2, 9]),
    }
)


def shown(hypothesis: EditHypothesis) -> list[Any]:
    sides = ("tokens", "origin", "positional_scores", "steps", "terminated", "score", "history")
    values = [hypothesis[side] for side in sides]  # type: ignore[literal-required]
    rows = [(value.dtype, value.tolist()) if hasattr(value, "dtype") else value for value in values]
    return [*rows, near(hypothesis["actions"])]


@settings(max_examples=55)
@given(PAIRS, POLICIES, OPTIONS, st.booleans(), st.booleans(), st.integers(0, 2))
def test_one_by_one_answers_as_a_batch_whatever_the_policy(
    arrays, pairs, policy, options, apart, left, extra
):
    asked = Likeliest(FakePolicy(arrays, **policy), SYMBOLS, apart)
    asked.symbols = SYMBOLS
    expected = single(asked, pairs, retain_history=False, left=left, extra=extra, **options)
    source = stack(arrays, [sentence(source) for source, _ in pairs], left=left, extra=extra)
    drafts = [sentence(draft) for _, draft in pairs]
    answers = one_by_one(asked, source, drafts, SYMBOLS, RefinementOptions(**options))
    assert [*map(shown, answers)] == [*map(shown, expected)]
