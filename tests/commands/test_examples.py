"""The examples: each from its data to its table, what scripts refuse, and configurations."""

import dataclasses
import itertools
import json
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import checkpoints
import pytest
from conftest import conllu
from example_scripts import EXAMPLES, ROOT, modules, refusal
from fairseq import criterions, models, tasks
from omegaconf import OmegaConf
from plain_files import put, read

import lev_plugins
from lev_correct import Corrector, settings

SIDE = "--{0}-embed-dim=16 --{0}-ffn-embed-dim=16 --{0}-attention-heads=2 --{0}-layers=1".format
ENCODER = [*SIDE("encoder").split(), "--num-workers=0", "--disable-validation", "--cpu"]
BOTH = [*ENCODER, *SIDE("decoder").split()]
TWO = {"UPDATES": "2"}
Succeed = Callable[..., str]
LONG = pytest.mark.long


def write_text(folder: Path, parts: dict[str, int], sides: tuple[str, ...]) -> Path:
    """Sentences of made-up words: the second side in capitals, the third without its first word,
    ``noisy`` with a letter wrong; the training part is packed."""
    draw = random.Random(3)
    words = ["".join(draw.choices("abcdefg", k=draw.randint(3, 6))) for _ in range(40)]
    for part, count in parts.items():
        lines = [" ".join(draw.choices(words, k=draw.randint(1, 5))) for _ in range(count)]
        changed = {
            "de": [line.upper() for line in lines],
            "pe": [line.upper() for line in lines],
            "mt": [line.partition(" ")[2].upper() for line in lines],
            "noisy": [line.replace("a", "x", 1) for line in lines],
        }
        for side in sides:
            put(folder / f"{part}.{side}", changed.get(side, lines))
    subprocess.run(["gzip", *map(str, folder.glob("train.*"))], check=True)
    return folder


# ---------------------------------------------------------------- from the data to the table


@pytest.fixture(scope="module")
def translation(tmp_path_factory: pytest.TempPathFactory, succeed: Succeed) -> Path:
    """What prepare.sh makes of a bitext whose files are called as Multi30k's are."""
    folder = tmp_path_factory.mktemp("translation")
    parts = {"train": 80, "val": 10, "test_2016_flickr": 11}
    data = write_text(folder / "data", parts, ("en", "de"))
    succeed("translation/prepare.sh", data, folder / "work", VOCABULARY="70")
    return folder / "work"


@pytest.mark.slow
def test_levt_translates(translation, succeed):
    succeed("translation/train.sh", translation, "levt", *BOTH, **TWO)
    output = succeed("translation/evaluate.sh", translation, SYSTEMS="levt")
    assert "11 sentences" in output and re.search(r"^bleu ↑ +[\d.]+$", output, re.M), output


@LONG
def test_translation_goes_the_whole_way(translation, succeed):
    for system in ("ar", "stock", "levt"):
        succeed("translation/train.sh", translation, system, *BOTH, **TWO)
    succeed("translation/distill.sh", translation, "--max-len-b", "20")
    assert len(read(translation / "distilled-text" / "train.de")) == 80
    succeed("translation/train.sh", translation, "distilled", *BOTH, "--max-update=2", MINUTES="1")
    output = succeed("translation/evaluate.sh", translation, LATENCY="3")
    assert re.search(r"ar-greedy +ar-beam-4 +stock +levt +distilled$", output, re.M), output


@pytest.mark.slow
@pytest.mark.parametrize(
    "ways",
    [["scratch"], pytest.param(["translation", "finetuned"], marks=LONG),
     pytest.param(["concat"], marks=LONG)],
)  # fmt: skip
def test_drafts_are_post_edited(tmp_path, succeed, ways):
    parts = {"train": 40, "dev": 9, "test": 11}
    data, work = write_text(tmp_path / "data", parts, ("src", "pe", "mt")), tmp_path / "work"
    succeed("post_editing/prepare.sh", data, work, VOCABULARY="90")
    for way in ways:
        succeed("post_editing/train.sh", work, way, *BOTH, **TWO)
    flags = [] if way == "concat" else ["--iter-decode-max-iter", "2"]
    output = succeed("post_editing/evaluate.sh", work, way, *flags)
    assert "11 sentences" in output and "no-edit baseline" in output, output
    systems = json.loads((work / f"report.{way}.json").read_text())["systems"]
    assert [system["name"] for system in systems][-1] == way


