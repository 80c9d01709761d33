"""benchmarks/gpu.sh: one script for half an hour on a machine with a GPU, tried without one."""

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.conftest import ROOT, on_device

#: an interpreter that does as it is told by the step: fails, takes too long, or passes
STUB = """#!/bin/sh
echo "$LEV_DEVICE $CUDA_VISIBLE_DEVICES $*" >>"$RECORD"
case "$* " in
*--bf16*) echo "out of memory" >&2; exit 3 ;;
*--fp16*) exec sleep 30 ;;
*) echo "decoding: 2.00" ;;
esac
"""


@pytest.fixture
def stub(tmp_path: Path) -> Path:
    """The stub, which writes what it is asked to do into the file ``record`` beside it."""
    program = tmp_path / "stub"
    program.write_text(STUB)
    program.chmod(0o755)
    return program


def gpu(*words: object, **environ: str) -> subprocess.CompletedProcess[str]:
    """Runs the script."""
    return subprocess.run(
        ["bash", str(ROOT / "benchmarks" / "gpu.sh"), *map(str, words)],
        capture_output=True,
        text=True,
        env={**os.environ, "LEV_DEVICE": "cpu", "TINY": "1", "LEV_DATA": "", **environ},
        timeout=1800,
    )


def outcomes(out: Path) -> dict[str, str]:
    """Of each step, as the summary has them."""
    rows = re.findall(r"^\| (\S+) \| (\w+) \| \d+ \|$", (out / "summary.md").read_text(), re.M)
    return dict(rows)


def test_a_step_that_fails_stops_no_other_and_what_has_passed_is_not_run_again(stub, tmp_path):
    out, record = tmp_path / "out", tmp_path / "record"
    words = [out, "speed-fp32", "speed-bf16", "against-ar"]
    environ = {"PYTHON": str(stub), "RECORD": str(record)}
    first = gpu(*words, **environ)
    assert first.returncode == 2
    assert first.stderr.startswith("error: 1 of 3 steps did not pass: see ")
    expected = {"speed-fp32": "passed", "speed-bf16": "failed", "against-ar": "passed"}
    assert outcomes(out) == expected
    summary = (out / "summary.md").read_text()
    assert "    decoding: 2.00" in summary and "    out of memory" in summary
    assert all(line.startswith("cpu  ") for line in record.read_text().splitlines())
    record.unlink()
    assert gpu(*words, **environ).returncode == 2
    again = record.read_text().splitlines()
    assert len(again) == 1 and "--bf16" in again[0]
    assert outcomes(out) == expected


@pytest.mark.parametrize(
    ("words", "environ", "named"),
    [
        ([], {}, "folder"),
        (["{tmp}"], {"LEV_DEVICE": "tpu"}, "LEV_DEVICE=tpu"),
        (["{tmp}"], {"MORE": "0"}, "MORE=0"),
        (["{tmp}"], {"LEV_WHEELS": "/none"}, "LEV_WHEELS=/none"),
        (["{tmp}", "sleep"], {}, "sleep"),
    ],
)
def test_what_cannot_be_done_is_one_line(tmp_path, words, environ, named):
    done = gpu(*(word.format(tmp=tmp_path) for word in words), **environ)
    assert done.returncode == 2 and done.stderr.startswith("error: ") and named in done.stderr
    assert done.stderr.count("\n") == 1


def test_tests_of_what_computes_are_run_on_the_device():
    for folder, kind in (("ops", "meta"), ("cli", "cpu")):
        with on_device(ROOT / "tests" / folder / "test_some.py", "meta"):
            assert torch.zeros(1).device.type == kind
    assert torch.zeros(1).device.type == "cpu"


@pytest.mark.long
def test_the_whole_script_runs_at_a_tiny_size(tmp_path):
    draw, words = random.Random(1), "red blue green small big cat dog runs sees the".split()
    sets = {
        "multi30k": (("train", "valid", "test_2016"), ("en", "de")),
        "ape_ende": (("train", "dev", "test"), ("src", "mt", "pe")),
        "finnish_ocr/fold0": (("train", "dev", "test"), ("noisy", "clean")),
    }
    for name, (parts, sides) in sets.items():
        folder = tmp_path / "data" / name
        folder.mkdir(parents=True)
        for part in parts:
            lines = [" ".join(draw.choices(words, k=draw.randint(1, 6))) for _ in range(40)]
            for side in sides:
                (folder / f"{part}.{side}").write_text("".join(f"{line}\n" for line in lines))
    out = tmp_path / "out"
    done = gpu(out, PYTHON=sys.executable, LEV_DATA=str(tmp_path / "data"), MORE="20")
    assert done.returncode == 0, done.stderr + (out / "summary.md").read_text()
    assert set(outcomes(out).values()) == {"passed"} and len(outcomes(out)) == 18
