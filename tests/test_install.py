"""The two commands' shell: what is refused, what is installed, and when nothing is.

The scripts run in a copy of the repository whose .venv holds a scripted ``pip``: it notes how it
was called, "installs" empty modules, or fails as told. Nothing here needs a network.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PYTHON = getattr(sys, "_base_executable", sys.executable)
MARK = "lev_plugins.stamp"
TOOLS = "awk bash cat cut dirname env flock getconf grep mkdir mktemp mv nproc rm sh tail tr uname"

PIP = """
import pathlib, sys, time
site = pathlib.Path(__file__).parents[1]
told, arguments = site / "told", " ".join(sys.argv[1:])
with open(site / "calls", "a") as calls:
    calls.write(arguments + chr(10))
if told.exists() and told.read_text() == "wait":
    time.sleep(600)
elif told.exists():
    sys.exit(told.read_text())
stale = (site / "stale").exists() and "--no-cache-dir" not in arguments
stale = stale or "--no-build-isolation --no-binary fairseq-fixed" not in arguments
names = "codespell_lib editdistance fairseq/__init__ fairseq/data/__init__ fairseq/libbase"
names += " fairseq/data/data_utils_fast fastapi hypothesis lev_plugins/__init__"
names += " lev_plugins/cli/__init__"
names += " google/protobuf matplotlib pytest/__init__ rouge_score sacrebleu safetensors"
names += " selenium sentencepiece spellchecker symspellpy tokenizers transformers"
names += " uvicorn xdist"
for name in names.split():
    (site / name).parent.mkdir(parents=True, exist_ok=True)
    (site / (name + ".py")).touch()
(site / "torch.py").write_text("__version__ = '2.13.0'")
(site / "fairseq" / "libnat.py").write_text("import nothing_of_this_name" if stale else "")
"""


class Copy:
    """A copy of the scripts, with a PATH of its own and, if asked for, the scripted .venv."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "a copy"
        self.bin = folder / "bin"
        self.venv = self.root / ".venv"
        self.bin.mkdir()
        scripts = "examples/environment.sh examples/quickstart.sh tests/run.sh tests/kernels.sh"
        scripts += " .ci/run"
        for name in f"pyproject.toml setup.py constraints.txt {scripts}".split():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)
        for name in ("tests/package.sh", "docs/build.sh"):  # they install for minutes
            (self.root / name).parent.mkdir(exist_ok=True)
            (self.root / name).write_text("exit 0")
        for name in TOOLS.split():
            found = shutil.which(name)
            if found:
                (self.bin / name).symlink_to(found)
        self.tool("df", "echo; echo x x x 9000000 x")
        self.tool("g++", "cat >/dev/null")
        self.tool("nvidia-smi", "")

    def tool(self, name: str, script: str) -> Path:
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    def make_venv(self) -> Copy:
        subprocess.run([PYTHON, "-m", "venv", "--without-pip", str(self.venv)], check=True)
        (self.site / "pip").mkdir()
        (self.site / "pip" / "__init__.py").touch()
        (self.site / "pip" / "__main__.py").write_text(PIP)
        return self

    @property
    def site(self) -> Path:
        return next(self.venv.glob("lib/python3*/site-packages"))

    def calls(self) -> list[str]:
        path = self.site / "calls"
        return path.read_text().splitlines() if path.exists() else []

    def environment(self, **variables: str) -> dict[str, str]:
        offline = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
        places = {"PATH": str(self.bin), "HOME": str(self.root), "LC_ALL": "C.UTF-8"}
        return places | offline | variables

    def run(
        self, *arguments: str, script: str = "examples/environment.sh", **variables: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", str(self.root / script), *arguments],
            capture_output=True, text=True, cwd="/", env=self.environment(**variables), check=False,
        )  # fmt: skip

    def refusal(self, *arguments: str, script: str = "examples/environment.sh", **env: str) -> str:
        """The one error line of a run that has to fail."""
        done = self.run(*arguments, script=script, **env)
        assert done.returncode != 0, done.stdout
        assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1, done.stderr
        return done.stderr


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