@pytest.mark.slow
def test_a_denoiser_is_scored_with_and_without_a_dictionary(tmp_path, succeed):
    parts = {"train": 40, "dev": 6, "test": 8}
    data, work = write_text(tmp_path / "data", parts, ("clean",)), tmp_path / "work"
    other = put(tmp_path / "other.txt", ["one two three", "four zebra six"])
    lexicon = put(tmp_path / "words.txt", ["zebra 3", "four"])
    settings = {"WORDS": "2", "TEST_LINES": "3", "ELSEWHERE": str(other)}
    succeed("denoising/prepare.sh", data, work, **settings)
    sizes = {"WIDTH": "16", "LAYERS": "1", "RUN": "1", **TWO}
    succeed("denoising/train.sh", work, "mask,copy,generate", *ENCODER, **sizes)
    output = succeed("denoising/evaluate.sh", work, "--lexicon", lexicon, BEAM="1")
    name = "mask-copy-generate-pointer-1"
    noisy, clean = (read(work / "data" / f"test-swap.{side}") for side in ("noisy", "clean"))
    assert len(noisy) == 3 and noisy != clean
    assert "zebra" in " ".join(read(work / "data" / "test-elsewhere-swap.clean"))
    for split in ("test", "test-elsewhere"):  # three lines of each kind of noise
        systems = json.loads((work / "output" / f"{split}.json").read_text())["systems"]
        named = ["no-edit baseline", "symspellpy", name, f"{name}+lexicon"]
        assert [system["name"] for system in systems] == named
        assert len(read(work / "output" / f"{name}.{split}")) == 12
    assert re.search(r"^wrr ↑ ", output, re.M), output


KINDS = ("tagging", "multilabel", "classification")
WORDS = ("cat", "dog", "mat", "sat", "ran", "the", "a", "on")


def write_labels(folder: Path, kind: str) -> Path:
    """A corpus of random words: train packed, all names behind another one."""
    draw = random.Random(3)
    for part, count in (("train", 40), ("dev", 6), ("test", 7)):
        lines = [draw.choices(WORDS, k=draw.randint(1, 7)) for _ in range(count)]
        if kind == "tagging":
            tags = {word: word[0].upper() for word in WORDS}
            put(folder / f"x.{part}.conllu", conllu(lines, tags))
        elif (kind, part) != ("classification", "test"):
            many = [",".join(str(n) for n in range(4) if WORDS[n] in words) for words in lines]
            labels = many if kind == "multilabel" else [str(len(words) % 2) for words in lines]
            rows = [f"{label}\t{' '.join(words)}" for label, words in zip(labels, lines)]
            rows[0] = rows[0].replace("\t", '\t"the ""cat"" ') + '"'  # as CSV has it
            put(folder / f"x.{part}.tsv", rows)
    put(folder / "x.labels.txt", WORDS[:4])
    subprocess.run(["gzip", *map(str, folder.glob("x.train.*"))], check=True)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_tags_labels_and_classes_are_learnt_and_scored(kind, tmp_path, succeed):
    data, work = write_labels(tmp_path / "data", kind), tmp_path / "work"
    sizes = {"WIDTH": "16", "LAYERS": "1", "TOKENS": "400", "PACK": "32", "UPDATES": "3"}
    start: dict[str, str] = {"VOCAB": "60"}
    if kind == "multilabel":  # from a BERT, as another folder has it
        del sizes["WIDTH"], sizes["LAYERS"]
        start = {"BERT": str(checkpoints.bert(tmp_path / "bert"))}
    length = ["--max-length", str(checkpoints.PLACES)]
    succeed("classification/prepare.sh", kind, data, work, *length, **start)
    succeed("classification/train.sh", work, "--num-workers=0", "--cpu", **sizes, RUN="1")
    output = succeed("classification/evaluate.sh", work)
    systems = json.loads((work / "output" / "scores.json").read_text("utf-8"))["systems"]
    count = len(read(work / "text" / "test.tsv"))
    assert kind == "tagging" or '\tthe "cat" ' in read(work / "text" / "test.tsv")[0]
    assert f"## {kind}: {count} test examples" in output and list(systems)[-1] == f"{kind}-1"
    assert systems[f"{kind}-1"]["updates"] in (1, 2, 3)
    assert len(read(work / "output" / f"{kind}-1.jsonl")) == count
    if kind == "classification":  # of train every tenth line chooses
        assert count == 6 and len(read(work / "text" / "valid.tsv")) == 4


