"""A checkpoint is on the disk whole or not at all: kills, full disks and writes that fail."""

import errno
import os
import resource
import signal
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from fairseq import checkpoint_utils
from fairseq.file_io import PathManager
from refusals import refuses

import lev_plugins  # noqa: F401  (patches fairseq)
from lev_plugins.io.saving import atomic_save

OLD = {"parameter": torch.zeros(2000)}
NEW = {"parameter": torch.arange(2000.0)}


def save(path: Path) -> None:
    checkpoint_utils.torch_persistent_save(NEW, str(path))


def copy(path: Path) -> None:
    """As fairseq writes ``checkpoint_last.pt``."""
    assert PathManager.copy(str(path.with_name("new.pt")), str(path), overwrite=True)


WAYS = pytest.mark.parametrize("write", [save, copy])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A good checkpoint; a newer one (``new.pt``) is in its folder."""
    torch.save(OLD, tmp_path / "checkpoint_last.pt")
    with open(tmp_path / "new.pt", "wb") as file:  # a path would stand in the file
        torch.save(NEW, file)
    return tmp_path / "checkpoint_last.pt"


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


def killed_within(write: Callable[[Path], None], path: Path, size: int) -> int:
    """How a process ends that is killed when it has written so many bytes."""

    def work() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
        write(path)

    return in_a_child(work)


def names(path: Path) -> list[str]:
    return sorted(one.name for one in path.parent.iterdir())


def holds(path: Path, state: dict[str, torch.Tensor]) -> bool:
    return torch.equal(torch.load(path, weights_only=True)["parameter"], state["parameter"])


@WAYS
def test_a_kill_at_any_byte_leaves_the_last_good_checkpoint(path, write):
    before = path.read_bytes()
    whole = path.with_name("new.pt").stat().st_size
    for size in sorted({0, 1, whole // 3, whole - 1, *range(64, whole, 2999)}):
        assert killed_within(write, path, size) == -signal.SIGXFSZ
        assert path.read_bytes() == before
    assert killed_within(write, path, whole) == 0, "what was left behind is in nobody's way"
    assert holds(path, NEW) and names(path) == ["checkpoint_last.pt", "new.pt"]


def test_fairseq_alone_tears_the_checkpoint_it_copies_to(path):
    def stock_copy(path: Path) -> None:
        stock = PathManager.copy.__wrapped__
        stock(str(path.with_name("new.pt")), str(path), overwrite=True)

    assert killed_within(stock_copy, path, 5000) == -signal.SIGXFSZ
    assert path.stat().st_size <= 5000


@WAYS
def test_all_of_it_is_on_the_disk_before_it_has_its_name(path, write, monkeypatch):
    """Else a machine that stops has an empty file under the good one's name."""
    done: list[object] = []
    sync, replace = os.fsync, os.replace
    monkeypatch.setattr(
        os, "fsync", lambda number: (done.append(os.fstat(number).st_size), sync(number))
    )
    monkeypatch.setattr(
        os, "replace", lambda one, other: (done.append("name"), replace(one, other))
    )
    write(path)
    assert done == [path.stat().st_size, "name"]


def test_a_link_is_replaced_and_what_it_names_stays(path):
    """A user's own ``ln -s checkpoint_1_500.pt checkpoint_last.pt``."""
    path.rename(path.with_name("checkpoint_1_500.pt"))
    path.symlink_to("checkpoint_1_500.pt")
    copy(path)
    assert holds(path, NEW) and holds(path.with_name("checkpoint_1_500.pt"), OLD)


@WAYS
def test_a_full_disk_is_one_line_and_keeps_the_last_good_checkpoint(path, write):
    path.with_name("checkpoint_last.pt.tmp").symlink_to("/dev/full")
    with refuses(f"checkpoint {path} is not written (No space left on device)"):
        write(path)
    assert holds(path, OLD) and names(path) == ["checkpoint_last.pt", "new.pt"]
    with refuses("gone", "No such file"):
        save(path.parent / "gone" / "checkpoint1.pt")


def test_a_write_that_fails_for_a_moment_replaces_nothing(path, monkeypatch):
    """fairseq begins it again behind what it has written, and nobody can read the file."""
    real, failures = torch.save, [errno.EIO]

    def once(state, file):
        class Failing:
            def write(self, data):
                if failures and file.tell() > 3000:
                    raise OSError(failures.pop(), "once")
                return file.write(data)

            def flush(self):
                file.flush()

        real(state, Failing())

    monkeypatch.setattr(torch, "save", once)
    with refuses("not written (once)"):
        save(path)
    assert holds(path, OLD) and names(path) == ["checkpoint_last.pt", "new.pt"]


def test_what_is_no_fault_of_the_system_is_raised_as_it_is(path):
    with pytest.raises(AttributeError, match="local object|Can't pickle|lambda"):
        checkpoint_utils.torch_persistent_save({"no": lambda: None}, str(path))
    with pytest.raises(KeyError), atomic_save(str(path)):
        raise KeyError
    assert holds(path, OLD) and names(path) == ["checkpoint_last.pt", "new.pt"]


def test_a_file_that_may_not_be_overwritten_is_fairseqs_affair(path, monkeypatch):
    monkeypatch.setattr(os, "replace", None)
    source, other = path.with_name("new.pt"), path.with_name("other.pt")
    PathManager.copy(str(source), str(other))
    assert holds(other, NEW)
