"""A folder that is not as it was exported is refused in one line."""

import json
import shutil
from functools import partial
from pathlib import Path

import pytest
from refusals import refuses

from lev_correct.packaged import ENGLISH_SPELLING
from lev_runtime import Generator
from lev_runtime.folder import digest

FILES = ["runtime.json", "dictionaries.json", "encoder.onnx", "reader.onnx", "weights.bin"]


@pytest.fixture
def copied(tmp_path) -> Path:
    """The packaged model."""
    for name in FILES:
        shutil.copy(ENGLISH_SPELLING / name, tmp_path)
    return tmp_path


def described(path, **changes):
    """Writes other values into the description."""
    place = path / "runtime.json"
    place.write_text(json.dumps(json.loads(place.read_text()) | changes))


def unreadable(path):
    """Puts another graph in the place of one, and describes it."""
    (graph := path / "encoder.onnx").write_bytes(b"no graph")
    files = json.loads((path / "runtime.json").read_text())["files"]
    described(path, files=files | {graph.name: {"size": 8, "sha256": digest(graph)}})


def test_no_folder_an_empty_one_and_a_file_hold_no_model(tmp_path):
    for path in (tmp_path / "none", tmp_path, ENGLISH_SPELLING / "encoder.onnx"):
        with refuses(path):
            Generator(path)


@pytest.mark.parametrize("name", FILES[1:])
def test_a_file_that_is_missing_cut_short_or_another_is_named(copied, name):
    path = copied / name
    content = path.read_bytes()
    for damaged in (content[: len(content) // 2], bytes([content[0] ^ 1]) + content[1:]):
        path.write_bytes(damaged)
        with refuses(name):
            Generator(copied)
    path.unlink()
    with refuses(f"{name} is missing"):
        Generator(copied)


#: what a description is, or what is changed | what is named
DESCRIBED = [
    *(("", ""), ("[]", ""), ('{"format": 1}', ""), ("\0", ""), ("\xff", "runtime.json")),
    ('{"format": 1, "files": [], "model": "x"}', ""),
    (partial(described, format=2), "format 2"),
    (partial(described, files={"../secret": {"size": 0, "sha256": ""}}), "elsewhere"),
    (partial(described, model="enct5"), "holds a enct5, and Generator reads a pbd_transformer"),
    (unreadable, "encoder.onnx"),
]


@pytest.mark.parametrize("change, named", DESCRIBED)
def test_a_description_that_is_none_or_of_something_else_is_refused(copied, change, named):
    if callable(change):
        change(copied)
    else:
        (copied / "runtime.json").write_bytes(change.encode("latin-1"))
    with refuses(copied, named):  # graphs are read at the first text
        Generator(copied).generate(["teh"])
