"""The corrector with scripted models: what is kept, what is edited, and how sure."""

import math
import zlib

import pytest
import tiny
from fake_backend import FakeBackend, copied, replaced
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins import UserError
from lev_plugins.inference.correction import Corrector
from lev_plugins.inference.correction.backends import TextProcessing
from lev_plugins.inference.correction.corrections import apply_edits
from lev_plugins.inference.correction.corrector import LONGEST_WORD
from lev_plugins.inference.correction.protection import Protection
from lev_plugins.inference.correction.units import KINDS

ODD = st.text(st.sampled_from("ab.。 \t\u00a0\u2028\r\x00▁\ufeff\udcff\ufffdé😀"), max_size=30)


def corrector(backend, unit=None):
    return Corrector(backend, unit, 2 if unit == "window" else None)


def one(backend, line, unit=None, **options):
    (correction,) = corrector(backend, unit).correct([line], **options)
    return correction


def scrambled(unit):
    """Another text for each unit, the same every time."""
    made = []
    for place, token in enumerate(unit):
        chance = zlib.crc32(f"{place}{unit}".encode("utf-8", "surrogateescape")) % 8
        made += {0: [], 1: [token, "b"], 2: ["c"], 3: [None], 4: ["▁"]}.get(chance, [token])
    return made


def surer(written):
    """Probabilities that depend on the place."""
    return [math.log(0.2 + 0.8 * (37 * i % 97) / 97) for i in range(len(written) + 1)]


# what is kept ----------------------------------------------------------------------------------


@given(ODD, st.sampled_from(KINDS), st.booleans(), st.sampled_from([2, 9, 1000]))
def test_a_model_that_changes_nothing_changes_nothing(line, unit, characters, limit):
    backend = FakeBackend(copied, limit=limit, characters=characters)
    correction = one(backend, line, unit)
    assert correction.text == line and correction.edits == ()


@given(ODD, st.sampled_from(KINDS), st.sampled_from([3, 1000]))
def test_all_edits_together_make_the_text_and_nothing_else_changes(line, unit, limit):
    correction = one(FakeBackend(scrambled, surer, limit=limit), line, unit)
    place = 0
    for edit in correction.edits:
        assert line[edit.offset : edit.end] == edit.before != edit.after
        if edit.applied:
            assert place <= edit.offset
            place = edit.end
    assert apply_edits(line, correction.edits) == correction.text
    assert all(edit.applied or edit.reason == "unknown" for edit in correction.edits)
    assert not any("\ufffd" in edit.after for edit in correction.edits if edit.applied)


@given(st.lists(ODD, max_size=5), st.integers(1, 3))
def test_lines_keep_their_number_and_order(lines, batch_size):
    backend = FakeBackend(scrambled, surer)
    found = Corrector(backend).correct(lines, batch_size=batch_size)
    assert [correction.source for correction in found] == lines
    assert found == [one(backend, line) for line in lines]


def test_spaces_are_read_as_single_spaces_and_stay_as_they_were():
    backend = FakeBackend(replaced("teh", "the"))
    correction = one(backend, "\tat \t teh\u2028 end \r", "line")
    assert backend.seen == [tuple("at▁teh▁end")]
    assert correction.text == "\tat \t the\u2028 end \r"
    # one that is deleted goes as a whole run
    assert one(FakeBackend(replaced("to▁day", "today")), "to \t day").text == "today"
    assert one(FakeBackend(replaced("today", "to▁day")), "today").text == "to day"


def test_empty_lines_and_lines_of_spaces_are_never_read():
    backend = FakeBackend(scrambled)
    lines = ["", " \t", "\ufeff"]
    assert [correction.text for correction in Corrector(backend).correct(lines)] == lines
    assert backend.seen == []


def test_what_is_longer_than_the_model_reads_is_cut_and_joined():
    backend = FakeBackend(replaced("teh", "the"), limit=7)
    line = "teh cat  teh mat tehtehtehteh"
    assert one(backend, line, "line").text == "the cat  the mat thethethethe"
    seen = ["".join(unit) for unit in backend.seen]
    assert seen == ["teh▁cat", "teh", "mat", "tehteh"]


# what cannot be read or written ------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["word", "letters"])
def test_a_run_of_letters_that_is_no_word_stays(unit):
    line = f"{'a' * LONGEST_WORD} {'a' * (LONGEST_WORD + 1)} a"
    found = one(FakeBackend(replaced("a", "b"), limit=9), line, unit)
    assert found.text == f"{'b' * LONGEST_WORD} {'a' * (LONGEST_WORD + 1)} b"


