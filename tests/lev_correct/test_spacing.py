"""Spaces left out, put in or moved, words written twice, apostrophes left out."""

import pytest

from lev_correct.ranking.spacing import Spacing
from lev_correct.text.units import spans
from lev_correct.words.lexicon import Bigrams, LetterModel

FREQUENT = dict.fromkeys("the of and in to a is we was on".split(), 1e6)
COUNTS = {
    **FREQUENT, "cat": 1e4, "important": 1e4, "sat": 1e4, "lot": 1e4, "can't": 3e4, "don't": 9e4,
    "cant": 1e2, "very": 1e5, "see": 1e5, "tool": 1e4, "chain": 1e4, "toolbox": 1e2, "box": 1e4,
    "toolbar": 1e2, "bar": 1e4, "home": 1e4, "hom": 4e4, "london": 1e4, "with": 1e6, "do": 1e5,
}  # fmt: skip
BIGRAMS = Bigrams(
    {
        ("of", "the"): 9e5,
        ("in", "the"): 5e5,
        ("the", "cat"): 9e3,
        ("a", "lot"): 9e4,
        ("very", "very"): 9e5,
        ("to", "see"): 9e5,
        ("is", "very"): 9e3,
        ("the", "the"): 1.0,
        ("home", "of"): 9e4,
    }  # fmt: skip
)
SPACING = Spacing(COUNTS, BIGRAMS, LetterModel(sorted(COUNTS)))


def respaced(line, wanted=()):
    """The changes of a line that are sure."""
    _, changes = SPACING.combined(line, [*spans(line, "letters")], wanted)
    return [(line[start:end], after) for (start, end, after), chance in changes if chance > 0.8]


@pytest.mark.parametrize(
    ("line", "before", "after"),
    [
        ("we sat in onthe home", "onthe", "on the"),
        ("Inthe home we sat", "Inthe", "In the"),
        ("the im portant home", "im portant", "important"),
        ("we see th ecat in the home", "th ecat", "the cat"),
        ("we see thec at in the home", "thec at", "the cat"),
        ("we see boxc hain in the home", "boxc hain", "box chain"),  # rare beside each other
        ("we sat in zilo kwith the cat", "zilo kwith", "zilok with"),  # beside a common word
        ("we sat in the the home", "the the", "the"),
        ("we dont see the home", "dont", "don't"),
        ("we cant see the home", "cant", "can't"),
        ("we dont the home", "dont", "don't"),  # which is no word, whatever follows
        ("WE SAT ONTHE HOME", "ONTHE", "ON THE"),
    ],
)
def test_spaces_doublings_and_apostrophes_are_put_right(line, before, after):
    assert respaced(line) == [(before, after)]


@pytest.mark.parametrize(
    "line",
    [
        "it is very very important",  # listed so
        "the cant of the home",  # no verb behind it
        "we see the toolchain in the home",  # made of two words, as toolbox
        "in the Onthe home",  # a name
        "we do n't see the home",  # as treebanks write it
        "the the- of the home",
        "zw im portant qx jk vz bq",  # another language
        "we sat in the, the home",
        "we sat in the  the home",
    ],
)
def test_what_is_written_so_on_purpose_stays(line):
    assert respaced(line) == []


@pytest.mark.parametrize(
    ("line", "before", "after"),
    [
        ("we sat wiht the cat", "wiht", "with"),
        ("Wiht the cat we sat", "Wiht", "With"),
        ("WE SAT WIHT THE CAT", "WIHT", "WITH"),
        ("we sat in Lonodn", "Lonodn", "London"),
    ],
)
def test_slips_in_short_common_words_and_well_known_names_are_put_right(line, before, after):
    assert respaced(line) == [(before, after)]


@pytest.mark.parametrize("word", ["lonodn", "Lodno", "Wiht", "w'th", "wíth", "importnat"])
def test_no_slip_is_seen_in_names_of_other_letters_and_longer_words(word):
    assert respaced(f"we sat in {word}") == []


def test_the_longest_of_the_changes_that_are_sure_is_made():
    assert respaced("we sat wit hthe cat in the home") == [("wit hthe", "with the")]


def test_a_change_of_one_word_that_spaces_explain_better_is_not_made():
    line = "we sat in onthe home"
    kept, changes = SPACING.combined(line, [*spans(line, "letters")], [((10, 15, "in"), 0.9)])
    assert not kept and len(changes) == 1
    kept, changes = SPACING.combined(line, [*spans(line, "letters")], [((10, 15, "on the"), 0.1)])
    assert not changes and kept[0][1] > 0.8  # both say the same


def test_neither_half_is_changed_where_it_may_as_well_have_lost_a_letter_to_the_other():
    line = "we see hom esat in the home"
    kept, changes = SPACING.combined(line, [*spans(line, "letters")], [((11, 15, "sat"), 0.9)])
    assert not kept and all(chance < 0.8 for _, chance in changes)


def test_an_unknown_word_beside_another_makes_no_line_foreign():
    assert respaced("wiht lonodnz") == [("wiht", "with")]


def test_names_of_english_are_no_corrections_in_another_language():
    counts = dict.fromkeys("der die und in zu ein ist wir war auf london".split(), 1e6)
    pairs = {(first, second): 9e5 for first in counts for second in ("der", "die", "und")}
    german = Spacing(counts, Bigrams(pairs), LetterModel(sorted(counts)))
    line = "wir war in Londen und auf"
    assert german.combined(line, [*spans(line, "letters")], ()) == ([], [])
    assert respaced("we was in Londen and in the home") == [("Londen", "London")]
