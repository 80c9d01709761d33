"""benchmarks/gpu.sh: one script for a quarter of an hour on a machine with a GPU, tried without."""

import os
import subprocess
from pathlib import Path

from tests.conftest import ROOT

#: an interpreter that notes what it is asked for, and fails at one step
STUB = """#!/bin/sh
echo "$LEV_DEVICE $*" >>"$RECORD"
case "$*" in *--bf16*) echo "out of memory" >&2; exit 3 ;; esac
"""


def gpu(out: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    words = ["bash", str(ROOT / "benchmarks" / "gpu.sh"), str(out)]
    env = {**os.environ, "LEV_DEVICE": "cpu", "TINY": "1", **environ}
    return subprocess.run(words, capture_output=True, text=True, env=env, timeout=600)


def test_a_step_that_fails_stops_no_other_and_what_has_passed_is_not_run_again(tmp_path: Path):
    program, record = tmp_path / "stub", tmp_path / "record"
    program.write_text(STUB)
    program.chmod(0o755)
    refused = gpu(tmp_path / "out", LEV_DEVICE="tpu")
    assert refused.returncode == 1 and "LEV_DEVICE" in refused.stderr
    environ = {"PYTHON": str(program), "RECORD": str(record)}
    first = gpu(tmp_path / "out", **environ)
    assert first.returncode == 1
    assert "speed-bf16: status 3" in first.stdout and "out of memory" in first.stdout
    asked = record.read_text().splitlines()
    assert len(asked) == 4 and all(line.startswith("cpu ") for line in asked)
    assert gpu(tmp_path / "out", **environ).returncode == 1
    (again,) = record.read_text().splitlines()[4:]
    assert "--bf16" in again