def test_an_unknown_symbol_that_is_copied_stays_as_it_was_typed():
    backend = FakeBackend(replaced("teh", "the"), known="teh ▁cat")
    assert one(backend, "☃ teh ☂cat").text == "☃ the ☂cat"
    words = FakeBackend(lambda unit: ("the", *unit[1:]), known=("the", "cat"), characters=False)
    assert one(words, "teh ☃ cat snowman").text == "the ☃ cat snowman"


def test_an_edit_that_would_write_an_unknown_symbol_is_not_made():
    backend = FakeBackend(lambda unit: ["a", None, "c"])
    correction = one(backend, "abc")
    assert correction.text == "abc"
    (edit,) = correction.edits
    wanted = ("abc", "a\ufffdc", False, "unknown")
    assert (edit.before, edit.after, edit.applied, edit.reason) == wanted
    words = FakeBackend(lambda unit: ["the", None, "act"], characters=False)
    correction = one(words, "the cat")  # no half of a word either
    assert correction.text == "the cat"
    assert {edit.reason for edit in correction.edits} == {"unknown"}


def test_a_unit_whose_answer_has_no_end_stays():
    backend = FakeBackend(lambda unit: None if "x" in unit else ["y"])
    correction = one(backend, "a xx b", "word")
    assert correction.text == "y xx y" and correction.unterminated == ((2, 4),)


# normalising text processing ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def subwords(tmp_path_factory):
    """sentencepiece over a few words, which writes ﬁ as fi and … as three dots."""
    from argparse import Namespace

    from fairseq.data.encoders.sentencepiece_bpe import SentencepieceBPE

    folder = tmp_path_factory.mktemp("pieces")
    lines = ["the cat sat on the mat", "fine cats and the end ..."] * 20
    path = tiny.sentencepiece_model(folder / "m", lines, vocab_size=40, hard_vocab_limit=False)
    return SentencepieceBPE(
        Namespace(
            sentencepiece_model=str(path),
            sentencepiece_enable_sampling=False,
            sentencepiece_alpha=None,
        )
    )


def test_what_the_subwords_normalise_stays_as_typed_unless_it_is_edited(subwords):
    def corrected(unit):
        return subwords.encode(subwords.decode(" ".join(unit)).replace("cta", "cat")).split()

    backend = FakeBackend(corrected, processing=TextProcessing(None, subwords))
    assert backend.processing.text(backend.processing.tokens("ﬁne …")) == "fine ..."
    correction = one(backend, " ﬁne …\u00a0 the  cta ☃ sat\udcff")
    assert correction.text == " ﬁne …\u00a0 the  cat ☃ sat\udcff"
    edits = [(edit.offset, edit.before, edit.after) for edit in correction.edits]
    assert edits == [(13, "cta", "cat")]
    still = FakeBackend(copied, processing=TextProcessing(None, subwords))
    for line in (" ﬁne …\u00a0 ☃\udcff", "\ufeff▁ é😀\r"):
        assert one(still, line).text == line


# edits and their probabilities -------------------------------------------------------------------


def test_an_edit_is_a_word_however_many_of_its_letters_change():
    correction = one(FakeBackend(replaced("accomodatte", "accommodate")), "so accomodatte, it")
    edits = [(e.offset, e.before, e.after) for e in correction.edits]
    assert edits == [(3, "accomodatte,", "accommodate,")]


def scores(*probabilities):
    return lambda written: [math.log(probability) for probability in probabilities]


@pytest.mark.parametrize(
    ("old", "new", "chances", "wanted"),
    [
        ("b", "X", (0.1, 0.5, 0.4, 0.1), 0.5 * 0.4),  # X, and c, with which it goes back
        ("b", "", (0.1, 0.3, 0.1), 0.3),  # a deletion has what follows
        ("c", "", (0.1, 0.1, 0.7), 0.7),
    ],
)
def test_a_probability_is_that_of_the_tokens_written_and_of_the_one_behind(
    old, new, chances, wanted
):
    (edit,) = one(FakeBackend(replaced(old, new), scores(*chances)), "abc").edits
    assert edit.probability == pytest.approx(wanted)


