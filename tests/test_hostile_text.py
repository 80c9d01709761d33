"""Text that breaks programs, through Python: as many answers as lines, in order, and in time."""

import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import editors
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins import Corrector, EncT5, LevenshteinEditor, UserError
from lev_plugins.inference.correction.units import KINDS, spans
from lev_plugins.systems.levenshtein.decoding.history import EditTrace

#: what is known, what only looks known, spaces of all kinds, marks, and halves of characters
PIECES = [
    *"abcdefgh _-.1\t\0\r\n\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u2028\u2029\u3000",
    *"\u0301\u05d0\u200b\u200d\u202e\u2066\u2581\ufeff\ufffd\ufdd0\U0010ffff\ud800\udcff",
    *("</s>", "<s>", "<pad>", "<unk>", "<plh>", "madeupword0000", "@@", "##", "\\", "<script>"),
    *("[=", "=]", "[-", "-]", "[+", "+]", "e\u0301", "\U0001f469\u200d\U0001f467", "\u0130\ufb01"),
]
LINE = st.lists(st.sampled_from(PIECES) | st.characters(), max_size=12).map("".join)
LINES = st.lists(LINE, max_size=6)
SIZE = 100_000  # bytes of a long line
LONG = [
    *("a", "a ", ".", ". ", ".'", "\u3002a", "\u3002", "\u0301", "a\u0301", "\u202e", "\0", "\x85"),
    *("\u2028", "\ud800", "\\[=", "[=", "[=a=]", "[=a=] ", "[+a+] ", "<s> ", "@@ ", "abcdefgh "),
    "\U0001f469\u200d\U0001f467",
]
SECONDS = 10.0  # of computing; what is not bounded takes minutes


@cache
def editor(characters: bool = False) -> LevenshteinEditor:
    return editors.editor(characters=characters)


@cache
def corrector(kind: str, unit: str) -> Corrector:
    window = 2 if unit == "window" else None
    if kind == "edits":
        return editors.edit_corrector(unit, window, max_iter=3)
    return editors.writing_corrector("translation", unit, window)


@cache
def enct5(kind: str, texts: int = 1) -> EncT5:
    return editors.enct5(kind, texts)


