"""Scripts of changes against a plain, slow oracle; edits of words in a line."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.inference.correction.edits import placed, script, splice, whole_words
from lev_plugins.metrics.word_edits import word_edits

WORDS = st.text(st.sampled_from("ab c"), max_size=9)


def fewest(x, y):
    """Fewest changed characters, by trying everything."""

    @cache
    def cost(i, j):
        if i == len(x) or j == len(y):
            return len(x) - i + len(y) - j
        if x[i] == y[j]:
            return cost(i + 1, j + 1)
        return 1 + min(cost(i + 1, j), cost(i, j + 1))

    return cost(0, 0)


@given(WORDS, WORDS)
def test_a_script_is_minimal_and_leads_to_the_text(before, after):
    changes = script(before, after)
    assert splice(before, [(i, j, after[k:m]) for i, j, k, m in changes]) == after
    assert sum(j - i + m - k for i, j, k, m in changes) == fewest(before, after)
    for (_, j, _, m), (i, _, k, _) in zip(changes, changes[1:]):
        assert i > j and k > m and before[j:i] == after[m:k]


def test_scripts_are_of_any_items():
    assert script((None, "ab"), ("ab", "d")) == [(0, 1, 0, 0), (2, 2, 1, 2)]


LINES = st.lists(st.sampled_from(["a", "bc", "d"]), max_size=5)


@given(LINES.filter(bool), LINES, st.sampled_from([" ", " \t ", "\u2028"]))
def test_placed_edits_of_words_write_the_words_and_keep_the_spaces_between_others(old, new, space):
    line = f" {space.join(old)}\r"
    edits = [placed(line, 1, len(line) - 1, edit) for edit in word_edits(old, new)]
    made = splice(line, edits)
    assert made.split() == new and made[0] == " " and made[-1] == "\r"
    if old == new[: len(old)] or new == old[: len(new)] != []:
        kept = space.join(min(old, new, key=len))
        assert made.startswith(f" {kept}")


@pytest.mark.parametrize(
    "line, changes, expected",
    [
        ("a teh b", [(3, 5, "he", 0.5)], (2, "teh", "the", 0.5)),
        ("teh", [(1, 1, "h", 0.5), (2, 3, "", 0.4)], (0, "teh", "the", 0.4)),
        ("\ufeffteh", [(2, 4, "he", 0.5)], (1, "teh", "the", 0.5)),
        ("a cat b", [(1, 5, "", 0.5)], (1, " cat", "", 0.5)),
        ("inthe x", [(2, 2, " ", 0.5)], (0, "inthe", "in the", 0.5)),
        ("a b", [(1, 1, " x", 0.5)], (1, "", " x", 0.5)),
        ("teh-hta", [(0, 3, "the", 0.9), (4, 7, "hat", 0.7)], (0, "teh-hta", "the-hat", 0.7)),
    ],
)
def test_an_edit_is_of_whole_words(line, changes, expected):
    found = whole_words(line, [((start, end, new), chance) for start, end, new, chance in changes])
    assert [(s, line[s:e], new, chance) for (s, e, new), chance in found] == [expected]


@given(
    line=st.text("ab ", max_size=12),
    cuts=st.lists(st.integers(0, 12), max_size=8),
    new=st.lists(st.text("x ", max_size=2), min_size=4, max_size=4),
)
def test_widened_edits_write_the_same_line(line, cuts, new):
    places = sorted({min(cut, len(line)) for cut in cuts})
    changes = [(*pair, one) for pair, one in zip(zip(places[::2], places[1::2]), new)]
    found = [change for change, _ in whole_words(line, [(change, 0.5) for change in changes])]
    assert splice(line, found) == splice(line, changes)
    assert all(one[1] <= two[0] for one, two in zip(found, found[1:]))
