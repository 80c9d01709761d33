"""Scripts of changes against plain, slow oracles; rewrites of text that was normalised."""

from functools import cache

from hypothesis import assume, given
from hypothesis import strategies as st

from lev_plugins.inference.correction.edits import rewrites, script

WORDS = st.text(st.sampled_from("ab c"), max_size=9)


def applied(before, after, changes):
    made, place = [], 0
    for i, j, k, m in changes:
        made += [*before[place:i], *after[k:m]]
        place = j
    return "".join(made) + before[place:]


def fewest(x, y):
    """Fewest changed characters, by trying everything."""

    @cache
    def cost(i, j):
        if i == len(x) or j == len(y):
            return len(x) - i + len(y) - j
        if x[i] == y[j]:
            return cost(i + 1, j + 1)
        return 1 + min(cost(i + 1, j), cost(i, j + 1))

    return cost(0, 0)


@given(WORDS, WORDS)
def test_a_script_is_minimal_and_leads_to_the_text(before, after):
    changes = script(before, after)
    assert applied(before, after, changes) == after
    assert sum(j - i + m - k for i, j, k, m in changes) == fewest(before, after)
    for (_, j, _, m), (i, _, k, _) in zip(changes, changes[1:]):
        assert i > j and k > m and before[j:i] == after[m:k]


def test_scripts_are_of_any_items():
    assert script((None, "ab"), ("ab", "d")) == [(0, 1, 0, 0), (2, 2, 1, 2)]


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
