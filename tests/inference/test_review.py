"""Edits widened to words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.inference.correction import Correction, Edit
from lev_plugins.inference.correction.review import whole_words


def widened(line, *edits):
    made = [Edit(*edit) for edit in edits]
    return [
        (one.offset, one.before, one.after, one.probability, one.applied)
        for one in whole_words(Correction(line, "", tuple(made)))
    ]


@pytest.mark.parametrize(
    "line, edits, expected",
    [
        ("a teh b", [(3, "eh", "he", 0.5)], (2, "teh", "the", 0.5)),
        ("teh", [(1, "", "h", 0.5), (2, "h", "", 0.4)], (0, "teh", "the", 0.4)),
        ("\ufeffteh", [(2, "eh", "he", 0.5)], (1, "teh", "the", 0.5)),
        ("a cat b", [(1, " cat", "", 0.5)], (0, "a cat", "a", 0.5)),
        ("inthe x", [(2, "", " ", 0.5)], (0, "inthe", "in the", 0.5)),
        ("in the", [(2, " ", "", 0.5), (5, "e", "", 0.7)], (0, "in the", "inth", 0.5)),
    ],
)
def test_an_edit_is_of_whole_words(line, edits, expected):
    assert widened(line, *edits) == [(*expected, True)]


def test_edits_made_and_not_made_of_one_word_stay_apart():
    edits = [(0, "t", "", 0.9), (1, "", "x", 0.1, False, "confidence")]
    assert widened("teh", *edits) == [(0, "teh", "eh", 0.9, True), (0, "teh", "txeh", 0.1, False)]


@given(
    line=st.text("ab ", max_size=12),
    cuts=st.lists(st.integers(0, 12), max_size=8),
    new=st.lists(st.text("x ", max_size=2), min_size=4, max_size=4),
)
def test_widened_edits_write_the_same_line(line, cuts, new):
    places = sorted({min(cut, len(line)) for cut in cuts})
    pairs = list(zip(places[::2], places[1::2], strict=False))

    def applied(edits):
        text = line
        for edit in reversed(edits):
            assert line[edit.offset : edit.end] == edit.before
            text = text[: edit.offset] + edit.after + text[edit.end :]
        return text

    edits = [
        Edit(start, line[start:end], after, 0.5)
        for (start, end), after in zip(pairs, new, strict=False)
    ]
    found = whole_words(Correction(line, "", tuple(edits)))
    assert applied(found) == applied(edits)
    assert all(one.end < two.offset for one, two in zip(found, found[1:], strict=False))


def test_a_long_word_with_many_edits_is_read_once():
    class Counted(str):
        read = 0

        def __getitem__(self, place):
            Counted.read += isinstance(place, int)
            return str.__getitem__(self, place)

    line = Counted("ab" * 1000)
    edits = [Edit(place, "a", "c", 0.9, True, None) for place in range(0, 2000, 2)]
    (found,) = whole_words(Correction(line, "", tuple(edits)))
    assert (found.before, found.after) == ("ab" * 1000, "cb" * 1000)
    assert Counted.read < 4 * len(line)
