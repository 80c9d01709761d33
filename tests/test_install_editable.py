"""After ``pip install -e .`` fairseq's commands know ``--user-dir lev_plugins`` in any folder."""

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from argparse import Namespace
from pathlib import Path

import fairseq
import pytest
from fairseq import utils

from lev_plugins.fairseq_patches.imports import accept_imported_package

ROOT = Path(__file__).parents[1]
BUILD = "from setuptools import build_meta; print(build_meta.build_editable('..'))"


def linked(source: str, target: str) -> None:
    """A copy of a file that takes no room, where the file system has such."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with fairseq and an editable install of a copy of this repository."""
    folder = tmp_path_factory.mktemp("editable")
    source = folder / "repository"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "lev_plugins", source / "lev_plugins", ignore=ignored)
    for name in ("setup.py", "pyproject.toml", "LICENSE", "README.md"):
        shutil.copy(ROOT / name, source)
    done = subprocess.run([sys.executable, "-c", BUILD], cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    venv.create(folder / "venv", with_pip=False)
    (site,) = folder.glob("venv/lib/python3*/site-packages")
    here = Path(fairseq.__file__).parents[1]
    for name in ("fairseq", "fairseq_cli"):  # fairseq looks beside its own package
        shutil.copytree(here / name, site / name, copy_function=linked)
    (site / "others.pth").write_text(f"{here}\n")
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(site)
    return folder


def test_a_command_finds_the_sources_from_another_folder(installed: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    start = "import atexit, sys; from fairseq_cli.train import cli_main; "
    start += "atexit.register(lambda: print(sys.modules['lev_plugins'].__file__)); cli_main()"
    words = [str(installed / "venv" / "bin" / "python"), "-c", start, "data"]
    words += "--user-dir lev_plugins --task translation_edit --arch levenshtein_editor".split()
    done = subprocess.run(
        [*words, "--help"],
        cwd=installed / "venv", env=environ, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    imported = Path(done.stdout.splitlines()[-1])
    assert imported == installed / "repository" / "lev_plugins" / "__init__.py"


def test_the_file_for_fairseq_goes_with_the_package(installed: Path) -> None:
    (record,) = installed.glob("venv/lib/python3*/site-packages/*.dist-info/RECORD")
    assert "\nlev_plugins,sha256=" in "\n" + record.read_text(encoding="utf-8")


def test_a_package_that_is_imported_already_is_the_one_that_is_meant(tmp_path, monkeypatch) -> None:
    (tmp_path / "fairseq").mkdir()
    (tmp_path / "lev_plugins").mkdir()
    monkeypatch.chdir(tmp_path / "fairseq")
    monkeypatch.setattr(utils, "__file__", str(tmp_path / "fairseq" / "utils.py"))
    monkeypatch.setattr(utils.import_user_module, "memo", set(), raising=False)
    with pytest.raises(ImportError, match="not globally unique"):
        utils.import_user_module(Namespace(user_dir="lev_plugins"))
    accept_imported_package()
    utils.import_user_module(Namespace(user_dir="lev_plugins"))
