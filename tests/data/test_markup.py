"""Marks on drafts: read from text, written as text, and found again on tokens."""

import contextlib
import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from refusals import refuses

from lev_plugins.errors import UserError
from lev_plugins.systems.levenshtein.markup import (
    DROP,
    JOINED,
    KEEP,
    Joining,
    Mark,
    escape_markup,
    parse_markup,
    token_marks,
    write_mark,
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
    written, plain, expected = "", "", []
    for before, inside, kind in parts:
        assume(inside.strip())
        written += escape_markup(before, before_mark=True) + write_mark(inside, kind)
        start = len(plain) + len(before)
        plain += before + inside
        expected.append(Mark(start, len(plain), kind))
    assert parse_markup(written + escape_markup(end)) == (plain + end, expected)


@pytest.mark.parametrize(
    ("text", "plain", "marks"),
    [
        ("the [=red=] house", "the red house", [(4, 7, "keep")]),
        ("[-a-][+b c+]", "ab c", [(0, 1, "drop"), (1, 4, "term")]),
        ("no \\[=mark=] here", "no [=mark=] here", []),
        ("a\\b \\= \\] [x] =] -]", "a\\b \\= \\] [x] =] -]", []),
        ("[=a \\=] b=]", "a =] b", [(0, 6, "keep")]),
        ("[=a -] b=]", "a -] b", [(0, 6, "keep")]),
        ("[-\\[=x=]-]", "[=x=]", [(0, 5, "drop")]),
        ("[==x==]", "=x=", [(0, 3, "keep")]),
        ("[=a[=]", "a[", [(0, 2, "keep")]),
        ("[+C:\\dir+]", "C:\\dir", [(0, 6, "term")]),
        ("C:\\\\[=x=]", "C:\\x", [(3, 4, "keep")]),
        ("C:\\\\\\[=x=]", "C:\\[=x=]", []),
        ("[+C:\\\\+]", "C:\\", [(0, 3, "term")]),
        ("[+a\\\\\\+]+]", "a\\+]", [(0, 4, "term")]),
        ("ünï [= ß =]", "ünï  ß ", [(4, 7, "keep")]),
    ],
)
def test_what_is_written_is_read(text, plain, marks):
    assert parse_markup(text) == (plain, [Mark(*mark) for mark in marks])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a [=b", "'[=b'"),
        ("[-b=]", "'[-b=]'"),
        ("[+b\\+]", "'[+b"),
        ("[=", "'[='"),
        ("[=]", "'[=]'"),
        ("a [==] b", "'[==]'"),
        ("[+ \t+]", "'[++]'"),
        ("[=a [-b-] c=]", "'[=a [-b-] c=]'"),
        ("[-a \\[= b [+c-]", "'[-a"),
    ],
)
def test_a_mark_that_cannot_be_read_is_refused_by_its_text(text, said):
    with refuses(said):
        parse_markup(text)


@pytest.mark.parametrize("unit", ["\\", "[=", "\\=]", "[=a=]", "[-[+"])
def test_a_long_text_is_read_in_a_moment(unit):
    for text in (unit * 50_000, f"[={unit * 50_000}=]"):
        started = time.process_time()
        with contextlib.suppress(UserError):
            parse_markup(text)
        assert parse_markup(escape_markup(text)) == (text, [])
        assert parse_markup(write_mark(text, "keep"))[0] == text
        assert time.process_time() - started < 2


@given(TEXT)
def test_any_text_is_read_or_refused_in_one_line(text):
    try:
        plain, marks = parse_markup(text)
    except UserError as error:
        assert len(str(error).splitlines()) == 1
        assert "[" in text
        return
    for mark in marks:
        assert plain[mark.start : mark.end].strip() and mark.kind in SIGNS
    assert all(one.end <= other.start for one, other in itertools.pairwise(marks))


# tokens --------------------------------------------------------------------------------------

Spans = list[tuple[str, int, int]]


