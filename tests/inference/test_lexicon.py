"""Words, those near a misspelling, and known misspellings."""

import itertools
from types import SimpleNamespace

import pytest
from fairseq.data import Dictionary
from test_word_ranking import Scripted

from lev_plugins import UserError
from lev_plugins.inference.correction import settings, unit_ranking, word_ranking
from lev_plugins.inference.correction.lexicon import Lexicon, Lookup
from lev_plugins.inference.correction.rankings import ranked


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


def list_of(number, *words):
    """A lexicon of so many words, without ß, of which some are given."""
    letters = itertools.product("abcdefghijklmnopqrst", repeat=4)
    more = map("".join, itertools.islice(letters, number - len(words)))
    return Lexicon(dict.fromkeys([*more, *words], 1.0))


def learnt(often):
    """A dictionary of characters in which one letter of 500 is ß, and one of 2,000 é."""
    dictionary = Dictionary()
    for letter, count in {"a": 1995, "S": 100, "ß": 4, "é": 1, ",": 999, "1": 999}.items():
        dictionary.add_symbol(letter, often * count)
    dictionary.pad_to_multiple_(16)
    return dictionary


def test_a_letter_that_a_case_folded_list_lacks_is_found():
    assert list_of(6_000).lacking(learnt(100)) == {"ß": 525}
    assert list_of(6_000, "große").lacking(learnt(100)) == {}
    assert list_of(6_000, "GROẞE").lacking(learnt(100)) == {}
    assert list_of(4_000).lacking(learnt(100)) == {}  # too few words to tell
    assert list_of(6_000).lacking(learnt(10)) == {}  # too little text


@pytest.mark.parametrize("unit", ["letters", "line"])
def test_the_user_is_told_which_list_lacks_a_letter(monkeypatch, tmp_path, caplog, unit):
    monkeypatch.setattr(word_ranking, "scorer_of", lambda backend, words: backend)
    monkeypatch.setattr(unit_ranking, "scorer_of", lambda backend: backend)
    (tmp_path / "words").write_text("\n".join(list_of(6_000).words))
    use = settings.Settings(lexicon=str(tmp_path / "words"))
    backend = Scripted()
    ranked(backend, use, unit, {})
    assert not caplog.messages  # a model that does not say what it learnt
    backend.task = SimpleNamespace(target_dictionary=learnt(100))
    ranked(backend, use, unit, {})
    (said,) = caplog.messages
    assert said.startswith(f"{tmp_path / 'words'}: no word has 'ß', which is one in 525 letters")


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
