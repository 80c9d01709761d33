"""What a text goes on with, guessed from a draft of it."""

import pytest

from lev_plugins.ops.guesses import DraftGuide, SourceGuide


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
        guide.follow(wanted[place : place + accepted + 1], accepted)
        place += accepted + 1
    return count


LINE = "the quick brown fox jumps over the lazy dog"


@pytest.mark.parametrize(
    ("draft", "most"),
    [
        (LINE, 1),
        (LINE.replace("quick", "qu1ck"), 2),
        (LINE.replace("quick", "quck"), 3),
        (LINE.replace("quick", "quiick"), 2),
        (LINE.replace("quick ", ""), 8),
        (LINE.replace("over", "0ver").replace("lazy", "1azy"), 3),
        (LINE + " and the cat", 2),
        (LINE[:20], len(LINE) - 20 + 2),
        ("", len(LINE) + 1),
    ],
)
def test_a_text_takes_one_pass_and_one_or_two_for_each_place_that_differs(draft, most):
    assert passes(draft, LINE) <= most


def test_where_the_last_token_is_not_the_drafts_the_place_is_uncertain():
    guide = DraftGuide([5, 6, 7, 8])
    assert guide.is_certain(), "at the beginning"
    guide.follow([5, 9], 1)
    assert not guide.is_certain() and guide.guess(1) == [7]
    guide.follow([7, 8], 1)
    assert guide.is_certain()


def test_a_source_goes_on_behind_the_last_tokens_if_they_stand_in_it_once():
    guide = SourceGuide([1, 2, 3, 4, 2, 5])
    assert guide.guess([9, 3], 5) == [4, 2, 5]
    assert guide.guess([9, 3], 1) == [4]
    assert guide.guess([4, 2], 5) == [5], "of two places the one behind the same tokens"
    assert guide.guess([9, 2], 5) == [] == guide.guess([2], 5), "nobody knows which"
    assert guide.guess([7], 5) == [] == guide.guess([5], 5)
