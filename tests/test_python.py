"""The Python interface as people and their tools see it: names, types, what a notebook shows."""

import importlib.util
import json
import pickle
import subprocess
import sys
from pathlib import Path

import editors
import pytest

import lev_plugins
from lev_plugins import Correction, Edit, EditTrace, Iteration

HOSTILE = "<b>&\"'\x1b\u202e"
SHOWN = "&lt;b&gt;&amp;&quot;&#x27;\\x1b\\u202e"


def test_every_public_name_is_there_and_in_dir():
    for name in lev_plugins.__all__:
        assert getattr(lev_plugins, name).__name__.rpartition(".")[2] == name
    assert set(lev_plugins.__all__) <= set(dir(lev_plugins))
    assert lev_plugins.__version__.count(".") == 2
    with pytest.raises(AttributeError, match="has no attribute 'Levenshtein'"):
        lev_plugins.Levenshtein  # noqa: B018


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_a_type_checker_knows_what_calls_return(root: Path, tmp_path: Path):
    file = tmp_path / "asked.py"
    file.write_text(
        "from lev_plugins import Corrector, EncT5, LevenshteinEditor\n"
        "reveal_type(LevenshteinEditor.from_pretrained('m').edit(['a']))\n"
        "reveal_type(Corrector.from_pretrained('m').correct(['a']))\n"
        "reveal_type(EncT5.from_pretrained('m').predict(['a']))\n"
        "LevenshteinEditor.from_pretrained('m').edit_nbest(['a'], max_iters=3)\n"
    )
    config = tmp_path / "mypy.ini"  # what torch and others say of themselves is not asked for
    others = ",".join(f"mypy-{name}.*" for name in ("torch", "fairseq", "numpy", "omegaconf"))
    config.write_text(f"[mypy]\nignore_missing_imports = True\n[{others}]\nfollow_imports = skip\n")
    flags = [f"--cache-dir={tmp_path}/cache", f"--config-file={config}"]
    command = [sys.executable, "-m", "mypy", *flags, str(file)]
    told = subprocess.run(command, capture_output=True, text=True, cwd=root, check=False).stdout
    history = "lev_plugins.systems.levenshtein.decoding.history"
    assert f'type is "list[{history}.EditTrace]"' in told, told
    assert 'type is "list[lev_plugins.inference.correction.corrections.Correction]"' in told
    assert 'type is "list[lev_plugins.inference.predictions.Prediction]"' in told
    assert 'Unexpected keyword argument "max_iters"' in told


def trace(word: str) -> EditTrace:
    step = Iteration((word, "b"), (True, False), ("b", word), (False, True))
    return EditTrace(word, word, word, -1.0, (step,), "unchanged")


@pytest.mark.parametrize(
    "shown",
    [
        trace(HOSTILE),
        Correction(HOSTILE, HOSTILE, (Edit(0, HOSTILE, HOSTILE, 0.5),)),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_notebook_shows_text_and_no_markup_of_its_own(shown):
    html = shown._repr_html_()
    assert html.count(SHOWN) >= 2 and "<b>" not in html and "\x1b" not in html


def test_a_notebook_shows_what_went_and_what_came():
    html = trace("word")._repr_html_()
    assert html.index(">word</del>") < html.index(">word</ins>")
    line = Correction("a b c", "a x c", (Edit(2, "b", "x", 0.75), Edit(4, "c", "z", 0.1, False)))
    html = line._repr_html_()
    assert ">b</del>" in html and ">x</ins><sub>0.75</sub> c</p>" in html and "z" not in html


def test_results_are_plain_data_for_tables_and_survive_pickling():
    corrector, editor = editors.edit_corrector(), editors.editor(max_insertions=1)
    for one in (*corrector.correct(["a b"]), *editor.edit(["a b"], ["b c"])):
        record = json.loads(json.dumps(one.to_dict()))
        assert record["source"] == one.source and record["text"] == one.text
        assert pickle.loads(pickle.dumps(one)) == one


def test_the_notebook_runs(root: Path, monkeypatch):
    """Cell by cell, as a notebook would; the models are untrained."""
    made = editors.editor(max_insertions=1)
    corrector = editors.edit_corrector()
    monkeypatch.setattr(lev_plugins.LevenshteinEditor, "from_pretrained", lambda path: made)
    monkeypatch.setattr(lev_plugins.Corrector, "from_pretrained", lambda path: corrector)
    notebook = json.loads((root / "examples/python/edits.ipynb").read_text("utf-8"))
    cells = ["".join(one["source"]) for one in notebook["cells"] if one["cell_type"] == "code"]
    names: dict = {}
    for number, cell in enumerate(cells):
        exec(compile(cell, f"cell {number}", "exec"), names)
    assert len(cells) > 5 and "x" in names["locked"].text and names["hypotheses"]
