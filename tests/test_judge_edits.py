"""benchmarks/judge_edits.py: edits are read without their makers, and counted for each of them."""

import json

import pytest
from test_benchmarks import script, scripts  # noqa: F401

from lev_plugins.errors import UserError
from lev_plugins.inference.correction import Corrector

benchmark = script("judge_edits")


def judged(sheet, verdicts):
    head, *rows = sheet.read_text().splitlines()
    rows = [verdicts[row.split("\t")[1]] + row for row in rows]
    sheet.write_text("\n".join([head, *rows]) + "\n")


def test_a_text_is_read_by_both_and_the_peer_is_counted_once_more_without_names(
    benchmark, tmp_path, monkeypatch, capsys
):
    pytest.importorskip("symspellpy")
    (tmp_path / "text").write_text("Cta saw teh don't cat\n")
    (tmp_path / "words").write_text("".join(f"{word} 5\n" for word in "the cat saw dont".split()))

    class Known:
        def correct(self, lines):
            return [type("Correction", (), {"text": line.replace("teh", "the")}) for line in lines]

    monkeypatch.setattr(Corrector, "from_pretrained", lambda path, data: Known())
    sheet = tmp_path / "sheet.tsv"
    command = ["write", str(sheet), str(tmp_path / "text"), "--path", "x"]
    assert benchmark.main([*command, "--lexicon", str(tmp_path / "words")]) == 0
    assert "3 edits; put r, w or n" in capsys.readouterr().out
    with pytest.raises(UserError, match="is there already"):
        benchmark.main([*command, "--lexicon", str(tmp_path / "words")])
    judged(sheet, {"teh": "r", "Cta": "n", "don't": "w"})
    assert benchmark.main(["count", str(sheet), "--json", str(tmp_path / "json")]) == 0
    found = json.loads((tmp_path / "json").read_text())["systems"]
    numbers = {
        name: [row[key] for key in ("edits", "right", "wrong")] for name, row in found.items()
    }
    assert numbers == {
        "symspellpy": [3, 1, 1],
        "symspellpy, small letters": [1, 1, 0],
        "this model": [1, 1, 0],
    }