# --- refused before anything is made --------------------------------------------------------------


@pytest.mark.parametrize(
    ("tools", "python", "said"),
    [
        ({"python3": "echo 3.8.18"}, "", "3.11 or newer is needed, only Python 3.8.18 was found"),
        ({}, "", "none was found"),
        # an older one under the name of a newer one is passed over
        (
            {
                "python3.11": "echo 'python3.11: command not found' >&2; exit 127",
                "python3.12": "echo 3.9.1",
                "python3": 'case "$*" in *ensurepip*) exit 1 ;; esac; echo 3.12.2',
            },
            "",
            "Python 3.12.2 cannot make environments",
        ),
        (
            {"python3": 'case "$*" in *ensurepip*) exit 1 ;; esac; echo 3.11.2'},
            "",
            "sudo apt install python3.11-venv",
        ),
        (
            {"python3": 'case "$*" in *sysconfig*) echo /nowhere ;; *) echo 3.13.1 ;; esac'},
            "",
            "sudo apt install python3.13-dev",
        ),
        ({"g++": ""}, PYTHON, "a C++ compiler is needed"),
        ({"g++": "", "clang++": "exit 1"}, PYTHON, "a C++ compiler is needed"),
        ({"df": "echo; echo x x x 500000 x"}, PYTHON, "488 MB are free"),
    ],
)
def test_what_the_machine_lacks_is_said_before_anything_is_made(copy, tools, python, said):
    for name, script in tools.items():
        if script:
            copy.tool(name, script)
        else:
            (copy.bin / name).unlink()
    assert said in copy.refusal(**({"PYTHON": python} if python else {}))
    assert not copy.venv.exists()


def test_a_venv_that_is_a_file_or_holds_an_older_python_is_left_alone(copy):
    copy.venv.write_text("mine")
    assert "is not a folder" in copy.refusal(PYTHON=PYTHON)
    assert copy.venv.read_text() == "mine"
    copy.venv.unlink()
    (copy.venv / "bin").mkdir(parents=True)
    (copy.venv / "bin" / "python").symlink_to(copy.tool("old", "echo 3.9.2"))
    assert "holds Python 3.9.2" in copy.refusal(PYTHON=PYTHON)
    assert (copy.venv / "bin" / "python").exists()


# --- installed once -------------------------------------------------------------------------------


def test_the_first_run_installs_and_the_second_nothing(copy):
    copy.make_venv()
    first = copy.run()
    assert first.returncode == 0, first.stderr
    torch, package = copy.calls()
    assert "torch==2.13.0" in torch and "setuptools==" in torch
    assert package.endswith(" -c constraints.txt -e .[test]")
    second = copy.run()
    assert second.returncode == 0 and len(copy.calls()) == 2
    assert second.stdout == "environment: .venv is complete, nothing to install\n"


@pytest.mark.parametrize(
    "change", ["constraints.txt", "pyproject.toml", "setup.py", "sacrebleu", "transformers"]
)
def test_what_the_installation_depends_on_brings_it_back(copy, change):
    assert copy.make_venv().run().returncode == 0
    if (copy.site / f"{change}.py").exists():
        (copy.site / f"{change}.py").unlink()
    else:
        with open(copy.root / change, "a") as file:
            file.write("# changed\n")
    assert copy.run().returncode == 0 and len(copy.calls()) == 4
    assert copy.run().returncode == 0 and len(copy.calls()) == 4


def test_the_cpu_index_is_asked_only_without_a_driver(copy):
    (copy.bin / "nvidia-smi").unlink()
    copy.tool("uname", "echo Linux")
    assert copy.make_venv().run().returncode == 0
    assert ["whl/cpu" in call for call in copy.calls()] == [True, False, False]


