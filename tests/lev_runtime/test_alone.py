"""The runtime needs neither torch nor fairseq, nor the package that exports."""

import json
import os
import subprocess
import sys

import editors

from lev_correct.packaged import ENGLISH_SPELLING
from lev_plugins.export.folder import labeler_writer, write_folder

BLOCKED = """
import json, sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "fairseq", "lev_plugins", "onnx", "transformers"):
            raise ImportError(f"{name} is not to be imported")
sys.meta_path.insert(0, Blocked())
"""


def printed(root, code: str, *arguments: object) -> object:
    """What a process without torch, fairseq and the package prints as JSON."""
    command = [sys.executable, "-c", BLOCKED + code, *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return json.loads(done.stdout)


def test_an_editor_edits_where_torch_and_fairseq_are_not(root, folder):
    code = """
from lev_runtime import Editor
trace = Editor(sys.argv[1]).edit(["a b c"], ["a [=d=] e"], markup=True)[0]
print(json.dumps([trace.text, trace.to_dict()["terminated"]]))
"""
    text, terminated = printed(root, code, folder)
    assert "d" in text.split() and terminated in ("unchanged", "loop", "max_iterations")


def test_a_labeler_labels_where_torch_and_fairseq_are_not(root, tmp_path):
    model = editors.enct5("classification")
    write_folder(tmp_path / "model", labeler_writer(model, int8=False), int8=False)
    code = """
from lev_runtime import Labeler
print(json.dumps([one.label for one in Labeler(sys.argv[1]).predict(["a text", ""])]))
"""
    labels = printed(root, code, tmp_path / "model")
    assert labels == [prediction.label for prediction in model.predict(["a text", ""])]


def test_a_generator_writes_where_torch_and_fairseq_are_not(root):
    code = """
from lev_runtime import load
writer = load(sys.argv[1], threads=1)
print(json.dumps([type(writer).__name__, *(one.text for one in writer.generate(sys.argv[2:]))]))
"""
    texts = printed(root, code, ENGLISH_SPELLING, "teh", "goverment", "cat")
    assert texts == ["Generator", "the", "government", "cat"]
