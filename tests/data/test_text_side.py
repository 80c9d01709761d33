"""Texts as data sets: the lines and refusals of a strict reader, lengths that are counted once."""

import lzma
import os
import pickle

import numpy as np
import pytest
from fairseq.data import Dictionary
from hypothesis import given
from hypothesis import strategies as st
from plain_files import HOSTILE, put
from refusals import refuses

from lev_plugins.data import text_side
from lev_plugins.data.text_side import TextDataset
from lev_runtime.io.text_files import read_lines

TEXT = st.text(st.characters(exclude_characters="\r\ufeff", exclude_categories=["Cs"]))


@pytest.fixture
def kept_indexes(monkeypatch):
    """Indexes of all texts are kept."""
    monkeypatch.setattr(text_side, "LARGE_BYTES", 1)


def in_pairs(line):
    return " ".join(word[i : i + 2] for word in line.split() for i in range(0, len(word), 2))


def text_of(path, encode=in_pairs):
    return TextDataset(str(path), encode, Dictionary())


def lines_of(data):
    return [data.line(number) for number in range(len(data))]


@given(text=TEXT, windows=st.booleans())
def test_lines_and_lengths_are_those_of_a_file_read_in_order(tmp_path_factory, text, windows):
    path = tmp_path_factory.getbasetemp() / "indexed"
    path.write_bytes((text.replace("\n", "\r\n") if windows else text).encode())
    data = text_of(path)
    assert lines_of(data) == list(read_lines(str(path)))
    assert data.sizes.tolist() == [len(tokens) for tokens in data]


def test_hostile_lines_and_compressed_ones_are_read(tmp_path, kept_indexes):
    path, compressed = put(tmp_path / "a", HOSTILE), tmp_path / "b"
    compressed.write_bytes(lzma.compress(path.read_bytes()))
    for text in (path, compressed, compressed):
        assert lines_of(text_of(text)) == HOSTILE


@pytest.mark.parametrize(
    "change, sizes",
    [
        (lambda path, index: path.write_text("one\ntwo and\n"), [3, 5]),
        (lambda path, index: path.write_text("in\n sevens\n"), [2, 4]),  # of the same size
        (lambda path, index: index.write_bytes(b"damaged"), [3, 6]),
        (lambda path, index: np.save(index, np.zeros((2, 3), int)), [3, 6]),
    ],
)
def test_lengths_of_another_text_are_counted_again(tmp_path, kept_indexes, change, sizes):
    path = put(tmp_path / "a", ["one", "two words"])
    os.utime(path, ns=(0, 0))
    text_of(path)
    change(path, tmp_path / "a.lines.npy")
    assert text_of(path).sizes.tolist() == sizes
    assert text_of(path, str.strip).sizes.tolist() == [2, len(path.read_text().split())]


def test_an_index_that_cannot_be_kept_is_in_memory(tmp_path, kept_indexes):
    path = put(tmp_path / "a", HOSTILE)
    (tmp_path / "a.lines.npy").mkdir()
    assert lines_of(text_of(path)) == HOSTILE


def test_a_text_that_changes_while_it_is_read_is_refused(tmp_path):
    path = put(tmp_path / "a", ["one", "two", "three"])
    data = text_of(path)

    def is_refused(read, *arguments):
        with refuses(path, "changed"):
            read(*arguments)

    path.write_text("on\ntwoo\nthree\n")
    is_refused(data.line, 0)
    is_refused(data.line, 1)
    assert data.line(2) == "three"
    path.write_text("one\n")
    is_refused(data.line, 2)
    is_refused(pickle.loads, pickle.dumps(data))
