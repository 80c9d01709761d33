"""A line cut into units, edits of its words, and what in it is protected."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Indel
from tables import cases, rows

from lev_correct.files.markup import without_markup
from lev_correct.lines import (
    placed,
    splice,
)
from lev_correct.text.protection import PROTECTED, Protection, mark, touched
from lev_correct.text.units import (
    KINDS,
    UNREADABLE,
    ModelUnit,
    pieces,
    read_unit,
    spans,
)
from lev_runtime.text.source_change import changes
from lev_runtime.text.words import WordEdit, word_edits

LINES = st.text(st.sampled_from("ab.!?。 \t\u00a0\u2028\r\ufeff\udcffé"), max_size=40)


@pytest.mark.parametrize("kind, texts", cases("lev_correct/cases.tsv", "lines: kinds of"))
def test_kinds_of_units(kind, texts):
    line = "\ufeff the\tcat,  sat\u00a0on x \r"
    assert [line[start:end] for start, end in spans(line, kind, 2)] == texts


@given(LINES, st.sampled_from([kind for kind in KINDS if kind != "letters"]), st.integers(1, 3))
def test_units_are_in_order_and_only_spaces_lie_outside_of_them(line, kind, window):
    place = 1 if line.startswith("\ufeff") else 0
    for start, end in spans(line, kind, window):
        assert start < end and not line[place:start].strip()
        words = line[start:end].replace("\udcff", UNREADABLE).split()
        assert read_unit(line, start, end) == ModelUnit(start, end, " ".join(words))
        place = end
    assert not line[place:].strip()


#: a line, its words
LETTERS = rows(Path(__file__).with_name("letters.tsv").read_text("utf-8"), "\t")


@pytest.mark.parametrize("line, words", LETTERS)
def test_letters_are_words_without_punctuation_and_none_of_what_is_no_word(line, words):
    assert [line[start:end] for start, end in spans(line, "letters")] == words.split()
    assert len(without_markup(line)) == len(line)


@given(LINES, st.integers(1, 6))
def test_what_is_too_long_is_cut_and_put_together_again(line, limit):
    for start, end in spans(line, "line"):
        place = start
        for unit in pieces(line, start, end, lambda text: len(text) <= limit):
            assert 1 <= len(unit.text) <= limit
            assert not line[place : unit.start].strip()
            place = unit.end
        assert not line[place:end].strip()


# edits of words ----------------------------------------------------------------------------------

SHORT = st.text(st.sampled_from("ab c"), max_size=9)


@given(SHORT, SHORT)
def test_a_script_is_minimal_and_leads_to_the_text(before, after):
    script = changes(Indel.editops(before, after))
    assert splice(before, [(i, j, after[k:m]) for i, j, k, m in script]) == after
    assert sum(j - i + m - k for i, j, k, m in script) == Indel.distance(before, after)
    for (_, j, _, m), (i, _, k, _) in zip(script, script[1:]):
        assert i > j and k > m and before[j:i] == after[m:k]


WORDS = st.lists(st.sampled_from(["a", "bc", "d"]), max_size=5)


@given(WORDS.filter(bool), WORDS, st.sampled_from([" ", " \t ", "\u2028"]))
def test_placed_edits_of_words_write_the_words_and_keep_the_spaces_between_others(old, new, space):
    line = f" {space.join(old)}\r"
    edits = [placed(line, 1, len(line) - 1, edit)[:3] for edit in word_edits(old, new)]
    text = splice(line, edits)
    assert text.split() == new and text[0] == " " and text[-1] == "\r"
    assert new != old[: len(new)] or text.startswith(f" {space.join(new)}")


# what is protected -------------------------------------------------------------------------------


#: start of an edit and the edit in "ab 12 cde"
TOUCHING = """
3 12>1x
3 12>1x2
0 ab 12 cde>x
3 12>912
3 12>129
"""
APART = """
0 ab>xb
3 12>12 9
2  12>12
6 cde>1cde
"""


@pytest.mark.parametrize("edits, expected", [(TOUCHING, True), (APART, False)])
def test_an_edit_touches_what_it_changes_writes_into_or_onto(edits, expected):
    stays = bytearray(9)
    mark(stays, Protection(["[0-9]+"]).spans("ab 12 cde"), PROTECTED)
    for edit in edits.strip().splitlines():
        start, texts = edit.split(" ", 1)
        assert bool(touched(stays, int(start), *texts.split(">"))) == expected, edit


def test_words_and_phrases_are_protected_whole_and_in_their_spelling():
    protection = Protection(["x*"], ["New York", "C++", "New", "Pari", "", "  "])
    line = "New York, C++ and New x Pari, Paris pari"
    protected = [line[start:end] for start, end in sorted(protection.spans(line))]
    assert protected == ["New York", "C++", "New", "x", "Pari"]


@pytest.mark.parametrize("line, edit, before, after", cases("lev_correct/cases.tsv", "lines: bare"))
def test_a_change_is_bare_of_the_punctuation_around_its_words(line, edit, before, after):
    first, last, words = edit
    change = placed(line, 0, len(line), WordEdit(first, last, tuple(words)))
    assert (line[change.start : change.end], change.after) == (before, after)
