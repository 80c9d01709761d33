"""Edits of traces: they lead from the draft to the text, and have the trace's probabilities."""

import editors
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lev_plugins.inference.correction import Edit
from lev_plugins.inference.correction.backends import TextProcessing
from lev_plugins.inference.correction.corrector import apply_edits
from lev_plugins.inference.correction.traces import trace_edits, words_only
from lev_plugins.systems.levenshtein.decoding.history import EditTrace, Iteration

PLAIN = TextProcessing()


def traced(draft: str, *steps: Iteration) -> EditTrace:
    end = " ".join(steps[-1].after) if steps else draft
    return EditTrace("s", draft, end, -1.0, steps, "unchanged")


def test_an_edit_has_the_probability_of_its_deletions_and_insertions():
    step = Iteration(
        tuple("abc"), (False, True, False), tuple("axc"), (False, True, False),
        (0.1, 0.8, 0.1), (0.9, 0.5, 0.9),
    )  # fmt: skip
    (edit,) = trace_edits(traced("a b c", step), PLAIN)
    assert (edit.offset, edit.before, edit.after) == (2, "b", "x")
    assert edit.probability == pytest.approx(0.4)


def test_what_came_and_went_again_is_no_edit():
    come = Iteration(tuple("a"), (False,), tuple("ax"), (False, True), (0.1,), (0.9, 0.5))
    go = Iteration(tuple("ax"), (False, True), tuple("a"), (False,), (0.1, 0.9), (0.9,))
    assert trace_edits(traced("a", come, go), PLAIN) == []


def test_whitespace_as_it_was_typed_is_kept_around_the_words_that_changed():
    step = Iteration(("a", "b"), (False, True), ("a", "c"), (False, True), (0.1, 0.9), (0.9, 0.5))
    trace = traced("a   b ", step)
    assert apply_edits(trace.draft, trace_edits(trace, PLAIN)) == "a   c "


def test_a_trace_without_a_draft_or_without_a_change_has_no_edits():
    assert trace_edits(traced("a b"), PLAIN) == []
    assert trace_edits(EditTrace("s", None, "a", 0.0, (), "unchanged"), PLAIN) == []


def test_only_the_words_that_changed_are_left_of_an_edit():
    edits = words_only([Edit(4, "a b c", "a x b c d", 0.5)])
    assert [(one.offset, one.before, one.after) for one in edits] == [(6, "", "x "), (9, "", " d")]


@settings(max_examples=30)
@given(st.lists(st.text("abcdeé", min_size=1, max_size=3), max_size=6), st.booleans())
def test_edits_of_any_model_lead_from_the_draft_to_the_text(words, characters):
    editor = EDITORS[characters]
    draft = "  ".join(words)
    (trace,) = editor.edit(["a b"], [draft], max_iter=3)
    edits = trace_edits(trace, TextProcessing(editor.tokenizer, editor.bpe))
    assert apply_edits(draft, edits).split() == trace.text.split()
    assert all(one.end <= other.offset for one, other in zip(edits, edits[1:]))
    assert all(0 <= edit.probability <= 1 for edit in edits)


EDITORS = {kind: editors.editor(characters=kind, max_insertions=1) for kind in (False, True)}
