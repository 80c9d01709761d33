"""What is protected stays, and stays what it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from lev_plugins.inference.correction.protection import Protection, refused


def touched(protection, line, *edits):
    return refused(line, [edits], [protection]) == {0}


@pytest.mark.parametrize(
    "edit, expected",
    [
        ((3, 4, "x"), True),  # a character of it
        ((4, 4, "x"), True),  # inside of it
        ((0, 9, "x"), True),  # more than it
        ((0, 1, "x"), False),  # another word
        ((3, 3, "9"), True),  # before it: 912
        ((5, 5, "9"), True),  # behind it: 129
        ((3, 3, "x"), False),  # x12 has a 12 still
        ((5, 5, " 9"), False),
        ((2, 3, ""), False),
    ],
)
def test_an_edit_touches_what_it_changes_or_makes_into_something_else(edit, expected):
    assert touched(Protection(["[0-9]+"]), "ab 12 cde", edit) == expected


def test_a_word_is_protected_as_a_whole_word():
    protection = Protection(words=["Pari"])
    assert touched(protection, "Pari Paris", (0, 1, "p"))
    assert not touched(protection, "Pari Paris", (5, 6, "p"))
    assert touched(protection, "Pari", (4, 4, "s"))
    assert touched(protection, "a Pari", (1, 2, ""))
    assert not touched(protection, "Pari,", (4, 5, "."))
    assert not touched(protection, "pari", (0, 1, "P"))


def test_words_may_be_phrases_and_have_signs_in_them():
    protection = Protection(words=["New York", "C++", "New", "", "  "])
    assert protection.spans("New York, C++ and New") == {(0, 8), (10, 13), (18, 21)}


def test_edits_that_are_made_together_are_judged_together():
    protection = Protection(["bc"])
    assert not touched(protection, "abcd", (0, 1, "xyz"), (3, 4, ""))
    assert touched(protection, "abcd", (0, 1, "xyz"), (2, 3, ""))


def test_a_pattern_that_matches_nothing_protects_nothing():
    assert not touched(Protection(["x*"]), "abc", (0, 3, ""))
    assert not Protection()


@given(
    st.text(st.sampled_from("ab1 "), min_size=4, max_size=16),
    st.lists(
        st.tuples(
            st.integers(0, 16), st.integers(0, 2), st.text(st.sampled_from("a1 "), max_size=2)
        ),
        max_size=6,
    ),
    st.sets(st.integers(0, 5)),
)
def test_what_is_made_leaves_every_match_and_no_group_is_refused_without_need(line, cuts, wanted):
    """Also where some groups are not made for another reason, and by two protections at once."""
    protections, place, groups = [Protection(["[0-9]+"]), Protection(["a b"], ["ab"])], 0, []
    for start, size, new in sorted(cuts):
        start = max(start, place)
        if start + size <= len(line) and (size or new):
            groups.append([(start, start + size, new)])
            place = start + size
    wanted &= set(range(len(groups)))
    found = refused(line, groups, protections, wanted)
    made = sorted(wanted - found)
    together = [edit for number in made for edit in groups[number]]
    assert not refused(line, [together], protections)
    for number in wanted & found:  # with those made before it, it touches something
        before = [edit for other in made if other < number for edit in groups[other]]
        assert refused(line, [[*before, *groups[number]]], protections)


@pytest.mark.parametrize(
    ("line", "edits", "wanted", "found"),
    [
        ("12a", [(2, 2, " "), (2, 3, "3")], {1}, {1}),  # the first is not sure enough
        ("12a", [(2, 2, " "), (2, 3, "3")], {0, 1}, set()),
        ("teh 12bc teh", [(1, 3, "he"), (6, 7, ""), (7, 8, "3"), (10, 12, "he")], None, {2}),
        ("7x 12bc end", [(1, 2, "8"), (5, 6, ""), (6, 7, "3"), (8, 11, "END")], None, {0, 2}),
    ],
)
def test_groups_are_refused_one_by_one_and_none_for_another(line, edits, wanted, found):
    groups = [[edit] for edit in edits]
    assert refused(line, groups, [Protection(["[0-9]+"])], wanted) == found


@pytest.mark.parametrize("pattern", ["(", "[z-a]", "*", "a{9999999999999}"])
def test_a_pattern_that_is_none_is_named(pattern):
    with refuses("protect=", repr(pattern)):
        Protection([pattern])
    with refuses("protect"):
        Protection("abc")
