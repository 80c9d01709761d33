"""The Python interface: checkpoints come from anywhere, sentences keep their order."""

import dataclasses

import editors
import pytest
import saved
import tiny
import torch
from closeness import near
from refusals import refuses
from tables import json_rows
from tiny import holds

from lev_plugins import EditTrace, LevenshteinEditor

NOISE = {"nbest": 3, "candidates": 5, "noise_scale": 1.0}


@pytest.fixture(scope="module")
def editor():
    return editors.editor(max_insertions=3)


@pytest.fixture(autouse=True)
def dictionary_stays_as_it_is(editor):
    """Whatever is edited or refused."""
    before = list(editor.task.tgt_dict.symbols), list(editor.task.tgt_dict.count)
    yield
    assert (editor.task.tgt_dict.symbols, editor.task.tgt_dict.count) == before


def assert_same(ours: list[EditTrace], other: list[EditTrace]) -> None:
    """The same traces; scores may differ in their last digits."""
    for first, second in zip(ours, other, strict=True):
        assert first == dataclasses.replace(second, score=near(second.score))


def inputs(count: int = 30) -> list[list[str]]:
    """Sources and drafts of all lengths, some of them empty."""
    sources, _, drafts = zip(*tiny.triples(count, longest=9))
    return [[*map(" ".join, side)] for side in (sources, drafts)]


SOURCES, DRAFTS = inputs(12)

# loading --------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    """``bin`` with two dictionaries, and ``ck/checkpoint_last.pt``."""
    data = tiny.dictionaries(tmp_path / "bin")
    saved.save(tmp_path / "ck" / "checkpoint_last.pt", data, "editor")
    return tmp_path


def test_a_checkpoint_needs_not_its_data_and_has_the_options_of_its_training(folder, monkeypatch):
    path = folder / "ck" / "checkpoint_last.pt"
    expected = LevenshteinEditor.from_pretrained(path).edit(SOURCES, DRAFTS)
    saved.changed(path, path, "task", data="/nowhere/bin")
    monkeypatch.chdir(folder)
    assert_same(LevenshteinEditor.from_pretrained("ck").edit(SOURCES, DRAFTS), expected)
    saved.changed(path, path, "task", delete_threshold=1.0)
    editor = LevenshteinEditor.from_pretrained(path, data=folder / "bin")
    cautious = editor.edit(SOURCES, DRAFTS, max_iter=1)
    assert all(not any(trace.net().deleted) for trace in cautious), "no probability is above 1"
    bold = editor.edit(SOURCES, DRAFTS, max_iter=1, delete_threshold=0.0)
    assert all(all(trace.iterations[0].deleted) for trace in bold if trace.draft)


def test_what_cannot_be_loaded_is_named(folder):
    ours = folder / "ck" / "checkpoint_last.pt"
    state = torch.load(ours, weights_only=True)
    del state["model"]["deletion_head.weight"]
    torch.save(state, folder / "model.pt")
    for path, options, named in (
        (folder / "bin", {}, "checkpoint_best.pt"),
        (folder, {}, "deletion_head.weight"),
        (ours, {"bpe": "nosuch"}, "'nosuch'"),
    ):
        with refuses(named):
            LevenshteinEditor.from_pretrained(path, **options)


def test_text_is_split_and_joined_as_the_checkpoint_or_the_call_says(folder):
    load, ours = LevenshteinEditor.from_pretrained, folder / "ck" / "checkpoint_last.pt"
    trained = saved.changed(ours, folder / "model.pt", "bpe", _name="characters")
    (expected,) = load(ours).edit(["a b c"], ["b b"])
    texts = {"source": "abc", "draft": "bb", "text": expected.text.replace(" ", "")}
    for editor in (load(ours, bpe="characters"), load(trained)):
        assert_same(editor.edit(["abc"], ["bb"]), [dataclasses.replace(expected, **texts)])
    for off in ("none", None):  # the text is cut already
        assert_same(load(trained, bpe=off).edit(["a b c"], ["b b"]), [expected])


# editing --------------------------------------------------------------------------------------


def test_traces_lead_from_the_draft_to_the_text(editor):
    endings = set()
    for trace in editor.edit(*inputs(), max_iter=4):
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
    nothing = editor.edit(SOURCES[:6])
    assert all(trace.draft is None for trace in nothing)
    assert_same(editor.edit(SOURCES[:6], [None] * 6), nothing)
    empty = editor.edit(SOURCES[:6], [""] * 6)
    assert [trace.text for trace in empty] == [trace.text for trace in nothing]
    without, drafted = editor.edit(SOURCES[:2], [None, "a b"])
    assert_same([without], nothing[:1])
    assert drafted.draft == "a b"


# terms and marks ------------------------------------------------------------------------------

TERMS = [["a b"], ["h", "g f"], None, ["c c c"], [], ["b", "b"], ["e"], ["a b c d", "e f", "a"]]


def test_terms_are_in_the_output_whole_and_in_their_order(editor):
    sources = SOURCES[: len(TERMS)]
    groups = editor.edit_nbest(sources, terms=iter(TERMS), **NOISE)
    for group, terms in zip(groups, TERMS, strict=True):
        assert all(trace.draft is None and holds(trace.text, terms or []) for trace in group)


REFUSED = """
[{"sources": ["a", "%s"]}, "sentence 2: 65 source tokens"]
[{"sources": "a b"}, "sources"]
[{"sources": ["a", null]}, "source 2"]
[{"drafts": "a"}, "drafts"]
[{"drafts": ["a"]}, "drafts"]
[{"drafts": [null, 3.5]}, "draft 2"]
[{"max_iter": 0}, "max_iter=0"]
[{"first": 1.5}, "first=1.5"]
[{"terms": [["a"]]}, "terms"]
[{"drafts": ["a", "b"], "terms": [null, ["a"]]}, "sentence 2"]
[{"terms": [["a"], ["a", "b xyz"]]}, "sentence 2: the term 'b xyz' has 'xyz'"]
[{"drafts": ["a", "[=b"], "markup": true}, "sentence 2: "]
"""


@pytest.mark.parametrize("arguments, named", json_rows(REFUSED % ("b " * 63)))
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
