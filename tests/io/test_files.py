"""Files that appear whole or not at all, and what a person at a terminal sees meanwhile."""

import io
import os
import sys
from pathlib import Path

import pytest
from refusals import refuses

from lev_plugins.io import lines as module
from lev_plugins.io.lines import progress
from lev_plugins.io.output import refuse_overwriting, whole_file


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
    with refuses("/dev/full"), whole_file("/dev/full") as stream:
        stream.write("x")


def test_nothing_is_written_over_what_is_read_or_written_besides(tmp_path):
    text, link, other = (str(tmp_path / name) for name in ("text", "link", "other"))
    Path(text).write_text("a")
    Path(link).symlink_to(text)
    for written, read in (
        ({"--out": link}, [("--in", "-"), ("--in", text)]),
        ({"--one": other, "--two": other}, ()),
    ):
        with refuses("--out" if read else "--two"):
            refuse_overwriting(written, read)
    free = {"--out": other, "--no": None, "--one": "/dev/null", "--two": "/dev/null", "--std": "-"}
    refuse_overwriting(free, [("A", text), ("B", text), ("C", "-")])


# progress -----------------------------------------------------------------------------------------


class Stream(io.StringIO):
    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.isatty = lambda: terminal  # type: ignore[method-assign]


@pytest.mark.parametrize(
    ("stdout", "stderr", "output", "patience", "shown"),
    [
        (False, False, None, 0.0, ""),  # nobody watches
        (False, True, None, 5.0, ""),  # done at once
        (False, True, "-", 0.0, "0 lines"),
        (True, True, "-", 0.0, ""),  # between the lines that are printed
    ],
)
def test_progress_is_shown_to_people_and_between_no_lines(
    monkeypatch, stdout, stderr, output, patience, shown
):
    monkeypatch.setattr(module, "PATIENCE", patience)
    for name, terminal in (("stdout", stdout), ("stderr", stderr)):
        monkeypatch.setattr(sys, name, Stream(terminal))
    assert list(progress(iter(range(10)), "lines", output)) == list(range(10))
    said = sys.stderr.getvalue()
    assert shown in said and bool(said.strip()) == bool(shown)
    assert not shown or said.rsplit("\r", 1)[0].endswith(" "), "the line is clean again"
