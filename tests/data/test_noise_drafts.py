"""Noise for synthetic drafts: what each rate may do to a line, and what it may not."""

import random
from collections import Counter
from typing import Any

import editdistance
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from lev_plugins.data.noise.drafts import (
    MOST_SIMILAR,
    SHORT,
    DraftNoise,
    DraftRates,
    Vocabulary,
    line_random,
)
from lev_plugins.errors import UserError

HOSTILE = (
    "e\u0301",
    "é",
    "\u202e",
    "\ufeff",
    "𝔘",
    "👩‍👩‍👧",
    "한",
    "ß",
    "\u200b",
    "▁the",
    "un@@",
    "<unk>",
)
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


def noise(line: list[str], some: DraftRates, words: Vocabulary, seed: int = 1, number: int = 1):
    """The tokens of a line's draft, and what was done to it."""
    made = DraftNoise(some, words)
    return made(" ".join(line), line_random(seed, number)).split(), made.done


# ---------------------------------------------------------------- single rates


@given(LINES, SEEDS)
def test_no_noise_leaves_every_line(line, seed):
    noisy, counts = noise(line, DraftRates(), vocabulary(line), seed)
    assert noisy == line
    assert +counts == +Counter(lines=1, unchanged=1, tokens=len(line))


@given(LINES, SEEDS, SHARES)
def test_full_drop_leaves_nothing_and_partial_drop_keeps_the_order(line, seed, share):
    noisy, counts = noise(line, DraftRates(drop=share), vocabulary(line), seed)
    rest = iter(line)
    assert all(word in rest for word in noisy), "something was moved or added"
    assert counts["dropped"] == len(line) - len(noisy)
    assert noise(line, DraftRates(drop=1), vocabulary(line), seed)[0] == []


@given(LINES, SEEDS, SHARES)
def test_repetition_only_adds_neighbours(line, seed, share):
    marked = [f"{word}#{place}" for place, word in enumerate(line)]
    noisy, counts = noise(marked, DraftRates(repeat=share), vocabulary(marked), seed)
    assert list(dict.fromkeys(noisy)) == marked, "the order has changed, or a token is gone"
    times = Counter(noisy)
    assert noisy == [word for word in marked for _ in range(times[word])]
    assert set(times.values()) <= {1, 2} and counts["repeated"] == len(noisy) - len(line)
    doubled = noise(line, DraftRates(repeat=1), vocabulary(line), seed)[0]
    assert doubled == [word for word in line for _ in range(2)]


@given(LINES, SEEDS, SHARES)
def test_swaps_keep_the_tokens_and_move_them_by_one_place(line, seed, share):
    marked = [f"{word}#{place}" for place, word in enumerate(line)]
    noisy, counts = noise(marked, DraftRates(swap=share), vocabulary(marked), seed)
    assert sorted(noisy) == sorted(marked)
    moves = [place - marked.index(word) for place, word in enumerate(noisy)]
    assert set(moves) <= {-1, 0, 1}
    assert counts["swapped"] == sum(move != 0 for move in moves)
    plain, _ = noise(line, DraftRates(swap=share), vocabulary(line), seed)
    assert Counter(plain) == Counter(line)


def test_a_full_swap_exchanges_pairs_and_spares_an_odd_last_token():
    line = list("abcdefg")
    noisy, counts = noise(line, DraftRates(swap=1), vocabulary(line))
    assert "".join(noisy) == "badcfeg" and counts["swapped"] == 6
    noisy, counts = noise(list("aab"), DraftRates(swap=1), vocabulary(line))
    assert "".join(noisy) == "aab" and counts["swapped"] == 0 and counts["unchanged"] == 1


@given(LINES, LINES, SEEDS, SHARES, SHARES)
def test_replacement_keeps_the_length_and_writes_known_tokens(line, others, seed, share, similar):
    words = vocabulary(others)
    noisy, counts = noise(line, DraftRates(replace=share, similar=similar), words, seed)
    assert len(noisy) == len(line)
    changed = [new for old, new in zip(line, noisy, strict=True) if old != new]
    assert set(changed) <= set(others)
    assert counts["replaced"] == len(changed) >= counts["similar"]


@given(LINES, LINES, SEEDS)
def test_full_replacement_leaves_no_token_where_there_is_another(line, others, seed):
    words = vocabulary(others)
    noisy, _ = noise(line, DraftRates(replace=1, similar=0.5), words, seed)
    for old, new in zip(line, noisy, strict=True):
        assert (old == new) == (not set(others) - {old})


# ---------------------------------------------------------------- all together


@given(LINES, LINES, rates(), SEEDS)
def test_every_token_is_of_the_line_or_the_vocabulary(line, others, some, seed):
    noisy, counts = noise(line, some, vocabulary(others), seed)
    assert set(noisy) <= set(line) | set(others)
    assert len(noisy) == len(line) - counts["dropped"] + counts["repeated"]
    assert counts["unchanged"] == (noisy == line)
    assert (
        counts["dropped"] + counts["repeated"] + counts["replaced"] <= counts["tokens"] == len(line)
    )
    assert line or not noisy


