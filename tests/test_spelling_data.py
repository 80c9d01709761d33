"""Data of the quickstart: counted, split and written as documented; no test data in training."""

import os
import subprocess
import sys
from collections import Counter
from importlib import resources
from pathlib import Path

import pytest

from lev_plugins.errors import UserError

EXAMPLE = Path(__file__).parents[1] / "examples" / "spelling_and_ocr"
sys.path.insert(0, str(EXAMPLE))

import score_typos  # noqa: E402

SETS = ("train", "valid", "test")


def run(script, out, *flags, path=None, hash_seed=0):
    """A script in a process of its own; ``path`` comes first among the module folders."""
    env = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    if path is not None:
        env["PYTHONPATH"] = str(path)
    command = [sys.executable, str(EXAMPLE / script), str(out), *flags]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def lines(folder, name):
    return (folder / name).read_text(encoding="utf-8").splitlines()


def plain(folder, name):
    return [line.replace(" ", "").replace("▁", " ") for line in lines(folder, name)]


# single words: prepare_codespell.py -------------------------------------------------------------


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    out = tmp_path_factory.mktemp("spelling") / "data"
    done = run("prepare_codespell.py", out, hash_seed=1)
    assert done.returncode == 0, done.stderr
    return out


def test_the_pairs_are_those_of_the_dictionary_in_three_sets_without_overlap(words):
    text = (resources.files("codespell_lib") / "data" / "dictionary.txt").read_text("utf-8")
    entries = [line.split("->") for line in text.split("\n") if "->" in line and "," not in line]
    often = Counter(word for _, word in entries)
    sides = ([one for name in SETS for one in plain(words, f"{name}.{side}")]
             for side in ("typo", "word"))  # fmt: skip
    got = list(zip(*sides, strict=True))
    assert sorted(got) == sorted((typo, word) for typo, word in entries if often[word] >= 10)
    assert len({typo for typo, _ in got}) == len(got), "a misspelling is in two sets"
    assert {*contents(words)} == {f"{a}.{b}" for a in SETS for b in ("typo", "draft", "word")}
    assert len(lines(words, "valid.typo")) == len(lines(words, "test.typo")) == 1500
    for name in SETS:
        typos = lines(words, f"{name}.typo")
        assert lines(words, f"{name}.draft") == typos != lines(words, f"{name}.word")
        assert all(typos) and {len(one) for line in typos for one in line.split(" ")} == {1}


def test_the_hash_seed_changes_nothing_and_the_seed_changes_the_split(words, tmp_path):
    assert run("prepare_codespell.py", tmp_path / "again", hash_seed=2).returncode == 0
    assert contents(tmp_path / "again") == contents(words)
    assert run("prepare_codespell.py", tmp_path / "other", "--seed", "2").returncode == 0
    assert contents(tmp_path / "other")["test.typo"] != contents(words)["test.typo"]


@pytest.mark.parametrize(
    ("script", "place", "flags", "hidden", "said"),
    [
        ("prepare_codespell.py", "out", "--held-out 20000", "", "--held-out 20000"),
        ("prepare_codespell.py", "file/out", "", "", "{0}/file"),
        ("prepare_codespell.py", "out", "--seed -3", "", "--seed"),
        ("prepare_codespell.py", "out", "", "codespell_lib", "codespell is not installed"),
        ("prepare_typos.py", "out", "", "symspellpy", "symspellpy is not installed"),
        ("prepare_typos.py", "out", "", "spellchecker", "pyspellchecker is not installed"),
    ],
)
def test_what_cannot_be_is_one_error_line_and_leaves_nothing(
    tmp_path, script, place, flags, hidden, said
):
    (tmp_path / "file").write_text("")
    (tmp_path / "hide").mkdir()
    if hidden:
        (tmp_path / "hide" / f"{hidden}.py").write_text(f"raise ModuleNotFoundError({hidden!r})\n")
    done = run(script, tmp_path / place, *flags.split(), path=tmp_path / "hide")
    assert done.returncode and said.format(tmp_path) in done.stderr
    assert (
        done.returncode == 2 or done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    )
    assert not (tmp_path / "out").exists()


# running text: prepare_typos.py -----------------------------------------------------------------


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    pytest.importorskip("symspellpy")
    pytest.importorskip("spellchecker")
    out = tmp_path_factory.mktemp("typos") / "data"
    done = run("prepare_typos.py", out, "--lines", "4000")
    assert done.returncode == 0 and "training lines" in done.stdout, done.stderr
    return out


def test_nothing_to_measure_with_is_in_training_or_in_the_lists(running):
    met = {*plain(running, "train.typo")}
    met |= {line.split("\t")[0] for line in lines(running, "lookup.tsv")}
    valid, test = ({*plain(running, f"{name}.typo")} for name in SETS[1:])
    assert not met & valid and not met & test and not valid & test
    assert not met & {*lines(running, "test_everyday.noisy"), *lines(running, "test_heldout.noisy")}
    lexicon = {line.split()[0] for line in lines(running, "lexicon.txt")}
    unknown = {*lines(running, "test_unknown.clean")}
    assert len(unknown) == 500 and not unknown & lexicon
    assert not unknown & {*plain(running, "train.word"), *lines(running, "dev.clean")}
    assert {word for word in lines(running, "words.txt") if word.isalpha()} <= lexicon
    for path in running.glob("*.noisy"):
        clean = lines(running, path.with_suffix(".clean").name)
        both = list(zip(lines(running, path.name), clean, strict=True))
        assert both and all(len(a.split()) == len(b.split()) for a, b in both)
    assert sum(len(line.split()) for line in lines(running, "test_running.noisy")) > 3000


def test_lists_of_your_own_are_scored_beside_the_others(tmp_path):
    for name in score_typos.LISTS:
        for side in score_typos.SIDES:
            (tmp_path / f"test_{name}.{side}").write_text("the\n")
    pairs = []
    for folder, text in (("a", "teh\nodd\n"), ("b", "catt\n")):
        (tmp_path / folder).mkdir()
        pairs.append([tmp_path / folder / side for side in score_typos.SIDES])
        for path, words in zip(pairs[-1], (text, text.replace("teh", "the"))):
            path.write_text(words)
    lists = score_typos.word_lists(tmp_path, pairs)
    shares = score_typos.measured({"no edits": list, "this model": list}, lists)
    assert list(shares)[-2:] == [str(pair[0]) for pair in pairs], "of one name, in two folders"
    assert shares[str(pairs[0][0])] == (2, {"no edits": 50.0, "this model": 50.0})
    assert str(pairs[1][0]) in score_typos.table(shares)
    pairs[0][1].write_text("the\n")
    with pytest.raises(UserError, match="has 2 lines and .* 1"):
        score_typos.word_lists(tmp_path, pairs)
