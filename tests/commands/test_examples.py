"""The examples: each from its data to its table, and what scripts refuse."""

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
from example_scripts import EXAMPLES, ROOT, bash, module, refusal
from plain_files import put, read

from lev_correct import Corrector, settings

SIDE = "--{0}-embed-dim=16 --{0}-ffn-embed-dim=16 --{0}-attention-heads=2 --{0}-layers=1".format
ENCODER = [*SIDE("encoder").split(), "--num-workers=0", "--disable-validation", "--cpu"]
BOTH = [*ENCODER, *SIDE("decoder").split()]
TWO = {"UPDATES": "2"}
Succeed = Callable[..., str]
LONG = pytest.mark.long


def write_text(folder: Path, parts: dict[str, int], sides: str) -> Path:
    """Sentences of made-up words: ``de`` and ``pe`` in capitals, ``mt`` without the first word,
    ``noisy`` with a letter wrong; the training part is packed."""
    draw = random.Random(3)
    words = ["".join(draw.choices("abcdefg", k=draw.randint(3, 6))) for _ in range(40)]
    for part, count in parts.items():
        lines = [" ".join(draw.choices(words, k=draw.randint(1, 5))) for _ in range(count)]
        capitals = [line.upper() for line in lines]
        drafts = [line.partition(" ")[2] for line in capitals]
        noisy = [line.replace("a", "x", 1) for line in lines]
        texts = {"de": capitals, "pe": capitals, "mt": drafts, "noisy": noisy}
        for side in sides.split():
            put(folder / f"{part}.{side}", texts.get(side, lines))
    subprocess.run(["gzip", *map(str, folder.glob("train.*"))], check=True)
    return folder


def names_in(report: Path) -> list[str]:
    """Returns the names of the systems of a report."""
    return [system["name"] for system in json.loads(report.read_text("utf-8"))["systems"]]


# ---------------------------------------------------------------- from the data to the table


@pytest.fixture(scope="module")
def translation(tmp_path_factory: pytest.TempPathFactory, succeed: Succeed) -> Path:
    """Returns what prepare.sh makes of a bitext whose files are called as Multi30k's are."""
    folder = tmp_path_factory.mktemp("translation")
    data = write_text(folder / "data", {"train": 80, "val": 10, "test_2016_flickr": 11}, "en de")
    succeed("translation/prepare.sh", data, folder / "work", VOCABULARY="70")
    return folder / "work"


@pytest.mark.parametrize(
    "systems", [["levt"], pytest.param(["ar", "stock", "levt"], marks=LONG)], ids=len
)
def test_translations_are_learnt_distilled_and_scored(translation, succeed, systems):
    for system in systems:
        succeed("translation/train.sh", translation, system, *BOTH, **TWO)
    if "ar" in systems:
        succeed("translation/distill.sh", translation, "--max-len-b", "20")
        succeed(
            "translation/train.sh", translation, "distilled", *BOTH, "--max-update=2", MINUTES="1"
        )
        systems = ["ar-greedy", "ar-beam-4", "stock", "levt", "distilled"]
    named = " ".join({system.partition("-")[0]: "" for system in systems})
    output = succeed("translation/evaluate.sh", translation, SYSTEMS=named)
    assert "11 sentences" in output and re.search(r"^bleu ↑ +[\d.]+", output, re.M), output
    assert re.search(f"{' +'.join(systems)}$", output, re.M), output


@pytest.mark.parametrize(
    "ways",
    [["scratch"], pytest.param(["translation", "finetuned"], marks=LONG),
     pytest.param(["concat"], marks=LONG)],
)  # fmt: skip
def test_drafts_are_post_edited(tmp_path, succeed, ways):
    data = write_text(tmp_path / "data", {"train": 40, "dev": 9, "test": 11}, "src pe mt")
    succeed("post_editing/prepare.sh", data, work := tmp_path / "work", VOCABULARY="90")
    for way in ways:
        succeed("post_editing/train.sh", work, way, *BOTH, **TWO)
    flags = [] if way == "concat" else ["--iter-decode-max-iter", "2"]
    output = succeed("post_editing/evaluate.sh", work, way, *flags)
    assert "11 sentences" in output and "no-edit baseline" in output, output
    assert names_in(work / f"report.{way}.json")[-1] == way


