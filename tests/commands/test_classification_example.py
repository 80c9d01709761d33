"""The example that tags and classifies with EncT5: its data, scores, scripts and configurations."""

import gzip
import json
import random
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import checkpoints
import pytest
import torch
from example_scripts import modules, refusal
from hypothesis import given
from hypothesis import strategies as st
from plain_files import put
from refusals import refuses

from lev_plugins.inference.checkpoints import load_state
from lev_plugins.systems.enct5 import metrics
from lev_plugins.systems.enct5.problem_types import ProblemType

PARTS = ("train", "dev", "test")

texts, scores, prepare, evaluate = modules(
    "classification", "texts", "scores", "prepare", "evaluate"
)


def tagged(*sentences: str) -> list[object]:
    """``the/D cat/N`` → what is tagged."""
    pairs = [[word.split("/") for word in sentence.split()] for sentence in sentences]
    return [texts.Example(" ".join(w for w, _ in one), [t for _, t in one]) for one in pairs]


def one_each(labels: Sequence[str]) -> list[object]:
    return [texts.Example("text", [label]) for label in labels]


# ---------------------------------------------------------------- scores

classes = st.lists(st.tuples(*[st.integers(0, 2)] * 2), min_size=1, max_size=12)


@given(classes)
def test_classes_are_scored_as_in_training(pairs):
    found, truth = zip(*pairs)
    probabilities = torch.eye(3)[list(found)]
    sums = metrics.statistics(ProblemType.CLASSIFICATION, probabilities, torch.tensor(truth))
    wanted = metrics.summary(ProblemType.CLASSIFICATION, sums)
    got = scores.class_scores([str(one) for one in found], one_each([str(one) for one in truth]))
    assert got["accuracy"] == pytest.approx(wanted["accuracy"])
    assert got["Matthews"] == pytest.approx(wanted["mcc"], abs=1e-9)


label_sets = st.sets(st.sampled_from("abc"))


@given(st.lists(st.tuples(label_sets, label_sets), min_size=1, max_size=8))
def test_labels_are_scored_as_in_training(pairs):
    said, truth = ([[name in one for name in "abc"] for one in side] for side in zip(*pairs))
    groups = metrics.label_groups([60, 5, 0])
    sums = metrics.statistics(
        ProblemType.MULTILABEL_POOLED,
        torch.tensor(said).float(),
        torch.tensor(truth),
        groups=groups,
    )
    found = [one for one, _ in pairs]
    wanted = [texts.Example("text", sorted(one)) for _, one in pairs]
    got = scores.label_scores(found, wanted)
    assert got["micro-F1"] == pytest.approx(
        metrics.summary(ProblemType.MULTILABEL, sums)["micro_f1"]
    )
    assert got["texts right"] == pytest.approx(100 * sum(a == b for a, b in pairs) / len(pairs))


# ---------------------------------------------------------------- what needs no training


def compressed(folder: Path, name: str) -> list[str]:
    """Lines of a file that may be compressed."""
    plain = folder / name
    raw = plain.read_bytes() if plain.is_file() else gzip.open(f"{plain}.gz").read()
    return raw.decode("utf-8").removesuffix("\n").split("\n")


def test_the_known_scores_of_doing_without_training_come_out(lev_data, tmp_path):
    for part in ("train", "test"):
        for side in ("tok", "upos"):
            put(tmp_path / f"{part}.{side}", compressed(lev_data / "ud_ewt", f"{part}.{side}"))
        lines = compressed(lev_data / "multilabel", f"goemotions.{part}.tsv")
        put(tmp_path / f"{part}.tsv", lines)
    train, test = (
        list(texts.tagged(tmp_path / f"{part}.tok", tmp_path / f"{part}.upos"))
        for part in ("train", "test")
    )
    rows = evaluate.baselines(ProblemType.TAGGING, train, test)
    found = [round(row["word accuracy"], 2) for row in rows.values()]
    assert found == [86.20, 88.06] and "the same, capitals" in rows
    labels = compressed(lev_data / "multilabel", "goemotions.labels.txt")
    train, test = (list(texts.named(tmp_path / f"{p}.tsv", labels)) for p in ("train", "test"))
    row = evaluate.baselines(ProblemType.MULTILABEL, train, test)["always neutral"]
    assert round(row["micro-F1, 0.5"], 1) == 30.4
    put(tmp_path / "dev.tsv", compressed(lev_data / "glue_like", "cola.dev.tsv"))
    dev = texts.classified(tmp_path / "dev.tsv")
    row = evaluate.baselines(ProblemType.CLASSIFICATION, dev, dev)["always 1"]
    assert round(row["accuracy"], 1) == 69.1 and row["Matthews"] == 0


# ---------------------------------------------------------------- text

CONLLU = [
    "# text = We don't go",
    "1\tWe\twe\tPRON\tPRP\t_\t4\t_\t_\t_",
    "2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_",
    "2\tdo\tdo\tAUX\tVBP\t_\t4\t_\t_\t_",
    "3\tn't\tnot\tPART\tRB\t_\t4\t_\t_\t_",
    "4\tgo 10 km\tgo\tVERB\tVB\t_\t0\t_\t_\t_",
    "",
]


@pytest.mark.parametrize(
    "tags, wanted", [("upos", "PRON AUX PART VERB"), ("xpos", "PRP VBP RB VB")]
)
def test_conllu_gives_words_and_tags_and_spaces_in_words_are_told(tags, wanted, tmp_path, capsys):
    for part in PARTS:
        put(tmp_path / f"{part}.conllu", CONLLU)
    prepare.main(["tagging", str(tmp_path), str(tmp_path), "--tags", tags])
    for part in ("train", "valid", "test"):
        text = (tmp_path / f"{part}.tsv").read_text(encoding="utf-8")
        assert text == f"{wanted}\tWe do n't go_10_km\n"
    assert capsys.readouterr().err.count("1 words hold a space and got _ for it") == 3


