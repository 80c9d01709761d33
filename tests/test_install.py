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

import pytest
from plain_files import ROOT, put
from tables import rows

import lev_plugins
import lev_runtime

#: what an interpreter answers | a script and its arguments | what the error names
REFUSED = """
echo 3.8.18 | environment.sh | 3.8.18
exit 1 | environment.sh | 3.11
case "$*" in *ensurepip*) exit 1 ;; esac; echo 3.11.2 | environment.sh | python3.11-venv
case "$*" in *sysconfig*) echo /nowhere ;; *) echo 3.13.1 ;; esac | environment.sh | python3.13-dev
exit 1 | quickstart.sh --minutes 0 | --minutes
exit 1 | quickstart.sh --minutes | --minutes
exit 1 | quickstart.sh --seed 1.5 | --seed
exit 1 | quickstart.sh --system=ar | --system
exit 1 | quickstart.sh --x | --x
exit 1 | quickstart.sh --work {folder} | --work
"""


@pytest.mark.parametrize("python, call, message", rows(REFUSED))
def test_scripts_refuse_before_anything_is_made(python, call, message, tmp_path):
    """With an interpreter that is none, in a copy that lacks an environment."""
    (tmp_path / "data").mkdir()
    copy, stub = tmp_path / "a copy", put(tmp_path / "python", ["#!/bin/sh", python])
    stub.chmod(0o755)
    shutil.copytree(ROOT / "examples", copy / "examples")
    for name in ("pyproject.toml", "setup.py", "constraints.txt"):
        shutil.copy(ROOT / name, copy)
    script, *arguments = call.replace("{folder}", str(tmp_path)).split()
    command = ["bash", str(copy / "examples" / script), *arguments]
    environ = {**os.environ, "PYTHON": str(stub)}
    done = subprocess.run(command, capture_output=True, text=True, cwd="/", env=environ)
    assert done.returncode != 0, done.stdout
    assert re.fullmatch(r"error: .*\n", done.stderr) and message in done.stderr
    assert not (copy / ".venv").exists()


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


def test_the_version_is_the_same_everywhere():
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    latest = re.search(r"^## (\S+) – (\S+)$", changes, re.M)
    named = ("version", "date-released")
    cited = [re.search(rf"^{key}: (\S+)$", citation, re.M)[1] for key in named]
    assert [*latest.groups()] == cited
    assert cited[0] == lev_runtime.__version__ == lev_plugins.__version__
