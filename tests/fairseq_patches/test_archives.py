"""Zip files whose records are larger in memory than on the disk are refused unread."""

import copy
import io
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from fairseq import checkpoint_utils
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from lev_plugins import UserError
from lev_plugins import fairseq_patches as patches
from lev_plugins.inference import averaging
from lev_plugins.inference.checkpoints import load_state
from lev_plugins.io.archives import DamagedArchive
from lev_plugins.pretrained.directory import Directory

STATE = {"model": {"weight": torch.zeros(10_000)}, "extra_state": {}}


def compressed(path: Path, method: int, state: Any = STATE) -> Path:
    """A checkpoint whose records are written by a method of zip."""
    torch.save(state, path)
    with zipfile.ZipFile(path) as archive:
        records = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in records.items():
            archive.writestr(name, content)
    return path


def folder_loads(path: str) -> Any:
    (Path(path).parent / "config.json").write_text("{}")
    return Directory(str(Path(path).parent)).weights()


READERS: dict[str, Callable[[str], Any]] = {
    "ours": load_state,
    "average_checkpoints": lambda path: averaging.load(Path(path)),
    "fairseq": checkpoint_utils.load_checkpoint_to_cpu,
    "pre-trained": folder_loads,
}


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
@pytest.mark.parametrize("reader", READERS)
def test_compressed_records_are_refused(tmp_path, reader, method):
    path = compressed(tmp_path / "pytorch_model.bin", method)
    with refuses(str(path), match=r"its record \S+ is compressed.*zip -0"):
        READERS[reader](str(path))


def test_a_compressed_checkpoint_is_none_to_resume_from(tmp_path):
    compressed(tmp_path / "checkpoint1.pt", zipfile.ZIP_DEFLATED)
    assert "no other checkpoint" in patches.recovery_hint(str(tmp_path / "checkpoint_last.pt"))


@pytest.mark.parametrize("form", ["zip", "stored", "legacy"])
def test_what_torch_saves_is_read(tmp_path, form):
    path = tmp_path / "a.pt"
    if form == "stored":
        compressed(path, zipfile.ZIP_STORED)
    else:
        torch.save(STATE, path, _use_new_zipfile_serialization=form == "zip")
    patches.check_archive(path)
    with path.open("rb") as file:
        patches.check_archive(file)
        assert file.tell() == 0
        assert torch.equal(patches.read_checkpoint(file)["model"]["weight"], torch.zeros(10_000))


def test_many_entries_of_the_same_bytes_are_refused(tmp_path):
    path = compressed(tmp_path / "a.pt", zipfile.ZIP_STORED)
    with zipfile.ZipFile(path, "a") as archive:
        for number in range(5):
            entry = copy.copy(max(archive.infolist(), key=lambda one: one.file_size))
            entry.filename = entry.orig_filename = f"a/data/{number + 1}"
            archive.filelist.append(entry)
        archive._didModify = True  # the list is written when it is closed
    assert torch.load(path, weights_only=True), "torch reads no such file: nothing was tested"
    with pytest.raises(UserError, match=r"has [\d,]+ bytes, and its records [\d,]+"):
        patches.read_checkpoint(path)


def end_of(content: bytes) -> tuple[int, int, int]:
    """Where the list of contents begins, its length, and where the end record begins."""
    end = content.rindex(b"PK\5\6")
    length, start = struct.unpack_from("<2L", content, end + 12)
    return start, length, end


def test_a_second_list_hides_no_compressed_record(tmp_path):
    """Python's zipfile takes the list right before the end record, torch that at the offset."""
    path = compressed(tmp_path / "a.pt", zipfile.ZIP_DEFLATED)
    content = path.read_bytes()
    start, length, end = end_of(content)
    decoy = bytearray(content[start : start + length])
    place = 0
    while (place := decoy.find(b"PK\1\2", place)) >= 0:
        decoy[place + 10 : place + 12] = bytes(2)  # stored
        decoy[place + 20 : place + 24] = decoy[place + 24 : place + 28]
        place += 4
    path.write_bytes(content[:end] + decoy + content[end:])
    assert torch.load(path, weights_only=True), "torch reads no such file: nothing was tested"
    with pytest.raises(DamagedArchive):
        patches.check_archive(path)
    with pytest.raises(UserError, match=f"checkpoint {path} is truncated, damaged or not a"):
        load_state(str(path))


def test_a_size_beyond_four_gigabytes_is_believed_as_little():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a/data.pkl", b"")
    content = stream.getvalue()
    start, length, end = end_of(content)
    entry = bytearray(content[start : start + length])
    extra = struct.pack("<2HQ", 99, 8, 0) + struct.pack("<2HQ", 1, 8, 2**40)
    entry[24:28], entry[30:32] = b"\xff" * 4, struct.pack("<H", len(extra))
    tail = bytearray(content[end:])
    tail[12:16] = struct.pack("<L", length + len(extra))
    forged = io.BytesIO(content[:start] + entry + extra + tail)
    with pytest.raises(UserError, match="1,099,511,627,776"):
        patches.check_archive(forged)


SAVED = io.BytesIO()
torch.save(STATE, SAVED)


@given(st.data())
def test_whatever_stands_at_the_end_is_read_or_refused(data):
    content = bytearray(SAVED.getvalue())
    for place in data.draw(st.lists(st.integers(1, 700), max_size=4)):
        content[-place] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.sampled_from([len(content), -1, -22, -60, 30, 4]))]
    try:
        patches.check_archive(io.BytesIO(content))
    except (UserError, DamagedArchive) as error:
        assert str(error) and "\n" not in str(error)
