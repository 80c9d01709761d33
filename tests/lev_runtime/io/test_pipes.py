"""Lines that are answered as they come, and lines that come together and are answered together."""

import os
import sys
import threading

import pytest

from lev_runtime.io import lines
from lev_runtime.io.pipes import PipeLines


@pytest.fixture
def pipe(monkeypatch):
    """What writes to standard input."""
    reading, writing = os.pipe()
    with open(reading) as standard_input, open(writing, "wb", buffering=0) as writer:
        monkeypatch.setattr(sys, "stdin", standard_input)
        yield writer


def test_what_has_come_is_given_before_the_writer_goes_on(pipe):
    chunks = lines.chunks(lines.typed_lines("-"), "-", 1000)
    pipe.write(b"one\ntwo\nbeg")
    assert next(chunks) == ["one", "two"]  # it would wait for ever if it asked for more
    pipe.write(b"un\n\xc3")
    assert next(chunks) == ["begun"]
    pipe.write(b"\xa9")
    pipe.close()
    assert list(chunks) == [["é"]]


def test_lines_that_a_writer_has_no_pause_between_are_given_together(pipe):
    text = b"".join(b"%d\n" % number for number in range(20_000))  # more than a pipe holds
    writer = threading.Thread(target=lambda: (pipe.write(text), pipe.close()))
    writer.start()
    chunks = list(lines.chunks(lines.raw_lines("-"), "-", 4096, pause=60))
    writer.join()
    assert b"".join(line for chunk in chunks for line in chunk) == text
    assert [len(chunk) for chunk in chunks[:-1]] == [4096] * (len(chunks) - 1)


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_a_stream_has_the_lines_that_a_file_has(tmp_path, end):
    path = tmp_path / "file"
    path.write_bytes(b"\n a\x85\r b\r\n\n\xe2\x80\xa8c" + end)
    with open(path, "rb") as file, open(path, "rb") as stream:
        assert list(PipeLines(stream)) == list(file)