def test_a_wheel_that_was_compiled_against_another_torch_is_compiled_again(copy):
    copy.make_venv()
    (copy.site / "stale").touch()
    assert copy.run().returncode == 0
    assert "--no-cache-dir" in copy.calls()[-1] and "fairseq-fixed==" in copy.calls()[-1]
    assert all("--no-binary fairseq-fixed" in call for call in copy.calls()[1:]), (
        "PyPI's wheel for Python 3.12 is compiled against another torch"
    )


@pytest.mark.parametrize(
    ("output", "words", "last"),
    [
        ("ERROR: x\nOSError: [Errno 28] No space left on device\n", "the disk is full", "OSErr"),
        ("W: NewConnectionError\nERROR: No matching distribution found", "be reached", "ERROR: No"),
        ("ERROR: No matching distribution found for torch==2", "finds no torch==", "ERROR: No"),
        ("  ModuleNotFoundError: No module named 'torch'\nERROR: x", "torch is absent", "Module"),
        ("x.cpp:1: fatal error: a.h: No such file\nERROR: x", "not be compiled", "x.cpp:1: fatal"),
        ("g++: fatal error: Killed signal", "too little memory", "g++: fatal error: Killed"),
        ("Something\n else", "see the log", "else)"),
    ],
)
def test_a_failing_install_is_explained_and_leaves_no_stamp(copy, output, words, last):
    copy.make_venv()
    (copy.site / "told").write_text(output)
    line = copy.refusal()
    assert words in line and f"its last word: {last}" in line
    assert not (copy.venv / MARK).exists()
    (copy.site / "told").unlink()
    assert copy.run().returncode == 0 and (copy.venv / MARK).exists()


def test_an_interrupted_install_says_so_and_leaves_no_stamp(copy):
    copy.make_venv()
    (copy.site / "told").write_text("wait")
    process = subprocess.Popen(
        ["bash", str(copy.root / "examples/environment.sh")], env=copy.environment(),
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while not copy.calls() and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=120)
    assert process.returncode != 0 and stderr.startswith("error: interrupted")
    assert stderr.count("\n") == 1 and not (copy.venv / MARK).exists()


@pytest.mark.parametrize("damage", ["no interpreter", "moved"])
def test_a_broken_or_moved_venv_is_made_anew(copy, damage):
    copy.make_venv()
    if damage == "moved":
        (copy.venv / "bin" / "pip").write_text("#!/another place/.venv/bin/python\n")
    else:
        (copy.venv / "bin" / "python").unlink()
        (copy.venv / "bin" / "python").symlink_to("/gone/python")
    assert "PYTHON=gone cannot be run" in copy.refusal(PYTHON="gone")
    assert copy.site.exists(), "nothing may be cleared before there is a Python to make it anew"


def test_an_index_out_of_reach_is_one_error_line_and_a_broken_venv_is_fixed(copy):
    (copy.venv / "bin").mkdir(parents=True)
    (copy.venv / "bin" / "python").symlink_to("/gone/python")
    nowhere = {"PIP_NO_INDEX": "0", "PIP_INDEX_URL": "http://127.0.0.1:9/simple"}
    done = copy.run(PYTHON=PYTHON, PIP_RETRIES="1", PIP_NO_CACHE_DIR="1", **nowhere)
    assert done.returncode == 1 and "making it anew" in done.stdout
    assert "the package index cannot be reached" in done.stderr and done.stderr.count("\n") == 1
    assert (copy.venv / "bin" / "pip").exists() and not (copy.venv / MARK).exists()


# --- tests/run.sh and .ci/run ---------------------------------------------------------------------


def with_pytest(copy: Copy, status: int) -> Copy:
    """The scripted environment, its pytest saying how it was called and ending in ``status``."""
    assert copy.make_venv().run().returncode == 0
    (copy.site / "pytest" / "__main__.py").write_text(
        "import os, sys\n"
        "print(os.getcwd(), os.environ['OMP_NUM_THREADS'], sys.argv[1:])\n"
        f"sys.exit({status})\n"
    )
    return copy


