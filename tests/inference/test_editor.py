"""The Python interface: checkpoints come from anywhere, sentences keep their order."""

import dataclasses
import shutil
from pathlib import Path

import pytest
import saved
import tiny
from closeness import near
from refusals import refuses

from lev_plugins import EditTrace, LevenshteinEditor


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
def folder(tmp_path: Path) -> Path:
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
    tiny.dictionaries(folder / "other", "xyz")
    ours = folder / "ck" / "checkpoint_last.pt"
    shutil.copy(ours, folder / "model.pt")
    saved.rewritten(folder / "model.pt", lambda state: state["model"].pop("deletion_head.weight"))
    for path, options, named in (
        (folder / "bin", {}, "checkpoint_best.pt"),
        (folder, {}, "deletion_head.weight"),
        (ours, {"data": folder / "other"}, "source dictionary (symbol 4 is 'a' there and 'x'"),
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
