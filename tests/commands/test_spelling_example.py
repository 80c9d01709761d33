"""The quickstart's own steps, with a budget of seconds."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPELLING = ROOT / "examples" / "spelling_and_ocr"


def call(*command: object, status: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, *map(str, command)], capture_output=True, text=True, cwd=ROOT, timeout=900
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Misspellings of the most misspelt words only, preprocessed."""
    folder = tmp_path_factory.mktemp("spelling")
    few = ("--min-misspellings", 60, "--held-out", 50)
    call(SPELLING / "prepare_codespell.py", folder / "text", *few)
    command = ["-m", "lev_plugins", "preprocess", "--joined-dictionary"]
    command += ["--source-lang", "typo", "--target-lang", "word", "--draft-lang", "draft"]
    for split in ("train", "valid", "test"):
        command += [f"--{split}pref", folder / "text" / split]
    call(*command, "--destdir", folder / "data")
    return folder / "data"


def test_train_and_evaluate_end_in_a_model_and_its_score(data):
    save = data.parent / "model"
    said = call(SPELLING / "train.py", data, save, "--minutes", "0.05", "--", "--log-interval", "1")
    assert "fairseq-train" in said and "--roll-in-updates" in said
    assert "--optimizer muon" in said and "--optimizer adam" not in said
    assert re.search(r"min, 0.\d left  update \d+  loss [\d.]+ bits  right: deletions", said)
    assert re.search(r"min, the training is over\n", said)
    assert (save / "checkpoint_best.pt").is_file()
    report = call(SPELLING / "evaluate.py", data, save / "checkpoint_best.pt", "--split", "valid")
    number = len((data.parent / "text" / "valid.word").read_text().splitlines())
    assert f"valid: {number} pairs" in report
    assert re.search(r"exactly right: +\d+\.\d %   \(no-edit baseline: 0\.0 %\)", report)
    assert re.search(r"iterations: +\d+\.\d\d on average", report)


def test_pbd_learns_from_the_same_data_and_is_scored_the_same_way(data):
    save = data.parent / "pbd"
    small = "--encoder-embed-dim 16 --encoder-ffn-embed-dim 16 --optimizer adam --log-interval 1"
    flags = f"--minutes 0.05 --system pbd -- {small} --no-segment-embedding"
    said = call(SPELLING / "train.py", data, save, *flags.split())
    assert "--task translation" in said and "--no-segment-embedding" in said
    assert "--optimizer adam" in said and "muon" not in said
    assert re.search(r"update \d+  loss [\d.]+ bits  perplexity [\d.]+", said)
    report = call(SPELLING / "evaluate.py", data, save, "--beam", "1", "--show", "3")
    assert "test: 50 pairs" in report and "iterations" not in report
    assert re.search(r"exactly right: +\d+\.\d %   \(no-edit baseline: 0\.0 %\)", report)
    words = (data.parent / "text" / "test.word").read_text("utf-8").replace(" ", "").split()
    shown = re.findall(r"^(.+) → (.*)   \((?:right|wrong, it should be (.+))\)$", report, re.M)
    assert len(shown) == 3 and {right or output for _, output, right in shown} <= set(words)


def test_a_folder_without_drafts_is_refused_in_one_line(tmp_path):
    said = call(SPELLING / "train.py", tmp_path, tmp_path / "model", status=1)
    assert said == f"error: {tmp_path} holds no training data with drafts; see --help\n"
