"""benchmarks/recurring_edits.py: what of a post-editor's work could be learnt by heart."""

import pytest
from test_benchmarks import script, scripts  # noqa: F401

from lev_plugins.errors import UserError

recurring = script("recurring_edits")


def pair(draft: str, edited: str):
    return ("<s>", *draft.split(), "</s>"), ("<s>", *edited.split(), "</s>")


ALWAYS = [
    pair("der alte Haus steht", "das alte Haus steht"),
    pair("der alte Haus", "das alte Haus"),
]


def test_an_edit_that_was_seen_twice_is_made_again_and_counts_where_the_post_editor_made_it(
    recurring,
):
    dev = [
        pair("der alte Haus fehlt", "das alte Haus fehlt"),
        pair("der alte Haus", "der alte Haus"),
    ]
    (one, both) = recurring.measure(ALWAYS, dev, [1, 2])
    assert (one.rules, one.made, one.right) == (0, 0, 0)
    assert (both.made, both.right) == (2, 1)


def test_a_rule_must_hold_in_half_of_its_places(recurring):
    kept = [pair("der alte Mann", "der alte Mann")] * 3
    rules = recurring.learn(ALWAYS + kept)
    assert all(place.after != "alte" for place in rules)  # right twice, of five
    assert recurring.apply(rules, kept) == (0, 0)


def test_words_between_two_neighbours_can_be_inserted(recurring):
    seen = [pair("ich gehe Hause", "ich gehe nach Hause")] * 2
    rules = recurring.learn(seen)
    assert rules[recurring.Place("gehe", (), "Hause")] == ("nach",)


def test_sides_of_other_lengths_are_refused(recurring, tmp_path):
    (tmp_path / "dev.mt").write_text("a\nb\n")
    (tmp_path / "dev.pe").write_text("a\n")
    with pytest.raises(UserError, match="dev: 2 drafts, 1 post-edits"):
        recurring.pairs(tmp_path, "dev")