@pytest.mark.parametrize("script", ["tests/run.sh", ".ci/run"])
def test_the_whole_suite_runs_from_the_root_on_one_thread_a_core(copy, script):
    done = with_pytest(copy, 0).run(script=script)
    assert done.returncode == 0, done.stderr
    assert f"{copy.root} 1 ['-n', 'auto', '--maxprocesses', '4', " in done.stdout
    assert "'--dist', 'loadfile', '--no-loadscope-reorder', '-m', 'not long']" in done.stdout
    said = done.stdout.rpartition("kernels: avx2: ")[0] or done.stdout
    assert said.splitlines()[-2 if script == ".ci/run" else -1].startswith("tests: all passed in ")


def test_the_kernels_of_other_machines_are_tried_after_the_tests(copy):
    done = with_pytest(copy, 0).run(script=".ci/run")
    settings = re.findall(r"^kernels: (\w+): (.*)$", done.stdout, re.M)
    assert [name for name, _ in settings] == ["avx2", "plain"]
    together = " ".join(values for _, values in settings)
    for value in ("ONEDNN=0", "ONEDNN=1", "=avx2", "=default", "=SSE41"):
        assert value in together
    last = done.stdout.splitlines()[-1]
    assert last.startswith("kernels: all passed under avx2 plain in ")
    assert done.stdout.count("'-m', 'kernels and not long'") == 2


def test_a_setting_under_which_tests_fail_is_named(copy):
    done = with_pytest(copy, 1).run("avx2", "plain", script="tests/kernels.sh")
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "error: the tests did not pass under the kernels of avx2 plain: " in done.stderr
    assert "no setting sparc" in copy.refusal("sparc", script="tests/kernels.sh")


def test_arguments_go_to_pytest_as_they_are(copy):
    done = with_pytest(copy, 0).run("-k", "a or b", script="tests/run.sh")
    assert "'-k', 'a or b']" in done.stdout and "not long" not in done.stdout


@pytest.mark.parametrize(("status", "words"), [(1, "did not pass"), (5, "no test was run")])
@pytest.mark.parametrize("script", ["tests/run.sh", ".ci/run"])
def test_failed_and_missing_tests_fail(copy, script, status, words):
    assert "none was found" in copy.refusal(script="tests/run.sh"), "there is no environment"
    done = with_pytest(copy, status).run(script=script)
    assert done.returncode == status and words in done.stderr


# --- examples/quickstart.sh -----------------------------------------------------------------------


QUICKSTART = "examples/quickstart.sh"


def with_steps(copy: Copy) -> Copy:
    """The scripted environment with steps that note their arguments and make what is asked for."""
    assert copy.make_venv().run().returncode == 0
    note = "import os, pathlib as p, sys\na = sys.argv[1:]\nprint(p.Path(sys.argv[0]).stem, a)\n"
    steps = copy.root / "examples" / "spelling_and_ocr"
    steps.mkdir()
    (steps / "prepare_typos.py").write_text(
        note + "p.Path(a[0]).mkdir()\n(p.Path(a[0]) / 'confusions.txt').touch()\n"
    )
    (copy.site / "lev_plugins" / "__main__.py").write_text(
        "import runpy, sys\nname = f'lev_plugins.cli.{sys.argv.pop(1)}'\n"
        "runpy.run_module(name, run_name='__main__', alter_sys=True)\n"
    )
    (copy.site / "lev_plugins" / "cli" / "preprocess.py").write_text(
        note + "p.Path(a[-1]).mkdir()\nsys.exit(os.environ.get('PREPROCESS'))\n"
    )
    (steps / "train.py").write_text(
        note + "p.Path(a[1]).mkdir(exist_ok=True)\n(p.Path(a[1]) / 'checkpoint_best.pt').touch()\n"
        "assert int(os.environ['OMP_NUM_THREADS']) > 0\n"
        "sys.exit(os.environ.get('TRAIN'))\n"
    )
    (steps / "evaluate.py").write_text(note)
    (steps / "score_typos.py").write_text(note)
    (copy.site / "lev_plugins" / "cli" / "correct.py").write_text(
        note + "sys.exit(os.environ.get('CORRECT'))\n"
    )
    return copy


