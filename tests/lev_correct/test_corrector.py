"""The corrector with scripted models: what is kept, what is edited, and how sure."""

import math
import zlib
from argparse import Namespace

import pytest
import tiny
from fairseq.data.encoders.sentencepiece_bpe import SentencepieceBPE
from fake_backend import FakeBackend, replaced
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from tables import cases

from lev_correct import Corrector
from lev_correct.corrector import LONGEST_WORD
from lev_correct.lines import apply_edits
from lev_correct.propose.backend import Rewriting
from lev_correct.text.protection import Protection
from lev_correct.text.units import KINDS
from lev_plugins.inference.text_processing import TextProcessing

ODD = st.text(st.sampled_from("ab.。 \t\u00a0\u2028\r\x00▁\ufeff\udcff\ufffdé😀"), max_size=30)


def correct_line(backend, line, unit=None, **options):
    corrector = Corrector(backend, unit, 2 if unit == "window" else None)
    return corrector.correct([line], **options)[0]


def scrambled(unit):
    """Another text for each unit, the same every time."""
    batches = []
    for place, token in enumerate(unit):
        chance = zlib.crc32(f"{place}{unit}".encode("utf-8", "surrogateescape")) % 8
        batches += {0: [], 1: [token, "b"], 2: ["c"], 3: [None], 4: ["▁"]}.get(chance, [token])
    return batches


def surer(written):
    """Probabilities that depend on the place."""
    return [math.log(0.2 + 0.8 * (37 * i % 97) / 97) for i in range(len(written) + 1)]


SCRAMBLED = FakeBackend(scrambled, surer)

# what is kept ----------------------------------------------------------------------------------


@given(ODD, st.sampled_from(KINDS), st.booleans(), st.sampled_from([2, 9, 1000]))
def test_a_model_that_changes_nothing_changes_nothing(line, unit, characters, limit):
    correction = correct_line(FakeBackend(limit=limit, characters=characters), line, unit)
    assert correction.text == line and correction.edits == ()


@given(ODD, st.sampled_from(KINDS), st.sampled_from([3, 1000]))
def test_all_edits_together_make_the_text_and_nothing_else_changes(line, unit, limit):
    correction = correct_line(FakeBackend(scrambled, surer, limit=limit), line, unit)
    place = 0
    for edit in correction.edits:
        assert line[edit.offset : edit.end] == edit.before != edit.after
        assert edit.applied == ("\ufffd" not in edit.after)
        if edit.applied:
            assert place <= edit.offset
            place = edit.end
    assert apply_edits(line, correction.edits) == correction.text


# what cannot be read or written ------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["word", "letters"])
def test_a_run_of_letters_that_is_no_word_stays(unit):
    line = f"{'a' * LONGEST_WORD} {'a' * (LONGEST_WORD + 1)} a"
    correction = correct_line(FakeBackend(replaced("a", "b"), limit=9), line, unit)
    assert correction.text == f"{'b' * LONGEST_WORD} {'a' * (LONGEST_WORD + 1)} b"


def test_an_unknown_symbol_that_is_copied_stays_as_it_was_typed():
    backend = FakeBackend(replaced("teh", "the"), known="teh ▁cat")
    assert correct_line(backend, "☃ teh ☂cat").text == "☃ the ☂cat"


@pytest.mark.parametrize("line, characters", [("abc", True), ("the cat", False)])
def test_an_edit_that_would_write_an_unknown_symbol_is_not_made(line, characters):
    backend = FakeBackend(lambda unit: ["a", None, "c"], characters=characters)
    correction = correct_line(backend, line)
    assert correction.text == line  # no half of a word either
    assert {edit.reason for edit in correction.edits} == {"unknown"}


