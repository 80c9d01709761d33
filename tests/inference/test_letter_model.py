"""Words that look like those of a lexicon."""

import math
from collections import Counter

import pytest

from lev_plugins.inference.correction.letter_model import ORDER, LetterModel

WORDS = ["the", "then", "there", "other", "mother", "zoo", "a"]


def plain(words, word):
    """The same by counting texts."""
    grams = Counter()
    for one in words:
        text = "^" * (ORDER - 1) + one + "$"
        for n in range(1, ORDER + 1):
            grams.update(text[i - n + 1 : i + 1] for i in range(ORDER - 1, len(text)))
    text, total = "^" * (ORDER - 1) + word + "$", 0.0
    for i in range(ORDER - 1, len(text)):
        chance = 1 / (len(set("".join(words))) + 3)
        for n in range(1, ORDER + 1):
            before = text[i - n + 1 : i]
            after = {gram: c for gram, c in grams.items() if len(gram) == n and gram[:-1] == before}
            if after:
                count = grams[text[i - n + 1 : i + 1]]
                chance = (count + len(after) * chance) / (sum(after.values()) + len(after))
        total += math.log(chance)
    return total / (len(word) + 1)


@pytest.mark.parametrize("word", [*WORDS, "them", "brother", "ooz", "qé", "t"])
def test_probabilities_are_those_of_counted_texts(word):
    assert LetterModel(WORDS).per_letter(word) == pytest.approx(plain(WORDS, word))


def test_what_looks_like_a_word_is_more_probable_than_what_does_not():
    model = LetterModel(WORDS)
    assert model.per_letter("mother") > model.per_letter("mtoehr") > model.per_letter("éééééé")


def test_an_alphabet_of_thousands_counts_shorter_texts():
    words = [chr(0x4E00 + number) + chr(0x4E01 + number) for number in range(10_000)]
    model = LetterModel(words)
    assert len(model.tables) < ORDER
    assert model.per_letter(words[3]) > model.per_letter(words[3][::-1])
