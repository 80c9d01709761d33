"""The scripts and configurations of examples/translation, and the further ways of post_editing."""

import dataclasses
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from fairseq import criterions, models, tasks
from omegaconf import OmegaConf

import lev_plugins

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
GRIDS = sorted((EXAMPLES / "translation" / "grid").glob("*.txt"))
TINY = [
    f"--{side}-{name}={size}"
    for side in ("encoder", "decoder")
    for name, size in (("embed-dim", 16), ("ffn-embed-dim", 16), ("attention-heads", 2))
]
SHALLOW = [*TINY, "--encoder-layers=1", "--decoder-layers=1"]
STUB = '#!/bin/sh\nprintf "%s\\n" "$@" >"$RECORD"\n'


def configurations() -> list[tuple[str, list[str]]]:
    """Name and flags of every line of every grid."""
    lines = [line.split() for grid in GRIDS for line in grid.read_text("utf-8").splitlines()]
    return [(words[0], words[1:]) for words in lines if words and not words[0].startswith("#")]


def run_script(
    name: str, *arguments: object, first: Path | None = None, **environ: str
) -> subprocess.CompletedProcess[str]:
    """Run a script; programs in the folder ``first`` come before all others."""
    path = [str(first or ""), str(Path(sys.executable).parent), os.environ["PATH"]]
    return subprocess.run(
        ["bash", str(EXAMPLES / name), *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": os.pathsep.join(path), "OMP_NUM_THREADS": "1", **environ},
        timeout=900,
    )


def called(name: str, arguments: list[object], folder: Path, **environ: str) -> list[str]:
    """The words that a script would give to fairseq-train."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    (programs / "fairseq-train").write_text(STUB)
    (programs / "fairseq-train").chmod(0o755)
    record = folder / "record"
    done = run_script(name, *arguments, first=programs, RECORD=str(record), **environ)
    assert done.returncode == 0, done.stderr
    return record.read_text("utf-8").splitlines()


@pytest.fixture(scope="module")
def work(commands, triples, tmp_path_factory):
    """A folder as prepare.sh leaves it, where the tiny triples are the data."""
    folder = tmp_path_factory.mktemp("work")
    for name in ("data", "distilled-data"):
        (folder / name).symlink_to(triples.data)
    return folder


def trained(commands, words: list[str], folder: Path, updates: int = 1) -> str:
    """One update by the command that a script has made; returns what it logged."""
    small = f"--max-update {updates} --batch-size 8 --num-workers 0 --cpu --log-interval 1"
    result = commands(
        ["fairseq-train", *words, *small.split(), "--save-dir", str(folder / "saved")], folder
    )
    assert result.code == 0, result.err[-2000:]
    assert re.search(r"train_inner .*num_updates=1,", result.out)
    assert (folder / "saved" / "checkpoint_last.pt").is_file()
    return result.out


# ---------------------------------------------------------------- what each script runs


@pytest.mark.parametrize(
    "system, task, arch",
    [
        ("ar", "translation", "transformer"),
        ("stock", "translation_lev", "levenshtein_transformer"),
        ("levt", "translation_edit", "levenshtein_editor"),
        ("distilled", "translation_edit", "levenshtein_editor"),
    ],
)
def test_every_system_takes_an_update(commands, work, tmp_path, system, task, arch):
    words = called("translation/train.sh", [work, system, *SHALLOW], tmp_path, TEACHER="none")
    assert words[words.index("--task") + 1] == task and words[words.index("--arch") + 1] == arch
    assert words[0] == str(work / ("distilled-data" if system == "distilled" else "data"))
    log = trained(commands, [*words, "--source-lang", "src", "--target-lang", "tgt"], tmp_path)
    assert "'loss': 'nan'" not in log and "loss=nan" not in log


def test_a_distilled_model_starts_from_its_teacher(commands, work, tmp_path):
    words = called("translation/train.sh", [work, "ar", *SHALLOW], tmp_path)
    languages = ["--source-lang", "src", "--target-lang", "tgt"]
    trained(commands, [*words, *languages], tmp_path)
    teacher = tmp_path / "saved" / "checkpoint_last.pt"
    (tmp_path / "levt").mkdir()
    words = called(
        "translation/train.sh", [work, "distilled", *SHALLOW], tmp_path, TEACHER=str(teacher)
    )
    log = trained(commands, [*words, *languages], tmp_path / "levt")
    assert f"loading pretrained model from {teacher}" in log


@pytest.mark.parametrize(
    "flags", [pytest.param(flags, id=name) for name, flags in configurations()]
)
def test_every_configuration_of_a_grid_takes_an_update(commands, work, tmp_path, flags):
    words = called("translation/train.sh", [work, "levt", *TINY, *flags], tmp_path)
    assert words[-len(flags) :] == flags
    log = trained(commands, [*words, "--source-lang", "src", "--target-lang", "tgt"], tmp_path)
    assert re.search(r"valid on .* del_nll [0-9.]+", log), "grid.sh prints this loss"


def test_the_grids_are_those_of_the_paper():
    found = {name: set(flags) for name, flags in configurations()}
    assert len(found) == len(configurations()), "two configurations of one name"
    shared = {"all", "plh-tok", "tok-del", "none"}
    assert shared == {name[6:] for name in found if name.startswith("share-")}
    assert all(name[6:] in flags for name, flags in found.items() if name.startswith("share-"))
    depths = [flags for name, flags in found.items() if name.startswith("exit-")]
    assert sorted(max(flags & {f"{n},{n}" for n in range(1, 7)}) for flags in depths) == [
        f"{n},{n}" for n in range(1, 7)
    ]
    assert "random" in found["roll-in-dae"] and "argmax" in found["roll-in-model"]


@pytest.mark.parametrize(
    "way, said",
    [
        ("scratch", {"--draft-lang", "translation_edit"}),
        ("finetuned", {"--draft-lang", "translation_edit", "--finetune-from-model"}),
        ("concat", {"--draft-lang", "translation_concat", "transformer_concat_small"}),
    ],
)
def test_every_way_of_post_editing_takes_an_update(commands, work, triples, tmp_path, way, said):
    (tmp_path / "translation").mkdir()
    words = called("post_editing/train.sh", [work, "translation", *SHALLOW], tmp_path)
    assert "--draft-lang" not in words
    words += ["--target-lang", "tgt"]
    if way == "finetuned":
        trained(commands, words, tmp_path / "translation")
    start = tmp_path / "translation" / "saved" / "checkpoint_last.pt"
    arguments = [work, way, *SHALLOW]
    if way == "finetuned":
        words = called("post_editing/train.sh", arguments, tmp_path, START=str(start))
    else:
        words = called("post_editing/train.sh", arguments, tmp_path)
    assert said <= set(words)
    log = trained(commands, [*words, "--target-lang", "tgt"], tmp_path)
    assert ("loading pretrained model from" in log) == (way == "finetuned")


# ---------------------------------------------------------------- the configuration for GPUs


def test_the_configuration_names_options_that_exist():
    assert lev_plugins.__name__, "the import registers what is looked up here"
    config = OmegaConf.load(EXAMPLES / "translation" / "config.yaml")
    for part, registered in (
        ("task", tasks.TASK_DATACLASS_REGISTRY),
        ("model", models.MODEL_DATACLASS_REGISTRY),
        ("criterion", criterions.CRITERION_DATACLASS_REGISTRY),
    ):
        known = {field.name for field in dataclasses.fields(registered[config[part]._name])}
        assert set(config[part]) <= known, part


def test_the_configuration_trains_with_hydra(commands, triples, tmp_path, root):
    overrides = [f"model.{flag[2:].replace('-', '_')}" for flag in TINY]
    overrides = [f"+{one}" for one in overrides] + [
        f"common.user_dir={root / 'lev_plugins'}",
        f"task.data={triples.data}",
        "task.source_lang=src",
        "task.target_lang=tgt",
        "task.eval_bleu=false",
        f"bpe.sentencepiece_model={tmp_path / 'spm.model'}",
        "+model.weight_sharing=plh-tok",
        "+model.early_exit='3,2'",
        "+task.roll_in_tokens=random",
        "common.cpu=true",
        "common.bf16=false",
        "optimization.max_update=1",
        "optimization.update_freq=[1]",
        "dataset.max_tokens=200",
        "dataset.num_workers=0",
        "checkpoint.best_checkpoint_metric=loss",
        "checkpoint.maximize_best_checkpoint_metric=false",
        f"checkpoint.save_dir={tmp_path / 'saved'}",
    ]
    folder = EXAMPLES / "translation"
    words = ["fairseq-hydra-train", "--config-path", str(folder), "--config-name", "config"]
    result = commands([*words, *overrides], tmp_path)
    assert result.code == 0, result.err[-2000:]
    assert (tmp_path / "saved" / "checkpoint_last.pt").is_file()


# ---------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    "name, arguments, environ, said",
    [
        ("translation/prepare.sh", (), {}, "two folders are needed"),
        ("translation/prepare.sh", ("gone", "{tmp}/w"), {}, "no folder gone"),
        ("translation/prepare.sh", ("{tmp}", "{tmp}/w"), {}, "lacks train.en train.de valid.en"),
        ("translation/prepare.sh", ("{tmp}", "{tmp}/w"), {"TARGET": "fr"}, "lacks .*test.fr"),
        ("translation/prepare.sh", ("{tmp}", "{tmp}/w"), {"VOCABULARY": "0"}, "VOCABULARY=0"),
        ("translation/train.sh", ("{tmp}",), {}, "a folder and a system are needed"),
        ("translation/train.sh", ("{tmp}", "ar"), {}, "no data in"),
        ("translation/train.sh", ("{work}", "rnn"), {}, "no system rnn: ar, stock, levt"),
        ("translation/train.sh", ("{work}", "ar"), {"UPDATES": "ten"}, "UPDATES=ten"),
        ("translation/train.sh", ("{work}", "ar"), {"SEED": "-1"}, "SEED=-1"),
        ("translation/distill.sh", (), {}, "a folder is needed"),
        ("translation/distill.sh", ("{tmp}",), {}, "no data in"),
        ("translation/distill.sh", ("{work}",), {}, "no teacher"),
        ("translation/distill.sh", ("{work}",), {"TEACHER": "gone.pt"}, "no teacher gone.pt"),
        ("translation/generate.sh", (), {}, "a folder is needed"),
        ("translation/generate.sh", ("{tmp}",), {}, "no data in"),
        ("translation/generate.sh", ("{work}",), {}, "no checkpoint in"),
        ("translation/generate.sh", ("{work}",), {"SYSTEMS": "ar x"}, "no .*/ar/checkpoint_last"),
        ("translation/generate.sh", ("{work}",), {"LATENCY": "many"}, "LATENCY=many"),
        ("translation/grid.sh", ("{work}",), {}, "a folder and a grid are needed"),
        ("translation/grid.sh", ("{work}", "sharing"), {}, "no grid sharing: weight_sharing"),
        ("translation/grid.sh", ("{tmp}", "early_exit"), {}, "no data in"),
        ("post_editing/train.sh", ("{work}", "tuned"), {}, "no way tuned: scratch, translation"),
        ("post_editing/train.sh", ("{work}", "finetuned"), {}, "no checkpoint .*translation makes"),
        ("post_editing/generate.sh", ("{work}", "tuned"), {}, "no way tuned"),
        ("post_editing/generate.sh", ("{work}", "concat"), {}, "train.sh .* concat makes one"),
        ("post_editing/generate.sh", ("{work}",), {"SUBSET": "train"}, "SUBSET=train: test or"),
        ("post_editing/synthetic.sh", ("{tmp}",), {}, "two folders and a bitext are needed"),
        ("post_editing/synthetic.sh", ("{tmp}", "b", "{tmp}/o"), {}, "lacks train.src"),
        ("post_editing/synthetic.sh", ("{tmp}", "b", "{tmp}/o"), {"TIMES": "0"}, "TIMES=0"),
        ("post_editing/weak_system.sh", ("{tmp}",), {}, "two folders are needed"),
        ("post_editing/weak_system.sh", ("{tmp}", "{tmp}/o"), {}, "no data in"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(name, arguments, environ, said, tmp_path, work):
    before = sorted(work.iterdir())
    places = [one.format(tmp=tmp_path, work=work) for one in arguments]
    done = run_script(name, *places, **environ)
    assert done.returncode == 1 and done.stdout == ""
    assert re.match(rf"error: [^\n]*({said})[^\n]*\n$", done.stderr), done.stderr
    assert list(tmp_path.iterdir()) == [] and sorted(work.iterdir()) == before


# ---------------------------------------------------------------- the whole way


def write_bitext(folder: Path, names: dict[str, int], sides: tuple[str, str]) -> None:
    """Sentences of made-up words; the target is the source in capitals."""
    draw = random.Random(3)
    words = ["".join(draw.choices("abcdefg", k=draw.randint(2, 6))) for _ in range(40)]
    folder.mkdir()
    for name, lines in names.items():
        text = "".join(
            " ".join(draw.choices(words, k=draw.randint(1, 7))) + "\n" for _ in range(lines)
        )
        (folder / f"{name}.{sides[0]}").write_text(text)
        (folder / f"{name}.{sides[1]}").write_text(text.upper())


def succeed(name: str, *arguments: object, **environ: str) -> str:
    done = run_script(name, *arguments, **environ)
    assert done.returncode == 0, f"{name}: {done.stdout[-800:]} {done.stderr[-2000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What prepare.sh makes of a bitext whose files are called as Multi30k's are."""
    folder = tmp_path_factory.mktemp("translation")
    write_bitext(folder / "data", {"train": 80, "val": 10, "test_2016_flickr": 11}, ("en", "de"))
    succeed("translation/prepare.sh", folder / "data", folder / "work", VOCABULARY="70")
    return folder / "work"


@pytest.mark.long
def test_translation_goes_the_whole_way(prepared, tmp_path):
    for system in ("ar", "stock", "levt"):
        succeed("translation/train.sh", prepared, system, *SHALLOW, UPDATES="2")
    succeed("translation/distill.sh", prepared, "--max-len-b", "20")
    distilled = (prepared / "distilled-text" / "train.de").read_text("utf-8").splitlines()
    assert len(distilled) == 80
    succeed("translation/train.sh", prepared, "distilled", *SHALLOW, UPDATES="2")
    said = succeed("translation/generate.sh", prepared, LATENCY="3")
    head, bleu = re.search(r"^(.*ar-greedy .*)\n(?:.*\n)*?(BLEU .*)\n", said, re.M).groups()
    assert head.split()[-5:] == ["ar-greedy", "ar-beam-4", "stock", "levt", "distilled"]
    assert len(bleu.split()) == 7
    assert "11 sentences" in said and "sentences:3|" in said
    again = run_script("translation/prepare.sh", tmp_path, prepared)
    assert again.returncode == 1 and "is there already" in again.stderr
    grid = tmp_path / "mine.txt"
    grid.write_text("# one of my own\nquick --weight-sharing none --placeholder-weight 2\n")
    table = succeed("translation/grid.sh", prepared, grid, "distilled", *SHALLOW, UPDATES="1")
    assert re.search(r"^deletion loss in validation, bits: [0-9.]+$", table, re.M)
    assert "distilled-quick" in table


@pytest.mark.long
def test_a_weak_system_makes_triples_of_the_second_half(prepared, tmp_path):
    small = ["--encoder-embed-dim", 16, "--encoder-hidden-size", 16]
    small += ["--decoder-embed-dim", 16, "--decoder-hidden-size", 16, "--decoder-out-embed-dim", 16]
    out = tmp_path / "triples"
    succeed("post_editing/weak_system.sh", prepared, out, *small, UPDATES="1")
    for part, count in (("train", 40), ("dev", 10), ("test", 11)):
        for side in ("src", "mt", "pe"):
            assert len((out / f"{part}.{side}").read_text("utf-8").split("\n")) == count + 1
    sources = (prepared / "text" / "train.en").read_text("utf-8").splitlines()
    assert (out / "train.src").read_text("utf-8").splitlines() == sources[40:]


@pytest.mark.long
def test_synthetic_triples_serve_every_way(prepared, tmp_path):
    real = tmp_path / "real"
    write_bitext(real, {"train": 30, "dev": 9, "test": 11}, ("src", "pe"))
    for part in ("train", "dev", "test"):
        lines = (real / f"{part}.pe").read_text("utf-8").splitlines()
        drafts = [" ".join(line.split()[1:]) for line in lines]
        (real / f"{part}.mt").write_text("".join(f"{line}\n" for line in drafts))
    triples, work = tmp_path / "triples", tmp_path / "work"
    bitext = prepared / "text" / "train"
    succeed("post_editing/synthetic.sh", real, bitext, triples, TIMES="2")
    for side in ("src", "mt", "pe"):
        lines = (triples / f"train.{side}").read_text("utf-8").splitlines()
        assert len(lines) == 2 * 30 + 80 + 30
    succeed("post_editing/prepare.sh", triples, work, VOCABULARY="90")
    for way in ("translation", "finetuned", "concat"):
        succeed("post_editing/train.sh", work, way, *SHALLOW, UPDATES="2")
        said = succeed("post_editing/generate.sh", work, way, SUBSET="valid")
        assert re.search(
            r"^9 sentences .*\nno-edit baseline .* 100.0%\npost-edited .*%$", said, re.M
        )
