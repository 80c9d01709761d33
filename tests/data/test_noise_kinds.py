"""Noise on plain text: what may change, how much of it, and that it can be repeated."""

import random
import re
from collections import Counter
from functools import partial

import editdistance
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from refusals import refuses

from lev_plugins.data.noise import (
    KINDS,
    PAPER,
    Noise,
    kinds,
    parse_kinds,
    rng,
    sentence_random,
)
from lev_plugins.data.noise.kinds import WORD_EDITS
from lev_plugins.data.noise.letters import (
    NEIGHBOURS,
    alphabet,
    clusters,
    exchanged,
    is_letter,
    split_words,
    without_marks,
)

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
OF_LETTERS = [kind for kind in KINDS if kind not in WORD_EDITS]
KEYBOARD = partial(kinds.keyboard, NEIGHBOURS["keyboard"])
NUMBERS = st.integers(0, 5)
ORDINARY = ["house", "quickly", "brown", "jumps", "strange", "dialects", "wonderful", "morning"]


def noisy(line: str, *names: str, number: int = 0, epoch: int = 1, seed: int = 1, **options) -> str:
    return Noise(names, **options)(line, sentence_random(seed, epoch, number))


def words(line: str) -> list[str]:
    return split_words(line)[::2]


def changed(before: str, after: str) -> list[int]:
    """Numbers of the words that differ."""
    pairs = zip(words(before), words(after), strict=True)
    return [i for i, (one, other) in enumerate(pairs) if one != other]


# what never changes ------------------------------------------------------------------------------


@given(TEXT, st.sampled_from([*OF_LETTERS, "swap-words"]), NUMBERS, st.sampled_from([0.3, 1.0]))
@example(HOSTILE, "random", 0, 1.0)
@example(HOSTILE, "ocr", 0, 1.0)
def test_spaces_and_the_number_of_words_stay(line, kind, number, rate):
    after = noisy(line, kind, number=number, word_rate=rate, char_rate=rate, min_length=1)
    assert re.findall(r"\s+", after) == re.findall(r"\s+", line)
    assert len(after.split()) == len(line.split())


