"""Labelled text to EncT5's data: every line arrives, or one line says why none does."""

import itertools
import shutil
from pathlib import Path

import checkpoints
import pytest
from refusals import files, refusal
from tables import table

from lev_plugins.cli.enct5_prepare import main
from lev_plugins.systems.enct5.dataset import Metadata, read_column
from lev_plugins.systems.enct5.prepare import train_tokenizer
from lev_plugins.systems.enct5.problem_types import values_of

WORDS = ["one", "two", "three", "four", "five", "six", "seven"]
TEXTS = [" ".join(pair) for pair in itertools.permutations(WORDS, 2)]
TSV = "".join(f"{'odd' if i % 2 else 'even'}\t{text}\n" for i, text in enumerate(TEXTS))
CONLLU = """# newpar
# text = don't go
1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tdo\tdo\tAUX\tVB\t_\t3\taux\t_\t_
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_
2.1\tto\tto\tPART\tTO\t_\t_\t_\t_\t_
3\tgo\tgo\tVERB\tVB\t_\t0\troot\t_\t_

1\t10 000\t10000\tNUM\tCD\t_\t0\troot\t_\t_
2\t#\t#\tSYM\tNN\t_\t1\tdep\t_\t_

"""


class Folder:
    """A folder with text, and what the command makes of it, in bytes unless told otherwise."""

    def write(self, **files: str) -> None:
        for name, content in files.items():
            Path(name).write_bytes(content.encode("utf-8", "surrogateescape"))

    def prepare(self, kind: str, flags: str = "", pieces: str = "--bytes") -> None:
        """Runs the command over train."""
        main(f"--kind {kind} --train train --destdir data {pieces} {flags}".split())

    def description(self) -> Metadata:
        return Metadata.from_folder("data")

    def column(self, name: str, split: str = "train") -> list[list[int]]:
        """``pieces``, ``labels`` or ``spans`` of a split."""
        return [row.tolist() for row in read_column(f"data/{split}.{name}")]

    def names(self, split: str = "train") -> str:
        known = self.description().labels
        rows = self.column("labels", split)
        return "".join(" ".join(known[label] for label in row) + ";" for row in rows)

    def texts(self) -> str:
        """The texts again, of bytes, ``</s>`` as ``|``."""
        pieces = itertools.chain.from_iterable(self.column("pieces"))
        return bytes(piece - 3 if piece != 1 else ord("|") for piece in pieces).decode()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Folder()


def test_the_description_has_labels_counts_and_lengths(folder):
    """Labels of a file have its order, and may be new to training."""
    folder.write(train="good\tI like it .\nbad\tno\t\ngood\té</s>\n", valid="bad\tx\n")
    folder.prepare("classification", "--valid valid,train")
    assert folder.texts() == "I like it .|no|é</s>|"
    assert folder.names() == folder.names("valid1") == "good;bad;good;"
    assert folder.names("valid") == "bad;"
    pieces = folder.description().pieces
    expected = Metadata("classification", ["bad", "good"], pieces, [1, 2], texts_per_example=1)
    assert folder.description() == expected
    assert Path("data/labels.txt").read_text() == "bad\ngood\n"
    shutil.rmtree("data")
    folder.write(labels="bad\nb c\n good \n")
    folder.prepare("classification", "--labels labels")
    description = folder.description()
    assert (description.labels, description.counts) == (["bad", "b c", "good"], [1, 0, 2])


@pytest.mark.parametrize("kind, flags, content, texts, labels", table("cli/cases.tsv", "formats"))
def test_every_format_is_read(folder, kind, flags, content, texts, labels):
    folder.write(train=content)
    folder.prepare(kind, flags)
    assert folder.texts() == texts and folder.names() == labels
    description = folder.description()
    assert description.texts_per_example == (2 if "," in flags else 1)
    if kind == "tagging":
        sentences = labels.split(";")[:-1]
        counts = [" ".join(sentences).split().count(name) for name in description.labels]
        assert description.counts == counts
        assert list(map(max, folder.column("spans"))) == [len(tags.split()) for tags in sentences]


def test_a_split_without_labels_is_one(folder):
    folder.write(train="joy\ta\n", test="\tx\n\ty\n")
    folder.prepare("multilabel", "--test test")
    assert folder.names("test") == ";;"


def test_values_are_kept_to_the_last_bit(folder):
    values = [0.1 + 0.2, -1e-300, 5.0, 1e18, 7.0]
    folder.write(train="".join(f" {value!r}\tx\n" for value in values))
    folder.prepare("regression")
    rows = read_column("data/train.labels")
    assert [values_of(row).tolist() for row in rows] == [[value] for value in values]


@pytest.mark.parametrize("words, content, message", table("cli/refused_text.tsv"))
def test_a_line_or_an_option_that_cannot_be_is_named(folder, words, content, message):
    text = content.format(conllu=CONLLU)
    folder.write(train=text or TSV, twice="a\nb\n a\n", gap="a\n\nb\n")
    folder.write(valid="odd\tx\neven\ty\nodder\tz\n", labels="X\nY\n")
    if "bert" in words:
        checkpoints.bert(Path("bert"))
    pieces = "" if any(flag in words for flag in ("-dir b", "--vocab", "--subw")) else "--bytes"
    assert message in refusal(
        main, *f"--train train --destdir data {pieces} --kind {words}".split()
    )


def test_training_pieces_twice_gives_the_same_files(folder):
    folder.write(train=TSV)
    written = []
    for _ in range(2):
        folder.prepare("classification", "--valid train", "--vocab-size 20")
        description, pieces = folder.description(), folder.column("pieces")
        written.append(files("data"))
        shutil.rmtree("data")
    assert written[0] == written[1]
    assert description.pieces[:3] == ["<pad>", "</s>", "<unk>"] and len(description.pieces) == 20
    tokenizer = description.tokenizer("here")
    assert pieces == [[*tokenizer.encode(text), 1] for text in TEXTS]


def test_the_end_of_a_very_long_line_is_learnt_from_too():
    text = "word " * 2000 + "ß" + "x" * 20_000 + "é"  # of more bytes than the trainer takes
    tokenizer = train_tokenizer(iter([text, "short"]), 30)
    assert {"ß", "é"} <= set("".join(tokenizer.pieces))


def test_subwords_of_a_folder_of_data_and_of_none(folder):
    folder.write(train="A\tThe cat sat\nB\tunhappy mats\n")
    checkpoints.bert(Path("bert"))
    folder.prepare("classification", pieces="--bert-dir bert")
    description = folder.description()
    symbols = [[description.pieces[piece] for piece in text] for text in folder.column("pieces")]
    assert symbols == ["<s> the cat sat </s>".split(), "<s> un ##happy mat ##s </s>".split()]
    assert description.max_length == checkpoints.PLACES and description.model is None
    shutil.move("data", "old")
    shutil.rmtree("bert")
    folder.prepare("classification", pieces="--subwords-of old")
    assert files("data") == files("old")


def test_words_that_are_cut_off_have_no_pieces_and_keep_their_tags(folder, capsys):
    folder.write(train="A B C\taa bb cc\nA\tx\nB A\ttoolong y\n")
    folder.prepare("tagging", "--max-length 7")
    assert folder.texts() == "aa bb|x|toolon|" and folder.names().startswith("A B C;")
    assert folder.column("spans") == [[1, 1, 2, 2, 2, 0], [1, 0], [1] * 6 + [0]]
    assert "cut off: 2 examples (number 1, 3)" in capsys.readouterr().err
