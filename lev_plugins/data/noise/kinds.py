"""What may happen to the characters of a word (:data:`EDITS`) and to words (:data:`WORD_EDITS`).

Words are lists of grapheme clusters, none is torn, and a word keeps at least one letter.
"""

import random
from collections.abc import Callable, Mapping, Sequence

from .letters import NEIGHBOURS, exchanged, is_letter, other_letter, without_marks
from .rng import choose, sample
from .segments import confusing
from .shapes import SHAPES
from .sounds import SOUNDS

Places = Callable[[Sequence[str]], Sequence[object]]
Edit = Callable[[Sequence[str], int, random.Random], list[str]]
Ways = Callable[[str], Sequence[str]]


def letters(word: Sequence[str]) -> list[int]:
    """Places of letters."""
    return [i for i, letter in enumerate(word) if is_letter(letter)]


def pairs(word: Sequence[str]) -> list[int]:
    """Places of letters that differ from the letter behind them, whatever their case."""
    return [
        i
        for i in range(len(word) - 1)
        if is_letter(word[i])
        and is_letter(word[i + 1])
        and exchanged(word[i], word[i + 1]) != (word[i], word[i + 1])
    ]


def delete(word: Sequence[str], count: int, rng: random.Random) -> list[str]:
    """Leaves out ``count`` letters, but never all."""
    able = letters(word)
    most = max(len(able) - 1, 0)
    gone = set(sample(rng, able, min(count, most)))
    return [letter for i, letter in enumerate(word) if i not in gone]


def swap(word: Sequence[str], count: int, rng: random.Random) -> list[str]:
    """Exchanges ``count`` pairs of neighbours, or as many as do not overlap."""
    noisy = list(word)
    taken = set[int]()
    candidates = pairs(word)
    for i in sample(rng, candidates, len(candidates)):
        if count and not {i, i + 1} & taken:
            noisy[i], noisy[i + 1] = exchanged(noisy[i], noisy[i + 1])
            taken |= {i, i + 1}
            count -= 1
    return noisy


def random_edits(word: Sequence[str], count: int, rng: random.Random) -> list[str]:
    """Inserts another letter before or behind ``count`` letters, deletes or substitutes them.

    Which of it happens is sampled for each; the word's last letter is not deleted but substituted.
    """
    chosen = set(sample(rng, letters(word), count))
    noisy = []
    left = len(letters(word))
    for place, letter in enumerate(word):
        act = choose(rng, ("insert", "delete", "substitute")) if place in chosen else "keep"
        if act == "keep":
            noisy.append(letter)
        elif act == "insert":
            new = other_letter(rng, letter)
            noisy += [new, letter] if rng.random() < 0.5 else [letter, new]
        elif act == "delete" and left > 1:
            left -= 1
        else:
            noisy.append(other_letter(rng, letter))
    return noisy


def replacing(ways: Ways) -> tuple[Places, Edit]:
    """A kind that puts one of ``ways(letter)`` in the place of letters that have any."""

    def places(word: Sequence[str]) -> list[int]:
        return [i for i, letter in enumerate(word) if ways(letter)]

    def edit(word: Sequence[str], count: int, rng: random.Random) -> list[str]:
        noisy = list(word)
        for i in sorted(sample(rng, places(word), count)):
            noisy[i] = choose(rng, ways(noisy[i]))
        return noisy

    return places, edit


def beside(near: Mapping[str, str]) -> Ways:
    """Keys that touch a letter's key, in its case; ``near``: letter → those."""
    return lambda letter: near.get(letter, "")


#: Kind → what gives the characters of a word that it can change, and what changes some of them.
EDITS: dict[str, tuple[Places, Edit]] = {
    "random": (letters, random_edits),
    "swap": (pairs, swap),
    "delete": (letters, delete),
    "ocr": confusing(SHAPES),
    "phonetic": confusing(SOUNDS),
    "diacritics": replacing(without_marks),
    **{name: replacing(beside(near)) for name, near in NEIGHBOURS.items()},
}


def swap_words(words: list[str], count: int, rng: random.Random) -> None:
    """Exchanges neighbours among ``words``, in place, until ``count`` of them (or 2) have moved.

    No word moves twice; equal neighbours stay.
    """
    taken = set[int]()
    candidates = [i for i in range(len(words) - 1) if words[i] != words[i + 1]]
    swaps = (count + 1) // 2
    for i in sample(rng, candidates, len(candidates)):
        if swaps and not {i, i + 1} & taken:
            words[i], words[i + 1] = words[i + 1], words[i]
            taken |= {i, i + 1}
            swaps -= 1


def drop_words(words: list[str], count: int, rng: random.Random) -> None:
    """Leaves out ``count`` words, but never all."""
    most = len(words) - 1
    for i in sample(rng, range(len(words)), min(count, most)):
        words[i] = ""


def replace_words(words: list[str], count: int, rng: random.Random) -> None:
    """Puts others of the words in the place of ``count`` words."""
    before = list(words)
    for i in sample(rng, range(len(words)), count):
        others = [word for word in before if word != words[i]]
        words[i] = choose(rng, others or before)


#: Kind → what changes some of a line's words, in place.
WORD_EDITS = {
    "swap-words": swap_words,
    "drop-words": drop_words,
    "replace-words": replace_words,
}