@dataclass(frozen=True)
class Pieces:
    """Subwords by the longest match from the left: sentencepiece's look, or subword_nmt's.

    It knows where in the text each token stands, which the code under test has to find out.
    """

    vocabulary: frozenset[str]
    begin: str = ""
    inner: str = ""

    def spans(self, text: str) -> Spans:
        found: Spans = []
        position = 0
        while position < len(text):
            if text[position].isspace():
                position += 1
                continue
            end = position
            while end < len(text) and not text[end].isspace():
                end += 1
            found += self._word(text, position, end)
            position = end
        return found

    def _word(self, text: str, start: int, end: int) -> Spans:
        found: Spans = []
        here = start
        while here < end:
            size = max(n for n in range(1, end - here + 1) if self._known(text[here : here + n]))
            piece = text[here : here + size]
            front = self.begin if here == start else ""
            back = self.inner if here + size < end else ""
            found.append((front + piece + back, here, here + size))
            here += size
        return found

    def _known(self, piece: str) -> bool:
        return len(piece) == 1 or piece in self.vocabulary

    def __call__(self, text: str) -> str:
        return " ".join(token for token, _, _ in self.spans(text))


@dataclass(frozen=True)
class Words(Pieces):
    """A token is what stands between spaces."""

    def _known(self, piece: str) -> bool:
        return True


class Characters(Pieces):
    """A token is a character; a space is ``▁``."""

    def spans(self, text: str) -> Spans:
        return [("▁" if c.isspace() else c, i, i + 1) for i, c in enumerate(text)]


VOCABULARIES = st.frozensets(st.text("abc", min_size=2, max_size=4), max_size=8)
ENCODERS = st.one_of(
    st.just(Words(frozenset())),
    st.just(Characters(frozenset())),
    st.builds(Pieces, VOCABULARIES, st.just("▁"), st.just("")),
    st.builds(Pieces, VOCABULARIES, st.just(""), st.just("@@")),
)
LINES = st.text("abc  ", max_size=16)


def touched(spans: Spans, mark: Mark) -> list[int]:
    """Tokens of which a character stands under the mark."""
    return [i for i, (_, start, end) in enumerate(spans) if start < mark.end and mark.start < end]


def expected_bits(spans: Spans, marks: Sequence[Mark]) -> list[int]:
    bits = [0] * len(spans)
    for mark in marks:
        inside = touched(spans, mark)
        for i in inside:
            bits[i] |= DROP if mark.kind == "drop" else KEEP
            bits[i] |= JOINED * (mark.kind != "keep" and i != inside[-1])
    return bits


@st.composite
def marked_at_borders(draw: st.DrawFn) -> tuple[Pieces, str, list[Mark]]:
    """An encoder, a text and marks that begin and end where tokens do."""
    encode, text = draw(ENCODERS), draw(st.text("abc  ", min_size=8, max_size=16))
    spans = encode.spans(text)
    assume(spans)
    cuts = draw(st.sets(st.integers(0, len(spans)), min_size=2, max_size=6).map(sorted))
    marks = []
    for first, last in zip(cuts[::2], cuts[1::2]):
        start, end = spans[first][1], spans[last - 1][2]
        # a mark may also hold the spaces beside its tokens
        before = text[:start].rstrip() if draw(st.booleans()) else text[:start]
        if not isinstance(encode, Characters) and (not marks or marks[-1].end <= len(before)):
            start = len(before)
        marks.append(Mark(start, end, draw(KINDS)))
    return encode, text, marks


@settings(max_examples=100)
@given(marked_at_borders())
def test_marks_at_the_borders_of_tokens_cover_exactly_their_tokens(case):
    encode, text, marks = case
    tokens, bits = token_marks(text, marks, encode)
    assert tokens == encode(text).split()
    assert bits == expected_bits(encode.spans(text), marks)


