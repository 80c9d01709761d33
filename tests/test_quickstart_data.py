"""The quickstart's data: counted, split and written as the example's docstring says."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from importlib import metadata, resources
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "examples" / "spelling_and_ocr" / "prepare_codespell.py"
SETS = ("train", "valid", "test")


def run(
    out: Path, *flags: str, path: Path | None = None, hash_seed: int = 0
) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own; ``path`` comes first among the module folders."""
    env = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    if path is not None:
        env["PYTHONPATH"] = str(path)
    command = [sys.executable, str(SCRIPT), str(out), *flags]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def lines(folder: Path, name: str) -> list[str]:
    return (folder / name).read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("spelling") / "data"
    done = run(out, hash_seed=1)
    assert done.returncode == 0, done.stderr
    return out


def test_the_pairs_are_those_of_the_dictionary(written: Path) -> None:
    text = (resources.files("codespell_lib") / "data" / "dictionary.txt").read_text("utf-8")
    entries = [line.split("->") for line in text.split("\n") if "->" in line and "," not in line]
    often = Counter(word for _, word in entries)
    wanted = {(typo, word) for typo, word in entries if often[word] >= 10}
    got = [
        (typo.replace(" ", "").replace("▁", " "), word.replace(" ", "").replace("▁", " "))
        for name in SETS
        for typo, word in zip(
            lines(written, f"{name}.typo"), lines(written, f"{name}.word"), strict=True
        )
    ]
    assert len(got) == len(set(got)), "a pair stands twice"
    assert set(got) == wanted
    assert 20_000 < len(got) < 40_000


def test_the_pinned_dictionary_gives_the_counts_that_the_documents_name(written: Path) -> None:
    if metadata.version("codespell") != "2.4.3":
        pytest.skip("another codespell than constraints.txt names")
    assert len(lines(written, "train.word")) == 23_016
    words = {word for name in SETS for word in lines(written, f"{name}.word")}
    assert len(words) == 1_490


def test_there_are_three_sets_of_drafts_that_are_the_misspellings_in_characters(written):
    wanted = {f"{name}.{ending}" for name in SETS for ending in ("typo", "draft", "word")}
    assert set(contents(written)) == wanted
    typos = {name: lines(written, f"{name}.typo") for name in SETS}
    assert len(typos["valid"]) == len(typos["test"]) == 1500
    every = [typo for name in SETS for typo in typos[name]]
    assert len(every) == len(set(every)), "a misspelling is in two sets"
    for name in SETS:
        assert lines(written, f"{name}.draft") == typos[name] != lines(written, f"{name}.word")
        for ending in ("typo", "word"):
            found = lines(written, f"{name}.{ending}")
            assert all(found) and {len(t) for line in found for t in line.split(" ")} == {1}


def test_the_hash_seed_changes_nothing_and_the_seed_changes_the_split(written, tmp_path):
    assert run(tmp_path / "again", hash_seed=2).returncode == 0
    assert contents(tmp_path / "again") == contents(written)
    assert run(tmp_path / "other", "--seed", "2").returncode == 0
    assert contents(tmp_path / "other")["test.typo"] != contents(written)["test.typo"]


@pytest.mark.parametrize(
    ("place", "flags", "status", "said"),
    [
        ("out", "--held-out 20000", 1, "error: --held-out 20000 needs more than 40000 pairs"),
        ("out", "", 1, "error: codespell is not installed"),
        ("file/out", "", 1, "{0}/file"),
        *(("out", f"{one} -3", 2, one) for one in ("--seed", "--held-out", "--min-misspellings")),
    ],
)
def test_what_cannot_be_is_one_error_line_and_leaves_nothing(tmp_path, place, flags, status, said):
    (tmp_path / "file").write_text("")
    hide = tmp_path / "hide" if "installed" in said else None
    if hide is not None:
        hide.mkdir()
        (hide / "codespell_lib.py").write_text("raise ModuleNotFoundError('codespell_lib')\n")
    done = run(tmp_path / place, *flags.split(), path=hide)
    assert done.returncode == status and said.format(tmp_path) in done.stderr
    assert status == 2 or (done.stderr.startswith("error: ") and done.stderr.count("\n") == 1)
    assert not (tmp_path / "out").exists()
