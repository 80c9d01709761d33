"""What a user is told to do about lines that are too long helps."""

import pytest

from lev_plugins.io.limits import tightest, way_out

RAISE = "raise --max-source-positions, --max-target-positions or --max-tokens"
SKIP = "leave them out with --skip-invalid-size-inputs-valid-test"


@pytest.mark.parametrize(
    "sizes, limits, learnt, cut, said",
    [
        ((9, 2), (6, 6), None, False, f"{RAISE}, shorten such lines, or {SKIP}"),
        ((9, 2), (6, 6), (6, 6), False, f"shorten such lines, or {SKIP}"),
        ((9, 2), (6, 6), (6, 6), True, f"give --truncate-source, shorten such lines, or {SKIP}"),
        ((2, 9), (6, 6), (6, 6), True, f"shorten such lines, or {SKIP}"),
        (
            (9, 2),
            (6, 6),
            (20, 6),
            False,
            f"raise --max-source-positions (to 20 at most), shorten such lines, or {SKIP}",
        ),
    ],
)
def test_no_limit_is_to_be_raised_above_what_a_model_learnt(sizes, limits, learnt, cut, said):
    assert way_out(sizes, limits, learnt, cut) == said


def test_the_tightest_limits_are_those_of_each_side():
    assert tightest((9, 5), 7, None, (None, 6)) == (7, 5)
    assert tightest(None) == (None, None)