def long_line(unit: str) -> str:
    return unit * (SIZE // len(unit.encode("utf-8", "surrogatepass")))


@contextmanager
def soon() -> Iterator[None]:
    start = time.process_time()
    yield
    assert time.process_time() - start < SECONDS


@given(LINES, st.data(), st.booleans(), st.integers(1, 4))
def test_an_editor_answers_every_line_in_order(lines, data, characters, size):
    drafts = data.draw(st.lists(st.none() | LINE, min_size=len(lines), max_size=len(lines)))
    of = editor(characters)
    traces = of.edit(lines, drafts, max_iter=2, batch_size=size)
    assert [(trace.source, trace.draft) for trace in traces] == list(zip(lines, drafts))
    for trace in traces:
        assert isinstance(trace.text, str) and 0 <= trace.steps <= 2
        draft = trace.draft or ""
        limit = max(len((of.bpe.encode(draft) if of.bpe else draft).split()), 62)
        assert all(len(step.after) <= limit for step in trace.iterations)
    assert len(of.task.tgt_dict) == of.task.placeholder + 1


@given(LINES)
def test_a_draft_that_nothing_may_change_comes_back_word_for_word(lines):
    still = {"delete_threshold": 1.0, "empty_penalty": -1000.0}  # nothing goes, nothing comes
    traces = editors.editor().edit(["a"] * len(lines), lines, max_iter=2, **still)
    assert [trace.text for trace in traces] == [" ".join(line.split()) for line in lines]
    assert all(trace.terminated == "unchanged" for trace in traces)


@given(LINES, st.booleans())
def test_marks_are_read_or_refused_with_one_line_that_names_the_sentence(lines, characters):
    def edited(drafts: list[str]) -> list[EditTrace] | UserError:
        try:
            return editor(characters).edit(["a"] * len(drafts), drafts, markup=True, max_iter=1)
        except UserError as error:
            return error

    alone = [edited([line]) for line in lines]
    wrong = [n for n, found in enumerate(alone, start=1) if isinstance(found, UserError)]
    together = edited(lines)
    if wrong:
        assert str(together).startswith(f"sentence {wrong[0]}: ") and "\n" not in str(together)
    else:
        assert [one.text for one in together] == [found[0].text for found in alone]


@pytest.mark.parametrize(
    "kind, unit", zip(["edits", "translation"] * len(KINDS), sorted(KINDS), strict=False)
)
@given(lines=st.lists(LINE, max_size=3), size=st.integers(1, 3), sure=st.sampled_from([0.0, 0.5]))
def test_a_corrector_changes_its_edits_and_nothing_else(kind, unit, lines, size, sure):
    found = corrector(kind, unit).correct(lines, batch_size=size, min_confidence=sure)
    assert [one.source for one in found] == lines
    for one in found:
        parts, place = [], 0
        for edit in one.edits:
            assert one.source[edit.offset : edit.end] == edit.before and place <= edit.offset
            if edit.applied:
                parts += [one.source[place : edit.offset], edit.after]
                place = edit.end
        assert "".join(parts) + one.source[place:] == one.text


@pytest.mark.parametrize("kind, texts", [("classification", 2), ("regression", 1), ("tagging", 1)])
@given(lines=LINES)
def test_an_enct5_answers_every_text_in_order(kind, texts, lines):
    model = enct5(kind, texts)
    if kind == "tagging":
        found: Any = model.predict_tags(lines)
        assert [one.words for one in found] == [tuple(line.split()) for line in lines]
        assert all(len(one.tags) == len(one.words) for one in found)
        return
    given = [(line,) * texts for line in lines]
    assert [one.texts for one in model.predict(given)] == given


@given(LINES, st.booleans())
def test_lines_of_interactive_become_a_batch_and_as_many_answers(lines, markup):
    of = editor()
    of.task.cfg.markup = markup
    typed = [line.replace("\n", " ") for line in lines]
    try:
        tokens, lengths = of.task.get_interactive_tokens_and_lengths(typed, lambda text: text)
    except UserError as error:
        assert str(error).startswith("input line ")
        return
    finally:
        of.task.cfg.markup = False
    data = of.task.build_dataset_for_inference(tokens, lengths)
    if not lines:
        assert len(data) == 0
        return
    batch = data.collater([data[n] for n in range(len(data))])
    generator = of.task.build_generator(of.models, Namespace(iter_decode_max_iter=2))
    constraints = batch.pop("constraints", None)
    answers = of.task.inference_step(generator, of.models, batch, constraints=constraints)
    assert sorted(batch["id"].tolist()) == list(range(len(lines)))
    assert len(answers) == len(lines)


@pytest.mark.parametrize("kind", KINDS)
def test_a_long_line_is_cut_into_units_in_time(kind):
    with soon():
        for unit in LONG:
            line = long_line(unit)
            found = list(spans(line, kind, 3))
            ends = [end for one in found for end in one]
            assert ends == sorted(ends) and all(a < b for a, b in found)
            if kind == "word":
                assert [line[a:b] for a, b in found] == line.split()


@pytest.mark.parametrize("markup", [False, True])
def test_a_long_draft_is_refused_in_time_by_its_length_or_answered(markup):
    with soon():
        for unit in LONG:
            try:
                (trace,) = editor(True).edit(["a"], [long_line(unit)], markup=markup, max_iter=1)
            except UserError as error:
                assert len(str(error)) < 2_100
            else:
                assert len(trace.iterations) == 1


@pytest.mark.parametrize("kind", ["edits", "translation"])
def test_a_long_line_is_corrected_in_time(kind):
    with soon():
        for unit in LONG[kind == "edits" :: 3]:
            lines = ["a b", long_line(unit), "c"]
            found = corrector(kind, "line").correct(lines, min_confidence=1.0)
            assert [one.source for one in found] == lines


def test_an_enct5_reads_the_beginning_of_a_long_text_in_time():
    with soon():
        found = enct5("regression").predict([long_line(unit) for unit in LONG])
        assert len(found) == len(LONG) and all(one.cut for one in found)
