"""Lines of fairseq-interactive are read as they were typed."""

import io
import os
import sys

import pytest
from refusals import refuses

from lev_plugins.fairseq_patches import read_interactive_lines

LINES = "\ufeff\tdraft only\nsource only\t\n  both \t sides  \nplain\r\n\nlast\rnot a line end"
READ = ["\tdraft only", "source only\t", "both\tsides", "plain", "", "last\rnot a line end"]


@pytest.mark.parametrize("size", [1, 4, 100])
def test_interactive_lines_keep_their_tabs(tmp_path, size):
    path = tmp_path / "lines"
    path.write_bytes(LINES.encode())
    buffers = list(read_interactive_lines(str(path), size))
    assert [line for buffer in buffers for line in buffer] == READ
    assert [len(buffer) for buffer in buffers[:-1]] == [size] * (len(buffers) - 1)


def test_standard_input_is_read_the_same_way(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LINES.encode()), "ascii"))
    buffers = read_interactive_lines("-", 100)
    assert [line for buffer in buffers for line in buffer] == READ


def test_bytes_that_are_not_utf8_name_their_line(tmp_path):
    path = tmp_path / "lines"
    path.write_bytes(b"one\nthr\xffee\n")
    buffers = read_interactive_lines(str(path), 1)
    assert next(buffers) == ["one"]
    with refuses(path, "line 2", "byte 4"):
        next(buffers)
    assert not list(read_interactive_lines(os.devnull, 5))