@given(st.lists(LINES, min_size=1, max_size=6), rates(), SEEDS, st.randoms(use_true_random=False))
def test_a_line_depends_on_seed_and_number_alone(lines, some, seed, shuffler):
    words = vocabulary(*lines)
    first = {number: noise(line, some, words, seed, number) for number, line in enumerate(lines)}
    order = list(first)
    shuffler.shuffle(order)
    # another order, and a vocabulary that was counted in another order and asked other things
    again = vocabulary(*reversed(lines))
    again.similar("abcabcabc")
    assert {number: noise(lines[number], some, again, seed, number) for number in order} == first


def test_seeds_and_line_numbers_tell_lines_apart():
    line = [str(number) for number in range(60)]
    some, words = DraftRates(0.2, 0.2, 0.2, 0.2, 0.2), vocabulary(line)
    drafts = {
        tuple(noise(line, some, words, seed, number)[0])
        for seed in (-1, 0, 1, 12)
        for number in (1, 2, 21)
    }
    assert len(drafts) == 12  # also for "1 21" and "12 1", which must not run together


def test_drafts_are_the_same_on_every_machine():
    line = "the quick brown fox jumps over the lazy dog and sees the fax".split()
    some = DraftRates(0.1, 0.1, 0.2, 0.3, 0.5)
    noisy, counts = noise(line, some, vocabulary(line), seed=7, number=3)
    assert " ".join(noisy) == "the brown brown fox jumps over fax dog and fax quick"
    assert (counts["dropped"], counts["repeated"], counts["swapped"], counts["replaced"]) == (
        2,
        0,
        2,
        3,
    )


@pytest.mark.parametrize("length", [1, 2, 5, 40])
def test_rates_come_out_as_asked(length):
    asked = DraftRates(drop=0.1, repeat=0.05, swap=0.2, replace=0.15, similar=0.5)
    source = random.Random(5)
    kinds = [a + b for a in "abcdefgh" for b in "abcdefgh"]  # each has similar ones
    words, total = Vocabulary(dict.fromkeys(kinds, 3)), Counter()
    for number in range(24000 // length):
        total.update(noise(source.choices(kinds, k=length), asked, words, number=number)[1])
    assert total["dropped"] / total["tokens"] == pytest.approx(0.1, abs=0.01)
    assert total["repeated"] / total["tokens"] == pytest.approx(0.05, abs=0.01)
    assert total["replaced"] / total["tokens"] == pytest.approx(0.15, abs=0.01)
    assert total["similar"] / total["replaced"] == pytest.approx(0.5, abs=0.03)
    # the last token of a line has no neighbour behind it
    assert total["swapped"] / total["tokens"] <= 0.2 + 0.01
    if length == 40:
        assert total["swapped"] / total["tokens"] == pytest.approx(0.2, abs=0.015)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"drop": -0.1}, "--drop -0.1 is outside [0, 1]"),
        ({"swap": 1.5}, "--swap 1.5 is outside [0, 1]"),
        ({"similar": float("nan")}, "--similar nan is outside [0, 1]"),
        ({"drop": 0.5, "repeat": 0.3, "replace": 0.3}, "make 1.1 together"),
    ],
)
def test_rates_that_cannot_be_are_refused(values, said):
    with pytest.raises(UserError, match=".") as error:
        DraftRates(**values)
    assert said in str(error.value)


def test_rates_that_make_one_by_rounding_are_taken():
    assert DraftRates(drop=0.1, repeat=0.2, replace=0.7).replace == 0.7


# ---------------------------------------------------------------- vocabulary


def test_tokens_are_sampled_by_frequency_and_never_the_old_one():
    words = Vocabulary({"a": 1, "b": 6, "c": 3, "never": 0})
    rng = random.Random(1)
    sampled = Counter(words.sample(rng, "b") for _ in range(4000))
    assert set(sampled) == {"a", "c"} and sampled["c"] / 4000 == pytest.approx(0.75, abs=0.03)
    sampled = Counter(words.sample(rng, "not there") for _ in range(4000))
    assert sampled["b"] / 4000 == pytest.approx(0.6, abs=0.03)
    assert Vocabulary({"a": 5}).sample(rng, "a") is None
    assert Vocabulary({}).sample(rng, "a") is None


def test_similar_tokens_are_sampled_by_frequency():
    words = Vocabulary({"cat": 9, "cut": 3, "bat": 1, "dog": 100})
    rng = random.Random(1)
    sampled = Counter(words.sample_similar(rng, "cat") for _ in range(2000))
    assert set(sampled) == {"cut", "bat"} and sampled["cut"] / 2000 == pytest.approx(0.75, abs=0.04)
    assert words.sample_similar(rng, "dog") is None
    assert words.sample_similar(rng, "cab") == "cat", "a token need not be in the vocabulary"


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
    known = sorted(set(tokens))
    edits = 1 if len(token) <= SHORT else 2
    near = {
        other
        for other in known
        if 0 < editdistance.eval(token, other) <= edits
        and editdistance.eval(token, other) < max(len(token), len(other))
    }
    assume(len(near) <= MOST_SIMILAR)
    assert set(Vocabulary(Counter(tokens)).similar(token)) == near


def test_only_the_most_frequent_similar_tokens_are_kept():
    words = Vocabulary({chr(0x4E00 + number) + "x": number + 1 for number in range(80)})
    found = words.similar("中x")
    assert len(found) == MOST_SIMILAR and "中x" not in found
    assert [words.counts[one] for one in found] == sorted(
        (words.counts[one] for one in found), reverse=True
    )
    assert words.counts[found[0]] == 80
