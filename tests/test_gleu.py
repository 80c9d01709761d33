"""examples/spelling_and_ocr/score_gleu.py counts as the metric's authors do."""

import importlib
import json
import sys
from pathlib import Path

import pytest
from plain_files import put

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "spelling_and_ocr"
sys.path.insert(0, str(EXAMPLE))
gleu = importlib.import_module("score_gleu")
sys.path.remove(str(EXAMPLE))

SOURCE = "he go to school every day"
RIGHT = "he goes to school every day"


def test_n_grams_that_should_have_gone_are_taken_away():
    found = gleu.statistics(SOURCE, SOURCE, RIGHT)
    # 5 words are right and "go" counts against them; 3 pairs and 2 against; then 2 - 2 and 1 - 2
    assert found == (6, 6, 4, 6, 1, 5, 0, 4, 0, 3)
    assert gleu.statistics(SOURCE, RIGHT, RIGHT) == (6, 6, 6, 6, 5, 5, 4, 4, 3, 3)


def test_what_equals_its_reference_has_100_and_what_is_short_has_less():
    assert gleu.score([SOURCE], [RIGHT], [[RIGHT]]) == pytest.approx(100)
    short = gleu.score([SOURCE], ["he goes to school every"], [[RIGHT]])
    assert short == pytest.approx(100 * 2.718281828 ** (1 - 6 / 5))


def test_files_are_scored_or_refused_by_name(tmp_path, monkeypatch, capsys):
    names = [str(put(tmp_path / one, [SOURCE])) for one in ("source", "output", "reference")]
    put(names[2], [RIGHT])
    monkeypatch.setattr(sys, "argv", ["score_gleu.py", *names, "--json", str(tmp_path / "json")])
    put(names[1], [RIGHT, RIGHT])
    with pytest.raises(gleu.UserError, match="output has 2 lines"):
        gleu.main()
    put(names[1], [RIGHT])
    gleu.main()
    systems = json.loads((tmp_path / "json").read_text())["systems"]
    assert systems["corrected"] == {"gleu": pytest.approx(100), "changed": 1}
    assert systems["no-edit baseline"]["changed"] == 0 and "GLEU 100.00" in capsys.readouterr().out