def test_every_training_has_a_folder_and_the_data_are_made_once(copy, tmp_path):
    with_steps(copy)
    work = tmp_path / "my work"
    flags = ("--work", str(work), "--minutes", "0.5", "--seed=3")
    for number in (1, 2):
        done = copy.run(*flags, script=QUICKSTART)
        save = work / f"run-{number}"
        assert done.returncode == 0, done.stderr
        options = "'--minutes', '0.5', '--seed', '3', '--system', 'pbd'"
        assert f"train ['{work}/data', '{save}', {options}]" in done.stdout
        scored = f"'{work}/text', '{save}/checkpoint_best.pt', '--data', '{work}/data'"
        assert f"score_typos [{scored}]" in done.stdout and "evaluate [" not in done.stdout
        tuned = (work / "tune.log").read_text()
        assert f"'--tune', '{work}/text/dev.noisy'" in tuned and save.name in tuned
        assert done.stdout.splitlines()[-1].startswith("quickstart: done")
        assert ("the data are there" in done.stdout) == (number == 2)
        assert "nothing to install" in done.stdout
    edited = copy.run(*flags, "--system", "levt", script=QUICKSTART)
    assert edited.returncode == 0 and "'--system', 'levt'" in edited.stdout
    assert f"evaluate ['{work}/data', '{work}/run-3/checkpoint_best.pt']" in edited.stdout
    kept = copy.run(*flags, "--keep", script=QUICKSTART)
    assert kept.returncode == 0 and "train [" not in kept.stdout
    assert f"'{work}/run-3/checkpoint_best.pt'" in kept.stdout
    flags = ("--keep", "--work", str(tmp_path / "new"))
    assert "finds no trained model" in copy.refusal(*flags, script=QUICKSTART)


def test_a_failing_step_ends_in_an_error_line_and_half_data_are_not_kept(copy, tmp_path):
    with_steps(copy)
    flags = ("--work", str(tmp_path / "w"))
    failed = copy.run(*flags, script=QUICKSTART, PREPROCESS="broken")
    assert failed.returncode == 1 and not (tmp_path / "w" / "data").exists()
    assert failed.stderr.splitlines()[-1].startswith("error: the step 'preprocess' failed: see ")
    untrained = copy.run(*flags, script=QUICKSTART, TRAIN="out of luck")
    assert untrained.returncode == 1
    assert untrained.stderr.splitlines() == [
        "out of luck", "error: the training failed (status 1): the lines above say why"
    ]  # fmt: skip
    assert "quickstart: done" not in untrained.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--minutes", "0"], "--minutes must be a number above 0, not '0'"),
        (["--minutes", "0.00"], "--minutes must be"),
        (["--minutes", "-3"], "--minutes must be"),
        (["--minutes=ten"], "--minutes must be"),
        (["--minutes"], "--minutes needs a value"),
        (["--minutes", "1e3"], "--minutes must be"),
        (["--seed", "1.5"], "--seed must be a whole number"),
        (["--work", ""], "--work needs a value"),
        (["--system=ar"], "--system must be pbd, transformer or levt, not 'ar'"),
        (["--nonsense"], "unknown argument --nonsense"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_argument_of_the_quickstart_is_one_error_line(copy, arguments, words):
    assert words in copy.refusal(*arguments, script=QUICKSTART)


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
    for folder in ("serve/static", "reports/templates"):
        files = list((ROOT / "lev_plugins" / folder).iterdir())
        pages |= {str(file.relative_to(ROOT)) for file in files}
        assert len(files) >= 5
    assert names == modules | pages | {"lev_plugins/py.typed"}
