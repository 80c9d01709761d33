"""The tables of the documents are what the one list of results says."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

import results  # noqa: E402

MEASURED = {
    "command": ["bash run.sh"],
    "version": "0.6.0",
    "date": "2026-11-21",
    "cpu": "a CPU",
    "cores": 2,
    "torch": "2.13.0",
}
HEAD = {
    "table": "words",
    "task": "words",
    "head": "test",
    "judged_by": "right",
    "columns": [
        {"metric": "right", "head": "right, %", "digits": 1, "best": "highest"},
        {"metric": "seeds", "head": "seeds"},
        {"metric": "processor_hours", "head": "hours", "digits": 1},
    ],
}


def row(right: Any, system: str = "PBD", **fields: Any) -> dict[str, Any]:
    one = {"table": "words", "system": system, "kind": "system", "seeds": [1], **MEASURED}
    return {**one, "metrics": {"right": right}, **fields}


BASELINE = row(80.0, "no-edit baseline", kind="no-edit", seeds=[])


@pytest.fixture
def repository(tmp_path):
    """A folder with one table of a baseline and one row, and a document that shows it."""
    (tmp_path / "benchmarks").mkdir()
    text = "# Results\n\nOne line.\n<!-- table: words -->\n| old |\n|---|\n\nThe end.\n"
    (tmp_path / "RESULTS.md").write_text(text)
    put(tmp_path, HEAD, row(84.04), BASELINE)
    return tmp_path


def put(repository: Path, *records: dict[str, Any]) -> None:
    results.write(repository / results.LIST, records)


def run(repository: Path, *flags: str) -> int:
    return results.main(["--root", str(repository), *flags])


def test_the_documents_show_every_table_as_the_list_says(capsys):
    assert results.main(["--check"]) == 0, capsys.readouterr().err


def test_the_table_is_written_and_the_text_around_it_stays(repository):
    assert run(repository, "--check") == 1
    assert run(repository) == 0 and run(repository, "--check") == 0
    assert (repository / "RESULTS.md").read_text() == (
        "# Results\n\nOne line.\n<!-- table: words -->\n"
        "| test | right, % | seeds | hours |\n|---|---|---|---|\n"
        "| no-edit baseline | 80.0 |  | – |\n| PBD | **84.0** | 1 | – |\n\nThe end.\n"
    )


def test_a_row_shows_its_spread_its_hours_and_what_it_loses_to(repository):
    spread = {"mean": 79.96, "lowest": 79.0, "highest": 81.0}
    put(repository, HEAD, BASELINE, row(spread, "LevT", seeds=[1, 2, 3], processor_hours=0.25))
    assert run(repository) == 0
    assert (
        "| LevT: **loses to the no-edit baseline** | 80.0 (79.0 … 81.0) | 3 | 0.2 |"
        in (repository / "RESULTS.md").read_text()
    )


def test_the_numbers_of_an_evaluation_become_a_row(repository, capsys):
    for seed, right in ((1, 90.0), (2, 92.0)):
        systems = [{"name": "mine", "scores": {"Right": right}, "updates": 5}]
        (repository / f"{seed}.json").write_text(json.dumps({"systems": systems}))
    files = [str(repository / f"{seed}.json") for seed in (1, 2)]
    assert run(repository, "--add", "words", "PBD", "mine", *files, "--seeds", "1", "2") == 0
    given = ("--kind", "look-up", "--command", "bash other.sh")
    assert run(repository, "--add", "words", "LevT", "mine", files[0], *given) == 0
    found = results.read(repository / results.LIST)
    assert [one.get("system") for one in found] == [None, "PBD", "no-edit baseline", "LevT"]
    assert found[1]["metrics"] == {"right": {"mean": 91.0, "lowest": 90.0, "highest": 92.0}}
    assert found[1]["command"] == ["bash run.sh"] and found[1]["seeds"] == [1, 2]
    assert found[3]["command"] == ["bash other.sh"] and found[3]["kind"] == "look-up"
    assert "**91.0** (90.0 … 92.0)" in (repository / "RESULTS.md").read_text()
    capsys.readouterr()
    assert run(repository, "--add", "words", "PBD", "mine", *files) == 1
    assert capsys.readouterr().err.startswith("error: ")


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "oracle"},
        {"speed": 3},
        {"seeds": [1, 2]},
        {"metrics": {"right": {"mean": 3.0, "lowest": 4.0, "highest": 5.0}}},
        {"metrics": {"right": float("nan")}},
        {"kind": "published"},
        {"command": []},
        {"table": "speed"},
        {"system": "no-edit baseline"},
    ],
)
def test_a_row_that_says_too_little_or_too_much_is_named(repository, capsys, fields):
    put(repository, HEAD, BASELINE, {**row(81.0), **fields})
    before = (repository / "RESULTS.md").read_text()
    assert run(repository) == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert (repository / "RESULTS.md").read_text() == before


def test_a_table_that_no_document_shows_is_named(repository, capsys):
    put(repository, HEAD, BASELINE, {**HEAD, "table": "speed"})
    assert run(repository) == 1
    assert "speed" in capsys.readouterr().err
    assert json.loads((repository / results.LIST).read_text().splitlines()[0]) == HEAD