def test_a_denoiser_is_scored_with_and_without_a_dictionary(tmp_path, succeed):
    data = write_text(tmp_path / "data", {"train": 40, "dev": 6, "test": 8}, "clean")
    other = put(tmp_path / "other.txt", ["one two three", "four zebra six"])
    lexicon, work = put(tmp_path / "words.txt", ["zebra 3", "four"]), tmp_path / "work"
    settings = {"WORDS": "2", "TEST_LINES": "3", "ELSEWHERE": str(other)}
    succeed("denoising/prepare.sh", data, work, **settings)
    noisy, clean = (read(work / "data" / f"test-swap.{side}") for side in ("noisy", "clean"))
    assert len(noisy) == 3 and noisy != clean
    sizes = {"WIDTH": "16", "LAYERS": "1", "RUN": "1", **TWO}
    succeed("denoising/train.sh", work, "mask,copy,generate", *ENCODER, **sizes)
    succeed("denoising/evaluate.sh", work, "--lexicon", lexicon, BEAM="1")
    name = "mask-copy-generate-pointer-1"
    for split in ("test", "test-elsewhere"):  # three lines of each kind of noise
        named = ["no-edit baseline", "symspellpy", name, f"{name}+lexicon"]
        assert names_in(work / "output" / f"{split}.json") == named
        assert len(read(work / "output" / f"{name}.{split}")) == 12


WORDS = ("cat", "dog", "mat", "sat", "ran", "the", "a", "on")


def write_labels(folder: Path, kind: str) -> Path:
    """A corpus of random words: train packed, the first text of a TSV quoted as CSV has it."""
    draw = random.Random(3)
    for part, count in (("train", 40), ("dev", 6), ("test", 7)):
        lines = [draw.choices(WORDS, k=draw.randint(1, 7)) for _ in range(count)]
        if kind == "tagging":
            put(folder / f"x.{part}.conllu", conllu(lines, {word: word[0] for word in WORDS}))
        elif (kind, part) != ("classification", "test"):
            many = [",".join(str(n) for n in range(4) if WORDS[n] in words) for words in lines]
            labels = many if kind == "multilabel" else [str(len(words) % 2) for words in lines]
            texts = ['"the ""cat"" a"', *map(" ".join, lines[1:])]
            put(folder / f"x.{part}.tsv", map("\t".join, zip(labels, texts, strict=True)))
    put(folder / "x.labels.txt", WORDS[:4])
    subprocess.run(["gzip", *map(str, folder.glob("x.train.*"))], check=True)
    return folder


@pytest.mark.parametrize(
    ("kind", "count"), [("tagging", 7), ("multilabel", 7), ("classification", 6)]
)
def test_tags_labels_and_classes_are_learnt_and_scored(kind, count, tmp_path, succeed):
    """A corpus of classes has no test labels: its dev part is the test set."""
    data, work = write_labels(tmp_path / "data", kind), tmp_path / "work"
    start = {"VOCAB": "60"}
    sizes = {"WIDTH": "16", "LAYERS": "1"}
    if kind == "multilabel":  # from a BERT
        start, sizes = {"BERT": str(checkpoints.bert(tmp_path / "bert"))}, {}
    sizes |= {"TOKENS": "400", "PACK": "32", "UPDATES": "3", "RUN": "1"}
    length = ["--max-length", str(checkpoints.PLACES)]
    succeed("classification/prepare.sh", kind, data, work, *length, **start)
    succeed("classification/train.sh", work, "--num-workers=0", "--cpu", **sizes)
    output = succeed("classification/evaluate.sh", work)
    assert f"## {kind}: {count} test examples" in output
    texts = read(work / "text" / "test.tsv")
    assert len(texts) == count and (kind == "tagging" or texts[0].endswith('\tthe "cat" a'))
    scores = json.loads((work / "output" / "scores.json").read_text("utf-8"))["systems"]
    assert list(scores) == ["baseline", f"{kind}-1"]
    assert len(read(work / "output" / f"{kind}-1.jsonl")) == count


@pytest.mark.parametrize(("words", "unit"), [("2", "window"), ("0", "word")])
def test_ocr_is_corrected_and_ranked(words, unit, tmp_path, succeed):
    parts, work = {"train": 40, "dev": 7, "test": 9}, tmp_path / "work"
    data = write_text(tmp_path / "data", parts, "noisy clean")
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
    succeed(f"{spelling}/evaluate_ocr.sh", work, BEAM="2", NBEST="3", DEV_LINES="5")
    named = ["no-edit baseline", "look-up", "symspellpy", "pbd", "pbd-ranked"]
    assert names_in(work / "output" / "report.json") == named
    assert len(read(work / "output" / "dev.noisy")) == 5
    tuned = settings.read(str(work / "pbd" / settings.NAME))
    assert (tuned.unit, tuned.window) == ("window", int(words) or 1)  # with capitals, as trained
    learnt = Corrector.from_pretrained(str(work / "pbd"), settings="none")
    assert (learnt.unit, learnt.window) == (unit, int(words))


