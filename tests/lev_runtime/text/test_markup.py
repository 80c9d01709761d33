"""Marks on drafts: read from text, written as text, and found again on tokens."""

import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from refusals import refuses
from tables import cases, table

from lev_runtime.text.markup import (
    DROP,
    JOINED,
    KEEP,
    Joining,
    Mark,
    escape_markup,
    parse_markup,
    token_marks,
    write_marks,
)

SIGNS = {"keep": "=", "drop": "-", "term": "+"}
KINDS = st.sampled_from(list(SIGNS))
# rich in everything that means something, and any character at all
TEXT = st.one_of(
    st.text(max_size=30), st.lists(st.sampled_from([*"[]=-+~\\ab "]), max_size=14).map("".join)
)


# text ----------------------------------------------------------------------------------------


@given(TEXT)
@example("[=a=] \\[=b \\\\[-c [[+")
def test_escaped_text_has_no_marks_and_is_the_text(text):
    assert parse_markup(escape_markup(text)) == (text, [])


@given(st.lists(st.tuples(TEXT, TEXT, KINDS), max_size=4), TEXT)
def test_marks_hold_what_was_put_in_and_know_their_places(parts, end):
    plain, marks = "", []
    for before, inside, kind in parts:
        assume(inside.strip())
        start = len(plain) + len(before)
        plain += before + inside
        marks.append(Mark(start, len(plain), kind))
    assert parse_markup(write_marks(plain + end, marks)) == (plain + end, marks)


@pytest.mark.parametrize("text, plain, marks", cases("lev_runtime/text/cases.tsv", "marks"))
def test_what_is_written_is_read(text, plain, marks):
    assert parse_markup(text) == (plain, [Mark(*mark) for mark in marks])


@pytest.mark.parametrize("text, message", table("lev_runtime/text/cases.tsv", "no mark"))
def test_a_mark_that_cannot_be_read_is_refused_by_its_text(text, message):
    with refuses(message):
        parse_markup(text)


# tokens --------------------------------------------------------------------------------------


def characters(text):
    return " ".join(text.replace(" ", "▁"))


def in_pairs(text):
    """Words in pairs of letters, as subword_nmt writes them."""
    return " ".join("@@ ".join(re.findall("..?", word)) for word in text.split())


@pytest.mark.parametrize(
    "encode, text, tokens, bits",
    [
        (str, "a [=b=]c d", "a bc d", [0, KEEP, 0]),  # no token is torn
        (str, "x [=a=]b[+c+]", "x abc", [0, KEEP]),
        (str, " [-a  b-] ", "a b", [DROP | JOINED, DROP]),
        (characters, "[+a b+]", "a ▁ b", [KEEP | JOINED, KEEP | JOINED, KEEP]),
        (in_pairs, "abc [=dabcd=]", "ab@@ c da@@ bc@@ d", [0, 0, KEEP, KEEP, KEEP]),
        (in_pairs, "x [+abc d+]", "x ab@@ c d", [0, KEEP | JOINED, KEEP | JOINED, KEEP]),
    ],
)
def test_a_mark_covers_its_tokens_whole_and_no_other_word(encode, text, tokens, bits):
    plain, marks = parse_markup(text)
    assert token_marks(plain, marks, encode) == (tokens.split(), bits)


@pytest.mark.parametrize(
    "text, message",
    [("x [=a=][-bc-]", "'abc' of 'bc'"), ("a [+7+] b", "'7'")],
)
def test_marks_that_disagree_on_a_token_or_have_none_are_refused(text, message):
    plain, marks = parse_markup(text)
    with refuses(message):
        token_marks(plain, marks, lambda text: text.replace("7", ""))


# words ---------------------------------------------------------------------------------------

NUMBERS = " ".join(map(str, range(30)))


@pytest.mark.parametrize("symbols, joined, apart", table("lev_runtime/text/cases.tsv", "joined"))
def test_tokens_join_where_no_space_stands_between_letters(symbols, joined, apart):
    joining = Joining(["<s>", "<unk>", *symbols.split(), "<plh>"])
    for pairs, wanted in ((joined, True), (apart, False)):
        for pair in filter(None, pairs.split(", ")):
            before, behind = map(joining.edges, pair.split())
            assert (before[1] and behind[0]) == wanted, pair
    assert joining.edges("<unk>") == (False, False)
