"""Words, those near a misspelling, and known misspellings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins import UserError
from lev_plugins.inference.correction.lexicon import DISTANCE, UNINDEXED, Lexicon, Lookup, distance

WORD = st.text("abc", min_size=1, max_size=10)


@given(st.sets(WORD, min_size=1, max_size=30), WORD)
def test_every_word_that_is_near_is_found_and_no_other_before_the_index_pays_and_then(words, word):
    lexicon = Lexicon(dict.fromkeys(words, 1.0))
    near = {one for one in words if distance(word, one) <= DISTANCE}
    assert all(set(lexicon.near(word, 99)) == near for _ in range(UNINDEXED + 2))


def test_the_nearest_come_first_and_of_these_the_most_frequent():
    words = Lexicon({"ten": 5, "the": 9, "tech": 2, "tea": 7, "theme": 99, "far": 99})
    assert words.near("teh", 99) == ["the", "tea", "ten", "tech", "far"][:4]
    assert words.near("teh", 2) == ["the", "tea"]


@pytest.mark.parametrize(
    ("one", "other", "edits"),
    [
        ("teh", "the", 1),
        ("abc", "abc", 0),
        ("", "ab", 2),
        ("ca", "abc", 3),
        ("recieve", "receive", 1),
    ],
)
def test_edits_are_letters_and_exchanged_neighbours(one, other, edits):
    assert distance(one, other) == distance(other, one) == edits


def slow_distance(one, other):
    """By the recursion itself."""
    if not one or not other:
        return len(one) + len(other)
    costs = [slow_distance(one[:-1], other) + 1, slow_distance(one, other[:-1]) + 1,
             slow_distance(one[:-1], other[:-1]) + (one[-1] != other[-1])]  # fmt: skip
    if len(one) > 1 and one[-2:] == other[:-3:-1]:
        costs.append(slow_distance(one[:-2], other[:-2]) + 1)
    return min(costs)


@given(st.text("ab", max_size=5), st.text("ab", max_size=5))
def test_edits_are_the_fewest_and_a_limit_only_says_that_there_are_more(one, other):
    edits = slow_distance(one, other)
    assert distance(one, other) == edits and distance(one, other, 2) == min(edits, 3)


def test_a_file_has_words_with_counts_or_without(tmp_path):
    (tmp_path / "words").write_text("the 12\n\nécole\nthe\t3\n", encoding="utf-8")
    found = Lexicon.read(str(tmp_path / "words"))
    assert found.counts == {"the": 15.0, "école": 0.0} and len(found) == 2 and "the" in found


@pytest.mark.parametrize("line", ["a b", "a 1 2", "a -1", "a nan", "a inf"])
def test_a_line_that_is_no_word_is_named(tmp_path, line):
    (tmp_path / "words").write_text(f"the 1\n{line}\n")
    with pytest.raises(UserError, match="words, line 2: .* is not a word and its count"):
        Lexicon.read(str(tmp_path / "words"))


def test_a_file_without_words_is_refused(tmp_path):
    (tmp_path / "words").write_text("\n")
    with pytest.raises(UserError, match="holds no words"):
        Lexicon.read(str(tmp_path / "words"))


def test_a_look_up_table_counts_the_misspellings_of_a_word(tmp_path):
    (tmp_path / "pairs").write_text("alot\ta lot\nteh\tthe\nhte\tthe\nteh\tthe\nthe\tthe\n")
    found = Lookup.read(str(tmp_path / "pairs"))
    assert found.corrections == {"alot": ("a lot",), "teh": ("the",), "hte": ("the",)}
    assert found.misspellings == {"a lot": 1, "the": 2}


@pytest.mark.parametrize("line", ["teh the", "\tthe", "teh\t", "a\tb\tc"])
def test_a_line_that_is_no_pair_is_named(tmp_path, line):
    (tmp_path / "pairs").write_text(f"hte\tthe\n{line}\n")
    with pytest.raises(UserError, match="pairs, line 2: .* is not a misspelling, a tab and its"):
        Lookup.read(str(tmp_path / "pairs"))
