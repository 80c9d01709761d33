"""What people are told of an edit: why it is proposed."""

import pytest
from tables import rows

from lev_correct import Edit
from lev_correct.propose.backend import Backend
from lev_correct.reasons import reason_for


class Lists(Backend):
    """Lists of a few words."""

    misspelt = staticmethod({"thier": ("their",)}.get)
    is_confused = staticmethod({"loose"}.__contains__)
    unknown = staticmethod({"tomorow", "wolud", "hause"}.__contains__)


#: an edit | what is said of it
TOLD = rows("""
thier → their | list of misspellings
The the → The | twice
alot → a lot | space
ca n't → can't | space
dont → don't | apostrophe
paris → Paris | capital
wolud → would | exchanged no list
tomorow → tomorrow | One “tomorrow” no list
loose → lose | One better
seperete → separate | Two “separate”
goes → went | model's
uh → | model's
→ the | model's
""")


@pytest.mark.parametrize("edit, told", TOLD)
def test_the_reason_is_what_the_lists_or_the_letters_say(edit, told):
    before, after = map(str.strip, edit.split("→"))
    reason = reason_for(Edit(0, before, after, 0.9), Lists())
    assert all(word in reason for word in told.split()), reason
    assert not reason.endswith(".") and "\n" not in reason


def test_neighbours_that_speak_for_a_word_are_named():
    fits = Edit(0, "hause", "house", 0.9, why=(("fits", 1.0),))
    assert reason_for(fits, Lists()) != reason_for(Edit(0, "hause", "house", 0.9), Lists())


def test_a_slip_between_words_is_told_as_such():
    slip = Edit(0, "should of", "should have", 0.9, False, "reported")
    assert "should have" in reason_for(slip, Lists())
