"""The command enct5_predict, with real checkpoints and with ones that were never trained."""

import json
import random
import re
import shutil
from collections import Counter

import pytest
from test_prediction import LABELS, LIMIT, metadata, save

from lev_plugins import EncT5, UserError
from lev_plugins.cli import enct5_prepare
from lev_plugins.cli.enct5_predict import main
from lev_plugins.systems.enct5.problem_types import KINDS

ODD = "one two\n\n\0 a\tb\u2028c\n👩‍👩‍👧 ☃\n" + "x" * 100_000 + "\n" + "y z " * 9 + "last"
COUNT = ODD.count("\n") + 1


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
    words = ["python", "-m", "lev_plugins.cli.enct5_predict", "--path", str(path), *more.split()]
    return commands(words, cwd or path.parent, stdin=stdin)


def records(text):
    """JSON lines, whose numbers have to be 1, 2, 3 …"""
    found = [json.loads(line) for line in text.split("\n")[:-1]]
    assert [record.pop("line") for record in found] == list(range(1, len(found) + 1))
    return found


def assert_same(one, other):
    """The same records; scores may differ in their last digits."""
    for first, second in zip(one, other, strict=True):
        for name in ("score", "scores", "value"):
            pair = first.get(name, 0), second.get(name, 0)
            assert pair[0] == pytest.approx(pair[1], abs=1e-5)
        scored = ("score", "scores", "value", "top")
        assert {**first, **dict.fromkeys(scored)} == {**second, **dict.fromkeys(scored)}


# trained ------------------------------------------------------------------------------------

MODEL = (
    "--arch enct5_tiny --encoder-embed-dim 32 --encoder-ffn-embed-dim 64 --encoder-layers 1 "
    "--encoder-attention-heads 2 --attention-head-dim 16 --criterion enct5 --optimizer adam "
    "--lr 0.01 --batch-size 32 --max-update 60 --num-workers 0 --cpu --no-epoch-checkpoints"
)


def trained(commands, folder, kind, label):
    """A folder with a model in ``ck``, and what fairseq-validate says of it: metric → value.

    ``valid.tsv`` holds what is right, a tab, and letters with spaces between them.
    """
    draw = random.Random(7)
    for split, length in (("train", 192), ("valid", 40)):
        texts = [draw.choices("abcdef", k=draw.randint(1, 6)) for _ in range(length)]
        lines = [f"{label(draw, words)}\t{' '.join(words)}\n" for words in texts]
        (folder / f"{split}.tsv").write_text("".join(lines))
    files = [word for s in ("train", "valid") for word in (f"--{s}", str(folder / f"{s}.tsv"))]
    enct5_prepare.main(["--kind", kind, "--bytes", *files, "--destdir", str(folder / "data")])
    commands.done(f"fairseq-train data {MODEL} --save-dir ck", folder, task="enct5")
    command = "fairseq-validate data --path ck/checkpoint_best.pt --batch-size 4 --cpu"
    return scored(commands, command, folder)


def scored(commands, command, folder):
    """What fairseq-validate says of one set: metric → value; ``said LABEL`` → how often."""
    log = commands.done(command, folder, task="enct5").out
    (told,) = re.findall(r"valid on '\w+' subset \| (.*)", log)
    said = re.findall(r"^(?: +\d+\.\d\d){3} +\d+ +(\d+)  (.*)$", log, re.MULTILINE)
    pairs = [one.split(" ") for one in told.split(" | ")]
    return {name: float(value) for name, value in pairs} | {
        f"said {label}": int(count) for count, label in said
    }


def rows(folder, split="valid"):
    return [line.split("\t") for line in (folder / f"{split}.tsv").read_text().splitlines()]


def test_the_tags_are_those_that_validation_counts(commands, tmp_path):
    """From standard input to standard output, with nothing but the checkpoint there."""
    told = trained(commands, tmp_path, "tagging", lambda _, words: " ".join(words).upper())
    shutil.rmtree(tmp_path / "data")
    text = "".join(f"{words}\n" for _, words in rows(tmp_path))
    done = started(commands, tmp_path / "ck", stdin=text)
    assert done.code == 0, done.err
    assert done.err.startswith("40 lines in ")
    wanted = [tags.split() for tags, _ in rows(tmp_path)]
    found = [record["tags"] for record in records(done.out)]
    assert list(map(len, found)) == list(map(len, wanted))
    pairs = [pair for one, tags in zip(found, wanted) for pair in zip(one, tags)]
    right = sum(tag == one for tag, one in pairs) / len(pairs)
    assert 100 * right == pytest.approx(told["word_accuracy"], abs=0.01)
    assert right > 0.6, "too little was learnt to tell tags apart"


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
    command = "fairseq-validate data --path ck/checkpoint_best.pt --batch-size 4 --cpu"
    other = scored(commands, f"{command} --valid-subset train", tmp_path)
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
        if not more:
            of_split = told if split == "valid" else other
            said = Counter(label for one in found for label in one)
            assert {label: of_split[f"said {label}"] for label in "abc"} == said
    assert told["micro_f1_tuned"] > told["micro_f1"] + 3, "any threshold is as good"


# records ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_every_line_has_a_record_of_its_kind(predict, folder, kind):
    keys = {
        "classification": ["text", "label", "score", "cut"],
        "regression": ["text", "value", "cut"],
        "multilabel": ["text", "labels", "scores", "cut"],
        "multilabel_pooled": ["text", "labels", "scores", "cut"],
        "tagging": ["words", "tags", "scores", "windows", "cut"],
    }
    out, err = predict(kind)
    found = records(out)
    assert len(found) == COUNT and {tuple(record) for record in found} == {tuple(keys[kind])}
    model = EncT5.from_pretrained(str(folder / f"{kind}.pt"))
    answer = model.predict_tags if kind == "tagging" else model.predict
    assert_same(found, [one.to_dict() for one in answer(ODD.split("\n"))])
    assert err.splitlines()[-1].startswith(f"{COUNT} lines in ")


