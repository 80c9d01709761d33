"""Folders of pre-trained models that are forged: refused in one line, within some memory."""

import json
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import checkpoints
import damage
import pytest
from damage import HUGE
from safetensors.torch import load_file

from lev_plugins.pretrained.loading import inspect

WEIGHTS = "model.safetensors"


@pytest.fixture(params=checkpoints.KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def folder(tmp_path: Path, kind: str) -> Path:
    return checkpoints.KINDS[kind](tmp_path / kind)


def outcome(folder: Path) -> str:
    """Of all that is done with a folder."""
    return damage.outcome(lambda: inspect(str(folder)), folder)


NO_JSON = [b"[" * 10**5, b'{"a":' * 10**5, b"1" * 10**5, b"\xff", b"\0", b"", b"{", b"[1]", b"{} x"]


@pytest.mark.parametrize("content", NO_JSON)
def test_json_of_any_form_is_refused(folder, content):
    for name in ("config.json", "tokenizer_config.json", "special_tokens_map.json"):
        whole = (folder / name).read_bytes() if (folder / name).exists() else b"{}"
        (folder / name).write_bytes(content)
        said = outcome(folder)
        assert said != "loaded" and (name != "config.json" or "copy it again" in said)
        (folder / name).write_bytes(whole)


def rewritten(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Safetensors with another header over the same numbers."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    change(header)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + content[8 + length :])


def test_a_header_that_is_forged_takes_no_memory(folder):
    whole = (folder / WEIGHTS).read_bytes()
    names = sorted(load_file(str(folder / WEIGHTS)))
    changes: list[Callable[[Any], Any]] = [
        lambda one: one.update(shape=[HUGE, HUGE]),
        lambda one: one.update(shape=[2**62, 4]),
        lambda one: one.update(shape=[-1]),
        lambda one: one.update(shape=[]),
        lambda one: one.update(data_offsets=[0, 2**62]),
        lambda one: one.update(data_offsets=[2**62, 0]),
        lambda one: one.update(data_offsets=[-8, 8]),
        lambda one: one.update(dtype="F64"),
        lambda one: one.update(dtype="X"),
        lambda one: one.clear(),
    ]
    for change in changes:
        for name in names[:3]:
            rewritten(folder / WEIGHTS, lambda header, n=name, c=change: c(header[n]))
            assert outcome(folder) != "loaded"
            (folder / WEIGHTS).write_bytes(whole)


@pytest.mark.parametrize("length", [0, 1, 2**20, 2**32, 2**40, 2**62, 2**63, 2**64 - 1])
def test_a_header_of_any_length_is_refused(folder, length):
    whole = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(struct.pack("<Q", length) + whole[8:])
    assert "model.safetensors: damaged or cut short" in outcome(folder)


def test_links_that_lead_out_of_a_folder_are_files_like_others(tmp_path):
    folder = checkpoints.bert(tmp_path / "bert")
    shutil.move(folder / "vocab.txt", tmp_path / "elsewhere")
    (folder / "vocab.txt").symlink_to(tmp_path / "elsewhere")
    assert outcome(folder) == "loaded"
    (tmp_path / "elsewhere").unlink()
    assert outcome(folder) != "loaded"
    (folder / "vocab.txt").unlink()
    (folder / "vocab.txt").symlink_to(folder / "vocab.txt")
    assert outcome(folder) != "loaded"


@pytest.mark.skipif(os.getuid() == 0, reason="nothing is forbidden to root")
def test_a_file_that_may_not_be_read_is_told(folder):
    for path in sorted(folder.iterdir()):
        path.chmod(0)
        assert "cannot be read" in outcome(folder) and str(path) in outcome(folder)
        path.chmod(0o644)
