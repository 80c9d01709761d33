"""Scripts of changes against plain, slow oracles; rewrites of text that was normalised."""

import random
from functools import cache

from hypothesis import assume, given
from hypothesis import strategies as st

from lev_plugins.inference.correction import edits
from lev_plugins.inference.correction.edits import rewrites, script

WORDS = st.text(st.sampled_from("ab c"), max_size=9)


def applied(before, after, changes):
    made, place = [], 0
    for i, j, k, m in changes:
        made += [*before[place:i], *after[k:m]]
        place = j
    return "".join(made) + before[place:]


def best(x, y):
    """Fewest changed characters and, of such scripts, fewest changes; by trying everything."""

    @cache
    def cost(i, j, open):
        if i == len(x) and j == len(y):
            return 0, 0
        found = []
        if i < len(x) and j < len(y) and x[i] == y[j]:
            found.append(cost(i + 1, j + 1, False))
        for a, b in ((i + 1, j), (i, j + 1)):
            if a <= len(x) and b <= len(y):
                items, changes = cost(a, b, True)
                found.append((items + 1, changes + (not open)))
        return min(found)

    return cost(0, 0, False)


@given(WORDS, WORDS)
def test_a_script_is_minimal_and_leads_to_the_text(before, after):
    changes = script(before, after)
    assert applied(before, after, changes) == after
    items = sum(j - i + m - k for i, j, k, m in changes)
    assert (items, len(changes)) == best(before, after)


@given(WORDS, WORDS)
def test_changes_are_in_order_with_kept_characters_between_them(before, after):
    changes = script(before, after)
    for (_, j, _, m), (i, _, k, _) in zip(changes, changes[1:]):
        assert i > j and k > m and before[j:i] == after[m:k]


def test_long_texts_with_few_changes_stay_quick_and_exact():
    draw = random.Random(1)
    before = "".join(draw.choices("abcdefgh ", k=4000))
    after = before[:100] + "XY" + before[101:2000] + before[2030:3999]
    changes = script(before, after)
    assert applied(before, after, changes) == after
    assert sum(j - i + m - k for i, j, k, m in changes) == 2 + 1 + 30 + 1


def test_texts_with_nothing_in_common_are_one_change(monkeypatch):
    monkeypatch.setattr(edits, "MOST_CELLS", 100)
    (change,) = script("s" + "ab" * 20 + "e", "s" + "cd" * 30 + "e")
    assert change == (1, 41, 1, 61)


def rewritten(shown, found):
    made, place = "", 0
    for one in found:
        made += shown[place : one.start] + one.after
        place = one.end
    return made + shown[place:]


@given(WORDS, WORDS)
def test_without_normalisation_rewrites_are_the_script(shown, written):
    found = rewrites(shown, shown, written)
    assert rewritten(shown, found) == written
    assert [(one.start, one.end) for one in found] == [c[:2] for c in script(shown, written)]


@given(WORDS, WORDS)
def test_what_the_text_processing_changed_is_not_the_models_edit(shown, read):
    assert rewrites(shown, read, read) == []


@given(WORDS, WORDS, WORDS)
def test_rewrites_of_normalised_text_are_disjoint_and_in_order(shown, read, written):
    found = rewrites(shown, read, written)
    place = 0
    for one in found:
        assert place <= one.start <= one.end <= len(shown)
        assert shown[one.start : one.end] != one.after
        place = one.end
    if shown == read:
        return
    assume(read != written)
    whole = rewritten(shown, found)
    # every character that the model wrote anew is there
    for _, _, start, end in script(read, written):
        assert written[start:end] in whole


def test_only_the_normalised_stretch_that_an_edit_reaches_is_written_anew():
    found = rewrites("ﬁne … teh ﬂy", "fine ... teh fly", "fine ... the fly")
    assert rewritten("ﬁne … teh ﬂy", found) == "ﬁne … the ﬂy"
    found = rewrites("ﬁne … day", "fine ... day", "fire ... day")
    assert rewritten("ﬁne … day", found) == "ﬁre … day"
    found = rewrites("ﬁne … day", "fine ... day", "pine ... day")
    assert rewritten("ﬁne … day", found) == "pine … day"
    found = rewrites("a\u00adb", "ab", "aXb")
    assert rewritten("a\u00adb", found) == "a\u00adXb"


def test_what_was_dropped_beside_an_edit_stays():
    assert rewritten("a\u00adb", rewrites("a\u00adb", "ab", "b")) == "\u00adb"
    assert rewritten("a\u00adb", rewrites("a\u00adb", "ab", "a")) == "a\u00ad"
