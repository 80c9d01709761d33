"""Noise on plain text: what may change, how much of it, and that it can be repeated."""

import re
from collections import Counter

import editdistance
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lev_plugins.data.noise import noiser
from lev_plugins.data.noise.letters import (
    NEIGHBOURS,
    alphabet,
    clusters,
    exchanged,
    split_words,
    without_marks,
)
from lev_plugins.data.noise.noiser import EDITS, KINDS, PAPER, WORD_EDITS, Noise
from lev_plugins.data.noise.rng import sentence_random

HOSTILE = (
    "The quick\tbrown  fox\u00a0jumps\u2003over Ärgernis e\u0301te\u0301e\u0301 "
    "👩\u200d👩\u200d👧👍🏽 наблюдение 한국어입니다 हिन्दी\u3000ภาษาไทย mp3s 2026 a\u2028b\x85 "
)
# Letters of many scripts, marks, joiners, emoji, flags, spaces and whatever else there is.
TEXT = st.text(
    st.sampled_from("abcdeABCDEéßİſдЖعب한ᄒ\u1161नि्\u0301\u200d\ufe0f👩🏽🇩🇪1.-  \t\u00a0\u2028")
    | st.characters(exclude_categories=("Cs",)),
    max_size=60,
).map(lambda text: text.replace("\n", " "))
NUMBERS = st.integers(0, 5)
ORDINARY = ["house", "quickly", "brown", "jumps", "strange", "dialects", "wonderful", "morning"]


def noisy(line: str, *names: str, number: int = 0, **options) -> str:
    return Noise(names, **options)(line, sentence_random(1, 1, number))


def words(line: str) -> list[str]:
    return split_words(line)[::2]


# what never changes ------------------------------------------------------------------------------


@given(TEXT, st.sampled_from([*EDITS, "swap-words"]), NUMBERS, st.sampled_from([0.3, 1.0]))
@example(HOSTILE, "random", 0, 1.0)
@example(HOSTILE, "ocr", 0, 1.0)
def test_spaces_and_the_number_of_words_stay(line, kind, number, rate):
    after = noisy(line, kind, number=number, word_rate=rate, char_rate=rate, min_length=1)
    assert re.findall(r"\s+", after) == re.findall(r"\s+", line)
    assert len(after.split()) == len(line.split())


@pytest.mark.parametrize("kind", KINDS)
def test_no_noise_and_no_words_leave_a_line_alone(kind):
    assert noisy(HOSTILE) == HOSTILE
    assert noisy("", kind) == "" and noisy(" \t ", kind) == " \t "
    if kind in EDITS:
        assert kind == "ocr" or noisy("in 1999 the 24:00", kind) == "in 1999 the 24:00"
        assert noisy(HOSTILE, kind, word_rate=0) == noisy(HOSTILE, kind, char_rate=0) == HOSTILE


# how much ----------------------------------------------------------------------------------------


