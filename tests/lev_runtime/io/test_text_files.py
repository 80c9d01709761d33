"""Text files: lines as Python's text mode has them, refused where fairseq would guess."""

import lzma
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from tables import table

from lev_runtime.io.text_files import (
    count_lines,
    read_lines,
    read_parallel,
    require_files,
)

TEXT = st.text(st.characters(exclude_characters="\r\ufeff", exclude_categories=["Cs"]))


@pytest.fixture
def write(tmp_path):
    def write_file(name: str, content: bytes | str) -> str:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return str(path)

    return write_file


@given(text=TEXT, windows=st.booleans())
def test_lines_are_those_of_text_mode(tmp_path_factory, text, windows):
    scratch = tmp_path_factory.getbasetemp() / "text"
    data = text.replace("\n", "\r\n") if windows else text
    scratch.write_bytes(data.encode("utf-8"))
    with open(scratch, encoding="utf-8") as file:
        stock = [line.removesuffix("\n") for line in file]
    assert list(read_lines(str(scratch))) == stock
    assert count_lines(str(scratch)) == len(stock)


@pytest.mark.parametrize("content, where", table("lev_runtime/io/cases.tsv", "misread"))
def test_what_fairseq_would_misread_is_named(write, content, where):
    path = write("a.src", content.encode("latin-1"))
    with refuses(f"{path}: {where}"):
        count_lines(path)


def test_files_that_cannot_be_read_are_named(write, tmp_path):
    there, gone = write("a.src", "x\n"), [str(tmp_path / name) for name in ("a.pe", "a.mt")]
    for path in (str(tmp_path), gone[0]):
        with refuses(path):
            count_lines(path)
    with refuses(*gone, "look there") as caught:
        require_files([there, *gone], "look there")
    assert there not in str(caught.value)


def test_lines_come_before_the_file_is_read_to_its_end(write):
    assert list(islice(read_lines(write("a.src", b"one\ntwo\n\xff\n")), 2)) == ["one", "two"]


def test_an_xz_file_is_read_as_what_it_holds(write):
    packed = lzma.compress("one\ntwo é\n".encode())
    assert list(read_lines(write("a.src", packed))) == ["one", "two é"]
    for damaged in (packed[:-4], packed[:20] + b"x" + packed[21:]):
        with refuses(path := write("b.src", damaged)):
            list(read_lines(path))


def test_parallel_files_have_as_many_lines(write):
    paths = [write("a.src", "1\n2\n"), write("a.pe", "1\n2"), write("a.mt", "\n\n")]
    assert list(read_parallel(paths)) == [("1", "1", ""), ("2", "2", "")]
    paths = [write("a.src", "1\n2\n3\n"), write("a.pe", "1\n2\n"), write("a.mt", "1\n2\n3\n4\n")]
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2)):
        counts = (f"{path} has {count}" for path, count in zip(paths, (3, 2, 4)))
        with refuses(*counts):
            list(read_parallel([paths[i] for i in order]))