@given(ENCODERS, LINES, st.integers(0, 15), st.integers(1, 16), KINDS)
def test_a_mark_inside_a_token_covers_the_whole_token_and_no_other_word(
    encode, text, start, size, kind
):
    mark = Mark(start, min(start + size, len(text)), kind)
    assume(text[mark.start : mark.end].strip())
    spans = encode.spans(text)
    _, bits = token_marks(text, [mark], encode)
    covered = [i for i, bit in enumerate(bits) if bit]
    assert covered == list(range(covered[0], covered[-1] + 1))
    assert set(touched(spans, mark)) <= set(covered)
    # at most the rest of the words that the mark begins and ends in
    left, right = mark.start, mark.end
    while left > 0 and not text[left - 1].isspace():
        left -= 1
    while right < len(text) and not text[right].isspace():
        right += 1
    assert set(covered) <= set(touched(spans, Mark(left, right, kind)))


def test_two_marks_on_one_token_agree_or_are_refused():
    plain, marks = parse_markup("x [=a=]b[+c+]")
    assert token_marks(plain, marks, str) == (["x", "abc"], [0, KEEP])
    plain, marks = parse_markup("x [=a=][-bc-]")
    with refuses("'abc' of 'bc'"):
        token_marks(plain, marks, str)


def test_a_mark_that_an_encoder_leaves_no_token_of_is_refused():
    def without_digits(text: str) -> str:
        return "".join(c for c in text if not c.isdigit())

    plain, marks = parse_markup("a [+7+] b")
    with refuses("'7'"):
        token_marks(plain, marks, without_digits)


# words ---------------------------------------------------------------------------------------

SENTENCEPIECE = ["▁Fluss", "▁Win", "ter", "n", ".", "▁", "7", "的", "-", "▁der"]
BYTES = ["ĠFluss", "ĠWin", "ter", "n", ".", "Ġ", "7"]
WORDPIECE = ["Fluss", "Win", "##ter", "##n", ".", "7", "##s"]
BPE = ["Fluss", "Win@@", "ter", "n", ".", "Fl@@", "(@@"]
CHARACTERS = ["F", "l", "▁", ".", "7", "的", "s"]
WORDS = ["Fluss", "Winter", "a@", "#b", "▁seen", *map(str, range(30))]


@pytest.mark.parametrize(
    ("symbols", "joined", "apart"),
    [
        (
            SENTENCEPIECE,
            [("▁Fluss", "n"), ("▁Win", "ter"), ("ter", "7"), ("n", "n")],
            [("▁Fluss", "▁Win"), ("▁Fluss", "."), ("▁", "n"), (".", "n"), ("-", "n"), ("n", "▁")],
        ),
        (BYTES, [("ĠFluss", "n"), ("7", "ter")], [("n", "ĠWin"), ("n", "."), ("Ġ", "n")]),
        (WORDPIECE, [("Win", "##ter"), ("7", "##s")], [("Fluss", "Win"), (".", "##s"), ("n", ".")]),
        (BPE, [("Win@@", "ter"), ("Fl@@", "n")], [("Fluss", "n"), ("(@@", "ter"), ("Win@@", ".")]),
        (CHARACTERS, [("F", "l"), ("l", "7")], [("F", "▁"), ("▁", "l"), ("F", "."), ("l", "的")]),
        (WORDS, [], [("Fluss", "Winter"), ("a@", "Fluss"), ("Fluss", "▁seen")]),
    ],
    ids=["sentencepiece", "byte-level", "wordpiece", "bpe", "characters", "words"],
)
def test_tokens_join_where_no_space_stands_between_letters(symbols, joined, apart):
    joining = Joining(["<s>", "<unk>", *symbols, "<plh>"])
    for pairs, wanted in ((joined, True), (apart, False)):
        for before, behind in pairs:
            one = joining.edges(before)[1] and joining.edges(behind)[0]
            assert one == wanted, (before, behind)
    assert joining.edges("<unk>") == (False, False)
