"""A checkpoint is on the disk whole or not at all: kills, full disks and writes that fail."""

import errno
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from fairseq import checkpoint_utils
from fairseq.file_io import PathManager
from saved import resumable

import lev_plugins  # noqa: F401  (patches fairseq)
from lev_plugins import fairseq_patches as patches
from lev_plugins.errors import UserError
from lev_plugins.io import saving

OLD = {"parameter": torch.zeros(2000)}
NEW = {"parameter": torch.arange(2000.0)}
STOCK_SAVE = checkpoint_utils.torch_persistent_save.__wrapped__
STOCK_COPY = PathManager.copy.__wrapped__


def save(path: Path) -> None:
    checkpoint_utils.torch_persistent_save(NEW, str(path))


def copy(path: Path) -> None:
    """As fairseq writes ``checkpoint_last.pt``."""
    assert PathManager.copy(str(path.with_name("new.pt")), str(path), overwrite=True)


def stock_copy(path: Path) -> None:
    STOCK_COPY(str(path.with_name("new.pt")), str(path), overwrite=True)


WAYS = pytest.mark.parametrize("write", [save, copy])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A good checkpoint; a newer one (``new.pt``) is in its folder."""
    torch.save(OLD, tmp_path / "checkpoint_last.pt")
    with open(tmp_path / "new.pt", "wb") as file:  # a path would stand in the file
        torch.save(NEW, file)
    return tmp_path / "checkpoint_last.pt"


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving.time, "sleep", lambda seconds: None)


def in_a_child(work: Callable[[], object]) -> int:
    """Do something in a process of its own; minus the signal that ended it, or 0."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def room_for(size: int, kill: bool) -> None:
    """No file of this process becomes larger: more is an error, or the end of the process."""
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL if kill else signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


def killed_within(write: Callable[[Path], None], path: Path, size: int) -> int:
    def work() -> None:
        room_for(size, kill=True)
        write(path)

    return in_a_child(work)


def names(path: Path) -> list[str]:
    return sorted(one.name for one in path.parent.iterdir())


def holds(path: Path, state: dict[str, torch.Tensor]) -> bool:
    return torch.equal(torch.load(path, weights_only=True)["parameter"], state["parameter"])


# killed ---------------------------------------------------------------------------------------


@WAYS
def test_a_kill_at_any_byte_leaves_the_last_good_checkpoint(path, write):
    before = path.read_bytes()
    whole = path.with_name("new.pt").stat().st_size
    for size in sorted({0, 1, whole // 3, whole - 1, *range(64, whole, 997)}):
        assert killed_within(write, path, size) == -signal.SIGXFSZ
        assert path.read_bytes() == before
    assert killed_within(write, path, whole) == 0, "what was left behind is in nobody's way"
    assert holds(path, NEW) and names(path) == ["checkpoint_last.pt", "new.pt"]


def test_fairseq_alone_tears_the_checkpoint_it_copies_to(path):
    assert killed_within(stock_copy, path, 5000) == -signal.SIGXFSZ
    assert path.stat().st_size <= 5000
    with pytest.raises((EOFError, OSError, RuntimeError)):  # each where another part is missing
        torch.load(path, weights_only=True)


@WAYS
def test_a_kill_before_the_new_name_leaves_the_last_good_checkpoint(path, write):
    def work() -> None:
        sys.addaudithook(
            lambda event, _: os.kill(os.getpid(), signal.SIGKILL) if event == "os.rename" else None
        )
        write(path)

    assert in_a_child(work) == -signal.SIGKILL
    assert holds(path, OLD)
    assert holds(path.with_name("checkpoint_last.pt.tmp"), NEW), "all of it, and not yet named"


@WAYS
def test_all_of_it_is_on_the_disk_before_it_has_its_name(path, write, monkeypatch):
    """Else a machine that stops has an empty file under the good one's name."""
    done: list[object] = []
    sync, replace = os.fsync, os.replace

    def fsync(number: int) -> None:
        done.append(os.fstat(number).st_size if not done else "folder")
        sync(number)

    monkeypatch.setattr(saving.os, "fsync", fsync)
    monkeypatch.setattr(
        saving.os, "replace", lambda one, other: (done.append("name"), replace(one, other))
    )
    write(path)
    assert done == [path.stat().st_size, "name", "folder"]


def test_a_link_is_replaced_and_what_it_names_stays(path):
    """A user's own ``ln -s checkpoint_1_500.pt checkpoint_last.pt``."""
    path.rename(path.with_name("checkpoint_1_500.pt"))
    path.symlink_to("checkpoint_1_500.pt")
    copy(path)
    assert holds(path, NEW) and holds(path.with_name("checkpoint_1_500.pt"), OLD)


# no room --------------------------------------------------------------------------------------


def refused(write: Callable[[Path], None], path: Path) -> str:
    with pytest.raises(UserError) as error:
        write(path)
    assert patches.explain(error.value) == str(error.value)
    return str(error.value)


@WAYS
def test_a_full_disk_is_one_line_and_keeps_the_last_good_checkpoint(path, write):
    path.with_name("checkpoint_last.pt.tmp").symlink_to("/dev/full")
    assert refused(write, path) == (
        f"checkpoint {path} is not written (No space left on device); free some "
        "space, or give another "
        f"--save-dir; the training so far is in {path}"
    )
    assert holds(path, OLD) and names(path) == ["checkpoint_last.pt", "new.pt"]


@WAYS
def test_a_file_that_may_grow_no_more_is_told_wherever_it_ends(path, write):
    def work() -> None:
        for size in (0, 100, 3000, 7000):
            room_for(size, kill=False)
            assert "File too large); free some space" in refused(write, path)
        assert names(path) == ["checkpoint_last.pt", "new.pt"]

    assert in_a_child(work) == 0
    assert holds(path, OLD)


def test_without_a_last_checkpoint_none_is_named(tmp_path):
    (tmp_path / "checkpoint1.pt.tmp").symlink_to("/dev/full")
    assert refused(save, tmp_path / "checkpoint1.pt").endswith("or give another --save-dir")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_has_gone_is_told_at_once(tmp_path, monkeypatch):
    monkeypatch.delattr(saving.time, "sleep")  # there is nothing to wait for
    error = refused(save, tmp_path / "gone" / "checkpoint1.pt")
    assert "(No such file or directory); check the folder, or give another --save-dir" in error


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (OSError(errno.ENOSPC, "", "save/dummy"), "save/dummy is not written: no space left on "),
        (OSError(errno.EROFS, "", "save/dummy"), "save/dummy is not written: read-only file "),
        (OSError(errno.ENOSPC, ""), "the output is not written: no space left on device"),
    ],
)
def test_no_room_for_anything_else_is_one_line_too(error, line):
    """fairseq tries the folder with an empty file when a training starts."""
    assert patches.explain(error).startswith(line)
    assert patches.explain(OSError(errno.EIO, "", "save/dummy")) is None


