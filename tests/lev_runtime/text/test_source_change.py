"""The change in a source, marked in its text."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lev_runtime.text.source_change import mark_change

TEXT = st.text(" ab1.`\n", max_size=12)


@given(TEXT, TEXT)
def test_without_what_went_and_the_marks_the_source_comes_back(old, new):
    marked = mark_change(new, old)
    if old.strip():
        assert re.sub("<ins>.*?</ins>|</?del>", "", marked, flags=re.S) == old
    assert re.sub("<del>.*?</del>|</?ins>", "", marked, flags=re.S) == new


@pytest.mark.parametrize(
    "old, new, marked",
    [
        (":x:`91`.", ":x:`22`.", ":x:`<del>91</del><ins>22</ins>`."),
        ("a b", "a new b", "a<ins> new</ins> b"),
        (" ", "a b", "a b"),
    ],
)
def test_what_changed_is_marked(old, new, marked):
    assert mark_change(new, old) == marked
