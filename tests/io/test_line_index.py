"""Texts that are not read line by line: the same lines, the same refusals, one index for all."""

import lzma
import os
import pickle
import tempfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_files import HOSTILE, put
from refusals import refuses

from lev_plugins.data.text_lines import TextLines, parallel_lines
from lev_plugins.io import line_index
from lev_runtime.io.text_files import read_lines

TEXT = st.text(st.characters(exclude_characters="\r\ufeff", exclude_categories=["Cs"]))


@pytest.fixture
def small_blocks(monkeypatch, tmp_path):
    """Blocks of a few bytes, and indexes of all texts kept in a folder of the test's own."""
    monkeypatch.setattr(line_index, "BLOCK_BYTES", 7)
    monkeypatch.setattr(line_index, "LARGE_BYTES", 1)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    return tmp_path / "temporary"


def kept(folder):
    return sorted(path.name for path in folder.rglob("*.lines"))


@given(text=TEXT, windows=st.booleans(), block=st.integers(1, 9))
def test_lines_and_their_characters_are_those_of_a_file_read_in_order(
    tmp_path_factory, text, windows, block
):
    path = tmp_path_factory.getbasetemp() / "indexed"
    path.write_bytes((text.replace("\n", "\r\n") if windows else text).encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_index, "BLOCK_BYTES", block)
        lines = TextLines(str(path))
    expected = list(read_lines(str(path)))
    assert list(lines) == expected and lines[-2:] == expected[-2:]
    assert lines.places["characters"].tolist() == [*map(len, expected)]
    assert b"".join(lines.blocks()) == path.read_bytes()


def test_hostile_lines_and_compressed_ones_are_read(tmp_path, small_blocks):
    path = put(tmp_path / "a", HOSTILE)
    compressed = tmp_path / "b"
    compressed.write_bytes(lzma.compress(path.read_bytes()))
    for text in (path, compressed):
        assert list(TextLines(str(text))) == HOSTILE
    compressed.write_bytes(compressed.read_bytes()[:-9])
    with refuses(compressed, "decompressed"):
        TextLines(str(compressed))


@pytest.mark.parametrize(
    ("content", "where"),
    [
        (b"good enough\nb\xffd\n", "line 2: byte 2 "),
        ("ok\nhalf é".encode()[:-1], "line 2: byte 6 "),
        (b"one and\nand two\none\rtwo\n", "line 3: a carriage return"),
        (b"one\r\r\n", "line 1: a carriage return"),
        (b"\xef\xbb\xbfok\n", "line 1"),
    ],
)
def test_what_a_strict_reader_refuses_is_refused_in_its_words(
    tmp_path, small_blocks, content, where
):
    path = tmp_path / "a"
    path.write_bytes(content)
    with refuses(f"{path}: {where}"):
        TextLines(str(path))
    assert kept(small_blocks) == []


def test_files_of_different_length_are_refused(tmp_path):
    paths = [str(put(tmp_path / name, "abc"[:size])) for name, size in (("a", 3), ("b", 2))]
    with refuses(f"{paths[0]} has 3", f"{paths[1]} has 2"):
        parallel_lines(paths)


def test_an_index_is_made_once_for_all_processes_and_goes_when_the_text_changes(
    tmp_path, small_blocks, monkeypatch
):
    path = put(tmp_path / "a", ["one", "two", "three"])
    first = TextLines(str(path))
    (name,) = kept(small_blocks)
    monkeypatch.setattr(line_index, "index_block", None)  # none is made any more
    assert isinstance(first.places, np.memmap)
    sent = pickle.loads(pickle.dumps(first))
    assert list(sent) == list(TextLines(str(path))) == ["one", "two", "three"]
    assert len(pickle.dumps(first)) < 1000
    monkeypatch.undo()
    monkeypatch.setattr(line_index, "LARGE_BYTES", 1)
    monkeypatch.setattr(tempfile, "tempdir", str(small_blocks))
    put(path, ["one", "two and a half"])
    assert list(TextLines(str(path))) == ["one", "two and a half"]
    (other,) = kept(small_blocks)
    assert other != name and other.split("-")[0] == name.split("-")[0]


def test_without_a_folder_for_it_the_index_is_in_memory(tmp_path, small_blocks):
    path = str(put(tmp_path / "a", HOSTILE))
    (small_blocks / f"lev_plugins-{os.getuid()}").symlink_to(tmp_path)  # somebody else's
    lines = TextLines(path)
    assert list(lines) == HOSTILE and not isinstance(lines.places, np.memmap)
    assert kept(small_blocks) == []


def test_a_text_that_changes_while_it_is_read_is_told(tmp_path):
    path = put(tmp_path / "a", ["one", "two", "three"])
    lines = TextLines(str(path))
    path.write_text("on\ntwoo\nthree\n")
    for number in (0, 1):
        with refuses(path, "changed"):
            lines[number]
    assert lines[2] == "three"
    path.write_text("one\n")
    with refuses(path, "changed"):
        lines[2]
    with refuses(path, "changed"):
        pickle.loads(pickle.dumps(lines))
