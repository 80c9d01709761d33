"""The command predict, with real checkpoints and with ones that were never trained."""

import json
import random
import re

import pytest
from enct5_corpus import MODEL, TRAINING
from refusals import refusal
from test_prediction import LABELS, LIMIT, assert_same, metadata, save

from lev_plugins import EncT5
from lev_plugins.cli import enct5_prepare
from lev_plugins.cli.predict import main
from lev_plugins.systems.enct5.problem_types import KINDS

ODD = "one two\n\n\0 a\tb\u2028c\n👩‍👩‍👧 ☃\n" + "x" * 100_000 + "\n" + "y z " * 9 + "last"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """``<kind>.pt`` of each kind, ``pairs.pt``, and a checkpoint of labels that hold signs."""
    made = tmp_path_factory.mktemp("saved")
    for kind in KINDS:
        save(made / f"{kind}.pt", kind)
    save(made / "pairs.pt", "classification", metadata("classification", texts=2))
    signs = metadata("multilabel")
    signs.labels = ["a,b", "c d", *LABELS[:3]]
    save(made / "signs.pt", "multilabel", signs)
    plain = metadata("tagging")
    plain.labels = ["red", "green", "blue", "grey", "dark"]
    save(made / "plain.pt", "tagging", plain)
    return made


@pytest.fixture
def predict(folder, tmp_path, capsys):
    """Runs the command here, over a file: what it wrote and what it told."""

    def run(name, *more, text=ODD):
        (tmp_path / "in").write_text(text)
        streams = ["--input", str(tmp_path / "in"), "--output", str(tmp_path / "out")]
        main(["--path", str(folder / f"{name}.pt"), *streams, *more])
        return (tmp_path / "out").read_text(), capsys.readouterr().err

    return run


def started(commands, path, more="", stdin=ODD, cwd=None):
    """Runs the command in a process of its own, over its streams."""
    words = ["python", "-m", "lev_plugins", "predict", "--path", str(path), *more.split()]
    return commands(words, cwd or path.parent, stdin=stdin)


def records(text):
    """JSON lines, whose numbers have to be 1, 2, 3 …"""
    found = [json.loads(line) for line in text.split("\n")[:-1]]
    assert [record.pop("line") for record in found] == list(range(1, len(found) + 1))
    return found


# trained ------------------------------------------------------------------------------------


def rows(folder, split="valid"):
    return [line.split("\t") for line in (folder / f"{split}.tsv").read_text().splitlines()]


def trained(commands, folder, kind, label):
    """A folder with a model in ``ck``; ``valid.tsv`` holds what is right, a tab, and letters."""
    draw = random.Random(7)
    for split, length in (("train", 192), ("valid", 40)):
        texts = [draw.choices("abcdef", k=draw.randint(1, 6)) for _ in range(length)]
        lines = [f"{label(draw, words)}\t{' '.join(words)}\n" for words in texts]
        (folder / f"{split}.tsv").write_text("".join(lines))
    files = [word for s in ("train", "valid") for word in (f"--{s}", str(folder / f"{s}.tsv"))]
    enct5_prepare.main(["--kind", kind, "--bytes", *files, "--destdir", str(folder / "data")])
    flags = f"{MODEL} --criterion enct5 {TRAINING} --max-update 60 --save-dir ck"
    commands.done(f"fairseq-train data {flags}", folder, task="enct5")
    return scored(commands, folder)


def scored(commands, folder, split="valid"):
    """What fairseq-validate says of one set: metric → value."""
    command = "fairseq-validate data --path ck/checkpoint_best.pt --batch-size 4 --cpu"
    log = commands.done(f"{command} --valid-subset {split}", folder, task="enct5").out
    (told,) = re.findall(r"valid on '\w+' subset \| (.*)", log)
    return {name: float(value) for name, value in (one.split(" ") for one in told.split(" | "))}


def micro_f1(found, wanted):
    """In percent, over all labels of all texts."""
    both = sum(len(one & other) for one, other in zip(found, wanted))
    return 100 * 2 * both / sum(len(one) for one in [*found, *wanted])


def some_labels(draw, words):
    """Some of the letters that are there, so that scores are low and the best threshold is too."""
    return ",".join(one for one in "abc" if one in words and draw.random() < 0.4)


