"""The command predict, with checkpoints that were never trained."""

import io
import json
import sys

import pytest
from editors import LABELS
from refusals import refusal
from tables import table
from test_prediction import assert_same, save

from lev_plugins import EncT5
from lev_plugins.cli.predict import main

ODD = "one two\n\n\0 a\tb\u2028c\n👩‍👩‍👧 ☃\n" + "x" * 100_000 + "\n" + "y z " * 9 + "last"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """``<kind>.pt`` of three kinds, ``pairs.pt``, and one whose tags hold spaces."""
    models = tmp_path_factory.mktemp("saved")
    for kind in ("classification", "multilabel", "tagging"):
        save(models / f"{kind}.pt", kind)
    save(models / "pairs.pt", "classification", texts=2)
    save(models / "words.pt", "tagging", labels=["dark blue", *LABELS[1:]])
    return models


@pytest.fixture
def predict(folder, tmp_path):
    """Runs the command here, over a file: what it wrote."""

    def run(name, *more, text=ODD):
        (tmp_path / "in").write_bytes(text.encode())
        streams = ["--input", str(tmp_path / "in"), "--output", str(tmp_path / "out")]
        main(["--path", str(folder / f"{name}.pt"), *streams, *more])
        return (tmp_path / "out").read_bytes().decode()

    return run


def records(text):
    """JSON lines, whose numbers have to be 1, 2, 3 …"""
    rows = [json.loads(line) for line in text.split("\n")[:-1]]
    assert [record.pop("line") for record in rows] == list(range(1, len(rows) + 1))
    return rows


def test_pairs_are_divided_by_a_tab(predict):
    rows = records(predict("pairs", text="one\ttwo\n\t\n\tb"))
    assert [record["texts"] for record in rows] == [["one", "two"], ["", ""], ["", "b"]]


def test_a_stream_gives_the_records_of_python_and_names_what_was_cut(folder, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(ODD.encode()), "ascii"))
    main(["--path", str(folder / "multilabel.pt")])
    out, err = capsys.readouterr()
    assert "subwords: 2 lines (5, 6)" in err
    model = EncT5.from_pretrained(folder / "multilabel.pt")
    assert_same(records(out), model.predict(ODD.split("\n")))


@pytest.mark.parametrize("words, message", table("cli/refused.tsv", "predict"))
def test_a_mistake_is_told_and_nothing_is_written(words, message, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name, *more = words.split()
    files = {"text": b"a\tb\n", "pairs.tsv": b"a\tb\nc\td\te\n", "latin.txt": b"a\n\xe4\n"}
    for file, content in {**files, "empty": b""}.items():
        (tmp_path / file).write_bytes(content)
    path = folder / f"{name}.pt"
    assert message in refusal(main, "--path", path, *"--input text --output out".split(), *more)


#: with columns 4 and 5 of each word left open
CONLLU = (
    "# sent_id = 1\n1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_\n1\tdo\tdo\t{}\t{}\tA=B\t2\taux\t_\t_\n"
    "2\t10 000\t_\t{}\t{}\t_\t0\troot\t_\t_\n2.1\tto\t_\t_\t_\t_\t_\t_\t_\t_\n\n\n"
    "# sent_id = 2\n1\tgo\tgo\t{}\t{}\t_\t0\troot\t_\t_"
)


@pytest.mark.parametrize("flags, place", [("", 0), ("--label-column 5", 1)])
def test_conllu_comes_out_as_it_was_with_the_tags_of_python(predict, folder, flags, place):
    model = EncT5.from_pretrained(folder / "tagging.pt")
    first, second = model.predict_tags([["do", "10 000"], ["go"]])
    before = "AUX VB _ _ _ _".split()
    after = list(before)
    after[place::2] = [*first.tags, *second.tags]
    text, tagged = (CONLLU.format(*columns) for columns in (before, after))
    # with the ends of its lines: of all, of some, of the last
    for ends in (("\n", "\n"), ("\n", "\r\n"), ("= 2\n", "= 2\r\n")):
        for last in ("", "\n", "\n\n", "\r\n"):
            content, expected = (side.replace(*ends) + last for side in (text, tagged))
            written = predict("tagging", "--format", "conllu", *flags.split(), text=content)
            assert written == expected
