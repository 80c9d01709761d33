"""What the two commands and setup.py refuse, and what an installation of either package has.

With all that they need, they are installed by tests/package.sh.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy
import pytest
from plain_files import ROOT, put
from tables import table

import lev_plugins
import lev_runtime


@pytest.mark.parametrize("python, call, message", table("install.tsv", "refused"))
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
    environ = {**os.environ, "PYTHON": str(stub), "CDPATH": "/"}
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


# installed ----------------------------------------------------------------------------------------


def run(*command: object, **more: str) -> str:
    """Returns what a command prints, with no package of this tree on the path."""
    environ = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, env=environ, cwd="/", **more
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheels(tmp_path_factory) -> dict[str, Path]:
    """What is built of the files that git knows."""
    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("built")
    for name in run("git", "-C", ROOT, "ls-files").splitlines():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    build = ["wheel", "--no-deps", "--no-index", "--no-build-isolation", "-w", built]
    run(sys.executable, "-m", "pip", *build, source, source / "lev_runtime")
    return {path.name.partition("-")[0]: path for path in built.glob("*.whl")}


@pytest.mark.slow
def test_an_index_shows_a_summary_and_a_description_without_links_into_the_repository(wheels):
    for wheel in wheels.values():
        with zipfile.ZipFile(wheel) as files:
            (name,) = (name for name in files.namelist() if name.endswith("info/METADATA"))
            head, _, description = files.read(name).decode().partition("\n\n")
        assert "\nSummary: " in head and "# " in description
        assert all(to.startswith("https://") for to in re.findall(r"\]\((\S+)\)", description))


@pytest.fixture
def pip(tmp_path, wheels) -> Callable[..., Path]:
    """Installs and removes packages in an environment that has what they need; returns its
    folder of programs."""
    venv.create(tmp_path / "venv")
    programs = tmp_path / "venv" / "bin"
    (packages,) = (tmp_path / "venv" / "lib").glob("*/site-packages")
    (packages / "needed.pth").write_text(str(Path(numpy.__file__).parents[1]))

    def call(what: str, name: str) -> Path:
        words = ["--no-deps", "--no-index", wheels[name]] if what == "install" else ["-y", name]
        python = ["--python", programs / "python"]
        run(sys.executable, "-m", "pip", *python, "-q", what, *words)
        return programs

    return call


@pytest.mark.slow
@pytest.mark.parametrize("steps, left", table("install.tsv", "steps"))
def test_whichever_of_two_packages_goes_the_other_one_works(steps, left, pip):
    for step in steps.split():
        programs = pip("install" if step[0] == "+" else "uninstall", step[1:])
    load = f"import lev_runtime; lev_runtime.load({str(ROOT / 'tests/exports/editor')!r})"
    run(programs / "python", "-c", load)
    if left == "whole":
        assert run(programs / "lev-correct", input="Teh goverment\n") == "The government\n"


def python_of(page: str) -> str:
    """The Python of a page: blocks between fences or indented ones, and what -c runs."""
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    blocks += re.findall(r"^ {4}from .*\n(?: {4}.*\n)*", page, re.M)
    blocks += re.findall(r"python -c '(.*)'", page)
    return "\n".join(re.sub(r"^ {4}(?=\S)", "", block, flags=re.M) for block in blocks)


#: beside what the pages say: mistakes of a call that a type checker names
MISTAKES = """
from lev_correct import Corrector
from lev_memory import TranslationMemory
from lev_runtime import Editor
Corrector.from_pretrained().correct(["a"], min_confidance=0.5)
Corrector.from_pretrained().stream(["a"], min_confidence="high")
TranslationMemory.of([3])
Editor("exported").predict(["a"])
"""


@pytest.mark.slow
def test_a_type_checker_accepts_the_python_of_the_pages_and_names_mistakes(pip, tmp_path):
    mypy = pytest.importorskip("mypy").__name__
    python, pages = pip("install", "lev_plugins") / "python", ["README.md", "lev_*/**/README.md"]
    for needed in python.parents[1].glob("lib/*/*/needed.pth"):
        needed.unlink()  # types of numpy and torch take a minute to read
    texts = [path.read_text("utf-8") for page in pages for path in sorted(ROOT.glob(page))]
    calls = [code for code in map(python_of, texts) if code]
    assert len(calls) >= 2
    for number, code in enumerate(calls):
        put(tmp_path / f"page{number}.py", [code])
    put(tmp_path / "mistakes.py", [MISTAKES])
    how = ["--strict", "--cache-dir", tmp_path / "cache", "--python-executable", python]
    command = [sys.executable, "-m", mypy, *how, *tmp_path.glob("*.py")]
    done = subprocess.run(command, capture_output=True, text=True, cwd="/")
    wrong = re.findall(r"(\w+)\.py:(\d+): error", done.stdout)
    assert wrong == [("mistakes", number) for number in "5678"], done.stdout
