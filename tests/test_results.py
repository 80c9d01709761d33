"""The tables of the documents are what the one list of results says."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

import results  # noqa: E402

MEASURED = {"command": ["bash run.sh"], "version": "0.6.0", "date": "2026-11-21", "cpu": "a CPU"}
MEASURED |= {"cores": 2, "torch": "2.13.0"}
COLUMNS = [
    {"metric": "right", "head": "right, %", "digits": 1, "best": "highest"},
    {"metric": "seeds", "head": "seeds"},
    {"metric": "processor_hours", "head": "hours", "digits": 1},
]
HEAD = {"table": "words", "head": "test", "judged_by": "right", "columns": COLUMNS}


def row(right: Any, system: str = "PBD", **fields: Any) -> dict[str, Any]:
    one = {"table": "words", "system": system, "kind": "system", "seeds": [1], **MEASURED}
    return {**one, "metrics": {"right": right}, **fields}


def put(repository: Path, *records: dict[str, Any]) -> None:
    results.write(repository / results.LIST, records)


def run(repository: Path, *flags: str) -> int:
    return results.main(["--root", str(repository), *flags])


BASELINE = row(80.0, "no-edit baseline", kind="no-edit", seeds=[])


@pytest.fixture
def repository(tmp_path):
    """A folder with one table of a baseline and one row, and a document that shows it."""
    (tmp_path / "benchmarks").mkdir()
    text = "# Results\n\nOne line.\n<!-- table: words -->\n| old |\n|---|\n\nThe end.\n"
    (tmp_path / "RESULTS.md").write_text(text)
    put(tmp_path, HEAD, row(84.04), BASELINE)
    return tmp_path


def test_the_documents_show_every_table_as_the_list_says(capsys):
    assert results.main(["--check"]) == 0, capsys.readouterr().err


def test_tables_are_written_and_the_text_around_them_stays(repository):
    """A row shows its spread, its hours and what it loses to."""
    assert run(repository, "--check") == 1
    assert run(repository) == 0 and run(repository, "--check") == 0
    page, about = (repository / "RESULTS.md").read_text, "# Results\n\nOne line.\n"
    table = (
        f"{about}<!-- table: words -->\n| test | right, % | seeds | hours |\n|---|---|---|---|\n"
    )
    rows = "| no-edit baseline | 80.0 |  | – |\n| PBD | **84.0** | 1 | – |\n"
    assert page() == f"{table}{rows}\nThe end.\n"
    spread = {"mean": 79.96, "lowest": 79.0, "highest": 81.0}
    put(repository, HEAD, BASELINE, row(spread, "LevT", seeds=[1, 2, 3], processor_hours=0.25))
    assert run(repository) == 0
    lost = "| LevT: **loses to the no-edit baseline** | 80.0 (79.0 … 81.0) | 3 | 0.2 |"
    assert lost in page()


def test_the_numbers_of_an_evaluation_become_a_row(repository, capsys):
    for seed, right in ((1, 90.0), (2, 92.0)):
        systems = [{"name": "mine", "scores": {"Right": right}, "updates": 5}]
        (repository / f"{seed}.json").write_text(json.dumps({"systems": systems}))
    files = [str(repository / f"{seed}.json") for seed in (1, 2)]
    assert run(repository, "--add", "words", "PBD", "mine", *files, "--seeds", "1", "2") == 0
    found = results.read(repository / results.LIST)
    assert [one.get("system") for one in found] == [None, "PBD", "no-edit baseline"]
    assert found[1]["metrics"] == {"right": {"mean": 91.0, "lowest": 90.0, "highest": 92.0}}
    assert found[1]["command"] == ["bash run.sh"] and found[1]["seeds"] == [1, 2]
    assert "**91.0** (90.0 … 92.0)" in (repository / "RESULTS.md").read_text()
    capsys.readouterr()
    assert run(repository, "--add", "words", "PBD", "mine", *files) == 1
    assert capsys.readouterr().err.startswith("error: ")
    put(repository, HEAD, BASELINE, {**row(81.0), "seeds": [1, 2]})
    assert run(repository) == 1 and "lowest" in capsys.readouterr().err