# writes that fail for a moment ----------------------------------------------------------------


@pytest.fixture
def hiccup(monkeypatch):
    """Makes the first writes past 3000 bytes fail, each in its file; gives the errors left."""
    left = SimpleNamespace(errors=1)
    real = torch.save

    def once(state, file):
        class Failing:
            size = 0

            def write(self, data):
                self.size += len(data)
                if self.size > 3000 and left.errors:
                    left.errors -= 1
                    raise OSError(errno.EIO, os.strerror(errno.EIO))
                return file.write(data)

            def flush(self):
                file.flush()

        real(state, Failing())

    monkeypatch.setattr(torch, "save", once)
    return left


def test_a_write_that_fails_for_a_moment_is_begun_again(path, hiccup):
    save(path)
    assert holds(path, NEW) and hiccup.errors == 0


def test_fairseq_alone_then_replaces_the_good_checkpoint_by_one_nobody_reads(path, hiccup):
    STOCK_SAVE(NEW, str(path))
    with pytest.raises(RuntimeError, match="zip archive"):
        torch.load(path, weights_only=True)


def test_a_write_that_keeps_failing_is_one_line(path, hiccup):
    hiccup.errors = 3
    assert "(Input/output error); check the folder" in refused(save, path)
    assert hiccup.errors == 0 and holds(path, OLD)
    assert names(path) == ["checkpoint_last.pt", "new.pt"]


def test_what_is_no_fault_of_the_system_is_raised_as_it_is(path):
    with pytest.raises(AttributeError, match="local object|Can't pickle|lambda"):
        checkpoint_utils.torch_persistent_save({"no": lambda: None}, str(path))
    assert holds(path, OLD) and names(path) == ["checkpoint_last.pt", "new.pt"]


# what passes to fairseq --------------------------------------------------------------------


def test_a_file_that_may_not_be_overwritten_is_fairseqs_affair(path, monkeypatch):
    monkeypatch.setattr(saving.os, "replace", None)
    source, other = path.with_name("new.pt"), path.with_name("other.pt")
    PathManager.copy(str(source), str(other))
    assert holds(other, NEW)


def test_writing_while_the_training_resumes_is_refused(path):
    cfg = SimpleNamespace(checkpoint=SimpleNamespace(write_checkpoints_asynchronously=True))
    with pytest.raises(UserError, match="--write-checkpoints-asynchronously leaves torn"):
        patches.refuse_asynchronous_checkpoints(cfg)
    cfg.checkpoint.write_checkpoints_asynchronously = False
    patches.refuse_asynchronous_checkpoints(cfg)


# a torn checkpoint at the start -----------------------------------------------------------------


def test_the_newest_whole_checkpoint_is_named(tmp_path):
    for updates in (6, 30, 100):
        resumable(tmp_path / f"checkpoint_1_{updates}.pt", updates)
    damaged = bytearray((tmp_path / "checkpoint_1_100.pt").read_bytes())
    damaged[len(damaged) // 2] ^= 1  # which torch does not notice
    (tmp_path / "checkpoint_1_100.pt").write_bytes(damaged)
    torch.save(NEW, tmp_path / "average.pt")  # nothing to resume from
    (tmp_path / "checkpoint_best.pt").write_bytes(b"PK\x03\x04")
    torn = tmp_path / "checkpoint_last.pt"
    torn.touch()
    assert patches.recovery_hint(str(torn)) == (
        f"{tmp_path}/checkpoint_1_30.pt is whole, with 30 updates: copy it to {torn}, or give it "
        "once with --restore-file"
    )


def test_where_none_is_whole_that_is_said(tmp_path):
    (tmp_path / "checkpoint_best.pt").write_bytes(b"")
    way = patches.recovery_hint(str(tmp_path / "checkpoint_last.pt"))
    assert way.startswith(f"no other checkpoint in {tmp_path} is one to resume from: copy it again")
