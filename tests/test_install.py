"""What the two commands and setup.py refuse before they make anything.

Building and installing are tried by tests/package.sh, in an environment of its own.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def refusal(tmp_path):
    """Runs a copy of a script, beside an interpreter that is none; its one error line."""
    copy, stub = tmp_path / "a copy", tmp_path / "python"
    (copy / "examples").mkdir(parents=True)
    scripts = [f"examples/{name}.sh" for name in ("environment", "quickstart", "recipe")]
    for name in (*scripts, "pyproject.toml", "setup.py", "constraints.txt"):
        shutil.copy(ROOT / name, copy / name)

    def run(script: str, *arguments: str, python: str = "exit 1") -> str:
        stub.write_text(f"#!/bin/sh\n{python}\n")
        stub.chmod(0o755)
        command = ["bash", str(copy / script), *arguments]
        environ = {**os.environ, "PYTHON": str(stub)}
        done = subprocess.run(command, capture_output=True, text=True, cwd="/", env=environ)
        assert done.returncode != 0, done.stdout
        assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1, done.stderr
        assert not (copy / ".venv").exists()
        return done.stderr

    return run


@pytest.mark.parametrize(
    ("python", "message"),
    [
        ("echo 3.8.18", "3.8.18"),
        ("exit 1", "3.11"),
        ('case "$*" in *ensurepip*) exit 1 ;; esac; echo 3.11.2', "python3.11-venv"),
        ('case "$*" in *sysconfig*) echo /nowhere ;; *) echo 3.13.1 ;; esac', "python3.13-dev"),
    ],
)
def test_what_the_machine_lacks_is_said_before_anything_is_made(refusal, python, message):
    assert message in refusal("examples/environment.sh", python=python)


@pytest.mark.parametrize("words", ["--minutes 0", "--minutes", "--seed 1.5", "--system=ar", "--x"])
def test_a_wrong_argument_of_the_quickstart_is_one_error_line(refusal, words):
    assert words.split()[0].partition("=")[0] in refusal("examples/quickstart.sh", *words.split())


def test_the_quickstart_writes_nothing_over_in_a_folder_of_somebody_else(refusal, tmp_path):
    (tmp_path / "data").mkdir()
    assert str(tmp_path) in refusal("examples/quickstart.sh", "--work", str(tmp_path))


def test_setup_refuses_an_older_python_in_a_line_that_it_can_parse():
    text = (ROOT / "setup.py").read_text(encoding="utf-8")
    ast.parse(text, feature_version=(3, 4))
    older = f"import sys; sys.version_info = (3, 8, 1); exec({text!r})"
    done = subprocess.run([sys.executable, "-c", older], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("error: ") and "Python 3.8 " in done.stderr


def test_every_requirement_has_one_exact_version_in_the_constraints():
    lines = (ROOT / "constraints.txt").read_text(encoding="ascii").splitlines()
    pins = dict(line.lower().split("==") for line in lines if line and not line.startswith("#"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    del extras["scale"]  # tried in an environment of its own
    wanted = project["dependencies"] + sum(extras.values(), [])
    assert {re.split(r"[=<>;]", name)[0] for name in wanted} <= set(pins)


@pytest.mark.slow
def test_models_of_transformers_are_imported_beside_this_torch():
    """As users of Hugging Face do; ours reads configurations and tokenizers alone."""
    pytest.importorskip("safetensors", reason="transformers is not installed")
    command = [sys.executable, "-c", "from transformers import BertModel, T5Model"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-500:]