def test_edits_of_one_word_stand_or_fall_together_and_words_by_themselves():
    backend = FakeBackend(
        lambda unit: list("the▁hat"), scores(0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2)
    )
    correction = one(backend, "teh hta", "line")
    assert correction.text == "the hat"
    first = [edit.probability for edit in correction.edits if edit.offset < 3]
    second = [edit.probability for edit in correction.edits if edit.offset > 3]
    assert len(first) == len(second) == 1 and first[0] > second[0]
    between = (first[0] + second[0]) / 2
    assert one(backend, "teh hta", "line", min_confidence=between).text == "the hta"


def test_the_tokens_of_one_edit_are_its_characters_even_for_subwords():
    words = FakeBackend(lambda unit: ["cats", *unit[1:]], scores(0.25, 0.5, 0.9), characters=False)
    correction = one(words, "cat dog")
    assert [(e.before, e.after) for e in correction.edits] == [("cat", "cats")]
    assert correction.edits[0].probability == pytest.approx(0.25 * 0.5)


def test_words_side_by_side_are_sure_by_themselves():
    words = FakeBackend(
        lambda unit: ["the", "cat", *unit[2:]], scores(0.9, 0.8, 0.7, 0.6), characters=False
    )
    correction = one(words, "teh cta sat")
    assert correction.text == "the cat sat"
    assert [edit.probability for edit in correction.edits] == pytest.approx([0.9, 0.8 * 0.7])
    assert one(words, "teh cta sat", protect=["cta"]).text == "the cta sat"


@given(ODD, st.floats(0, 1), st.floats(0, 1))
def test_the_surer_edits_have_to_be_the_fewer_are_made(line, first, second):
    low, high = sorted((first, second))
    backend = FakeBackend(scrambled, surer)
    few, many = (
        {edit.offset for edit in one(backend, line, min_confidence=p).edits if edit.applied}
        for p in (high, low)
    )
    assert few <= many
    for edit in one(backend, line, min_confidence=high).edits:
        assert 0 <= edit.probability <= 1
        if edit.reason != "unknown":
            assert edit.applied == (edit.probability >= high)
            assert edit.reason == (None if edit.applied else "confidence")


@given(ODD)
def test_no_edit_that_is_made_changes_what_is_protected(line):
    backend = FakeBackend(scrambled, surer)
    correction = one(backend, line, protect=["a.", "é+"], protect_words=["ba"])
    spans = Protection(["a.", "é+"], ["ba"]).spans(line)
    for edit in correction.edits:
        inner = [one for one in spans if edit.offset <= one[0] and one[1] <= edit.end]
        assert edit.applied or edit.reason in ("protected", "unknown")
        assert not edit.applied or all(line[start:end] in edit.after for start, end in inner)


# what is refused ---------------------------------------------------------------------------------


def test_a_model_reads_as_many_words_as_it_learnt_to_read_unless_it_is_told_otherwise():
    backend = FakeBackend()
    backend.words_learnt = 3
    made = Corrector(backend)
    made.correct(["a b  c d"])
    assert ["".join(unit) for unit in backend.seen] == ["a▁b▁c", "d"]
    assert (made.unit, made.window) == ("window", 3)
    asked = Corrector(backend, "window")
    assert (asked.unit, asked.window) == ("window", 3)
    for unit, window in (("line", None), ("window", 2), (None, 5)):
        told = Corrector(backend, unit, window)
        assert (told.unit, told.window) == (unit or "window", window or 0)
    assert Corrector(FakeBackend()).unit == "line"
    backend.knows_spaces = False
    assert Corrector(backend).unit == "word"
    with pytest.raises(UserError, match="unit=line"):
        Corrector(backend, "line")


@pytest.mark.parametrize(
    "unit, window, message",
    [
        ("paragraph", None, "choose one of word, letters, line, window"),
        ("window", None, "window=N"),
        ("line", 3, "window=3 is no size of unit=line"),
        ("window", 0, "must be 1 or more"),
    ],
)
def test_units_that_make_no_sense_are_refused(unit, window, message):
    with pytest.raises(UserError, match=message):
        Corrector(FakeBackend(), unit, window)


def test_what_cannot_be_corrected_is_refused():
    made = Corrector(FakeBackend())
    for value in (-0.1, 1.5, math.nan, math.inf):
        with pytest.raises(UserError, match="min_confidence"):
            made.correct(["a"], min_confidence=value)
    with pytest.raises(UserError, match="takes a list"):
        made.correct("abc")
    with pytest.raises(UserError, match="line 2: None"):
        made.correct(["abc", None])
    with pytest.raises(UserError, match="batch_size=0"):
        made.correct(["abc"], batch_size=0)
