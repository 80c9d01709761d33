"""The example that denoises with and without gates: scripts, tables and configuration."""

import dataclasses
import importlib.util
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from fairseq import criterions, models, tasks
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf

import lev_plugins

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "denoising"
KINDS = ("random", "keyboard", "swap", "delete")


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"denoising_{name}", EXAMPLE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


prepare, evaluate = example("prepare"), example("evaluate")


def run(script: str, *arguments: object, **environ: str) -> subprocess.CompletedProcess[str]:
    found = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", str(EXAMPLE / script), *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": found, "OMP_NUM_THREADS": "1", **environ},
        timeout=300,
    )


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


# ---------------------------------------------------------------- text

some_lines = st.lists(
    st.lists(st.sampled_from(["a", "bc", "déf"]), max_size=7).map(" ".join), max_size=5
)


@given(some_lines, st.integers(0, 4))
def test_pieces_hold_every_word_in_order_and_none_is_too_long(lines, words):
    found = list(prepare.cut(lines, words))
    assert " ".join(found).split() == " ".join(lines).split()
    assert all(0 < len(piece.split()) <= (words or 7) for piece in found)


@given(st.lists(st.integers(), max_size=40), st.integers(0, 50))
def test_a_selection_is_spread_over_the_text_and_stays_in_order(numbers, count):
    lines = [f"{place} {number}" for place, number in enumerate(numbers)]
    found = prepare.spread(lines, count)
    assert len(found) == (min(count, len(lines)) or len(lines))
    places = [lines.index(line) for line in found]
    steps = [after - before for before, after in zip(places, places[1:])]
    assert all(step > 0 for step in steps) and (not steps or max(steps) - min(steps) <= 1)


def test_the_dictionary_has_the_frequent_symbols_first_and_one_mask_symbol():
    found = prepare.dictionary(map(prepare.characters, ["aba c", "b a"]), "<mask>")
    assert found.symbols[4:8] == ["a", "b", "▁", "c"]
    assert found.symbols.count("<mask>") == 1 and found.unk() != found.index("<mask>")
    with_mask = prepare.dictionary(["[MASK] a a"], "[MASK]")
    assert with_mask.symbols.count("[MASK]") == 1


# ---------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    "script, arguments, environ, said",
    [
        ("prepare.sh", (), {}, "two folders are needed"),
        ("prepare.sh", ("gone", "{tmp}/work"), {}, "no folder gone"),
        ("prepare.sh", ("{tmp}", "{tmp}/work"), {}, "lacks train.clean dev.clean test.clean"),
        ("prepare.sh", ("{tmp}", "{tmp}/work"), {"CLEAN": "tok"}, "lacks train.tok"),
        ("prepare.sh", ("{tmp}", "{tmp}/work"), {"WORDS": "x"}, "WORDS=x"),
        ("prepare.sh", ("{tmp}", "{tmp}/work"), {"LOWER": "2"}, "LOWER=2: give 0 or 1"),
        ("prepare.sh", ("{tmp}", "{tmp}/work"), {"BACKBONE": "gone"}, "no folder gone"),
        ("train.sh", ("{tmp}",), {}, "a folder and gates are needed"),
        ("train.sh", ("{tmp}", "none"), {}, "no data in"),
    ],
)
def test_a_script_without_its_files_says_so_in_one_line(script, arguments, environ, said, tmp_path):
    done = run(script, *(one.format(tmp=tmp_path) for one in arguments), **environ)
    assert done.returncode == 1 and done.stdout == ""
    assert re.fullmatch(rf"error: [^\n]*{said}[^\n]*\n", done.stderr), done.stderr
    assert list(tmp_path.iterdir()) == []


def test_noisy_text_for_some_parts_alone_is_refused(tmp_path):
    data = write_text(tmp_path / "data", "clean")
    (data / "dev.noisy").write_text("x\n", encoding="utf-8")
    done = run("prepare.sh", data, tmp_path / "work")
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert ".noisy is there for 1 of train, dev, test: all or none" in done.stderr


