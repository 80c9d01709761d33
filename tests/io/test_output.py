"""Files that appear whole or not at all."""

import os
from pathlib import Path

import pytest

from lev_plugins.errors import UserError
from lev_plugins.io.output import whole_file


def test_a_file_is_replaced_through_a_link_and_only_when_whole(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    with pytest.raises(RuntimeError), whole_file(str(link)) as stream:
        stream.write("half")
        raise RuntimeError
    assert target.read_text() == "old"
    with whole_file(str(link)) as stream:
        stream.write("new \udc80")
        stream.flush()
        assert target.read_text() == "old"
    assert target.read_text() == r"new \udc80"
    assert link.is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["link", "target"]


def test_a_pipe_is_written_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with whole_file(str(pipe)) as stream:
            stream.write("through")
        assert os.read(reader, 100) == b"through"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs /dev/full")
def test_a_full_disk_is_told_in_one_line():
    with pytest.raises(UserError, match="/dev/full: not written .*; free some space"):
        with whole_file("/dev/full") as stream:
            stream.write("x")
