"""Data of the quickstart: no test data in training, and lists of your own beside them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lev_plugins.errors import UserError

EXAMPLE = Path(__file__).parents[1] / "examples" / "spelling_and_ocr"
sys.path.insert(0, str(EXAMPLE))

import score_typos  # noqa: E402

SETS = ("train", "valid", "test")


def run(script, out, *flags, path=None):
    """A script in a process of its own; ``path`` comes first among the module folders."""
    env = dict(os.environ)
    if path is not None:
        env["PYTHONPATH"] = os.pathsep.join([str(path), env.get("PYTHONPATH", "")])
    command = [sys.executable, str(EXAMPLE / script), str(out), *flags]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


def lines(folder, name):
    return (folder / name).read_text(encoding="utf-8").splitlines()


def plain(folder, name):
    return [line.replace(" ", "").replace("▁", " ") for line in lines(folder, name)]


@pytest.mark.parametrize(
    ("hidden", "package"),
    [
        ("codespell_lib", "codespell"),
        ("symspellpy", "symspellpy"),
        ("spellchecker", "pyspellchecker"),
    ],
)
def test_a_package_that_is_missing_is_one_error_line_and_leaves_nothing(tmp_path, hidden, package):
    (tmp_path / "hide").mkdir()
    (tmp_path / "hide" / f"{hidden}.py").write_text(f"raise ModuleNotFoundError({hidden!r})\n")
    done = run("prepare_typos.py", tmp_path / "out", path=tmp_path / "hide")
    assert done.returncode and f"{package} is not installed" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    out = tmp_path_factory.mktemp("typos") / "data"
    done = run("prepare_typos.py", out, "--lines", "4000")
    assert done.returncode == 0 and "training lines" in done.stdout, done.stderr
    return out


def test_nothing_to_measure_with_is_in_training_or_in_the_lists(running):
    met = {*plain(running, "train.typo")}
    met |= {line.split("\t")[0] for line in lines(running, "lookup.tsv")}
    valid, test = ({*plain(running, f"{name}.typo")} for name in SETS[1:])
    assert not met & valid and not met & test and not valid & test
    assert len(valid) == len(test) == 1500
    typos = lines(running, "test.typo")
    assert lines(running, "test.draft") == typos != lines(running, "test.word")
    assert all(typos) and {len(one) for line in typos for one in line.split(" ")} == {1}
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
    assert list(shares)[-3:-1] == [str(pair[0]) for pair in pairs], "of one name, in two folders"
    assert shares[str(pairs[0][0])] == (2, {"no edits": 50.0, "this model": 50.0})
    assert str(pairs[1][0]) in score_typos.table(shares)
    pairs[0][1].write_text("the\n")
    with pytest.raises(UserError, match="has 2 lines and .* 1"):
        score_typos.word_lists(tmp_path, pairs)