@given(TEXT, st.sampled_from(OF_LETTERS), NUMBERS)
@example(HOSTILE, "keyboard", 0)
def test_short_words_stay_and_others_are_changed_no_oftener_than_asked(line, kind, number):
    after = noisy(line, kind, number=number, word_rate=0.5)
    touched = changed(line, after)
    assert len(touched) <= min(10, max(1, len(line.split()) // 2))
    for i in touched:
        assert sum(one[0].isalnum() for one in clusters(words(line)[i])) >= 4


@given(TEXT, st.sampled_from([KEYBOARD, kinds.swap, kinds.delete, kinds.diacritics]), NUMBERS)
@example(HOSTILE, kinds.delete, 0)
def test_what_is_no_letter_stays_in_order(line, kind, number):
    for word in map(clusters, words(line)):
        after = kind(word, 9, sentence_random(1, 1, number))
        kept = [one for one in word if not is_letter(one)]
        assert [one for one in after if not is_letter(one)] == kept


def test_no_noise_and_no_words_leave_a_line_alone():
    assert noisy(HOSTILE) == HOSTILE
    for kind in KINDS:
        assert noisy("", kind) == "" and noisy(" \t ", kind) == " \t "
        if kind not in WORD_EDITS:
            assert kind == "ocr" or noisy("in 1999 the 24:00", kind) == "in 1999 the 24:00"
            assert noisy(HOSTILE, kind, word_rate=0) == HOSTILE
            assert noisy(HOSTILE, kind, char_rate=0) == HOSTILE


# how much ----------------------------------------------------------------------------------------


@given(st.integers(1, 60), st.sampled_from(PAPER), NUMBERS)
def test_of_words_that_can_change_exactly_the_asked_share_does(count, kind, number):
    line = " ".join(ORDINARY[i % len(ORDINARY)] for i in range(count))
    assert len(changed(line, noisy(line, kind, number=number))) == min(10, max(1, count * 3 // 10))


def test_no_more_than_ten_words_and_ten_letters_of_each_change():
    line = " ".join(ORDINARY * 10)
    assert len(changed(line, noisy(line, "delete", word_rate=1))) == 10
    for rate, left in ((0.3, 8), (1, 1)):  # eleven letters
        assert len(noisy("abcdefghijk", "delete", char_rate=rate)) == left


@given(st.lists(st.sampled_from("abcdeéж한!1"), min_size=1), st.integers(0, 6), NUMBERS)
def test_a_word_is_edited_no_oftener_than_asked_and_never_lost(word, count, number):
    source = sentence_random(1, 1, number)
    for edit in (kinds.random_edits, kinds.delete):
        after = edit(word, count, source)
        assert after and editdistance.eval(word, after) <= count
    after = KEYBOARD(word, count, source)
    assert len(after) == len(word) and editdistance.eval(word, after) <= count


def test_random_noise_inserts_deletes_and_substitutes_as_often():
    source, word, seen = random.Random(1), list("abcdef"), Counter[int]()
    for _ in range(900):
        after = kinds.random_edits(word, 1, source)
        assert editdistance.eval(word, after) == 1
        seen[len(after) - len(word)] += 1
    assert set(seen) == {-1, 0, 1} and min(seen.values()) > 250
    assert {len(kinds.random_edits(["a"], 1, source)) for _ in range(40)} == {1, 2}


# the kinds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "beside"),
    [
        ("keyboard", {"s": "awedxz", "P": "OL"}),
        ("qwertz", {"y": "asx", "z": "tuhg", "Ö": "PÜÄL"}),
        ("azerty", {"a": "zq", "m": "lpù"}),
        ("jcuken", {"а": "кевпсм", "Э": "ЖЪХ"}),
    ],
)
def test_keys_touch_each_other_and_never_themselves(kind, beside):
    keys = NEIGHBOURS[kind]
    for key, near in keys.items():
        assert near and key not in near and len(set(near)) == len(near)
        assert all(key in keys[other] for other in near)
        assert near.isupper() == key.isupper()
    for key, near in beside.items():
        assert set(keys[key]) == set(near)


@given(TEXT, st.sampled_from(list(NEIGHBOURS)), NUMBERS)
def test_keyboard_noise_keeps_the_case_and_leaves_unknown_keys(line, kind, number):
    after = noisy(line, kind, number=number, word_rate=1, char_rate=1, min_length=1)
    for one, other in zip(line, after, strict=True):
        assert other == one or other in NEIGHBOURS[kind][one]
    line = "наблюдение house 한국어입니다"
    assert changed(line, noisy(line, "keyboard", number=number)) == [1], "no other can be chosen"


@pytest.mark.parametrize(
    ("letter", "typed"),
    [
        ("e\u0301", {"e"}),
        ("Ä", {"A", "Ae"}),
        ("ß", {"ss"}),
        ("ł", {"l"}),
        ("Œ", {"Oe"}),
        ("ё", {"е"}),
        ("ή", {"η"}),
        *((one, set()) for one in ("e", "й", "한", "नि", "が", "1", "\u0301")),
    ],
)
def test_marks_are_left_out_or_spelt(letter, typed):
    assert set(without_marks(letter)) == typed
    seen = {noisy(letter * 4, "diacritics", number=number) for number in range(40)}
    rest = {letter * place + one + letter * (3 - place) for one in typed for place in range(4)}
    assert seen == (rest or {letter * 4})


@given(TEXT, st.integers(0, 9), NUMBERS)
@example("abcd", 2, 1)
def test_swapping_moves_letters_to_the_next_place_as_often_as_asked(line, count, number):
    for word in map(clusters, words(line)):
        after = kinds.swap(word, count, sentence_random(1, 1, number))
        small, swapped = ([one.casefold() for one in side] for side in (word, after))
        i = pairs = 0
        while i < len(word):
            both = small[i : i + 2] != swapped[i : i + 2] and small[i] != swapped[i]
            if both:
                assert sorted(small[i : i + 2]) == sorted(swapped[i : i + 2])
                pairs += 1
            i += 1 + both
        assert pairs <= count


def test_letters_swap_with_the_next_that_differs_and_a_capital_stays_in_its_place():
    assert kinds.pairs(list("abbc")) == [0, 2] and kinds.pairs(list("a1bA")) == [2]
    assert "".join(kinds.swap(list("abc"), 9, random.Random(2))) in ("bac", "acb")
    assert exchanged("T", "h") == ("H", "t") and exchanged("h", "T") == ("t", "H")
    assert exchanged("ß", "A") == ("A", "ß") and exchanged("É", "a") == ("A", "é")
    assert noisy("Tttt Aaaa", "swap", word_rate=1) == "Tttt Aaaa", "nothing to see, nothing done"


@given(st.lists(st.sampled_from(ORDINARY), max_size=12), NUMBERS, st.sampled_from([0.3, 1.0]))
@example(["house", "house", "brown"], 0, 1.0)
def test_swapping_words_moves_neighbours_only(chosen, number, rate):
    line = "  ".join(chosen)
    after = noisy(line, "swap-words", number=number, word_rate=rate)
    moved, i = changed(line, after), 0
    while i < len(moved):
        assert moved[i + 1] == moved[i] + 1
        assert words(after)[moved[i]] == words(line)[moved[i + 1]]
        assert words(line)[moved[i]] == words(after)[moved[i + 1]]
        i += 2
    assert len(moved) <= max(2, int(len(chosen) * rate + 1))
    assert moved or rate < 1 or len(set(chosen)) < 2


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=12), NUMBERS)
def test_words_are_dropped_repeated_and_replaced_as_often_as_asked(line, number):
    count = min(10, max(1, len(line) // 2))

    def made(kind: str) -> list[str]:
        return noisy(" ".join(line), kind, number=number, word_rate=0.5).split()

    rest = iter(line)
    dropped = made("drop-words")
    text = f"  {' '.join(line)} "
    assert noisy(text, "drop-words", number=number, word_rate=0.5) == f"  {' '.join(dropped)} "
    assert all(word in rest for word in dropped)
    assert len(dropped) == len(line) - min(count, len(line) - 1), "one is left"
    unique = " ".join(f"{word}{place}" for place, word in enumerate(line))
    seen = Counter(noisy(unique, "repeat-words", number=number, word_rate=0.5).split())
    assert list(seen) == unique.split() and sorted(seen.values())[-count:] == [2] * count
    assert seen.total() == len(line) + count
    replaced = made("replace-words")
    assert sum(one != other for one, other in zip(line, replaced, strict=True)) == (
        count if len(set(line)) > 1 else 0
    )
    assert set(replaced) <= set(line)


def test_marks_and_joined_emoji_are_never_torn():
    whole = ["e\u0301", "नि", "👩\u200d👩\u200d👧", "한", "g\u0308\u0301"]
    assert clusters("".join(whole)) == whole
    for number in range(40):
        for kind in (kinds.delete, kinds.swap):
            assert not Counter(kind(whole, 2, sentence_random(1, 1, number))) - Counter(whole)


def test_new_letters_are_of_the_script_of_their_neighbour():
    assert set("аяб") <= set(alphabet("ж")) and not set("abc") & set(alphabet("ж"))
    assert "z" in alphabet("é") and "é" not in alphabet("é")
    for letter in "жع한नก漢":
        assert letter in alphabet(letter) and not any(map(str.isspace, alphabet(letter)))
    for number in range(20):
        after = noisy("наблюдение", "random", number=number, char_rate=1)
        assert re.fullmatch(r"[\u0400-\u047f]*", after), after


# chance ------------------------------------------------------------------------------------------


def test_what_happens_depends_on_seed_epoch_sentence_and_run_alone():
    line, made = " ".join(ORDINARY), Noise(PAPER)

    def of(*key: int) -> str:
        return made(line, sentence_random(*key))

    first = [of(1, 1, number) for number in range(50)]
    assert [of(1, 1, number) for number in reversed(range(50))] == first[::-1]
    assert len(set(first)) > 40
    lengths = Counter(len(one) - len(line) for one in first)
    assert 5 < lengths[0] < 45, "one kind is sampled for each line; some keep its length"
    for seed, epoch, run in ((2, 1, 0), (1, 2, 0), (1, 1, 7)):
        assert sum(of(seed, epoch, number, run) == first[number] for number in range(50)) < 5


def test_noise_is_the_same_on_every_machine():
    line = "The quick brown fox jumps over the lazy dog"
    assert [noisy(line, kind, number=3) for kind in (*PAPER, "ocr", *WORD_EDITS)] == [
        "The quick brwn fox jhumps over the lazy dog",
        "The quick brkwn fox kumps over the lazy dog",
        "The quick borwn fox ujmps over the lazy dog",
        "The quick brwn fox jups over the lazy dog",
        "The quick bröwn fox junips over the lazy dog",
        "The quick brown fox over jumps the lazy dog",
        "The quick fox over the lazy dog",
        "The quick brown brown fox jumps jumps over the lazy dog",
        "The quick over fox fox over the lazy dog",
    ]
    line = "Größere Äpfel für наблюдение"
    assert [noisy(line, k, number=3) for k in ("qwertz", "azerty", "jcuken", "diacritics")] == [
        "Größere Öpfel für наблюдение",
        "Größere Älfel für наблюдение",
        "Größere Äpfel für нвблюжкние",
        "Größere Apfel für наблюдение",
    ]


@given(st.integers(0, 30), st.integers(0, 30), NUMBERS)
def test_a_sample_has_different_items(size, count, number):
    sampled = rng.sample(sentence_random(1, 1, number), range(size), count)
    assert len(set(sampled)) == len(sampled) == min(size, count)
    assert set(sampled) <= set(range(size))


def test_every_item_is_sampled_as_often_as_its_weight_says():
    source = sentence_random(1, 1, 1)
    seen = Counter(rng.choose_weighted(source, "abc", [1, 0, 3]) for _ in range(2000))
    assert 420 < seen["a"] < 580 and seen["b"] == 0
    flat = Counter(rng.choose(source, "abcd") for _ in range(2000))
    assert all(430 < count < 570 for count in flat.values()) and len(flat) == 4


# options -----------------------------------------------------------------------------------------


def test_names_of_kinds_are_read():
    assert parse_kinds("--noise", "none") == ()
    assert parse_kinds("--noise", "all, ocr,swap") == (*PAPER, "ocr")
    for text in ("keybord", "", "none,swap", "swap,,delete"):
        with refuses(f"--noise {text}", *KINDS):
            parse_kinds("--noise", text)


def test_values_that_cannot_be_are_named():
    values = {"word_rate": (1.5, -0.1, float("nan")), "char_rate": (1.1,), "min_length": (0,)}
    values |= {"confusion_scale": (-1.0, float("inf"))}
    for option, some in values.items():
        for value in some:
            with refuses(f"--noise-{option.replace('_', '-')} {value}"):
                Noise(**{option: value})
