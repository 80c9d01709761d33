"""A source's change, read beside source and draft."""

import re

import pytest
import tiny
from editors import editor
from refusals import refuses

from lev_plugins.systems.transformer_concat.task import TranslationConcatTask
from lev_plugins.tasks.post_editing import PostEditingConfig
from lev_runtime.text.source_change import MARKS, mark_change


def cut(text):
    """Letters and marks, with spaces between them."""
    return " ".join(re.findall(r"</?\w+>|\w", text))


def make_task(marks=MARKS, **options):
    symbols = tiny.dictionary([*tiny.LETTERS, *marks])
    return TranslationConcatTask(PostEditingConfig(**options), symbols, symbols)


def test_interactive_reads_an_old_source_where_the_model_was_trained_so():
    task, lines = make_task(old_source=True), ["a b\tc\ta d", "a b\tc", "a b"]
    pairs, _ = task.get_interactive_tokens_and_lengths(lines, cut)
    read = [task.src_dict.string(source) for source, _ in pairs]
    assert read == ["a <del> d </del> <ins> b </ins>", "a b", "a b"]
    for other, line, message in ((task, "a\tb\tc\td", "3 tabs"), (make_task(), lines[0], "2 tabs")):
        with refuses("input line", message):
            other.get_interactive_tokens_and_lengths([line], cut)
    with refuses("--old-source", "</ins>"):
        make_task(marks=MARKS[:3], old_source=True)


def test_an_editor_reads_old_sources_as_the_marked_source():
    ours, marked = editor(), mark_change("a b", "a d")
    with refuses("sentence 1", "--old-source"):
        ours.edit(["a b"], ["c"], old_sources=["a d"])
    ours.task.cfg.old_source = True
    scores = [
        ours.edit([source], ["c"], old_sources=[old])[0].score
        for source, old in (("a b", "a d"), (marked, None))
    ]
    assert scores[0] == pytest.approx(scores[1])
