"""Editing text: sentences keep their order, orders are read, traces lead from draft to text.

The editor is that of an exported model, but for the model.
"""

import dataclasses
import re

import pytest
from fake_folder import fake_editor
from fake_policy import PAIRS
from refusals import refuses
from tables import cases

NOISE = {"nbest": 3, "candidates": 5, "noise_scale": 1.0}


@pytest.fixture(scope="module")
def editor(tmp_path_factory):
    return fake_editor(tmp_path_factory.mktemp("editor"))


SOURCES, DRAFTS = ([" ".join(letters) for letters in side] for side in zip(*PAIRS))


# editing --------------------------------------------------------------------------------------


def test_traces_lead_from_the_draft_to_the_text(editor):
    endings = set()
    for trace in editor.edit(SOURCES, DRAFTS, max_iter=4):
        states = [step.before for step in trace.iterations]
        states += [step.after for step in trace.iterations[-1:]] or [tuple(trace.text.split())]
        assert (" ".join(states[0]), " ".join(states[-1])) == (trace.draft, trace.text)
        assert trace.steps <= len(trace.iterations) <= 4 and trace.score <= 0
        endings.add(trace.terminated)
        for step in trace.iterations:
            assert step.deleted == tuple(p > 0.5 for p in step.delete_probabilities)
            assert len(step.token_probabilities) == len(step.after)
    assert endings == {"unchanged", "loop", "max_iterations"}, "not everything was tested"


def test_iterations_are_read_only_where_they_are_asked_for(editor):
    full, short = (
        editor.edit(SOURCES, DRAFTS, max_iter=4, history=history) for history in (True, False)
    )
    assert any(trace.iterations for trace in full)
    for trace, alike in zip(full, short, strict=True):
        assert alike == dataclasses.replace(trace, iterations=())
        assert alike.steps == trace.steps


def test_sentences_without_a_draft_are_written_from_nothing(editor):
    assert editor.edit([]) == []
    nothing = editor.edit(SOURCES[:6])
    assert all(trace.draft is None for trace in nothing)
    assert editor.edit(SOURCES[:6], [None] * 6) == nothing
    empty = editor.edit(SOURCES[:6], [""] * 6)
    assert [trace.text for trace in empty] == [trace.text for trace in nothing]
    without, drafted = editor.edit(SOURCES[:2], [None, "a b"])
    assert without == nothing[0]
    assert drafted.draft == "a b"


# terms and marks ------------------------------------------------------------------------------


def holds(text: str, terms: list[str]) -> bool:
    """Whether the terms stand in the text one after the other, each whole."""
    pattern = "".join(rf"(?: .*)? {re.escape(term)}(?= )" for term in terms)
    return re.match(pattern, f" {text} ", re.S) is not None


TERMS = [["a b"], ["h", "g f"], None, ["c c c"], [], ["b", "b"], ["e"], ["a b c d", "e f", "a"]]


def test_terms_are_in_the_output_whole_and_in_their_order(editor):
    sources = SOURCES[: len(TERMS)]
    groups = editor.edit_nbest(sources, terms=iter(TERMS), **NOISE)
    for group, terms in zip(groups, TERMS, strict=True):
        assert all(trace.draft is None and holds(trace.text, terms or []) for trace in group)


@pytest.mark.parametrize("options", [{}, NOISE, {"markup": True}], ids=str)
def test_a_term_that_an_output_lacks_comes_where_the_score_is_best(editor, options):
    """The oracle writes the term, marked, between all words and asks for each by itself."""
    sources = SOURCES[:8] if "candidates" in options else SOURCES
    drafts = [f"[=a=] {draft}" if "markup" in options else draft for draft in DRAFTS]
    drafts = drafts[: len(sources)]
    plain = editor.edit_nbest(sources, drafts, **options)
    groups = editor.edit_nbest(sources, drafts, terms=[["d c b"]] * len(drafts), **options)
    tried = 0
    for source, draft, before, after in zip(sources, drafts, plain, groups, strict=True):
        if all(holds(trace.text, ["d c b"]) for trace in before):
            assert after == before
            continue
        words = draft.split()
        places = [
            " ".join([*words[:place], "[+d c b+]", *words[place:]])
            for place in range(len(words) + 1)
        ]
        places.append(draft.replace("d c b", "[+d c b+]", 1))
        marked = [text for text in places if "[+" in text]
        answers = editor.edit_nbest([source] * len(marked), marked, **options | {"markup": True})
        best = max(answers, key=lambda group: group[0].score)
        assert [trace.text for trace in after] == [trace.text for trace in best]
        assert after[0].draft == draft and after[0].score == pytest.approx(best[0].score)
        tried += 1
    assert tried > len(drafts) / 2


def test_all_terms_are_in_the_output_of_a_draft(editor):
    rows = [row for row in TERMS for _ in range(2)]
    drafts = DRAFTS[: len(rows)]
    for group, terms in zip(editor.edit_nbest(SOURCES[: len(rows)], drafts, terms=rows), rows):
        assert all(holds(group[0].text, [term]) for term in terms or [])


@pytest.mark.parametrize("arguments, named", cases("lev_runtime/text/cases.tsv", "refused"))
def test_what_cannot_be_edited_is_refused(editor, arguments, named):
    with refuses(named):
        editor.edit(**{"sources": ["a", "b"], **arguments})


def test_marks_are_orders_only_where_they_are_asked_for(editor):
    draft = "a [=b=] [-c-] [+d e+] \\[=f"
    marked, typed = (
        editor.edit(["a b"], [draft], markup=markup, delete_threshold=0.0)[0]
        for markup in (True, False)
    )
    assert marked.draft == draft and holds(marked.text, ["b", "d e"])
    assert marked.iterations[0].before == ("a", "b", "c", "d", "e", "[=f")
    assert typed.iterations[0].before == tuple(draft.split())


def test_marks_count_in_the_longest_draft_that_fits(editor):
    draft = "[-b-] " + "c " * 61
    (trace,) = editor.edit(["a b"], [draft], markup=True, delete_threshold=1.0)
    assert trace.iterations[0].deleted == (True, *[False] * 61)