@given(st.integers(1, 80), st.sampled_from(PAPER), NUMBERS)
def test_of_words_that_can_change_exactly_the_asked_share_does(count, kind, number):
    line = " ".join(ORDINARY[i % len(ORDINARY)] for i in range(count))
    noised = zip(words(line), words(noisy(line, kind, number=number)), strict=True)
    assert sum(before != after for before, after in noised) == min(10, max(1, count * 3 // 10))
    for rate, left in ((0.3, 8), (1, 1)):  # eleven letters, of which ten may go
        assert len(noisy("abcdefghijk", "delete", char_rate=rate)) == left


@given(st.lists(st.sampled_from("abcdeéж한!1"), min_size=1), st.integers(0, 6), NUMBERS)
def test_a_word_is_edited_no_oftener_than_asked_and_never_lost(word, count, number):
    source = sentence_random(1, 1, number)
    for kind in ("random", "delete", "keyboard"):
        after = EDITS[kind][1](word, count, source)
        assert after and editdistance.eval(word, after) <= count
        assert bool(noiser.letters(after)) == bool(noiser.letters(word))
        assert kind != "keyboard" or len(after) == len(word)


# the kinds ---------------------------------------------------------------------------------------


@given(TEXT, st.sampled_from(list(NEIGHBOURS)), NUMBERS)
@example("наблюдение house 한국어입니다", "keyboard", 0)
def test_keyboard_noise_hits_a_key_beside_in_its_case_and_leaves_unknown_keys(line, kind, number):
    keys = NEIGHBOURS[kind]
    after = noisy(line, kind, number=number, word_rate=1, char_rate=1, min_length=1)
    for letter, other in zip(line, after, strict=True):
        assert other == letter or other in keys[letter] and letter in keys[other]
        assert letter.isupper() == other.isupper()
    assert (after != line) == any(cluster in keys for cluster in clusters(line))
    assert set(NEIGHBOURS["keyboard"]["s"]) == set("awedxz")
    assert set(NEIGHBOURS["qwertz"]["Ö"]) == set("PÜÄL")


BARE = {"e\u0301": "e", "Ä": "A Ae", "ß": "ss", "ł": "l", "ё": "е"}
BARE |= dict.fromkeys(("e", "й", "한", "नि", "が", "1", "\u0301"), "")


@pytest.mark.parametrize("letter, typed", BARE.items())
def test_marks_are_left_out_or_spelt(letter, typed):
    ways = typed.split()
    assert sorted(without_marks(letter)) == ways
    seen = {noisy(letter + "xxx", "diacritics", number=number) for number in range(40)}
    assert seen == {way + "xxx" for way in ways or [letter]}


def test_letters_swap_with_the_next_that_differs_and_a_capital_stays_in_its_place():
    assert noiser.pairs(list("abbc")) == [0, 2] and noiser.pairs(list("a1bA")) == [2]
    for letters, swapped in (("Th", "Ht"), ("hT", "tH"), ("ßA", "Aß")):
        assert exchanged(*letters) == tuple(swapped)
    assert noisy("Tttt Aaaa", "swap", word_rate=1) == "Tttt Aaaa", "nothing to see, nothing done"


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=12), NUMBERS)
def test_words_are_dropped_and_replaced_as_often_as_asked(line, number):
    count, text = min(10, max(1, len(line) // 2)), f"  {' '.join(line)} "

    def after(kind: str) -> list[str]:
        noisy_text = noisy(text, kind, number=number, word_rate=0.5)
        assert noisy_text == f"  {' '.join(noisy_text.split())} "
        return noisy_text.split()

    dropped, replaced, rest = after("drop-words"), after("replace-words"), iter(line)
    assert all(word in rest for word in dropped)
    assert len(dropped) == len(line) - min(count, len(line) - 1), "one is left"
    differ = sum(map(str.__ne__, line, replaced))
    assert differ == (count if len(set(line)) > 1 else 0) and set(replaced) <= set(line)


def test_marks_and_joined_emoji_are_never_torn_and_new_letters_are_of_their_script():
    letters = ["e\u0301", "नि", "👩\u200d👩\u200d👧", "한", "g\u0308\u0301"]
    assert clusters("".join(letters)) == letters
    for number in range(20):
        for kind in (noiser.delete, noiser.swap):
            assert Counter(kind(letters, 2, sentence_random(1, 1, number))) <= Counter(letters)
        after = noisy("наблюдение", "random", number=number, char_rate=1)
        assert re.fullmatch(r"[\u0400-\u047f]*", after), after
    assert "z" in alphabet("é") and "é" not in alphabet("é")
    for letter in "жع한नก漢":
        assert letter in alphabet(letter) and not any(map(str.isspace, alphabet(letter)))


# chance ------------------------------------------------------------------------------------------


def test_noise_is_the_same_on_every_machine():
    line = "The quick brown fox jumps over the lazy dog"
    kinds = (*PAPER, "ocr", "phonetic", *WORD_EDITS)
    assert [noisy(line, kind, number=3) for kind in kinds] == [
        "The quick brwn fox jhumps over the lazy dog",
        "The quick brkwn fox kumps over the lazy dog",
        "The quick borwn fox ujmps over the lazy dog",
        "The quick brwn fox jups over the lazy dog",
        "The quick bröwn fox junips over the lazy dog",
        "The quick brawn fox junps over the lazy dog",
        "The quick brown fox over jumps the lazy dog",
        "The quick fox over the lazy dog",
        "The quick over fox fox over the lazy dog",
    ]
    line = "Größere Äpfel für наблюдение"
    assert [noisy(line, k, number=3) for k in ("qwertz", "azerty", "jcuken", "diacritics")] == [
        "Größere Öpfel für наблюдение",
        "Größere Älfel für наблюдение",
        "Größere Äpfel für нвблюжкние",
        "Größere Apfel für наблюдение",
    ]
    keys = [(1, 1, 0, 0), (2, 1, 0, 0), (1, 2, 0, 0), (1, 1, 1, 0), (1, 1, 0, 7)]
    assert len({sentence_random(*key).random() for key in keys}) == 5
