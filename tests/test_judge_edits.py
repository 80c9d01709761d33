"""benchmarks/judge_edits.py: edits are read without their makers, and counted for each of them."""

import json

import pytest
from test_benchmarks import script, scripts  # noqa: F401

from lev_plugins.errors import UserError
from lev_plugins.inference.correction import Corrector

benchmark = script("judge_edits")
LINES = ["we saw teh cat", "colors of alot of tihngs"]
OUTPUTS = {
    "one": ["we saw the cat", "colours of a lot of things"],
    "other": ["we was teh cat", "colors of alot of things"],
}
VERDICTS = {"teh": "r", "colors": "w", "alot": "r", "tihngs": "r", "saw": "w"}


@pytest.fixture
def sheet(benchmark, tmp_path):
    path = tmp_path / "sheet.tsv"
    found = {name: list(benchmark.edits(LINES, some)) for name, some in OUTPUTS.items()}
    assert benchmark.write(path, LINES, found, seed=1) == 5
    return path


def judged(sheet, verdicts):
    head, *rows = sheet.read_text().splitlines()
    rows = [verdicts[row.split("\t")[1]] + row for row in rows]
    sheet.write_text("\n".join([head, *rows]) + "\n")


def test_the_peer_keeps_the_capitals_of_words_that_it_does_not_know(benchmark):
    correct = benchmark.symspell({"stoff": 5, "und": 9})
    assert correct(["Sotff udn Xylophonist, UDN NATO"]) == ["Stoff und Xylophonist, UND NATO"]


def test_an_edit_says_what_was_written_in_the_place_of_which_words(benchmark):
    assert list(benchmark.edits(LINES, OUTPUTS["one"])) == [
        (0, 2, 3, "the"),
        (1, 0, 1, "colours"),
        (1, 2, 3, "a lot"),
        (1, 4, 5, "things"),
    ]
    assert not list(benchmark.edits(LINES, LINES))


def test_a_sheet_has_each_edit_once_and_does_not_say_whose_it_is(sheet):
    head, *rows = sheet.read_text().splitlines()
    assert head == "verdict\tbefore\tafter\ttext" and len(set(rows)) == 5
    assert "\tteh\tthe\twe saw [teh] cat" in rows and not any("one" in row for row in rows)
    assert json.loads(sheet.with_name("sheet.tsv.key").read_text())["words"] == 9


def test_verdicts_are_counted_for_each_system(benchmark, sheet):
    judged(sheet, VERDICTS)
    counted = benchmark.count(sheet)
    assert counted["one"] == {
        "edits": 4, "right": 3, "wrong": 1, "neither": 0, "right, %": 75.0, "found, %": 100.0,
        "wrong in 10,000 words": pytest.approx(1e4 / 9),
    }  # fmt: skip
    assert counted["other"]["right"] == 1 and counted["other"]["wrong"] == 1


@pytest.mark.parametrize(
    ("verdict", "message"), [("", "line 2: the verdict is ''"), ("x", "put r, w or n")]
)
def test_a_row_without_a_verdict_is_named(benchmark, sheet, verdict, message):
    judged(sheet, dict.fromkeys(VERDICTS, verdict))
    with pytest.raises(UserError, match=message):
        benchmark.count(sheet)


def test_a_sheet_that_lost_a_row_is_refused(benchmark, sheet):
    sheet.write_text("".join(sheet.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(UserError, match="has 4 rows, 5 were written"):
        benchmark.count(sheet)


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