def test_what_the_subwords_normalise_stays_as_typed_unless_it_is_edited(tmp_path):
    """sentencepiece writes ﬁ as fi and … as three dots."""
    lines = ["the cat sat on the mat", "fine cats and the end ..."] * 20
    path = tiny.sentencepiece_model(tmp_path / "m", lines, vocab_size=40, hard_vocab_limit=False)
    options = {"sentencepiece_enable_sampling": False, "sentencepiece_alpha": None}
    subwords = SentencepieceBPE(Namespace(sentencepiece_model=str(path), **options))

    def corrected(unit):
        return subwords.encode(subwords.decode(" ".join(unit)).replace("cta", "cat")).split()

    backend = FakeBackend(corrected, processing=TextProcessing(None, subwords))
    assert backend.processing.text(backend.processing.tokens("ﬁne …")) == "fine ..."
    correction = correct_line(backend, " ﬁne …\u00a0 the  cta ☃ sat\udcff")
    assert correction.text == " ﬁne …\u00a0 the  cat ☃ sat\udcff"
    assert [edit.before for edit in correction.edits] == ["cta"]
    odd = "\ufeff▁ é😀\r"
    assert correct_line(backend, odd).text == odd


# edits and their probabilities -------------------------------------------------------------------


@pytest.mark.parametrize("old, new, chances", cases("lev_correct/cases.tsv", "corrector: chances"))
def test_a_probability_is_that_of_the_tokens_written_and_of_the_one_behind(old, new, chances):
    backend = FakeBackend(replaced(old, new), lambda written: [*map(math.log, chances)])
    (edit,) = correct_line(backend, "abc").edits
    assert edit.probability == pytest.approx(math.prod(chances))


def test_an_edit_is_as_sure_as_the_tokens_of_its_own_words():
    gone, come = [math.log(0.9), math.log(0.8), None], [math.log(0.7), math.log(0.6), None]
    rewriting = Rewriting(("teh", "cta", "sat"), ("the", "cat", "sat"), gone, come)
    answer = rewriting.answer("teh cta sat", TextProcessing(None, None))
    assert list(answer.values()) == pytest.approx([0.9 * 0.7, 0.8 * 0.6])


@given(ODD, st.floats(0, 1))
def test_edits_are_made_from_the_threshold_on(line, least):
    edits = correct_line(SCRAMBLED, line, min_confidence=least).edits
    all_edits = correct_line(SCRAMBLED, line).edits
    assert [edit.probability for edit in edits] == [edit.probability for edit in all_edits]
    for edit in edits:
        is_sure = edit.reason != "unknown" and edit.probability >= least
        assert 0 <= edit.probability <= 1 and edit.applied == is_sure


@given(ODD)
def test_no_edit_that_is_made_changes_what_is_protected(line):
    correction = correct_line(SCRAMBLED, line, protect=["a.", "é+"], protect_words=["ba"])
    spans = Protection(["a.", "é+"], ["ba"]).spans(line)
    for edit in correction.edits:
        inner = [span for span in spans if edit.offset <= span[0] and span[1] <= edit.end]
        assert not edit.applied or all(line[start:end] in edit.after for start, end in inner)


# what is read at once, and what is refused --------------------------------------------------------


@pytest.mark.parametrize(
    "learnt, arguments, read", cases("lev_correct/cases.tsv", "corrector: reads")
)
def test_a_model_reads_as_many_words_as_it_learnt_to_read_or_is_told(learnt, arguments, read):
    backend = FakeBackend()
    backend.words_learnt = learnt
    corrector = Corrector(backend, *arguments)
    assert [corrector.unit, corrector.window] == read
    backend.knows_spaces = False
    assert Corrector(backend).unit == "word"


@pytest.mark.parametrize("options, message", cases("lev_correct/cases.tsv", "corrector: wrong"))
def test_a_wrong_argument_is_named(options, message):
    units = {name: options.pop(name) for name in ("unit", "window") if name in options}
    with refuses(message):
        Corrector(FakeBackend(), **units).correct(**{"lines": ["a"], **options})