@pytest.mark.slow
@pytest.mark.parametrize(("words", "unit"), [("2", "window"), ("0", "word")])
def test_ocr_is_corrected_and_ranked(words, unit, tmp_path, succeed):
    parts = {"train": 40, "dev": 7, "test": 9}
    data, work = write_text(tmp_path / "data", parts, ("noisy", "clean")), tmp_path / "work"
    if unit == "word":
        subprocess.run(["gunzip", "-rq", data], check=True)
        for file in data.iterdir():
            put(file, [line.split()[0] for line in read(file)])
    spelling = "spelling_and_ocr"
    succeed(f"{spelling}/prepare_ocr.sh", data, work, WORDS=words)
    rows = [line.split("\t") for line in read(work / "lookup.tsv")]
    assert rows and all(noisy.replace("x", "a", 1) == clean for noisy, clean in rows)
    sizes = ["--encoder-embed-dim=24", "--encoder-ffn-embed-dim=16", "--disable-validation"]
    succeed(f"{spelling}/train_ocr.sh", work, "pbd", *sizes, LAYERS="1", NOISE="0.5", **TWO)
    output = succeed(f"{spelling}/evaluate_ocr.sh", work, BEAM="2", NBEST="3", DEV_LINES="5")
    systems = json.loads((work / "output" / "report.json").read_text())["systems"]
    named = ["no-edit baseline", "look-up", "symspellpy", "pbd", "pbd-ranked"]
    assert [system["name"] for system in systems] == named, output
    assert len(read(work / "output" / "dev.noisy")) == 5
    tuned = settings.read(str(work / "pbd" / settings.NAME))
    assert (tuned.unit, tuned.window) == ("window", int(words) or 1)  # with capitals, as trained
    learnt = Corrector.from_pretrained(str(work / "pbd"), settings="none")
    assert (learnt.unit, learnt.window) == (unit, int(words))


@pytest.mark.slow
def test_the_quickstart_trains_with_a_budget_of_seconds(tmp_path, commands):
    for side in ("typo", "draft", "word"):
        put(tmp_path / f"train.{side}", [f"a b c {'d' * (n % 5)}".strip() for n in range(60)])
    sides = "--source-lang typo --target-lang word --draft-lang draft --joined-dictionary"
    commands.preprocess(f"{sides} --trainpref train --destdir data", tmp_path)
    script = EXAMPLES / "spelling_and_ocr" / "train.py"
    words = "data model --minutes 0.05 --system levt -- --log-interval=1".split()
    words = [sys.executable, str(script), *words]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "--roll-in-updates" in done.stdout and "--optimizer muon" in done.stdout
    assert re.search(r"update \d+  loss [\d.]+ bits  deletions [\d.]+, places", done.stdout)
    assert (tmp_path / "model" / "checkpoint_best.pt").is_file()


def test_help_of_a_person_is_worth_something(commands, triples):
    sources, references, drafts = (
        triples.folder / f"valid.{side}" for side in ("src", "tgt", "mt")
    )
    script = f"python {EXAMPLES / 'interactive_editing' / 'simulate.py'} {triples.checkpoint}"
    command = f"{script} --sources {sources} --references {references}"
    output = commands.ok(f"{command} --drafts {drafts}", triples.folder).out
    rows = {line[:28].strip(): line[28:].split() for line in output.splitlines()}
    assert rows["no-edit baseline"][3] == rows["right words locked"][3] == "100.0%"
    assert float(rows["right words locked"][0]) > float(rows["no-edit baseline"][0])
    output = commands.ok(f"{command} --terms 1", triples.folder).out
    assert re.search(r"^1 hard terms .* 100.0%$", output, re.M)


