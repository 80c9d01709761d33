"""Noise for synthetic drafts: what each rate may do to a line, and what it may not."""

import random
from collections import Counter
from typing import Any

import editdistance
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from refusals import refuses

from lev_plugins.data.near_words import DISTANCE, NearWords, distance
from lev_plugins.data.noise.drafts import MOST_SIMILAR, SHORT, DraftRates, Drafts, Vocabulary
from lev_plugins.data.noise.rng import line_random

HOSTILE = "e\u0301 é \u202e \ufeff 𝔘 👩‍👩‍👧 한 ß \u200b ▁the un@@ <unk>".split(" ")
TOKENS = st.one_of(
    st.text("abc", min_size=1, max_size=8),
    st.sampled_from(HOSTILE),
    st.text(st.characters(exclude_categories=("Z", "Cc", "Cs")), min_size=1, max_size=8),
)
LINES = st.lists(TOKENS, max_size=15)
SHARES = st.floats(0, 1)
SEEDS = st.integers(-(2**70), 2**70)


@st.composite
def rates(draw: Any) -> DraftRates:
    drop = draw(SHARES)
    repeat = draw(st.floats(0, 1 - drop))
    replace = draw(st.floats(0, max(1 - drop - repeat, 0)))
    return DraftRates(drop, repeat, draw(SHARES), replace, draw(SHARES))


def vocabulary(*lines: list[str]) -> Vocabulary:
    return Vocabulary(Counter(word for line in lines for word in line))


def noise(line: list[str], some: DraftRates, words: Vocabulary, seed=1, number=1) -> list[str]:
    """The tokens of a line's draft."""
    return Drafts(some, words)(" ".join(line), line_random(seed, number)).split()


@given(LINES, LINES, SEEDS, SHARES, SHARES)
def test_each_rate_does_what_it_is_called_and_nothing_else(line, others, seed, share, similar):
    marked, words = [f"{word}#{place}" for place, word in enumerate(line)], vocabulary(others)

    def made(**given: float) -> list[str]:
        return noise(marked, DraftRates(**given), words, seed)

    assert noise(line, DraftRates(), words, seed) == line
    rest = iter(marked)
    assert all(word in rest for word in made(drop=share)), "something was moved or added"
    repeated = Counter(again := made(repeat=share))
    assert again == [word for word in marked for _ in range(repeated[word])]
    assert set(repeated) == set(marked) and set(repeated.values()) <= {1, 2}
    moved = made(swap=share)
    assert {place - marked.index(word) for place, word in enumerate(moved)} <= {-1, 0, 1}
    assert sorted(moved) == sorted(marked)
    replaced = made(replace=share, similar=similar)
    pairs = zip(marked, replaced, strict=True)
    assert {new for old, new in pairs if old != new} <= set(others)


@given(LINES, LINES, SEEDS)
def test_whole_rates_change_every_token(line, others, seed):
    words = vocabulary(others)
    assert noise(line, DraftRates(drop=1), words, seed) == []
    assert noise(line, DraftRates(repeat=1), words, seed) == [w for w in line for _ in range(2)]
    replaced = noise(line, DraftRates(replace=1, similar=0.5), words, seed)
    for old, new in zip(line, replaced, strict=True):
        assert (old == new) == (not set(others) - {old}), "it stays where there is no other"
    swapped = noise(list("abcdefg"), DraftRates(swap=1), words, seed)
    assert "".join(swapped) == "badcfeg", "the last one has no neighbour"


@given(st.lists(LINES, min_size=1, max_size=6), rates(), SEEDS, st.randoms(use_true_random=False))
def test_a_line_depends_on_seed_and_number_alone(lines, some, seed, shuffler):
    words = vocabulary(*lines)
    first = {number: noise(line, some, words, seed, number) for number, line in enumerate(lines)}
    for number, noisy in first.items():
        assert set(noisy) <= {word for line in lines for word in line}
        assert lines[number] or not noisy
    order = list(first)
    shuffler.shuffle(order)
    # another order, and a vocabulary that was counted in another order and asked other things
    again = vocabulary(*reversed(lines))
    again.similar("abcabcabc")
    assert {number: noise(lines[number], some, again, seed, number) for number in order} == first


def test_seeds_and_line_numbers_tell_lines_apart():
    line = [str(number) for number in range(60)]
    some, words = DraftRates(0.2, 0.2, 0.2, 0.2, 0.2), vocabulary(line)
    keys = [(seed, number) for seed in (-1, 0, 1, 12) for number in (1, 2, 21)]
    # also for "1 21" and "12 1", which must not run together
    assert len({tuple(noise(line, some, words, *key)) for key in keys}) == 12


def test_drafts_are_the_same_on_every_machine():
    line = "the quick brown fox jumps over the lazy dog and sees the fax".split()
    some = DraftRates(0.1, 0.1, 0.2, 0.3, 0.5)
    noisy = noise(line, some, vocabulary(line), seed=7, number=3)
    assert " ".join(noisy) == "the brown brown fox jumps over fax dog and fax quick"


