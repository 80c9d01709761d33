"""The examples in the docstrings of the Python interface run, and show what is printed."""

import doctest
import functools
import importlib
import shutil

import pytest
from plain_files import ROOT

#: the name of each example's folder or checkpoint, and the export that the tests read
EXPORTS = {"levt": "editor", "enct5": "labeler", "pbd": "generator"}
CORE = """lev_correct lev_runtime:load lev_runtime:Editor lev_runtime:Labeler lev_runtime:Generator
lev_runtime.history:EditTrace lev_runtime.history:Iteration
lev_runtime.labels.predictions:Prediction""".split()
PLUGIN = ["lev_plugins:LevenshteinEditor", "lev_plugins:EncT5"]


def run_example(name: str) -> None:
    """Runs the one example of a docstring; ``name``: ``module`` or ``module:object``."""
    module, _, path = name.partition(":")
    documented = functools.reduce(
        getattr, path.split(".") if path else (), importlib.import_module(module)
    )
    (example,) = doctest.DocTestFinder(recurse=False, exclude_empty=True).find(
        documented, name, globs={}
    )
    assert example.examples
    failed, _ = doctest.DocTestRunner().run(example)
    assert not failed, "see what was printed"


@pytest.mark.parametrize("name", CORE)
def test_an_example_shows_what_is_printed(name, tmp_path, monkeypatch):
    for folder, export in EXPORTS.items():
        shutil.copytree(ROOT / "tests/exports" / export, tmp_path / folder)
    monkeypatch.chdir(tmp_path)
    run_example(name)


@pytest.mark.plugin
@pytest.mark.parametrize("name", PLUGIN)
def test_an_example_of_the_plug_in_shows_what_is_printed(name, tmp_path, monkeypatch):
    saved, tiny, records = map(importlib.import_module, ("saved", "tiny", "test_prediction"))
    saved.save(tmp_path / "levt.pt", tiny.dictionaries(tmp_path / "data"), "editor")
    records.save(tmp_path / "enct5.pt", "classification")
    monkeypatch.chdir(tmp_path)
    run_example(name)
