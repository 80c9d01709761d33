"""Words within two edits of another, against a comparison with all."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.data import near_words
from lev_plugins.data.near_words import DISTANCE, UNINDEXED, NearWords, distance

WORD = st.text("abc", min_size=1, max_size=10)


@given(st.sets(WORD, min_size=1, max_size=30), WORD)
def test_every_word_that_is_near_is_found_and_no_other_before_the_index_pays_and_then(words, word):
    index = NearWords(sorted(words))
    near = {one: edits for one in words if (edits := distance(word, one)) <= DISTANCE}
    assert all(dict(index.find(word)) == near for _ in range(UNINDEXED + 2))


def test_few_words_are_compared_letter_by_letter(monkeypatch):
    """So that a hundred thousand words do not take a hundred thousand looks."""
    source, looks = random.Random(3), []
    letters = "etaoinshrdlu"
    known = sorted(
        {"".join(source.choices(letters, k=source.randint(5, 10))) for _ in range(20000)}
    )
    index = NearWords(known)
    plain = near_words.process.extract_iter

    def counted(word, some, **options):
        some = list(some)
        looks.append(len(some))
        return plain(word, some, **options)

    monkeypatch.setattr(near_words.process, "extract_iter", counted)
    for word in known[::400]:
        assert (word, 0) in index.find(word)
    assert looks[:UNINDEXED] == [len(known)] * UNINDEXED
    rest = looks[UNINDEXED:]
    assert rest and sum(rest) / len(rest) < 0.06 * len(known)


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
def test_edits_are_the_fewest(one, other):
    assert distance(one, other) == slow_distance(one, other)