@pytest.mark.parametrize(
    "environ, said",
    [
        ({"VARIANT": "mine"}, "VARIANT=mine: pointer, paper or code"),
        ({"UPDATES": "0"}, "UPDATES=0"),
        ({"WIDTH": "x"}, "WIDTH=x"),
        ({"SEED": "x"}, "SEED=x"),
        ({"RUN": "../x"}, "RUN=../x"),
        ({"BACKBONE_START": "yes"}, "BACKBONE_START=yes: give 0 or 1"),
        ({"BACKBONE_START": "1"}, "[^\n]* has no data of a backbone"),
    ],
)
def test_a_training_that_cannot_be_meant_is_refused(environ, said, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "dict.clean.txt").touch()
    done = run("train.sh", tmp_path, "all", **environ)
    assert done.returncode == 1 and re.fullmatch(rf"error: {said}[^\n]*\n", done.stderr)


@pytest.mark.parametrize(
    "arguments, said",
    [
        ([], "has no data"),
        (["--beam", "0"], "--beam 0"),
        (["--systems", "all"], "--systems all: there is no"),
    ],
)
def test_what_cannot_be_scored_is_refused(arguments, said, tmp_path):
    if arguments:
        write_text(tmp_path / "data", "clean", "noisy")
    with pytest.raises(ValueError, match=said) as caught:
        evaluate.main([str(tmp_path), *arguments])
    assert "\n" not in str(caught.value)


# ---------------------------------------------------------------- scores


def test_scores_count_what_was_corrected_and_what_was_miscorrected():
    clean, noisy = ["the old house", "by the sea"], ["tbe old house", "by the sea"]
    found = evaluate.scores(["the old horse", "by the sea"], noisy, clean)
    assert (found["corrected"], found["miscorrected"]) == (1, 1)
    assert found["wrr"] == pytest.approx(100 * 5 / 6)
    assert found["wrr_jaccard"] == pytest.approx(100 * (2 / 4 + 1) / 2)
    nothing = evaluate.scores(noisy, noisy, clean)
    assert (nothing["corrected"], nothing["miscorrected"]) == (0, 0)
    assert 50 < nothing["bleu"] < 100 and nothing["cer"] == pytest.approx(100 / 23)


# ---------------------------------------------------------------- scripts

SMALL = ["--encoder-ffn-embed-dim", "16", "--num-workers", "0", "--disable-validation", "--cpu"]


@pytest.mark.slow
def test_prepare_train_and_evaluate_end_in_a_table_for_each_noise(tmp_path):
    data, work = write_text(tmp_path / "data", "clean"), tmp_path / "work"
    subprocess.run(["gzip", str(data / "train.clean")], check=True)
    sizes = {"UPDATES": "2", "WIDTH": "16", "LAYERS": "1"}
    for script, arguments, environ in (
        ("prepare.sh", [data, work], {"WORDS": "2", "TEST_LINES": "3"}),
        ("train.sh", [work, "none", *SMALL], sizes),
        ("train.sh", [work, "mask,copy,generate", *SMALL], {**sizes, "VARIANT": "pointer"}),
        ("evaluate.sh", [work, "--beam", "1", "--json", tmp_path / "scores.json"], {}),
    ):
        done = run(script, *arguments, **environ)
        assert done.returncode == 0, f"{script}: {done.stdout[-500:]} {done.stderr[-2000:]}"
    assert re.findall(r"^## test-(\w+): 6 words, noise", done.stdout, re.M) == sorted(KINDS)
    tables = json.loads((work / "output" / "tables.json").read_text(encoding="utf-8"))
    for kind in KINDS:
        noisy, clean = (
            (work / "data" / f"test-{kind}.{side}").read_text("utf-8").splitlines()
            for side in ("noisy", "clean")
        )
        assert len(noisy) == 3 and noisy != clean
        rows = tables[f"test-{kind}"]["systems"]
        assert list(rows) == ["no-edit baseline", "mask-copy-generate-pointer", "none"]
        for name in list(rows)[1:]:
            text = (work / "output" / f"{name}.test-{kind}").read_text("utf-8").splitlines()
            assert rows[name].items() >= evaluate.scores(text, noisy, clean).items()
    numbers = json.loads((tmp_path / "scores.json").read_text())["systems"]
    for name, found in numbers.items():
        each = {kind: tables[f"test-{kind}"]["systems"][name] for kind in KINDS}
        assert found["swap"] == each["swap"]["wrr"]
        assert found["corrected"] == sum(one["corrected"] for one in each.values())
    again = run("prepare.sh", data, work)
    assert again.returncode == 1 and "is there already" in again.stderr


