"""What a text goes on with, guessed from a draft of it."""

import pytest
from tables import cases

from lev_runtime.beam.draft_guided import DraftGuide


def passes(draft: str, text: str, most: int = 1000) -> int:
    """How many guesses it takes until the whole text, which has an end, is written."""
    wanted, guide = [ord(letter) for letter in text] + [0], DraftGuide(list(map(ord, draft)))
    place = count = 0
    while place < len(wanted):
        guess, count = guide.guess(most), count + 1
        assert len(guess) <= most
        accepted = 0
        while accepted < len(guess) and guess[accepted] == wanted[place + accepted]:
            accepted += 1
        guide.follow(wanted[place : place + accepted + 1])
        place += accepted + 1
    return count


LINE = "the quick brown fox jumps over the lazy dog"


@pytest.mark.parametrize("draft, most", cases("lev_runtime/beam/cases.tsv", "passes"))
def test_a_text_takes_one_pass_and_one_or_two_for_each_place_that_differs(draft, most):
    assert passes(draft, LINE) <= most
