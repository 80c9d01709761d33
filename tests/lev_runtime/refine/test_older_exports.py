"""Exports of 0.9 serve; those of before, whose graphs read tokens, are refused by name."""

import json
import shutil

from plain_files import ROOT
from refusals import refuses

from lev_runtime import Editor

OF_0_9 = ROOT / "tests/exports/editor"


def test_an_export_of_before_0_9_is_refused(tmp_path):
    shutil.copytree(OF_0_9, path := tmp_path / "levt")
    assert [trace.text for trace in Editor(path, threads=1).edit(["a b"], ["c [=a=]"], markup=True)]
    description = json.loads((path / "runtime.json").read_text())
    del description["graphs"]["tables"]
    (path / "runtime.json").write_text(json.dumps(description))
    with refuses("levt was exported before version 0.9"):
        Editor(path)