def test_labels_hold_above_the_threshold_of_the_validation_on_any_set(commands, predict, tmp_path):
    """On another set too, and not above the threshold that would be best there."""
    told = trained(commands, tmp_path, "multilabel", some_labels)
    other = scored(commands, tmp_path, "train")
    assert other["threshold"] == told["threshold"]
    for split, more, wanted in (
        ("valid", [], told["micro_f1_tuned"]),
        ("valid", ["--threshold", "0.5"], told["micro_f1"]),
        ("train", [], other["micro_f1_tuned"]),
    ):
        text = "".join(f"{words}\n" for _, words in rows(tmp_path, split))
        out, _ = predict(tmp_path / "ck" / "checkpoint_best", *more, text=text)
        found = [set(record["labels"]) for record in records(out)]
        right = [set(labels.split(",")) - {""} for labels, _ in rows(tmp_path, split)]
        assert micro_f1(found, right) == pytest.approx(wanted, abs=0.01)
    assert told["micro_f1_tuned"] > told["micro_f1"] + 3, "any threshold is as good"


# records ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [one for one in KINDS if one != "tagging"] + ["plain"])
def test_every_line_has_the_record_and_the_line_of_tsv_that_python_gives(predict, folder, name):
    model = EncT5.from_pretrained(str(folder / f"{name}.pt"))
    kind = model.kind.value
    answer = model.predict_tags if kind == "tagging" else model.predict
    wanted = answer(ODD.split("\n"))
    out, err = predict(name)
    found = records(out)
    assert [list(one) for one in found] == [list(one.to_dict()) for one in wanted]
    assert_same(found, wanted)
    lines = predict(name, "--format", "tsv")[0].split("\n")[:-1]
    sign = " " if kind == "tagging" else ","
    for line, record in zip(lines, found, strict=True):
        if kind == "regression":
            assert float(line) == record["value"]
            continue
        names, scores = line.split("\t")
        several = record.get("tags", record.get("labels"))
        assert names == (record["label"] if several is None else sign.join(several))
        numbers = [record["score"]] if several is None else record["scores"]
        assert [float(one) for one in scores.split(sign) if one] == numbers


def test_what_was_not_read_at_once_is_told(predict):
    out, err = predict("tagging")
    assert err.startswith(f"longer than {LIMIT} subwords, cut off: 1 line (5)\n")
    assert [record["windows"] for record in records(out)] == [1, 0, 1, 1, 1, 2]
    assert "longer" not in predict("classification", text="a\n")[1]


def test_pairs_are_divided_by_a_tab(predict):
    found = records(predict("pairs", "--top-k", "9", text="one\ttwo\n\t\n\tb\ntwo\tone")[0])
    assert [record["texts"] for record in found[:3]] == [["one", "two"], ["", ""], ["", "b"]]
    assert found[0]["score"] != found[3]["score"], "the order of the texts is lost"
    assert all(len(record["top"]) == len(LABELS) for record in found)


def test_streams_and_batches_change_nothing(commands, predict, folder):
    wanted, err = predict("multilabel")
    assert " written to " in err
    done = started(commands, folder / "multilabel.pt")
    assert done.code == 0 and " written to " not in done.err
    assert_same(records(done.out), records(wanted))
    assert started(commands, folder / "multilabel.pt", stdin="").out == ""


# mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, more, said",
    [
        ("gone", "", "gone.pt"),
        ("pairs", "--input pairs.tsv", "pairs.tsv: line 2"),
        ("tagging", "--input latin.txt", "latin.txt: line 2"),
        ("tagging", "--input none.txt", "none.txt"),
        ("tagging", "--threshold 0.5", "threshold"),
        ("multilabel", "--threshold 50", "threshold 50.0"),
        ("tagging", "--top-k 0", "--top-k 0"),
        ("tagging", "--top-k 2 --format tsv", "--top-k 2"),
        ("tagging", "--format tsv", "'dark blue'"),
        ("signs", "--format tsv", "'a,b'"),
        ("tagging", "--output none/out", "none/out"),
        ("tagging", "--input latin.txt --output latin.txt", "--output"),
    ],
)
def test_a_mistake_is_told_and_nothing_is_written(folder, tmp_path, monkeypatch, name, more, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("a\tb\n")
    (tmp_path / "pairs.tsv").write_text("a\tb\nc\td\te\n")
    (tmp_path / "latin.txt").write_bytes(b"a\n\xe4\n")
    words = ["--path", folder / f"{name}.pt", "--input", "text", "--output", "out"]
    assert said in refusal(main, *words, *more.split())


def test_it_is_one_line_and_a_status(commands, folder, tmp_path):
    for name, stdin in (("tagging", b"a\n\xff\n"), ("pairs", b"a\tb\na\n")):
        done = started(commands, folder / f"{name}.pt", "--output out", stdin, tmp_path)
        assert done.error.startswith("standard input: line 2") and done.out == ""
        assert list(tmp_path.iterdir()) == []
