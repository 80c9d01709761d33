"""The example that denoises with and without gates: scripts, tables and configuration."""

import itertools
import json
import math
import operator
import random
import re
import statistics
import subprocess
from pathlib import Path

import pytest
from example_scripts import modules
from plain_files import put
from scipy.stats import t as student

KINDS = ("random", "keyboard", "swap", "delete")


prepare, evaluate, words = modules("denoising", "prepare", "evaluate", "words")


def write_text(folder: Path, *sides: str) -> Path:
    draw = random.Random(5)
    folder.mkdir()
    for part, size in (("train", 40), ("dev", 6), ("test", 8)):
        for side in sides:
            lines = (
                " ".join("".join(draw.choices("abcdef", k=5)) for _ in range(4))
                for _ in range(size)
            )
            text = "".join(line + "\n" for line in lines)
            (folder / f"{part}.{side}").write_text(text, encoding="utf-8")
    return folder


def test_scores_count_what_was_corrected_and_what_was_miscorrected():
    clean, noisy = ["the old house", "by the sea"], ["tbe old house", "by the sea"]
    found = evaluate.scores(["the old horse", "by the sea"], noisy, clean)
    assert (found["corrected"], found["miscorrected"]) == (1, 1)
    assert found["wrr"] == pytest.approx(100 * 5 / 6)
    assert found["wrr_jaccard"] == pytest.approx(100 * (2 / 4 + 1) / 2)
    nothing = evaluate.scores(noisy, noisy, clean)
    assert (nothing["corrected"], nothing["miscorrected"]) == (0, 0)
    assert 50 < nothing["bleu"] < 100 and nothing["cer"] == pytest.approx(100 / 23)


def test_two_systems_are_told_apart_by_welchs_test_and_by_exchanges():
    clean = ["the cat sat", "a dog", "one two three four", "yes", "the end of it all"]
    ours = ["the cat sat", "a dog", "one two three for", "yes", "the en of it all"]
    theirs = ["the rat sat", "dog", "one", "no", "the end it"]
    found = evaluate.compared(ours, theirs, clean)
    a, b = [100, 100, 75, 100, 80], [200 / 3, 50, 25, 0, 60]  # WRR of the lines
    error = (statistics.variance(a) + statistics.variance(b)) / 5
    t = (statistics.fmean(a) - statistics.fmean(b)) / math.sqrt(error)
    freedom = error**2 / (sum((statistics.variance(x) / 5) ** 2 for x in (a, b)) / 4)
    assert found["p"] == pytest.approx(2 * student.sf(t, freedom))
    apart = [1, 1, 2, 1, 1]  # errors more
    ways = itertools.product([1, -1], repeat=5)
    exact = sum(abs(sum(map(operator.mul, way, apart))) > 6 for way in ways) / 32
    assert found["p_paired"] == pytest.approx(exact, abs=0.02)
    assert evaluate.compared(ours[:1], ours[:1], clean[:1]) == {"p": None, "p_paired": None}


SMALL = ["--encoder-ffn-embed-dim", "16", "--num-workers", "0", "--disable-validation", "--cpu"]


@pytest.mark.slow
def test_prepare_train_and_evaluate_end_in_a_table_for_each_noise(tmp_path, succeed):
    data, work = write_text(tmp_path / "data", "clean"), tmp_path / "work"
    subprocess.run(["gzip", str(data / "train.clean")], check=True)
    other = tmp_path / "other.txt"
    other.write_text("one two three\nfour zebra six\n", encoding="utf-8")
    subprocess.run(["gzip", str(other)], check=True)
    elsewhere = {"ELSEWHERE": f"{other}.gz"}
    sizes = {"UPDATES": "2", "WIDTH": "16", "LAYERS": "1"}
    lexicon = tmp_path / "words.txt"
    lexicon.write_text("zebra 3\nfour\n", encoding="utf-8")
    scored = [work, "--beam", "1", "--json", tmp_path / "scores.json", "--lexicon", lexicon]
    for script, arguments, environ in (
        ("prepare.sh", [data, work], {"WORDS": "2", "TEST_LINES": "3"} | elsewhere),
        ("train.sh", [work, "none", *SMALL], sizes),
        ("train.sh", [work, "mask,copy,generate", *SMALL], {**sizes, "VARIANT": "pointer"}),
        ("evaluate.sh", scored, {}),
    ):
        out = succeed(f"denoising/{script}", *arguments, **environ)
    names = [f"test-{where}{kind}" for where in ("", "elsewhere-") for kind in sorted(KINDS)]
    found = re.findall(r"^## ([\w-]+): ([56]) words, noise", out, re.M)
    assert [name for name, _ in found] == sorted(names)
    assert "zebra" in (work / "data" / "test-elsewhere-swap.clean").read_text("utf-8")
    tables = json.loads((work / "output" / "tables.json").read_text(encoding="utf-8"))
    for kind in KINDS:
        noisy, clean = (
            (work / "data" / f"test-{kind}.{side}").read_text("utf-8").splitlines()
            for side in ("noisy", "clean")
        )
        assert len(noisy) == 3 and noisy != clean
        rows = tables[f"test-{kind}"]["systems"]
        systems = ["mask-copy-generate-pointer", "none"]
        models = [one + end for one in systems for end in ("", "+lexicon")]
        assert list(rows) == ["no-edit baseline", "symspellpy", *models]
        for name in models:
            text = (work / "output" / f"{name}.test-{kind}").read_text("utf-8").splitlines()
            assert rows[name].items() >= evaluate.scores(text, noisy, clean).items()
    numbers = json.loads((tmp_path / "scores.json").read_text())["systems"]
    assert numbers["none"]["swap"] == tables["test-swap"]["systems"]["none"]["wrr"]


@pytest.mark.slow
def test_a_translator_of_noisy_text_is_trained_and_scored_with_and_without_symspellpy(
    tmp_path, succeed
):
    draw, data, work = random.Random(5), tmp_path / "data", tmp_path / "work"
    german = {"house": "haus", "garden": "garten", "water": "wasser", "summer": "sommer"}
    for part, size in (("train", 60), ("valid", 4), ("test", 5)):
        lines = [draw.choices(list(german), k=4) for _ in range(size)]
        put(data / f"{part}.en", [" ".join(line) for line in lines])
        put(data / f"{part}.de", [" ".join(map(german.get, line)) for line in lines])
    lexicon = put(tmp_path / "words.txt", list(german))
    sizes = {"UPDATES": "2", "WIDTH": "16", "LAYERS": "1", "RUN": "1"}
    succeed("translation/prepare.sh", data, work, VOCABULARY="60")
    succeed("denoising/translate.sh", work, "gated", *SMALL, **sizes)
    model = work / "translate" / "gated-1" / "checkpoint_last.pt"  # any model will do
    scored = [work, "--beam", "1", "--lexicon", lexicon, "--corrector", model]
    out = succeed("denoising/evaluate_translation.sh", *scored, "--json", tmp_path / "scores.json")
    numbers = json.loads((tmp_path / "scores.json").read_text("utf-8"))["systems"]
    assert list(numbers) == ["gated-1", "gated-1+symspellpy", "gated-1+corrector"]
    for name, row in numbers.items():
        assert row["noisy"] == pytest.approx(sum(row[kind] for kind in KINDS) / 4)
        assert re.search(rf"^\| {re.escape(name)} \| {row['clean']:.2f} ", out, re.M)
        for one in ("clean", *KINDS):
            output = work / "translate" / "output" / f"{name}.{one}"
            assert len(output.read_text("utf-8").splitlines()) == 5
