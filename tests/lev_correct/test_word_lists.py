"""Lists of words: how files are read, what is near, beside or like a word."""

import math
import re

import pytest
from refusals import refuses
from tables import cases

from lev_correct.words.lexicon import Lexicon, Lookup, read_confusions
from lev_correct.words.ngrams import ORDER, Bigrams, LetterModel

PAIRS = {("the", "cat"): 40.0, ("the", "dog"): 30.0, ("a", "cat"): 10.0, ("cat", "sat"): 20.0,
         ("to", "be"): 50.0}  # fmt: skip


@pytest.fixture
def listed(tmp_path, monkeypatch):
    """Writes a list and returns what is read of it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def read(reader, text):
        (tmp_path / "list").write_text(text, encoding="utf-8")
        return reader(str(tmp_path / "list"))

    return read


def test_files_are_read_and_what_stands_twice_is_counted_together(listed):
    words = listed(Lexicon.read, "the 12\n\nécole\nthe\t3\n")
    assert words.counts == {"the": 15.0, "école": 0.0}
    table = listed(Lookup.read, "alot\ta lot\nteh\tthe\nhte\tthe\nteh\tthe\nthe\tthe\n")
    assert [*map(table.corrections, ("alot", "teh", "hte"))] == [("a lot",), ("the",), ("the",)]
    assert [*map(table.times, ("a lot", "the", "thee"))] == [1, 2, 0]
    pairs = listed(Bigrams.read, "to be 9\nThe\tcat\t.5\nTo be 1\n")
    counts = [pairs.count(*pair.split()) for pair in ("to be", "the cat", "cat to")]
    assert counts == [10.0, 0.5, 0.0] and "be" in pairs and "dog" not in pairs
    sets = listed(read_confusions, "Then than\nquiet quite quit\nquite quiet\n")
    assert sets["then"] == ("than",) and sets["quite"] == ("quiet", "quit")


def test_ambiguous_misspellings_of_codespells_are_none_where_a_lexicon_has_the_word(listed):
    text = "teh->The\nther->there, their,\nthen->than, them,\nclas->class, a remark\n"
    for _ in "read", "kept":
        table = listed(Lookup.read, text).in_small_letters(Lexicon({"Then": 1.0}))
        corrections = {word: table.corrections(word) for word in ("teh", "ther", "then", "clas")}
        assert corrections == {"teh": ("the",), "ther": ("there", "their"), "then": (), "clas": ()}
        assert [*map(table.times, ("the", "there", "clas"))] == [1, 1, 0]


WRONG = {
    Lexicon.read: "the 1/a b/a 1 2/a -1/a nan/a inf",
    Lookup.read: "hte\tthe/teh the/\tthe/teh\t/a\tb\tc",
    Bigrams.read: "to be 9/the cat/cat 3/the big cat 3/the cat 0/the cat inf/the cat nan",
    read_confusions: "then than/then/then THEN",
}


@pytest.mark.parametrize("read", WRONG)
def test_a_line_of_another_form_is_named_and_a_list_of_nothing_refused(listed, read):
    good, *lines = WRONG[read].split("/")
    for line in lines:
        with refuses("list, line 2: "):
            listed(read, f"{good}\n{line}\n")
    if read != Lookup.read:
        with refuses("list"):
            listed(read, "\n")


def test_the_nearest_come_first_and_of_these_the_most_frequent():
    words = Lexicon({"ten": 5, "the": 9, "tech": 2, "tea": 7, "theme": 99, "far": 99})
    nearest = words.near("teh", 99)
    assert nearest == ["the", "tea", "ten", "tech"] and words.near("teh", 2) == nearest[:2]


@pytest.mark.parametrize(
    "pair, met, first, second", cases("lev_correct/cases.tsv", "word lists: met")
)
def test_association_is_mutual_information_with_the_smallest_count_added(pair, met, first, second):
    wanted = math.log((met + 10) / (first * second / 150 + 10))
    assert Bigrams(PAIRS).association(*pair.split()) == pytest.approx(wanted, rel=1e-12)


WORDS = ["the", "then", "there", "other", "mother", "zoo", "a"]


def plain(words, word):
    """Mean log-probability of letters, by counting texts."""
    begin = "^" * (ORDER - 1)
    texts = [f"{begin}{other}$" for other in words]

    def chance(before, letter):
        ends = re.findall(f"(?<={re.escape(before)})[^^ ]", " ".join(texts))
        lower = chance(before[1:], letter) if before else 1 / (len({*"".join(words)}) + 3)
        kinds = len({*ends})
        return (ends.count(letter) + kinds * lower) / (len(ends) + kinds) if ends else lower

    text = f"{begin}{word}$"
    places = range(ORDER - 1, len(text))
    return sum(math.log(chance(text[n - ORDER + 1 : n], text[n])) for n in places) / len(places)


@pytest.mark.parametrize("word", ["the", "zoo", "a", "them", "brother", "ooz", "qé", "t"])
def test_probabilities_of_letters_are_those_of_counted_texts(word):
    assert LetterModel(WORDS).per_letter(word) == pytest.approx(plain(WORDS, word))


def test_an_alphabet_of_thousands_counts_shorter_texts():
    words = [chr(0x4E00 + number) + chr(0x4E01 + number) for number in range(10_000)]
    model = LetterModel(words)
    assert len(model.grams) < ORDER
    assert model.per_letter(words[3]) > model.per_letter(words[3][::-1])