@pytest.mark.parametrize("length", [1, 2, 40])
def test_rates_come_out_as_asked(length):
    asked = DraftRates(drop=0.1, repeat=0.05, swap=0.2, replace=0.15, similar=0.5)
    line = [f"{'abcdefgh'[i % 8]}{'abcdefgh'[i // 8]}" for i in range(length)]
    near = {f"{word}x": 1 for word in line}  # one edit away, the others far
    words, found, lines = Vocabulary({**near, "somethingelse": 10**6}), Counter(), 24000 // length
    for number in range(lines):
        draft = noise(line, asked, words, number=number)
        once = [word for word in dict.fromkeys(draft) if word in line]
        found["similar"] += sum(word in near for word in draft)
        found["other"] += draft.count("somethingelse")
        found["repeated"] += sum(word in line for word in draft) - len(once)
        found["kept"] += len(once)
        found["swapped"] += sum(
            a > b for a, b in zip(map(line.index, once), map(line.index, once[1:]))
        )
    shares = {name: count / (lines * length) for name, count in found.items()}
    assert shares["repeated"] == pytest.approx(0.05, abs=0.01)
    assert shares["similar"] == pytest.approx(0.075, abs=0.01)
    assert shares["other"] == pytest.approx(0.075, abs=0.01)
    assert shares["kept"] == pytest.approx(1 - 0.1 - 0.15, abs=0.015)
    # seen where both are kept; the last token of a line has no neighbour behind it
    expected = {1: 0.0, 2: 0.2 / 1.8 / 2, 40: 0.1}[length] * 0.75**2
    assert shares.get("swapped", 0) == pytest.approx(expected, abs=0.012)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"drop": -0.1}, "--drop -0.1"),
        ({"swap": 1.5}, "--swap 1.5"),
        ({"similar": float("nan")}, "--similar nan"),
        ({"drop": 0.5, "repeat": 0.3, "replace": 0.3}, "1.1"),
    ],
)
def test_rates_that_cannot_be_are_refused(values, said):
    with refuses(said):
        DraftRates(**values)
    assert DraftRates(drop=0.1, repeat=0.2, replace=0.7).replace == 0.7, "one, but for rounding"


# vocabulary ---------------------------------------------------------------------------------------


def test_tokens_are_sampled_by_frequency_and_never_the_old_one():
    words, source = Vocabulary({"a": 1, "b": 6, "c": 3, "never": 0}), random.Random(1)
    sampled = Counter(words.sample(source, "b") for _ in range(4000))
    assert set(sampled) == {"a", "c"} and sampled["c"] / 4000 == pytest.approx(0.75, abs=0.03)
    sampled = Counter(words.sample(source, "not there") for _ in range(4000))
    assert sampled["b"] / 4000 == pytest.approx(0.6, abs=0.03)
    assert Vocabulary({"a": 5}).sample(source, "a") is None
    assert Vocabulary({}).sample(source, "a") is None
    words = Vocabulary({"cat": 9, "cut": 3, "bat": 1, "dog": 100})
    sampled = Counter(words.sample_similar(source, "cat") for _ in range(2000))
    assert set(sampled) == {"cut", "bat"} and sampled["cut"] / 2000 == pytest.approx(0.75, abs=0.04)
    assert words.sample_similar(source, "dog") is None
    assert words.sample_similar(source, "cab") == "cat", "a token need not be in the vocabulary"


@given(
    st.lists(st.text("ab", max_size=10) | TOKENS, max_size=40),
    st.text("ab", min_size=1, max_size=10) | TOKENS,
)
@example(["a", "b", "ab", "bb"], "a")
@example(["aaaaab", "aaaabb", "aaaa"], "aaaaa")
@example(["aaaaaa", "aaaa", "aaaaaaaa", "aaabbb"], "aaaaaa")
@example(["é", "e\u0301", "e"], "e\u0301")
def test_similar_tokens_are_all_within_the_distance(tokens, token):
    """Against a comparison with every token."""
    edits = 1 if len(token) <= SHORT else 2
    near = {
        other
        for other in tokens
        if 0 < (far := editdistance.eval(token, other)) <= edits
        and far < max(len(token), len(other))
    }
    assume(len(near) <= MOST_SIMILAR)
    assert set(Vocabulary(Counter(tokens)).similar(token)) == near


def test_only_the_most_frequent_similar_tokens_are_kept():
    words = Vocabulary({chr(0x4E00 + number) + "x": number + 1 for number in range(80)})
    counts = [words.counts[one] for one in words.similar("中x")]
    own = words.counts["中x"]
    assert counts == [count for count in range(80, 0, -1) if count != own][:MOST_SIMILAR]


# words within two edits ---------------------------------------------------------------------------

WORD = st.text("abcAá", min_size=1, max_size=10)  # a, A and á share a bit


@given(st.sets(WORD, min_size=1, max_size=30), WORD)
def test_every_word_that_is_near_is_found_and_no_other(words, word):
    near = {one: edits for one in words if (edits := distance(word, one)) <= DISTANCE}
    assert dict(NearWords(sorted(words)).find(word)) == near


@pytest.mark.parametrize(
    ("one", "other", "edits"),
    [("teh", "the", 1), ("abc", "abc", 0), ("", "ab", 2), ("ca", "abc", 3), ("ei", "ie", 1)],
)
def test_edits_are_letters_and_exchanged_neighbours(one, other, edits):
    assert distance(one, other) == distance(other, one) == edits
