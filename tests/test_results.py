"""RESULTS.md's tables are what the result files say, and the files say all that a row needs."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

import render_results  # noqa: E402
import result_files  # noqa: E402

FILES = sorted((ROOT / "benchmarks" / "results").glob("*.json"))
MEASURED = {
    "command": ["bash run.sh"],
    "version": result_files.version(),
    "date": "2026-11-21",
    "cpu": "a CPU",
    "cores": 2,
    "torch": "2.13.0",
}
HEAD = {
    "task": "words",
    "head": "test",
    "judged_by": "right",
    "columns": [
        {"metric": "right", "head": "right, %", "digits": 1, "best": "highest"},
        {"metric": "seeds", "head": "seeds"},
        {"metric": "processor_hours", "head": "hours", "digits": 1},
    ],
}
BASELINE = {"system": "no-edit baseline", "kind": "no-edit", "metrics": {"right": 80.0}}


def row(right: Any, **fields: Any) -> dict[str, Any]:
    one = {"system": "PBD", "kind": "system", "seeds": [1], "loses_to": []}
    return {**one, "metrics": {"right": right}, **fields}


@pytest.fixture
def repository(tmp_path):
    """A folder with one table of a baseline and one row, and a document that shows it."""
    folder = tmp_path / "benchmarks" / "results"
    folder.mkdir(parents=True)
    text = "# Results\n\nOne line.\n<!-- table: words -->\n| old |\n|---|\n\nThe end.\n"
    (tmp_path / "RESULTS.md").write_text(text)
    put(tmp_path, "words", rows=[BASELINE, row(84.04)], table=HEAD)
    return tmp_path


def put(repository: Path, name: str, **fields: Any) -> None:
    file = {"measured": MEASURED, **fields}
    path = repository / "benchmarks" / "results" / f"{name}.json"
    path.write_text(json.dumps(file), encoding="utf-8")


def run(repository: Path, *flags: str) -> int:
    return render_results.main(["--root", str(repository), *flags])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_result_file_says_all_that_a_row_needs(path):
    assert result_files.checked(json.loads(path.read_text(encoding="utf-8")), path.name)


def test_the_documents_show_every_table_as_the_files_say(capsys):
    assert render_results.main(["--check"]) == 0, capsys.readouterr().err


def test_the_table_is_written_and_the_text_around_it_stays(repository, capsys):
    assert run(repository, "--check") == 1
    assert "RESULTS.md is not as benchmarks/results says" in capsys.readouterr().err
    assert run(repository) == 0 and run(repository, "--check") == 0
    assert (repository / "RESULTS.md").read_text() == (
        "# Results\n\nOne line.\n<!-- table: words -->\n"
        "| test | right, % | seeds | hours |\n|---|---|---|---|\n"
        "| no-edit baseline | 80.0 |  | – |\n| PBD | **84.0** | 1 | – |\n\nThe end.\n"
    )


def test_a_row_of_its_own_file_has_seeds_hours_and_what_it_loses_to(repository):
    spread = {"mean": 79.96, "lowest": 79.0, "highest": 81.0}
    other = row(spread, system="LevT", seeds=[1, 2, 3], loses_to=["no-edit"])
    put(
        repository,
        "words.levt",
        measured={**MEASURED, "version": "0.1.0", "processor_hours": 0.25},
        rows=[BASELINE, other],
    )
    assert run(repository) == 0
    assert (
        "| LevT (version 0.1.0): **loses to the no-edit baseline** | 80.0 (79.0 … 81.0) | 3 | 0.2 |"
        in (repository / "RESULTS.md").read_text()
    )


@pytest.mark.parametrize(
    "fields, said",
    [
        ({"rows": [row(79.0)]}, "loses_to"),
        ({"rows": [row(81.0), row(82.0)]}, "'PBD'"),
        ({"rows": [row(81.0, kind="oracle")]}, "oracle"),
        ({"rows": [row(81.0, speed=3)]}, "speed"),
        ({"rows": [row(81.0, seeds=[1, 2])]}, "2 seeds"),
        ({"rows": [row({"mean": 3.0, "lowest": 4.0, "highest": 5.0})]}, "row 2"),
        ({"rows": [row(81.0)], "measured": {**MEASURED, "command": []}}, "command"),
        ({"rows": [], "table": {**HEAD, "judged_by": "speed"}}, "judged_by"),
    ],
)
def test_a_file_that_says_too_little_or_too_much_is_named(repository, capsys, fields, said):
    rows = {**fields, "rows": [BASELINE, *fields["rows"]], "table": fields.get("table", HEAD)}
    put(repository, "words", **rows)
    before = (repository / "RESULTS.md").read_text()
    assert run(repository) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and re.search(said, error), error
    assert (repository / "RESULTS.md").read_text() == before