@pytest.mark.parametrize(
    "arguments, said",
    [([], "has no data"), (["--systems", "x"], "--systems x: there is no"), ([None], "nothing is")],
)
def test_what_cannot_be_scored_is_refused(arguments, said, tmp_path):
    if arguments:
        (tmp_path / "data").mkdir()
        put(tmp_path / "kind", ["classification"])
        for part in ("train", "test"):
            put(tmp_path / "text" / f"{part}.tsv", ["1\tx"])
    with refuses(match=said):
        evaluate.main([str(tmp_path), *filter(None, arguments)])


# ---------------------------------------------------------------- scripts

SIZES = {"UPDATES": "3", "WIDTH": "16", "LAYERS": "1", "TOKENS": "400", "VOCAB": "60", "PACK": "32"}
WORDS = ("cat", "dog", "mat", "sat", "ran", "the", "a", "on")


def write_data(folder: Path, kind: str) -> Path:
    """A corpus of random words: train packed, all names behind another one."""
    draw = random.Random(3)
    for part, count in zip(PARTS, (40, 6, 7)):
        lines = [draw.choices(WORDS, k=draw.randint(1, 7)) for _ in range(count)]
        joined = [" ".join(words) for words in lines]
        if kind == "tagging":
            put(folder / f"x.{part}.tok", joined)
            tags = [" ".join(word[0].upper() for word in words) for words in lines]
            put(folder / f"x.{part}.upos", tags)
        elif kind == "multilabel":
            labels = [",".join(str(n) for n in range(4) if WORDS[n] in words) for words in lines]
            put(folder / f"x.{part}.tsv", [f"{a}\t{b}" for a, b in zip(labels, joined)])
        elif part != "test":
            put(folder / f"x.{part}.tsv", [f"{len(b) % 2}\t{b}" for b in joined])
    if kind == "multilabel":
        put(folder / "x.labels.txt", WORDS[:4])
    subprocess.run(["gzip", *map(str, folder.glob("x.train.*"))], check=True)
    return folder


@pytest.mark.slow
def test_prepare_train_and_evaluate_end_in_a_table(tmp_path, succeed):
    data, work = write_data(tmp_path / "data", "tagging"), tmp_path / "work"
    succeed("classification/prepare.sh", "tagging", data, work, "--max-length", "100", **SIZES)
    flags = ["--num-workers", "0", "--cpu"]
    succeed("classification/train.sh", work, *flags, **SIZES, RUN="deep")
    out = succeed("classification/evaluate.sh", work)
    found = json.loads((work / "output" / "scores.json").read_text(encoding="utf-8"))
    *without, name = found["systems"]
    assert len(without) == 2 and name == "tagging-deep"
    lines = len((work / "text" / "test.tsv").read_text("utf-8").splitlines())
    assert found["kind"] == "tagging" and found["test"]["examples"] == lines
    assert f"## tagging: {lines} test examples" in out and " word accuracy |" in out
    row = found["systems"][name]
    assert row["updates"] in (1, 2, 3) and row["parameters"] > 1000
    assert 0 <= row["word accuracy"] <= 100
    answers = (work / "output" / f"{name}.jsonl").read_text("utf-8").splitlines()
    assert len(answers) == lines


@pytest.mark.slow
def test_training_can_begin_with_a_bert_which_predictions_do_without(tmp_path, succeed):
    data, work = write_data(tmp_path / "data", "multilabel"), tmp_path / "work"
    bert = checkpoints.bert(tmp_path / "bert")
    flags = ["--num-workers", "0", "--cpu"]
    length = ["--max-length", str(checkpoints.PLACES)]
    succeed("classification/prepare.sh", "multilabel", data, work, *length, BERT=str(bert))
    succeed("classification/train.sh", work, *flags, UPDATES="3", TOKENS="400")
    shutil.rmtree(bert)
    succeed("classification/evaluate.sh", work)
    found = json.loads((work / "output" / "scores.json").read_text(encoding="utf-8"))
    state = load_state(str(work / "multilabel" / "checkpoint_best.pt"))
    assert state["model"]["encoder.places.weight"].shape == (checkpoints.PLACES, checkpoints.DIM)
    assert found["systems"]["multilabel"]["updates"] in (1, 2, 3)
    answers = (work / "output" / "multilabel.jsonl").read_text("utf-8").splitlines()
    assert len(answers) == found["test"]["examples"]


@pytest.mark.parametrize(
    "environ, said",
    [
        ({"T5": "bert", "BERT": "bert"}, "T5 and BERT: a model has one encoder"),
        ({"BERT": "no"}, "no folder no: give one with config.json and weights"),
        ({"BERT": "bert", "VOCAB": "9"}, "VOCAB=9: the subwords are those of bert; leave it out"),
    ],
)
def test_a_start_that_cannot_be_is_refused_before_anything_is_made(environ, said, tmp_path):
    data = write_data(tmp_path / "data", "multilabel")
    (tmp_path / "bert").mkdir()
    environ = {
        name: str(tmp_path / value) if value in ("bert", "no") else value
        for name, value in environ.items()
    }
    out = refusal("classification/prepare.sh", "multilabel", data, tmp_path / "work", **environ)
    assert said in out.replace(f"{tmp_path}/", "")
    assert not (tmp_path / "work").exists()
