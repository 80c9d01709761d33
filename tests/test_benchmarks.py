"""The benchmarks at a tiny size, and the tables of the documents: what the list of results says."""

import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from refusals import refuses

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
sys.path.append(str(BENCHMARKS))
import levt_against_ar  # noqa: E402
import levt_speed  # noqa: E402
import results  # noqa: E402

TINY = (
    "--dim 32 --layers 1 --ffn 64 --heads 2 --vocab 100 --steps 1 --tokens 200 --length 6 "
    "--threads 1 --clock cpu"
).split()
ROW = re.compile(r"^(.*?) {2,}[\d.]+ +ms +[\d.]+ +ms +[\d.]+ +[\d.]+ … [\d.]+$", re.M)


def measured(script: ModuleType, *words: str, capsys: Any) -> list[str]:
    """The names of the rows of a table."""
    assert script.main([*TINY, *words]) == 0
    out = capsys.readouterr().out
    assert "|threads:1|" in out.splitlines()[-1] and "|dim:32|" in out.splitlines()[-1]
    return ROW.findall(out)


@pytest.mark.slow
def test_every_benchmark_ends_in_its_table(capsys):
    rows = measured(levt_speed, "--batches", "1,3", "--less", "bf16", capsys=capsys)
    decoding = [
        f"decoding: batch {size}, {rules}"
        for size in (1, 3)
        for rules in ("stock's rules", "own rules", "own rules, bf16")
    ]
    training = ["training: gradients", "training: update with Adam"]
    assert rows == [*training, *(f"{name}, ours in bf16" for name in training), *decoding]
    rows = measured(levt_against_ar, "--less", "bf16", "--deep", capsys=capsys)
    beams = [f"{name}, beam {beam} / LevT" for name in ("AR", "AR 2 + 1") for beam in (4, 1)]
    assert rows == [name + less for name in beams for less in ("", ", bf16")]


@pytest.mark.slow
def test_a_server_under_load_loses_and_mixes_up_nothing():
    pytest.importorskip("fastapi")
    words = "--clients 4 --seconds 1 --length 6 --dim 64 --layers 1".split()
    command = [sys.executable, str(BENCHMARKS / "serve_load.py"), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "lost 0, mixed up 0, " in done.stdout and "alone: 6 words" in done.stdout


# fair races ----------------------------------------------------------------------------------


def tiny_args():
    return levt_speed.ready(levt_speed.parser(None).parse_args(TINY))


def test_a_difference_in_the_weights_is_noticed():
    args = tiny_args()
    peers = levt_speed.build_peers(args)
    assert "labels equal" in levt_speed.check_training(peers, args)
    with torch.no_grad():
        peers.ours.placeholder_head.weight.mul_(1.1)
    with refuses("logits differ"):
        levt_speed.check_training(peers, args)


def test_outputs_that_differ_stop_the_race():
    right, wrong = ([[{"tokens": torch.tensor([0, n, 2]), "steps": 1}]] for n in (5, 6))
    decode = {"stock": lambda sample: right, "same": lambda sample: wrong}
    with refuses("0 of 1 outputs"):
        levt_speed.agreement(decode, "same", [{}], required=True)


# the list of results ---------------------------------------------------------------------------

COLUMNS = [
    {"metric": "right", "head": "right, %", "digits": 1, "best": "highest"},
    {"metric": "seeds", "head": "seeds"},
]
HEAD = {"table": "words", "head": "test", "judged_by": "right", "columns": COLUMNS}
MEASURED = {"command": ["bash run.sh"], "version": "0.6.0", "date": "2026-11-21", "cpu": "a CPU"}


def row(right: Any, system: str = "PBD", **fields: Any) -> dict[str, Any]:
    entry = {"table": "words", "system": system, "kind": "system", "seeds": [1], **MEASURED}
    return {**entry, "cores": 2, "torch": "2.13.0", "metrics": {"right": right}, **fields}


BASELINE = row(80.0, "no-edit baseline", kind="no-edit", seeds=[])
SPREAD = {"mean": 79.96, "lowest": 79.0, "highest": 81.0}
PAGE = "# Results\n\nOne line.\n<!-- table: words -->\n{}\nThe end.\n"
ROWS = "| test | right, % | seeds |\n|---|---|---|\n| no-edit baseline | 80.0 |  |\n{}"


@pytest.fixture
def run(tmp_path):
    """Runs the script in a folder with one table of these rows, and returns its page."""
    (tmp_path / "benchmarks").mkdir()
    page = tmp_path / "RESULTS.md"
    page.write_text(PAGE.format("| old |\n|---|\n"))

    def run_with(rows: list[dict[str, Any]], *flags: str, status: int = 0) -> str:
        results.write(tmp_path / results.LIST, [HEAD, *rows])
        assert results.main(["--root", str(tmp_path), *flags]) == status
        return page.read_text()

    return run_with


def test_the_documents_show_tables_and_charts_as_the_list_says(capsys):
    assert results.main(["--check"]) == 0, capsys.readouterr().err


def test_tables_show_spread_and_losses_and_the_text_around_them_stays(run):
    rows = [row(84.04), BASELINE]
    assert "| old |" in run(rows, "--check", status=1)
    assert run(rows) == PAGE.format(ROWS.format("| PBD | **84.0** | 1 |\n"))
    lost = "| LevT: **loses to the no-edit baseline** | 80.0 (79.0 … 81.0) | 3 |\n"
    page = run([row(SPREAD, "LevT", seeds=[1, 2, 3]), BASELINE])
    assert page == PAGE.format(ROWS.format(lost).replace("80.0 |  |", "**80.0** |  |"))
    assert run([row(81.0, seeds=[1, 2])], status=1) == page


def test_the_numbers_of_an_evaluation_become_a_row(run, tmp_path):
    for seed, right in ((1, 90.0), (2, 92.0)):
        systems = [{"name": "mine", "scores": {"Right": right}, "updates": 5}]
        (tmp_path / f"{seed}.json").write_text(json.dumps({"systems": systems}))
    words = ["--add", "words", "PBD", "mine", f"{tmp_path}/1.json", f"{tmp_path}/2.json"]
    page = run([row(84.04), BASELINE], *words, "--seeds", "1", "2")
    assert "| PBD | **91.0** (90.0 … 92.0) | 2 |" in page
    entries = results.read(tmp_path / results.LIST)
    assert [entry.get("system") for entry in entries] == [None, "PBD", "no-edit baseline"]
    assert entries[1]["command"] == ["bash run.sh"]
    assert run([row(84.04), BASELINE], *words, status=1) == page, "seeds are missing"
