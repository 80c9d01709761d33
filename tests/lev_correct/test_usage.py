"""Everyday slips between words that exist, which are reported and never made."""

from dataclasses import replace

import pytest
from fake_backend import FakeBackend

from lev_correct import Corrector
from lev_correct.lines import splice
from lev_correct.propose.usage import SLIPS, doubts


@pytest.mark.parametrize("written, meant", [slip[-2:] for slip in SLIPS])
def test_an_everyday_slip_is_found_and_nothing_where_it_is_right(written, meant):
    changes = [*doubts(written)]
    assert splice(written, [change[:3] for change in changes]) == meant
    assert all(0 < chance < 1 for *_, chance in changes) and not [*doubts(meant)]


@pytest.mark.parametrize("line", [
    "The sum of its values, and its own key.", "i = i + 1, for i in x", "Their own cats are",
    "He is to be here, much to my surprise.", "Your welcome page", "better, then the others came",
    "It don't-care bits", "an unusual house, a European one",
])  # fmt: skip
def test_what_may_be_meant_stays(line):
    assert [change.after for change in doubts(line)] == []


def test_slips_are_reported_if_asked_for_but_not_where_something_is_protected():
    corrector = Corrector(FakeBackend(), "word")
    line = "\ufeffTheir is a `their is` and a hour."
    assert not corrector.correct([line])[0].edits
    corrector.settings = replace(corrector.settings, grammar=True)
    (correction,) = corrector.correct([line], protect=["`.*?`"])
    assert correction.text == line
    found = [(edit.before, edit.after, edit.reason) for edit in correction.edits]
    assert found == [("Their", "There", "reported"), ("a", "an", "reported")]
    assert line[correction.edits[0].offset :].startswith("Their")
