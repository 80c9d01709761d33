"""Files that appear whole or not at all."""

import os
from contextlib import nullcontext
from pathlib import Path

import pytest
from refusals import refuses

from lev_runtime.io.output import refuse_overwriting, rewrite_file, whole_file


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


def test_the_longest_name_that_the_system_takes_is_written(tmp_path):
    with whole_file(str(file := tmp_path / ("é" * 127))) as stream:
        stream.write("text")
    assert file.read_text() == "text"


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


def test_what_cannot_be_written_is_told_in_one_line(tmp_path):
    (tmp_path / f".file.{os.getpid()}.part").symlink_to("/dev/full")
    with refuses(path := tmp_path / "file"), whole_file(str(path)) as stream:
        stream.write("x")
    with refuses(path := tmp_path / "none" / "file"), whole_file(str(path)):
        pass
    assert not list(tmp_path.iterdir())
    with pytest.raises(FileNotFoundError), whole_file(str(tmp_path / "file")):
        open(tmp_path / "another")


def attributes(path):
    status = path.stat()
    return status.st_mode, status.st_uid, status.st_gid, os.getxattr(path, "user.note")


def noted(path):
    """A file with a mode and an extended attribute that no new one has."""
    path.write_text("old")
    path.chmod(0o640)
    try:
        os.setxattr(path, "user.note", b"mine")
    except OSError:
        pytest.skip("no extended attributes here")
    if os.geteuid() == 0:
        os.chown(path, 1234, 1235)
    return attributes(path)


def test_a_file_that_is_written_again_keeps_mode_owner_and_extended_attributes(tmp_path):
    kept = noted(path := tmp_path / "file")
    rewrite_file(path, b"old", b"new")
    assert path.read_text() == "new" and attributes(path) == kept
    with whole_file(str(path)) as stream:
        stream.write("newer")
    assert path.read_text() == "newer" and attributes(path) == kept


def test_hard_links_and_files_of_others_are_written_through(tmp_path, monkeypatch):
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_text("a long old text")
    os.link(path, link)
    rewrite_file(path, b"a long old text", b"new")
    assert link.read_text() == "new" and path.samefile(link)
    link.unlink()
    inode = path.stat().st_ino

    def refuse(*args):
        raise PermissionError

    monkeypatch.setattr(os, "chown", refuse)
    rewrite_file(path, b"new", b"newer")
    assert path.read_text() == "newer" and path.stat().st_ino == inode
    assert os.listdir(tmp_path) == ["file"]


def test_a_file_that_has_changed_is_left(tmp_path):
    (path := tmp_path / "file").write_text("changed")
    with refuses(str(path)):
        rewrite_file(path, b"old", b"new")
    path.unlink()
    with refuses(str(path)):
        rewrite_file(path, b"old", b"new")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("late, wanted", [("old+late", "new+late"), ("saved", "saved")])
def test_what_is_written_while_a_file_is_replaced_is_there_after_it(
    tmp_path, monkeypatch, late, wanted
):
    """By a program that has opened the file before."""
    (path := tmp_path / "file").write_text("old")
    replace = os.replace

    def replaced(*paths):
        with open(path, "w") as file:
            replace(*paths)
            file.write(late)

    monkeypatch.setattr(os, "replace", replaced)
    with nullcontext() if late.startswith("old") else refuses(str(path)):
        rewrite_file(path, b"old", b"new")
    assert path.read_text() == wanted


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
