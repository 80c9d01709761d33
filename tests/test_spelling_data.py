"""Data of the quickstart: no test data in training."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from plain_files import read

pytest.importorskip("symspellpy")
SCRIPT = Path(__file__).parents[1] / "examples" / "spelling_and_ocr" / "prepare_typos.py"
SETS = ("train", "valid", "test")


def run(out, *flags, path=""):
    """The script in a process of its own; ``path`` comes first among the module folders."""
    env = os.environ | {"PYTHONPATH": f"{path}:{os.environ.get('PYTHONPATH', '')}"}
    command = [sys.executable, str(SCRIPT), str(out), *flags]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


def plain(folder, name):
    return [line.replace(" ", "").replace("▁", " ") for line in read(folder / name)]


def test_a_package_that_is_missing_is_one_error_line_and_leaves_nothing(tmp_path):
    (tmp_path / "hide").mkdir()
    (tmp_path / "hide" / "spellchecker.py").write_text("raise ModuleNotFoundError('spellchecker')")
    done = run(tmp_path / "out", path=tmp_path / "hide")
    assert done.returncode and "pyspellchecker is not installed" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    out = tmp_path_factory.mktemp("typos") / "data"
    done = run(out, "--lines", "4000")
    assert done.returncode == 0 and "training lines" in done.stdout, done.stderr
    return out


def test_nothing_to_measure_with_is_in_training_or_in_the_lists(running):
    met = {*plain(running, "train.typo")}
    met |= {line.split("\t")[0] for line in read(running / "lookup.tsv")}
    valid, test = ({*plain(running, f"{name}.typo")} for name in SETS[1:])
    assert not met & valid and not met & test and not valid & test
    assert len(valid) == len(test) == 1500
    typos = read(running / "test.typo")
    assert read(running / "test.draft") == typos != read(running / "test.word")
    assert all(typos) and {len(typo) for line in typos for typo in line.split(" ")} == {1}
    assert not met & {*read(running / "test_everyday.noisy"), *read(running / "test_heldout.noisy")}
    lexicon = {line.split()[0] for line in read(running / "lexicon.txt")}
    unknown = {*read(running / "test_unknown.clean")}
    assert len(unknown) == 500 and not unknown & lexicon
    assert not unknown & {*plain(running, "train.word"), *read(running / "dev.clean")}
    assert {word for word in read(running / "words.txt") if word.isalpha()} <= lexicon
    for path in running.glob("*.noisy"):
        clean = read(running / path.with_suffix(".clean").name)
        both = list(zip(read(running / path.name), clean, strict=True))
        assert both and all(len(a.split()) == len(b.split()) for a, b in both)
    assert sum(len(line.split()) for line in read(running / "test_running.noisy")) > 3000
