"""Units: nothing is lost, nothing is in two units, every one fits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.inference.correction.units import KINDS, UNREADABLE, pieces, read_unit, spans

LINES = st.text(st.sampled_from("ab.!?。 \t\u00a0\u2028\r\ufeff\udcffé"), max_size=40)


def units(line, kind, window=0):
    return [line[start:end] for start, end in spans(line, kind, window)]


def test_kinds_of_units():
    assert units(" the\tcat,  sat\u00a0on \r", "word") == ["the", "cat,", "sat", "on"]
    assert units("\t the  cat \r", "line") == ["the  cat"]
    assert units("a b  c d e", "window", 2) == ["a b", "c d", "e"]
    assert read_unit("a \t b\u2028c", 0, 7).text == "a b c"
    for kind in KINDS:
        assert not [*units("", kind, 2), *units(" \t\u2028\r", kind, 2), *units("\ufeff", kind, 2)]


@given(LINES, st.sampled_from([kind for kind in KINDS if kind != "letters"]), st.integers(1, 3))
def test_units_are_in_order_and_only_spaces_lie_outside_of_them(line, kind, window):
    place = 1 if line.startswith("\ufeff") else 0
    for start, end in spans(line, kind, window):
        assert start < end and not line[place:start].strip()
        assert not line[start].isspace() and not line[end - 1].isspace()
        place = end
    assert not line[place:].strip()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('"Teh" cat, (sat)!', "Teh cat sat"),
        ("isn\u2019t don't 'tis", "isn\u2019t don't tis"),
        ("well-known étude", "well known étude"),
        ("at 3pm x_y a@b.de www.site.org/teh e.g. U.S. end.", "at end"),
        ("1,234 -- # {teh}", ""),
        (
            "recie\u0301ve\u2026 cor\u00adrect, \u2764\ufe0f teh\u2764\ufe0f \u0301a",
            "recie\u0301ve cor\u00adrect teh a",
        ),
        (
            "\u0939\u093f\u0928\u094d\u0926\u0940, e\u0301.g.",
            "\u0939\u093f\u0928\u094d\u0926\u0940",
        ),
    ],
)
def test_letters_are_words_without_punctuation_and_none_of_what_is_no_word(line, words):
    assert [line[start:end] for start, end in spans(line, "letters")] == words.split()


@given(LINES)
def test_a_unit_has_the_words_of_its_place_with_single_spaces(line):
    for start, end in spans(line, "line"):
        unit = read_unit(line, start, end)
        assert (unit.start, unit.end) == (start, end) and "\udcff" not in unit.text
        words = line[start:end].replace("\udcff", UNREADABLE).split()
        assert unit.text == " ".join(words)


@given(LINES, st.integers(1, 6))
def test_what_is_too_long_is_cut_and_put_together_again(line, limit):
    for start, end in spans(line, "line"):
        place = start
        for unit in pieces(line, start, end, lambda text: len(text) <= limit):
            assert 1 <= len(unit.text) <= limit
            assert not line[place : unit.start].strip()
            place = unit.end
        assert not line[place:end].strip()


def test_what_is_too_long_is_cut_at_the_space_nearest_to_its_middle():
    line = "aa bb cc dd eeeeeeee f"
    found = [unit.text for unit in pieces(line, 0, len(line), lambda text: len(text) <= 6)]
    assert found == ["aa bb", "cc dd", "eeee", "eeee", "f"]


def test_a_character_that_does_not_fit_alone_is_left_out():
    found = list(pieces("aXb", 0, 3, lambda text: len(text) <= 1 and text != "X"))
    assert [(unit.start, unit.end) for unit in found] == [(0, 1), (2, 3)]