# ---------------------------------------------------------------- what is computed by hand


def test_labels_and_classes_are_scored(tmp_path):
    (evaluate,) = modules("classification", "evaluate")
    file = put(tmp_path / "test.tsv", ["joy, anger\tx  y "])
    (example,) = evaluate.read(file, "multilabel")
    assert (example.labels, example.words) == (["joy", "anger"], ["x", "y"])
    texts = [evaluate.Example("text", labels) for labels in (["a"], ["b", "a"], ["c"], [])]
    figures = evaluate.label_scores([["a"], ["b"], ["b"], []], texts)
    assert figures == pytest.approx(
        {"micro-F1": 200 * 2 / 7, "macro-F1": 100 * 4 / 9, "texts right": 50}
    )
    assert evaluate.class_scores(["a", "b", "c"], texts[:3]) == {"accuracy": 100, "Matthews": 100}


def test_pairs_of_segments_lose_nothing_on_either_side():
    (ocr,) = modules("spelling_and_ocr", "prepare_ocr")
    segments = [" ".join(words) for words in itertools.product(["a", "bc", ""], repeat=3)]
    for noisy, clean, size in itertools.product(segments, segments[::5], (0, 1, 2)):
        pieces = ocr.paired_pieces(noisy, clean, size)
        assert " ".join(piece for piece, _ in pieces) == noisy
        assert " ".join(piece for _, piece in pieces) == clean
        assert all(len(piece.split(" ")) >= size for piece, _ in pieces[:-1])


def test_a_translation_that_cannot_be_right_gives_way():
    (distilled,) = modules("translation", "distilled")
    for beam, source, nearest, wanted in (
        (["a b", "c d"], "x y", False, "a b"),
        (["a b", "c d"], "x y", True, "c d"),
        (["", "b"], "x", True, "b"),
        (["a"] * 2, "x " * 9, False, "c d"),
        (["a"], "x " * 8, False, "a"),
        (["a " * 10], "x " * 10, False, "c d"),
    ):
        assert distilled.choose(beam, source, "c d", 10, nearest) == wanted
    assert distilled.choose(["a"], "", "c d", 10, False) == ""


# ---------------------------------------------------------------- what scripts refuse

#: a command | how its one error line begins, a regular expression
REFUSED = """
classification/prepare.sh tagging | what, from where, to where
VOCAB=few classification/prepare.sh tagging {tmp} {tmp}/work | VOCAB=few
classification/prepare.sh tagging {tmp} {tmp}/work | .* lacks train.conllu
KIND=tagging classification/train.sh {work} | KIND=tagging: .* was prepared for classification
CLEAN=tok denoising/prepare.sh {tmp} {tmp}/work | .* lacks train.tok
VARIANT=mine denoising/train.sh {work} all | VARIANT mine
denoising/evaluate.sh {work} none | no .*/none/checkpoint_last
SUBSET=train post_editing/evaluate.sh {work} | SUBSET train: give one of test
UPDATES=few spelling_and_ocr/train_ocr.sh {work} ar | UPDATES=few: give
spelling_and_ocr/make_corrector.sh de gone.txt | gone.txt: no such file
UPDATES=09 translation/train.sh {work} levt | UPDATES=09: give
TARGET=fr translation/prepare.sh {tmp} {tmp}/w | .* lacks .*test.fr
translation/train.sh {work} mine | system mine: give one of ar
TEACHER=gone.pt translation/distill.sh {work} | no teacher gone.pt
SYSTEMS=ar translation/evaluate.sh {work} | no .*/ar/checkpoint_last
classification/prepare.sh tagging {tmp} {mine} | .*/text or .*/source already exists
spelling_and_ocr/make_corrector.sh de {mine}/long.txt --work {mine} | .* is there: name
spelling_and_ocr/make_corrector.sh de {long} --misspellings gone.tsv | gone.tsv: no such
spelling_and_ocr/make_corrector.sh de {long} --misspellings {long} | .*: line 1 is not a pair
spelling_and_ocr/make_corrector.sh de {long} --ocr {long} | --ocr needs two files
spelling_and_ocr/make_corrector.sh de {long} --ocr {long} {mine}/text/train.src | .* of lines
spelling_and_ocr/make_corrector.sh de {long} --ocr {long} {long} --work {made} | .* without --ocr
campaign.sh {work} tagging | bash examples/campaign.sh
"""


