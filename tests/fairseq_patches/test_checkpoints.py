"""A checkpoint is on the disk whole or not at all: kills, full disks and writes that fail."""

import errno
import os
from pathlib import Path

import pytest
import torch
from fairseq import checkpoint_utils
from fairseq.file_io import PathManager
from refusals import refuses

from lev_plugins.fairseq_patches.checkpoints import atomic_save
from lev_runtime.errors import UserError

OLD = {"parameter": torch.zeros(2000)}
NEW = {"parameter": torch.arange(2000.0)}


def save(path: Path) -> None:
    checkpoint_utils.torch_persistent_save(NEW, str(path))


def copy(path: Path) -> None:
    """As fairseq writes ``checkpoint_last.pt``."""
    assert PathManager.copy(str(path.with_name("new.pt")), str(path), overwrite=True)


WAYS = pytest.mark.parametrize("write", [save, copy])


@pytest.fixture
def path(tmp_path):
    """A good checkpoint; a newer one (``new.pt``) is in its folder."""
    torch.save(OLD, tmp_path / "checkpoint_last.pt")
    with open(tmp_path / "new.pt", "wb") as file:  # a path would stand in the file
        torch.save(NEW, file)
    return tmp_path / "checkpoint_last.pt"


def holds(path: Path, state: dict[str, torch.Tensor]) -> bool:
    """And nothing half written is beside it."""
    names = sorted(file.name for file in path.parent.iterdir())
    parameter = torch.load(path, weights_only=True)["parameter"]
    return names == ["checkpoint_last.pt", "new.pt"] and torch.equal(parameter, state["parameter"])


@WAYS
def test_all_of_it_is_on_the_disk_before_it_has_its_name(path, write, monkeypatch):
    """Else a machine that stops has an empty file under the good one's name."""
    done = []
    sync, name = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda n: (done.append(os.fstat(n).st_size), sync(n)))
    monkeypatch.setattr(os, "replace", lambda source, to: (done.append("name"), name(source, to)))
    write(path)
    assert done == [path.stat().st_size, "name"] and holds(path, NEW)


@WAYS
def test_what_fails_while_it_is_written_replaces_nothing(path, write):
    """fairseq begins it again behind what it has written, and nobody can read the file."""
    path.with_name("checkpoint_last.pt.tmp").symlink_to("/dev/full")
    with refuses(path, "No space left on device"):
        write(path)
    assert holds(path, OLD)
    for error, kind in ((KeyError(), KeyError), (OSError(errno.EIO, "once"), UserError)):
        with pytest.raises(kind), atomic_save(str(path)) as file:
            file.write(b"half")
            raise error
    assert holds(path, OLD)
