"""Words, those near a misspelling, and known misspellings."""

import pytest

from lev_plugins import UserError
from lev_plugins.inference.correction.lexicon import Lexicon, Lookup


def test_the_nearest_come_first_and_of_these_the_most_frequent():
    words = Lexicon({"ten": 5, "the": 9, "tech": 2, "tea": 7, "theme": 99, "far": 99})
    assert words.near("teh", 99) == ["the", "tea", "ten", "tech", "far"][:4]
    assert words.near("teh", 2) == ["the", "tea"]


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
