"""The quickstart's data for running text: what is held out is nowhere in training."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[1] / "examples" / "spelling_and_ocr"
sys.path.insert(0, str(EXAMPLE))

import score_typos  # noqa: E402

from lev_plugins.errors import UserError  # noqa: E402


def lines(folder: Path, name: str) -> list[str]:
    return (folder / name).read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("symspellpy")
    pytest.importorskip("spellchecker")
    out = tmp_path_factory.mktemp("typos") / "data"
    command = [sys.executable, str(EXAMPLE / "prepare_typos.py"), str(out), "--lines", "4000"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "training lines" in done.stdout
    return out


def plain(folder: Path, name: str) -> list[str]:
    return [line.replace(" ", "").replace("▁", " ") for line in lines(folder, name)]


def test_no_misspelling_to_measure_with_is_in_training_or_in_the_table(written: Path) -> None:
    met = {*plain(written, "train.typo")}
    met |= {line.split("\t")[0] for line in lines(written, "lookup.tsv")}
    for name in ("valid.typo", "test.typo"):
        assert not met & {*plain(written, name)}
    assert not met & {*lines(written, "test_everyday.noisy"), *lines(written, "test_heldout.noisy")}
    assert not {*plain(written, "valid.typo")} & {*plain(written, "test.typo")}


def test_unknown_words_are_in_no_lexicon_and_in_no_training_line(written: Path) -> None:
    lexicon = {line.split()[0] for line in lines(written, "lexicon.txt")}
    unknown = {*lines(written, "test_unknown.clean")}
    assert len(unknown) == 500 and not unknown & lexicon
    assert not unknown & {*plain(written, "train.word")}
    assert unknown.isdisjoint(lines(written, "dev.clean"))
    assert {word for word in lines(written, "words.txt") if word.isalpha()} <= lexicon


def test_lists_have_as_many_words_on_both_sides_and_running_text_is_in_halves(written):
    for path in written.glob("*.noisy"):
        clean = path.with_suffix(".clean").read_text("utf-8").splitlines()
        noisy = path.read_text("utf-8").splitlines()
        counts = [(len(a.split()), len(b.split())) for a, b in zip(noisy, clean, strict=True)]
        assert counts and all(one == other for one, other in counts)
    running = lines(written, "test_running.noisy")
    assert sum(len(line.split()) for line in running) > 3000
    assert not {*running} & {*lines(written, "dev.noisy")} or len(running) > 300


@pytest.mark.parametrize(
    ("module", "package"), [("symspellpy", "symspellpy"), ("spellchecker", "pyspellchecker")]
)
def test_a_missing_dictionary_is_one_error_line(tmp_path: Path, module: str, package: str) -> None:
    (tmp_path / "hide").mkdir()
    hidden = tmp_path / "hide" / f"{module}.py"
    hidden.write_text(f"raise ModuleNotFoundError({module!r})\n")
    command = [sys.executable, str(EXAMPLE / "prepare_typos.py"), str(tmp_path / "out")]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={"PYTHONPATH": str(hidden.parent)}
    )
    assert done.returncode == 1 and not (tmp_path / "out").exists()
    assert (
        done.stderr.startswith(f"error: {package} is not installed")
        and done.stderr.count("\n") == 1
    )


def test_lists_of_your_own_are_scored_beside_the_others(tmp_path: Path) -> None:
    for name in score_typos.LISTS:
        for side in score_typos.SIDES:
            (tmp_path / f"test_{name}.{side}").write_text("the\n")
    pairs = []
    for folder, words in (("a", "teh\nodd\n"), ("b", "catt\n")):
        (tmp_path / folder).mkdir()
        pairs.append([tmp_path / folder / side for side in score_typos.SIDES])
        for path, text in zip(pairs[-1], (words, words.replace("teh", "the"))):
            path.write_text(text)
    lists = score_typos.word_lists(tmp_path, pairs)
    shares = score_typos.measured({"no edits": list, "this model": list}, lists)
    assert list(shares)[-2:] == [str(pair[0]) for pair in pairs], "of one name, in two folders"
    assert shares[str(pairs[0][0])] == (2, {"no edits": 50.0, "this model": 50.0})
    assert str(pairs[1][0]) in score_typos.table(shares)
    pairs[0][1].write_text("the\n")
    with pytest.raises(UserError, match="has 2 lines and .* 1: line n of both must belong"):
        score_typos.word_lists(tmp_path, pairs)
