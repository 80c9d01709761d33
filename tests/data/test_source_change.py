"""A source's change: marked in its text, and read beside source and draft."""

import re

import pytest
import tiny
from editors import editor
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from lev_plugins.systems.transformer_concat.task import TranslationConcatTask
from lev_plugins.tasks.post_editing import PostEditingConfig
from lev_runtime.source_change import MARKS, mark_change

TEXT = st.text(" ab1.`\n", max_size=12)


@settings(max_examples=25)
@given(TEXT, TEXT)
def test_without_what_went_and_the_marks_the_source_comes_back(old, new):
    marked = mark_change(new, old)
    if old.strip():
        assert re.sub("<ins>.*?</ins>|</?del>", "", marked, flags=re.S) == old
    assert re.sub("<del>.*?</del>|</?ins>", "", marked, flags=re.S) == new


@pytest.mark.parametrize(
    ("old", "new", "marked"),
    [
        (":x:`91`.", ":x:`22`.", ":x:`<del>91</del><ins>22</ins>`."),
        ("a b", "a new b", "a<ins> new</ins> b"),
        (" ", "a b", "a b"),
    ],
)
def test_what_changed_is_marked(old, new, marked):
    assert mark_change(new, old) == marked


def cut(text):
    """Letters and marks, with spaces between them."""
    return " ".join(re.findall(r"</?\w+>|\w", text))


def make_task(marks=MARKS, **options):
    symbols = tiny.dictionary()
    for mark in marks:
        symbols.add_symbol(mark)
    return TranslationConcatTask(PostEditingConfig(**options), symbols, symbols)


def test_interactive_reads_an_old_source_where_the_model_was_trained_so():
    task = make_task(old_source=True)
    lines = ["a b\tc\ta d", "a b\tc", "a b"]
    pairs, _ = task.get_interactive_tokens_and_lengths(lines, cut)
    read = [task.src_dict.string(source) for source, _ in pairs]
    assert read == ["a <del> d </del> <ins> b </ins>", "a b", "a b"]
    with refuses("input line 4", "3 tabs"):
        task.get_interactive_tokens_and_lengths(["a\tb\tc\td"], cut)
    with refuses("input line 1", "2 tabs"):
        make_task().get_interactive_tokens_and_lengths(lines, cut)
    with refuses("--old-source", "</ins>"):
        make_task(marks=MARKS[:3], old_source=True)


def test_an_editor_reads_old_sources_as_the_marked_source():
    old_source_editor = editor()
    with refuses("sentence 1", "--old-source"):
        old_source_editor.edit(["a b"], ["c"], old_sources=["a d"])
    assert old_source_editor.edit(["a b"], ["c"], old_sources=[None]) == old_source_editor.edit(
        ["a b"], ["c"]
    )
    old_source_editor.task.cfg.old_source = True
    (marked,) = old_source_editor.edit([mark_change("a b", "a d")], ["c"])
    assert old_source_editor.edit(["a b"], ["c"], old_sources=["a d"])[0].score == pytest.approx(
        marked.score
    )