def test_what_was_not_read_at_once_is_told(predict):
    out, err = predict("tagging")
    longer = f"longer than {LIMIT} subwords"
    told = [f"{longer}, read in several windows: 1 line (6)"]
    told.append(f"{longer}, cut off: 1 line (5)")
    assert err.splitlines()[:-1] == told
    assert [record["windows"] for record in records(out)] == [1, 0, 1, 1, 1, 2]
    told = [f"{longer}, cut off: 2 lines (5, 6)"]
    assert predict("classification")[1].splitlines()[:-1] == told
    assert "longer" not in predict("classification", text="a\n")[1]


@pytest.mark.parametrize("kind", KINDS)
def test_tsv_is_an_answer_and_its_score(predict, kind):
    only = [] if kind == "regression" else ["--labels", "red,green,blue,grey"]
    lines = predict(kind, "--format", "tsv", *only)[0].split("\n")[:-1]
    sign = " " if kind == "tagging" else ","
    for line, record in zip(lines, records(predict(kind, *only)[0]), strict=True):
        if kind == "regression":
            assert float(line) == record["value"]
            continue
        names, scored = line.split("\t")
        if kind == "classification":
            assert (names, float(scored)) == (record["label"], record["score"])
            continue
        assert names == sign.join(record["tags" if kind == "tagging" else "labels"])
        assert [float(one) for one in scored.split(sign) if one] == record["scores"]


def test_pairs_are_divided_by_a_tab(predict, folder):
    found = records(predict("pairs", text="one\ttwo\n\t\n\tb\ntwo\tone")[0])
    assert [record["texts"] for record in found[:3]] == [["one", "two"], ["", ""], ["", "b"]]
    model = EncT5.from_pretrained(str(folder / "pairs.pt"))
    assert_same(found, [one.to_dict() for one in model.predict([r["texts"] for r in found])])
    assert found[0]["score"] != found[3]["score"], "the order of the texts is lost"


def test_options_change_what_is_listed_and_not_the_scores(predict):
    whole = records(predict("classification", "--top-k", "5")[0])
    for record in whole:
        assert len(record["top"]) == 5
        assert {name: record[name] for name in ("label", "score")} == record["top"][0]
    few = records(predict("classification", "--top-k", "9", "--labels", "dark blue,red")[0])
    for record, other in zip(few, whole, strict=True):
        wanted = [one for one in other["top"] if one["label"] in ("dark blue", "red")]
        assert record["top"] == wanted and record["label"] == wanted[0]["label"]
    top = records(predict("tagging", "--top-k", "2")[0])
    assert all([len(word) for word in one["top"]] == [2] * len(one["words"]) for one in top)


def test_streams_and_batches_change_nothing(commands, predict, folder):
    wanted, err = predict("multilabel")
    assert " written to " in err
    more = "--batch-tokens 30"
    done = started(commands, folder / "multilabel.pt", more)
    assert done.code == 0 and " written to " not in done.err
    assert_same(records(done.out), records(wanted))
    assert started(commands, folder / "multilabel.pt", stdin="").out == ""


# mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, more, message",
    [
        ("gone", "", "gone.pt does not exist"),
        ("pairs", "--input pairs.tsv", "pairs.tsv: line 2: 2 tabs; the model was trained on"),
        ("tagging", "--input latin.txt", "latin.txt: line 2, byte offset 2: 0xe4 is not valid"),
        ("tagging", "--input none.txt", "none.txt: cannot be read"),
        ("tagging", "--threshold 0.5", "--threshold 0.5: the model tags words"),
        ("multilabel", "--threshold 50", "threshold 50.0: must be between 0 and 1"),
        ("multilabel", "--labels red,pink", "the model knows no 'pink'; it has red"),
        ("tagging", "--top-k 0", "--top-k 0: must be 1 or more"),
        ("tagging", "--top-k 2 --format tsv", "--top-k 2: a line of TSV has one answer"),
        ("tagging", "--batch-tokens 0", "--batch-tokens 0: must be 1 or more"),
        ("tagging", "--format tsv", "the label 'dark blue' holds what stands between"),
        ("signs", "--format tsv", "--format tsv: the label 'a,b' holds what stands"),
        ("tagging", "--output none/out", "none/out: cannot be written"),
        ("tagging", "--input latin.txt --output latin.txt", "--output would write over --input"),
    ],
)
def test_a_mistake_is_told_and_nothing_is_written(
    folder, tmp_path, monkeypatch, name, more, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("a\tb\n")
    (tmp_path / "pairs.tsv").write_text("a\tb\nc\td\te\n")
    (tmp_path / "latin.txt").write_bytes(b"a\n\xe4\n")
    before = sorted(tmp_path.iterdir())
    words = ["--path", str(folder / f"{name}.pt"), "--input", "text", "--output", "out"]
    with pytest.raises(UserError) as caught:
        main([*words, *more.split()])
    assert message in str(caught.value)
    assert sorted(tmp_path.iterdir()) == before


def test_it_is_one_line_and_a_status(commands, folder, tmp_path):
    for name, stdin, message in (
        ("tagging", b"a\n\xff\n", "stdin: line 2: byte 1 of the line is not valid UTF-8"),
        ("pairs", b"a\tb\na\n", "stdin: line 2: 0 tabs; the model was trained on pairs"),
    ):
        done = started(commands, folder / f"{name}.pt", "--output out", stdin, tmp_path)
        assert message in done.error and done.out == ""
        assert list(tmp_path.iterdir()) == []