def test_the_quickstart_trains_with_a_budget_of_seconds(tmp_path, commands):
    for side in ("typo", "draft", "word"):
        put(tmp_path / f"train.{side}", [f"a b c {'d' * (n % 5)}".strip() for n in range(60)])
    sides = "--source-lang typo --target-lang word --draft-lang draft --joined-dictionary"
    commands.preprocess(f"{sides} --trainpref train --destdir data", tmp_path)
    words = "train.py data model --minutes 0.05 --system levt -- --log-interval=1".split()
    words[0] = str(EXAMPLES / "spelling_and_ocr" / words[0])
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, cwd=tmp_path, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "--roll-in-updates" in done.stdout and "--optimizer muon" in done.stdout
    assert re.search(r"update \d+  loss [\d.]+ bits  deletions [\d.]+, places", done.stdout)
    assert (tmp_path / "model" / "checkpoint_best.pt").is_file()


def test_help_of_a_person_is_worth_something(commands, triples):
    script = EXAMPLES / "interactive_editing" / "simulate.py"
    files = "--sources valid.src --references valid.tgt"
    command = f"python {script} {triples.checkpoint} {files}"
    output = commands.ok(f"{command} --drafts valid.mt", triples.folder).out
    rows = {line[:28].strip(): line[28:].split() for line in output.splitlines()}
    assert rows["no-edit baseline"][3] == rows["right words locked"][3] == "100.0%"
    assert float(rows["right words locked"][0]) > float(rows["no-edit baseline"][0])
    output = commands.ok(f"{command} --terms 1", triples.folder).out
    assert re.search(r"^1 hard terms .* 100.0%$", output, re.M)


# ---------------------------------------------------------------- what is computed by hand


def test_labels_and_classes_are_scored(tmp_path):
    evaluate = module("classification", "evaluate")
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
    ocr = module("spelling_and_ocr", "prepare_ocr")
    segments = [" ".join(words) for words in itertools.product(["a", "bc", ""], repeat=3)]
    for noisy, clean, size in itertools.product(segments, segments[::5], (0, 1, 2)):
        pieces = ocr.paired_pieces(noisy, clean, size)
        assert " ".join(piece for piece, _ in pieces) == noisy
        assert " ".join(piece for _, piece in pieces) == clean
        assert all(len(piece.split(" ")) >= size for piece, _ in pieces[:-1])


def test_a_translation_that_cannot_be_right_gives_way():
    distilled = module("translation", "distilled")
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


@pytest.mark.parametrize("row", REFUSED.strip().splitlines())
def test_a_script_refuses_in_one_line_and_leaves_nothing(row, tmp_path):
    command, _, message = row.partition(" | ")
    folders = {name: tmp_path / name for name in ("tmp", "work", "mine", "made")}
    folders["tmp"].mkdir()
    files = ("work/data/dict.clean.txt", "work/data/train.src-tgt.src.idx", "made/names.txt")
    for file in files:
        put(tmp_path / file, [])
    put(folders["work"] / "kind", ["classification"])
    put(folders["mine"] / "text" / "train.src", ["somebody's"])
    long = put(folders["mine"] / "long.txt", ["eins zwei drei"] * 200)
    words = command.format(**folders, long=long).split()
    environ = dict(words.pop(0).split("=") for word in list(words) if "=" in word)
    before = sorted(tmp_path.rglob("*"))
    line = refusal(*words, **environ)
    assert re.match(message, line), line
    assert sorted(tmp_path.rglob("*")) == before


#: a recipe | a flag that it passes on, among its own
PASSED_ON = """
translation/train.sh {} levt --optimizer adam | --lr 0.002
spelling_and_ocr/train_ocr.sh {} pbd | --task translation
classification/train.sh {} --optimizer adam | --kind tagging
"""


@pytest.mark.parametrize("row", PASSED_ON.strip().splitlines())
def test_another_optimizer_has_a_rate_and_no_noise_is_none(row, tmp_path):
    command, expected = row.format(tmp_path).split(" | ")
    (stub := put(tmp_path / "bin" / "fairseq-train", ["#!/bin/sh", 'echo "$@"'])).chmod(0o755)
    put(tmp_path / "data" / "dict.clean.txt", [])
    put(tmp_path / "kind", ["tagging"])
    done = bash(f"{EXAMPLES}/{command}".split(), stub.parent, NOISE="0.0")
    assert f"{expected} " in done.stdout
    assert ("--optimizer muon" in done.stdout) != ("adam" in command)


def test_the_campaign_runs_the_commands_of_a_row(succeed):
    listed = [line.split("\t") for line in succeed("campaign.sh").splitlines()]
    assert ["tagging", "most frequent tag"] in listed
    output = succeed("campaign.sh", "-n", "W", "tagging", "most frequent tag", DATA="my/ewt")
    assert output.splitlines()[0] == "bash examples/classification/prepare.sh tagging my/ewt W"
    rows = read(ROOT / "benchmarks" / "results.jsonl")
    present = "".join(row for row in rows if '"commit"' not in row)  # others' scripts are gone
    scripts = set(re.findall(r"(?:examples|benchmarks)/[\w/]+\.(?:sh|py)", present))
    assert scripts and all((ROOT / script).is_file() for script in scripts)
