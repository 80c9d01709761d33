"""The Python interface as people and their tools see it: names, what a notebook shows."""

import json
import pickle
from pathlib import Path

import editors

import lev_plugins
from lev_plugins import Correction, Edit, EditTrace, Iteration

HOSTILE = "<b>&\"'\x1b\u202e"
SHOWN = "&lt;b&gt;&amp;&quot;&#x27;\\x1b\\u202e"


def trace(word: str) -> EditTrace:
    step = Iteration((word, "b"), (True, False), ("b", word), (False, True))
    return EditTrace(word, word, word, -1.0, (step,), "unchanged")


def test_a_notebook_shows_what_went_and_what_came_and_no_markup_of_its_own():
    for one in (trace(HOSTILE), Correction(HOSTILE, HOSTILE, (Edit(0, HOSTILE, HOSTILE, 0.5),))):
        html = one._repr_html_()
        assert html.count(SHOWN) >= 2 and "<b>" not in html and "\x1b" not in html
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
    made, corrector = editors.editor(max_insertions=1), editors.edit_corrector()
    monkeypatch.setattr(lev_plugins.LevenshteinEditor, "from_pretrained", lambda path: made)
    monkeypatch.setattr(lev_plugins.Corrector, "from_pretrained", lambda path: corrector)
    notebook = json.loads((root / "examples/python/edits.ipynb").read_text("utf-8"))
    cells = ["".join(one["source"]) for one in notebook["cells"] if one["cell_type"] == "code"]
    names: dict = {}
    for number, cell in enumerate(cells):
        exec(compile(cell, f"cell {number}", "exec"), names)
    assert len(cells) > 5 and "x" in names["locked"].text and names["hypotheses"]


def test_drafts_that_a_model_was_trained_with_and_a_call_lacks_are_noted_once(capsys):
    made = editors.editor()
    made.edit(["a"])
    assert not capsys.readouterr().err
    made.task.cfg.draft_lang = "mt"
    for drafts in (["b"], [None], None, None):
        made.edit(["a"], drafts)
    assert capsys.readouterr().err.count("note: ") == 1