@pytest.mark.slow
def test_real_noisy_pairs_stay_as_they_are(tmp_path):
    data, work = write_text(tmp_path / "data", "clean", "noisy"), tmp_path / "work"
    refused = run("prepare.sh", data, work, WORDS="2")
    assert refused.returncode == 1 and "real noisy pairs stay as they are" in refused.stderr
    done = run("prepare.sh", data, work)
    assert done.returncode == 0, done.stderr[-2000:]
    for part, split in (("train", "train"), ("dev", "valid"), ("test", "test")):
        for side in ("clean", "noisy"):
            copy = (work / "data" / f"{split}.{side}").read_bytes()
            assert copy == (data / f"{part}.{side}").read_bytes()
    assert (work / "noise").read_text(encoding="utf-8") == "none\n"


# ---------------------------------------------------------------- the configuration


def test_the_configuration_is_the_script_s_training():
    assert lev_plugins.__name__, "the import registers what is looked up here"
    config = OmegaConf.load(EXAMPLE / "config.yaml")
    for part, registered in (
        ("task", tasks.TASK_DATACLASS_REGISTRY),
        ("model", models.MODEL_DATACLASS_REGISTRY),
        ("criterion", criterions.CRITERION_DATACLASS_REGISTRY),
    ):
        known = {field.name for field in dataclasses.fields(registered[config[part]._name])}
        assert set(config[part]) <= known, part
    script = (EXAMPLE / "train.sh").read_text(encoding="utf-8")
    for name, value in (
        ("UPDATES", config.optimization.max_update),
        ("WIDTH", config.model.encoder_embed_dim),
        ("LAYERS", config.model.decoder_layers),
        ("LR", config.optimization.lr[0]),
        ("TOKENS", config.dataset.max_tokens),
        ("VARIANT", config.model.gate_variant),
    ):
        assert f"${{{name}:-{value}}}" in script, name
    updates = config.optimization.max_update
    assert config.lr_scheduler.warmup_updates == updates // 10 + 1
    assert config.lr_scheduler.total_num_update == updates
    assert config.checkpoint.save_interval_updates == updates // 4 + 1


@pytest.mark.slow
def test_the_configuration_trains_with_hydra(commands, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    for split in ("train", "valid"):
        (data / f"{split}.clean").write_text("abcde fabcd\n" * 5, encoding="utf-8")
    symbols = "".join(f"{symbol} 1\n" for symbol in [*"abcdef▁", "<mask>"])
    for side in ("noisy", "clean"):
        (data / f"dict.{side}.txt").write_text(symbols, encoding="utf-8")
    overrides = [
        f"common.user_dir={ROOT / 'lev_plugins'}",
        "common.cpu=true",
        f"task.data={data}",
        "model.encoder_embed_dim=16",
        "optimization.max_update=1",
        "dataset.num_workers=0",
        f"checkpoint.save_dir={tmp_path / 'saved'}",
    ]
    words = ["fairseq-hydra-train", "--config-path", str(EXAMPLE), "--config-name", "config"]
    result = commands([*words, *overrides], tmp_path)
    assert result.code == 0, result.err[-2000:]
    assert (tmp_path / "saved" / "checkpoint_last.pt").is_file()
