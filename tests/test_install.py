"""What the two commands refuse before they make anything, and what the built package holds.

Installing is tried by tests/package.sh, which builds the package into an environment of its own.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOOLS = "awk bash cat cut dirname env flock getconf grep mkdir mktemp mv nproc rm sh tail tr uname"


@pytest.fixture
def refusal(tmp_path):
    """Runs a copy of a script where nothing but the named tools is found; its one error line."""
    copy, found = tmp_path / "a copy", tmp_path / "bin"
    found.mkdir()
    for name in ("environment.sh", "quickstart.sh", "recipe.sh"):
        name = f"examples/{name}"
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    for name in ("pyproject.toml", "setup.py", "constraints.txt"):
        shutil.copy(ROOT / name, copy)
    tools = {"df": "echo; echo x x x 9000000 x", "g++": "cat >/dev/null", "nvidia-smi": ""}

    def run(script: str, *arguments: str, **more: str) -> str:
        for name in TOOLS.split():
            if path := shutil.which(name):
                (found / name).symlink_to(path)
        for name, text in {**tools, **more}.items():
            (found / name).write_text(f"#!/bin/sh\n{text}\n")
            (found / name).chmod(0o755)
        places = {"PATH": str(found), "HOME": str(copy), "LC_ALL": "C.UTF-8", "PIP_NO_INDEX": "1"}
        done = subprocess.run(
            ["bash", str(copy / script), *arguments],
            capture_output=True, text=True, cwd="/", env={**places, "PIP_CONFIG_FILE": os.devnull},
        )  # fmt: skip
        assert done.returncode != 0, done.stdout
        assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1, done.stderr
        assert not (copy / ".venv").exists()
        return done.stderr

    return run


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ({"python3": "echo 3.8.18"}, "3.8.18"),
        ({}, "3.11"),
        (
            {"python3": 'case "$*" in *ensurepip*) exit 1 ;; esac; echo 3.11.2'},
            "sudo apt install python3.11-venv",
        ),
        (
            {"python3": 'case "$*" in *sysconfig*) echo /nowhere ;; *) echo 3.13.1 ;; esac'},
            "sudo apt install python3.13-dev",
        ),
    ],
)
def test_what_the_machine_lacks_is_said_before_anything_is_made(refusal, tools, said):
    assert said in refusal("examples/environment.sh", **tools)


@pytest.mark.parametrize(
    "words",
    ["--minutes 0", "--minutes=ten", "--minutes", "--seed 1.5", "--system=ar", "--nonsense"],
)
def test_a_wrong_argument_of_the_quickstart_is_one_error_line(refusal, words):
    assert words.split()[0].partition("=")[0] in refusal("examples/quickstart.sh", *words.split())


# --- the package ----------------------------------------------------------------------------------


def test_setup_refuses_an_older_python_in_a_line_that_it_can_parse():
    text = (ROOT / "setup.py").read_text(encoding="utf-8")
    ast.parse(text, feature_version=(3, 4))
    older = f"import sys; sys.version_info = (3, 8, 1); exec({text!r})"
    done = subprocess.run([sys.executable, "-c", older], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("error: lev_plugins needs Python 3.11 or newer, this is")
    assert "Python 3.8 " in done.stderr


def test_every_requirement_has_one_exact_version_in_the_constraints():
    lines = (ROOT / "constraints.txt").read_text(encoding="ascii").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][0-9A-Za-z.]*", pin) for pin in pins)
    names = [pin.split("==")[0].lower() for pin in pins]
    assert len(names) == len(set(names))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = dict(project["optional-dependencies"])
    wanted = project["dependencies"] + sum(extras.values(), [])
    assert {re.split(r"[=<>]", name)[0] for name in wanted} <= set(names)


def built(kind: str, source: Path) -> Path:
    """What setuptools makes of a tree, beside it."""
    build = f"from setuptools import build_meta; print(build_meta.build_{kind}('..'))"
    done = subprocess.run([sys.executable, "-c", build], cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (made,) = (path for path in source.parent.iterdir() if path.is_file())
    return made


def test_the_sdist_holds_what_git_knows_but_its_own_settings(tmp_path):
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.skip("this is no checkout")
    known = {name for name in listed.stdout.splitlines() if (ROOT / name).exists()}
    source = tmp_path / "source"
    for name in known:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    with tarfile.open(built("sdist", source)) as sdist:
        names = {one.name.partition("/")[2] for one in sdist.getmembers() if one.isfile()}
    made = {name for name in names if ".egg-info/" in name} | {"PKG-INFO", "setup.cfg"}
    assert names - made == known - {".gitignore"}


def test_a_wheel_holds_every_module_and_says_that_it_is_typed(tmp_path):
    modules = {str(p.relative_to(ROOT)) for p in (ROOT / "lev_plugins").rglob("*.py")}
    source = tmp_path / "source"
    shutil.copytree(
        ROOT / "lev_plugins", source / "lev_plugins", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name in ("setup.py", "pyproject.toml", "LICENSE", "README.md"):
        shutil.copy(ROOT / name, source)
    (source / "tests").mkdir()
    (source / "tests" / "__init__.py").touch()
    with zipfile.ZipFile(built("wheel", source)) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    pages = set()
    for folder in ("serve/static", "reports/templates", "models/english_spelling"):
        files = list((ROOT / "lev_plugins" / folder).iterdir())
        pages |= {str(file.relative_to(ROOT)) for file in files}
        assert len(files) >= 5
    assert names == modules | pages | {"lev_plugins/py.typed"}
