"""A folder that is not as it was exported is refused in one line."""

import json
import re
import shutil
from pathlib import Path

import pytest

from lev_correct.packaged import ENGLISH_SPELLING
from lev_runtime import Generator
from lev_runtime.errors import UserError
from lev_runtime.folder import digest

FILES = ["runtime.json", "dictionaries.json", "encoder.onnx", "reader.onnx", "weights.bin"]


@pytest.fixture
def copied(tmp_path) -> Path:
    """The packaged model."""
    for name in FILES:
        shutil.copy(ENGLISH_SPELLING / name, tmp_path)
    return tmp_path


def refused(path: Path) -> str:
    with pytest.raises(UserError) as error:
        Generator(path)
    return str(error.value)


def described(path: Path, **changes: object) -> None:
    """Writes other values into the description."""
    place = path / "runtime.json"
    place.write_text(json.dumps(json.loads(place.read_text()) | changes))


def test_no_folder_an_empty_one_and_a_file_hold_no_model(tmp_path):
    for path in (tmp_path / "none", tmp_path, ENGLISH_SPELLING / "encoder.onnx"):
        assert str(path) in refused(path)


@pytest.mark.parametrize("name", FILES[1:])
def test_a_file_that_is_missing_cut_short_or_another_is_named(copied, name):
    path = copied / name
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    assert name in refused(copied)
    path.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    assert name in refused(copied)
    path.unlink()
    assert f"{name} is missing" in refused(copied)


def test_a_description_that_is_none_is_refused(copied):
    for content in ("", "[]", '{"format": 1}', '{"format": 1, "files": [], "model": "x"}', "\0"):
        (copied / "runtime.json").write_text(content)
        assert str(copied) in refused(copied)
    (copied / "runtime.json").write_bytes(b"\xff")
    assert "runtime.json" in refused(copied)


@pytest.mark.parametrize(
    "changes, named",
    [
        ({"format": 2}, "format 2.* reads 1"),
        ({"files": {"../secret": {"size": 0, "sha256": ""}}}, "elsewhere"),
        ({"model": "enct5"}, "holds a enct5, and Generator reads a pbd_transformer"),
    ],
)
def test_a_description_of_something_else_is_refused(copied, changes, named):
    described(copied, **changes)
    assert re.search(named, refused(copied))


def test_a_graph_that_onnxruntime_cannot_read_is_named(copied):
    path = copied / "encoder.onnx"
    path.write_bytes(b"no graph")
    files = json.loads((copied / "runtime.json").read_text())["files"]
    described(copied, files=files | {path.name: {"size": 8, "sha256": digest(path)}})
    assert "encoder.onnx" in refused(copied)
