"""benchmarks/learning_curve.py: BLEU against processor time, as a table and a picture."""

import json

import pytest
from test_benchmarks import script, scripts  # noqa: F401

from lev_plugins.errors import UserError

curve = script("learning_curve")


def test_what_is_measured_already_becomes_a_table_and_a_picture(
    curve, tmp_path, capsys, monkeypatch
):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(curve, "run", lambda *_, **__: "")
    for updates, bleu in ((10, 1.5), (20, 4.0)):
        for name in curve.SYSTEMS:
            folder = tmp_path / f"learning-{updates}" / f"{name}.1"
            folder.mkdir(parents=True)
            found = {"seconds": updates * 0.5, "bleu": bleu, "tuned": bleu + 1}
            (folder / "figures.json").write_text(json.dumps(found))
    curve.main([str(tmp_path), "--updates", "10,20", "--png", str(tmp_path / "curve.png")])
    said = capsys.readouterr().out
    assert "teacher        20            10    4.00" in said
    assert "ours           10             5    2.50" in said, "an edit model has γ and threshold"
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("wrong", [["--updates", "0"], ["--updates", "x"], ["--systems", "mine"]])
def test_other_systems_and_no_updates_are_refused(curve, wrong):
    with pytest.raises(UserError, match="give some of stock, ours, teacher"):
        curve.main(["data", *wrong])