@pytest.mark.parametrize("row", [row for row in REFUSED.splitlines() if row])
def test_a_script_refuses_in_one_line_and_leaves_nothing(row, tmp_path):
    command, _, message = row.partition(" | ")
    work, empty = tmp_path / "work", tmp_path / "empty"
    put(work / "kind", ["classification"])
    for file in ("dict.clean.txt", "train.src-tgt.src.idx"):
        put(work / "data" / file, [])
    empty.mkdir()
    put((own_folder := tmp_path / "mine") / "text" / "train.src", ["somebody's"])
    put(own_folder / "long.txt", ["eins zwei drei"] * 200)
    put((made := tmp_path / "made") / "names.txt", [])
    folders = {"tmp": empty, "work": work, "mine": own_folder, "long": own_folder / "long.txt"}
    folders["made"] = made
    words = command.format(**folders).split()
    environ = dict(words.pop(0).split("=") for word in list(words) if "=" in word)
    before = sorted(tmp_path.rglob("*"))
    line = refusal(*words, **environ)
    assert re.match(message, line), line
    assert sorted(tmp_path.rglob("*")) == before


def test_another_optimizer_has_a_rate_and_no_noise_is_none(tmp_path):
    (stub := put(tmp_path / "bin" / "fairseq-train", ["#!/bin/sh", 'echo "$@"'])).chmod(0o755)
    put(tmp_path / "data" / "dict.clean.txt", [])
    home = Path(sys.executable).parent  # a recipe puts nothing before an environment that is active
    environ = {"PATH": f"{stub.parent}:{home}:{ROOT}/.venv/bin:/usr/bin:/bin", "NOISE": "0.0"}
    put(tmp_path / "kind", ["tagging"])
    for words, there in (
        ("translation/train.sh {} levt --optimizer adam", "--lr 0.002"),
        ("spelling_and_ocr/train_ocr.sh {} pbd", "--task translation "),
        ("classification/train.sh {} --optimizer adam", "--kind tagging"),
    ):
        command = ["bash", *f"{EXAMPLES}/{words.format(tmp_path)}".split()]
        output = subprocess.check_output(command, env=environ, text=True)
        assert there in output and ("adam" not in words or "muon" not in output)


def test_the_campaign_runs_the_commands_of_a_row(succeed):
    listed = [line.split("\t") for line in succeed("campaign.sh").splitlines()]
    assert ["tagging", "most frequent tag"] in listed
    output = succeed("campaign.sh", "-n", "W", "tagging", "most frequent tag", DATA="my/ewt")
    assert output.splitlines()[0] == "bash examples/classification/prepare.sh tagging my/ewt W"
    rows = read(ROOT / "benchmarks" / "results.jsonl")
    present = "".join(row for row in rows if '"commit"' not in row)  # others' scripts are gone
    scripts = set(re.findall(r"(?:examples|benchmarks)/[\w/]+\.(?:sh|py)", present))
    assert scripts and all((ROOT / script).is_file() for script in scripts)


# ---------------------------------------------------------------- configurations

CONFIGS = sorted(str(path.relative_to(EXAMPLES))[:-5] for path in EXAMPLES.glob("*/config*.yaml"))


@pytest.mark.parametrize("name", CONFIGS)
def test_a_configuration_names_options_that_exist(name):
    assert lev_plugins.__name__, "the import registers what is looked up here"
    config = OmegaConf.load(EXAMPLES / f"{name}.yaml")
    for part, registered in (
        ("task", tasks.TASK_DATACLASS_REGISTRY),
        ("model", models.MODEL_DATACLASS_REGISTRY),
        ("criterion", criterions.CRITERION_DATACLASS_REGISTRY),
    ):
        known = {field.name for field in dataclasses.fields(registered[config[part]._name])}
        assert set(config[part]) <= known | {"_name"}, part
