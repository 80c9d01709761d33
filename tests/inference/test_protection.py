"""What is protected stays, and stays what it is."""

import pytest
from refusals import refuses

from lev_plugins.inference.correction.protection import Protection, touched

DIGITS = Protection(["[0-9]+"])


@pytest.mark.parametrize(
    "start, before, after, expected",
    [
        (3, "12", "1x", True),  # a character of it
        (3, "12", "1x2", True),  # inside of it
        (0, "ab 12 cde", "x", True),  # more than it
        (0, "ab", "xb", False),  # another word
        (3, "12", "912", True),  # on its border
        (3, "12", "129", True),
        (3, "12", "12 9", False),
        (2, " 12", "12", False),
        (6, "cde", "1cde", False),  # the border of another word
    ],
)
def test_an_edit_touches_what_it_changes_writes_into_or_onto(start, before, after, expected):
    assert touched(DIGITS.spans("ab 12 cde"), start, before, after) == expected


def test_a_word_is_protected_as_a_whole_word():
    spans = Protection(words=["Pari"]).spans("Pari Paris")
    assert spans == {(0, 4)} and touched(spans, 0, "Pari", "pari")
    assert not touched(spans, 5, "Paris", "paris")
    assert touched(Protection(words=["Pari"]).spans("Pari"), 0, "Pari", "Paris")
    assert not touched(Protection(words=["Pari"]).spans("Pari,"), 0, "Pari,", "Pari.")
    assert not Protection(words=["Pari"]).spans("pari")


def test_words_may_be_phrases_and_have_signs_in_them():
    protection = Protection(words=["New York", "C++", "New", "", "  "])
    assert protection.spans("New York, C++ and New") == {(0, 8), (10, 13), (18, 21)}


def test_a_pattern_that_matches_nothing_protects_nothing():
    assert Protection(["x*"]).spans("abc") == set() and not Protection()


@pytest.mark.parametrize("pattern", ["(", "[z-a]", "*", "a{9999999999999}"])
def test_a_pattern_that_is_none_is_named(pattern):
    with refuses("protect=", repr(pattern)):
        Protection([pattern])
    with refuses("protect"):
        Protection("abc")
