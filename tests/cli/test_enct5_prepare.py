"""Labelled text to EncT5's data: every line arrives, or one line says why none does."""

import base64
import itertools
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import checkpoints
import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lev_plugins.cli.enct5_prepare import main
from lev_plugins.errors import UserError
from lev_plugins.systems.enct5.dataset import read_column
from lev_plugins.systems.enct5.metadata import Metadata
from lev_plugins.systems.enct5.problem_types import ProblemType, values_of
from lev_plugins.systems.enct5.reading import Labelled, Layout
from lev_plugins.systems.enct5.writing import trained_cutter

WORDS = ["one", "two", "three", "four", "five", "six", "seven"]
TSV = "".join(
    f"{'odd' if i % 2 else 'even'}\t{a} {b}\n"
    for i, (a, b) in enumerate(itertools.permutations(WORDS, 2))
)
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


CONLL = """-DOCSTART- -X- -X- O

EU NNP B-NP B-ORG
rejects VBZ B-VP O

Peter NNP B-NP B-PER
"""
TWO_TEXTS = "first\tsecond\tid\tlabel\na b\tc\t7\tyes\nd\te\t8\tno\n"
READ = [  # kind, flags, content → texts and labels
    (
        "classification",
        "--header --label-column 4 --text-columns 2,1",
        TWO_TEXTS,
        ["c|a b|", "e|d|"],
        ["yes", "no"],
    ),
    (
        "classification",
        "--text-columns 2,3 --max-length 9",
        "a\tyes\tno no no\nb\tx\ty\n",
        ["yes|no n|", "x|y|"],  # the longer one is cut
        ["a", "b"],
    ),
    ("tagging", "", "DET NOUN\tthe  cat \nVERB\tgo\n", ["the cat|", "go|"], ["DET NOUN", "VERB"]),
    (
        "tagging",
        "--format conllu",
        CONLLU,
        ["do n't go|", "10 000 #|"],
        ["AUX PART VERB", "NUM SYM"],
    ),
    (
        "tagging",
        "--format conllu --label-column 5",
        CONLLU,
        ["do n't go|", "10 000 #|"],
        ["VB RB VB", "CD NN"],
    ),
    (
        "tagging",
        "--format columns",
        "\n\nthe\tD\nold man\tN\n\n \n# S\ngo   V",
        ["the old man|", "# go|"],
        ["D N", "S V"],
    ),
    (
        "tagging",
        "--format columns --label-column 4",
        CONLL,
        ["EU rejects|", "Peter|"],
        ["B-ORG O", "B-PER"],
    ),
]


class Split(NamedTuple):
    """What was written of one split."""

    pieces: list[list[int]]
    labels: list[Tensor]
    spans: list[list[int]]


class Folder:
    """A folder with text, and what the command makes of it, in bytes unless told otherwise."""

    def __init__(self, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.path, self.capsys = path, capsys

    def write(self, **files: str | bytes) -> None:
        for name, content in files.items():
            content = content.encode() if isinstance(content, str) else content
            (self.path / name.replace("_", ".")).write_bytes(content)

    def prepare(self, kind: str, *flags: str, pieces: Sequence[str] = ("--bytes",)) -> str:
        """Runs the command over train, and what it said."""
        needed = ["--kind", kind, "--train", "train", "--destdir", "data"]
        main([*needed, *pieces, *flags])
        return self.capsys.readouterr().err

    def refused(self, kind: str, *flags: str, pieces: Sequence[str] = ("--bytes",)) -> str:
        """The one line of a refusal, which leaves the folder as it was."""
        before = sorted(os.listdir(self.path))
        with pytest.raises(UserError) as caught:
            self.prepare(kind, *flags, pieces=pieces)
        assert sorted(os.listdir(self.path)) == before
        return str(caught.value)

    def description(self) -> Metadata:
        return Metadata.read("data")

    def split(self, name: str = "train") -> Split:
        def part(kind: str) -> list[Tensor]:
            path = f"data/{name}.{kind}"
            return (
                [one.clone() for one in read_column(path)] if Path(f"{path}.idx").exists() else []
            )

        pieces, labels, spans = (part(kind) for kind in ("pieces", "labels", "spans"))
        return Split([one.tolist() for one in pieces], labels, [one.tolist() for one in spans])

    def names(self, name: str = "train") -> list[list[str]]:
        """The labels of each example."""
        known = self.description().labels
        return [[known[i] for i in labels.tolist()] for labels in self.split(name).labels]

    def texts(self, name: str = "train") -> list[str]:
        """The texts again, of bytes, ``</s>`` as ``|``."""
        found = self.split(name).pieces
        return [bytes(i - 3 if i != 1 else ord("|") for i in one).decode() for one in found]


@pytest.fixture
def folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Folder:
    monkeypatch.chdir(tmp_path)
    return Folder(tmp_path, capsys)


def test_a_text_and_its_class_a_line(folder):
    folder.write(train="good\tI like it .\nbad\tno\tnever\ngood\té</s>\n", valid="bad\tx\n")
    said = folder.prepare("classification", "--valid", "valid,train")
    assert folder.texts() == ["I like it .|", "no|", "é</s>|"]
    assert folder.names() == [["good"], ["bad"], ["good"]] and folder.names("valid") == [["bad"]]
    found = folder.description()
    assert (found.kind, found.labels, found.counts) == ("classification", ["bad", "good"], [1, 2])
    assert (found.texts, found.max_length, found.model) == (1, 512, None)
    assert Path("data/labels.txt").read_text() == "bad\ngood\n"
    assert said.splitlines()[:6] == [
        "pieces: 259",
        "train (train): 3 examples, 22 pieces",
        "labels: 2 (good 2, bad 1)",
        "valid (valid): 1 examples, 2 pieces",
        "valid1 (train): 3 examples, 22 pieces",
        "prepared in data",
    ]


@pytest.mark.parametrize(("kind", "flags", "content", "texts", "labels"), READ)
def test_every_format_is_read(folder, kind, flags, content, texts, labels):
    folder.write(train=content)
    folder.prepare(kind, *flags.split())
    assert folder.texts() == texts
    assert [" ".join(one) for one in folder.names()] == labels
    assert folder.description().texts == (2 if "," in flags else 1)
    counts = [len(one.split()) for one in labels]
    assert [max(spans) for spans in folder.split().spans] == (counts if kind == "tagging" else [])


def test_any_number_of_labels_and_none(folder):
    folder.write(train="joy,anger\ta\n\tb\n joy , joy,,\tc\n", test="\tx\n\ty\n")
    folder.prepare("multilabel", "--test", "test")
    assert folder.names() == [["joy", "anger"], [], ["joy"]]
    assert folder.names("test") == [[], []]
    assert folder.description().counts == [1, 2]
    assert [len(one) for one in folder.split("test").labels] == [0, 0]


def test_values_are_kept_to_the_last_bit(folder):
    values = [0.1 + 0.2, -1e-300, 5.0, 1e18, 7.0]
    folder.write(train="".join(f" {value!r}\tx\n" for value in values), valid="-1e18\tx\n")
    said = folder.prepare("regression", "--valid", "valid")
    assert [values_of(one).tolist() for one in folder.split().labels] == [[one] for one in values]
    found = folder.description()
    assert (found.low, found.high, found.labels, found.counts) == (-1e-300, 1e18, [], [])
    assert "values: -1e-300 to 1e+18 in train" in said


def test_windows_line_ends_change_nothing(folder):
    folder.write(train=CONLLU)
    folder.prepare("tagging", "--format", "conllu")
    plain = folder.texts(), folder.names()
    windows = CONLLU.replace("\n", "\r\n")
    for changed in (windows, windows + "\r", windows.removesuffix("\n")):
        shutil.rmtree("data")
        folder.write(train=changed)
        folder.prepare("tagging", "--format", "conllu")
        assert (folder.texts(), folder.names()) == plain


def test_labels_of_a_file_have_its_order_and_may_be_new_to_training(folder):
    folder.write(train="b c\tx\na\ty\n", valid="z\tx\n", labels="z\nb c\n a \n")
    folder.prepare("classification", "--labels", "labels", "--valid", "valid")
    found = folder.description()
    assert (found.labels, found.counts) == (["z", "b c", "a"], [0, 1, 1])
    assert folder.names() == [["b c"], ["a"]] and folder.names("valid") == [["z"]]
    assert Path("data/labels.txt").read_text() == "z\nb c\na\n"


LINE = st.text(st.characters(exclude_characters="\t\n\r", exclude_categories=["Cs"]), max_size=8)


@given(
    lines=st.lists(st.tuples(LINE, LINE, LINE), max_size=5), kind=st.sampled_from(list(ProblemType))
)
def test_any_line_is_an_example_or_refused_by_its_number(tmp_path_factory, lines, kind):
    path = tmp_path_factory.mktemp("lines") / "train"
    path.write_text("".join(f"{a}\t{b}\t{c}\n" for a, b, c in lines), "utf-8", newline="\n")
    pair = kind is not ProblemType.TAGGING
    layout = Layout(kind, texts=(1, 2) if pair else (1,))
    found: list[Labelled] = []
    try:
        found.extend(layout.read(str(path)))
    except UserError as error:
        place = f"{path}: line {len(found) + 1}" if lines else f"{path}: holds no examples"
        assert str(error).startswith(place)
    else:
        assert len(found) == len(lines)
    for (label, *texts), example in zip(lines, found):
        assert example.texts == (texts if pair else texts[0].split())
        assert pair or len(example.texts) == len(example.labels) > 0
        assert kind.many or kind is ProblemType.TAGGING or example.labels == [label.strip()] != [""]


#: kind, flags, training text, and what the line names
REFUSED: list[tuple[str, str, str | bytes, str]] = [
    ("classification", "", "a\tx\nb\n", "train: line 2"),
    ("classification", "", "a\tx\nb\t \n", "train: line 2: text or label is empty"),
    ("classification", "", "a\tx\na\ty\n", "train: 1 labels"),
    ("classification", "", "", "train: holds no examples"),
    ("classification", "", "a\tx\nb\té\rz\n", "train: line 2"),
    ("classification", "", b"a\tx\nb\t\xff\n", "train: line 2"),
    ("classification", "--valid valid", "odd\tx\neven\ty\n", "valid: line 3: the label 'odder'"),
    ("regression", "", "1\tx\n1,5\ty\n", "train: line 2: '1,5'"),
    ("regression", "", "1\tx\n1e19\ty\n", "train: line 2: '1e19'"),
    ("multilabel", "", "\tx\n\ty\n", "train: 0 labels"),
    ("tagging", "", "A B\tx y\nA\tx y\n", "train: line 2: 2 words and 1 tags"),
    ("tagging", "--format columns", "a A\nb B\n\nc\n", "train: line 4: 1 column, and 2"),
    ("tagging", "--format columns", "a A\nb B O\n", "train: line 2: 3 columns"),
    ("tagging", "--format columns --label-column 5", CONLL, "train: line 3: 4 columns"),
    ("tagging", "--format columns", "a\tA\nb\tB C\n", "train: line 2: the word 'b'"),
    ("tagging", "--format conllu", "# x\n1\ta\ta\n", "train: line 2: 3 columns, and 4"),
    ("tagging", "--format conllu", "1\ta\ta\tA\n2\tb\tb\t_\n", "train: line 2: the word 'b'"),
    (
        "tagging",
        "--format columns --labels labels",
        "odd X\n\nc X\nd Z\n",
        "train: line 3: the label 'Z'",
    ),
    ("regression", "--labels labels", TSV, "--labels"),
    ("classification", "--label-separator ;", TSV, "--label-separator"),
    ("classification", "--format conllu", TSV, "--format"),
    ("tagging", "--format conllu --header", TSV, "--header"),
    ("tagging", "--format conllu --label-column 2", TSV, "--label-column 2"),
    ("tagging", "--format columns --label-column 1", TSV, "--label-column 1"),
    ("tagging", "--text-columns 2,3", TSV, "--text-columns 2,3"),
    ("classification", "--text-columns 2,3,4", TSV, "--text-columns 2,3,4"),
    ("classification", "--text-columns 1", TSV, "--label-column 1 --text-columns 1"),
    ("classification", "--label-column 0", TSV, "--label-column 0"),
    ("classification", "--max-length 1", TSV, "--max-length 1: give 2"),
    (
        "classification",
        "--text-columns 1,2 --label-column 3 --max-length 2",
        "a\tb\tX\nc\td\tY\n",
        "--max-length 2: give 3",
    ),
    ("classification", "--sampled-copies 1", TSV, "--sampled-copies"),
    ("classification", "--labels no --valid nor,train", TSV, "nor, no"),
    ("classification", "--destdir .", TSV, "--destdir .: is there already"),
]


@pytest.mark.parametrize(("kind", "flags", "content", "said"), REFUSED)
def test_a_line_or_an_option_that_cannot_be_is_named(folder, kind, flags, content, said):
    folder.write(train=content, valid="odd\tx\neven\ty\nodder\tz\n", labels="X\nY\n")
    assert said in folder.refused(kind, *flags.split())


def test_a_list_of_labels_that_cannot_be_is_named(folder):
    for content, said in (
        ("a\nb\n a\n", "labels: line 3"),
        ("a\n\nb\n", "labels: line 2"),
        ("odd\n", "labels: "),
    ):
        folder.write(train="even\tx\n", labels=content)
        assert folder.refused("classification", "--labels", "labels").startswith(said)


def test_training_pieces_twice_gives_the_same_files(folder):
    folder.write(train=TSV)
    flags = ("--valid", "train")
    assert folder.refused("classification", pieces=("--vocab-size=-5",)).startswith("--vocab-size")
    folder.prepare("classification", *flags, pieces=("--vocab-size", "20"))
    os.rename("data", "first")
    folder.prepare("classification", *flags, pieces=("--vocab-size", "20"))
    assert sorted(os.listdir("first")) == sorted(os.listdir("data"))
    for name in os.listdir("first"):
        assert Path("first", name).read_bytes() == Path("data", name).read_bytes(), name
    found = folder.description()
    assert found.pieces[:3] == ["<pad>", "</s>", "<unk>"] and len(found.pieces) == 20
    tokenizer = found.tokenizer("here")
    assert folder.split().pieces == [[*tokenizer.cut(text), 1] for text in TEXTS]


def test_the_end_of_a_very_long_line_is_learnt_from_too():
    text = "word " * 2000 + "ß" + "x" * 20_000 + "é"  # of more bytes than the trainer takes
    tokenizer = trained_cutter(iter([text, "short"]), 30)
    assert {"ß", "é"} <= set("".join(tokenizer.pieces))


def test_copies_spell_the_same_words_with_other_subwords(folder):
    words = ["under", "standing", "understanding", "stand", "standings", "undergo", "going", "go"]
    lines = [f"{' '.join('AB' * 3)}\t{' '.join(six)}\n" for six in itertools.permutations(words, 6)]
    folder.write(train="".join(lines[::500]), valid=lines[0])
    flags, pieces = ("--valid", "valid", "--sampled-copies", "2"), ("--vocab-size", "40")
    folder.prepare("tagging", *flags, pieces=pieces)
    found, known, count = folder.split(), folder.description(), len(lines[::500])
    assert len(found.pieces) == 3 * count and len(folder.split("valid").pieces) == 1
    first, *copies = (found.pieces[at : at + count] for at in (0, count, 2 * count))
    texts = [text.split("\t")[1].split() for text in lines[::500]]
    assert first == [known.tokenizer("here").words(text, 512).pieces for text in texts]
    assert first != copies[0] != copies[1]
    for number, (subwords, spans) in enumerate(zip(found.pieces, found.spans, strict=True)):
        spelt = [""] * 6
        for piece, word in zip(subwords[:-1], spans[:-1], strict=True):
            spelt[word - 1] += known.pieces[piece].replace("▁", "")
        assert spelt == texts[number % count]


TEXTS = [line.split("\t")[1] for line in TSV.splitlines()]


def test_pieces_of_a_t5_with_its_extra_ids(folder):
    folder.write(train=TSV)
    tokenizer = trained_cutter(iter(TEXTS), 40)
    checkpoints.sized_t5(folder.path / "t5", rows=160)
    Path("t5/spiece.model").write_bytes(base64.b64decode(tokenizer.serialised or ""))
    folder.prepare("classification", pieces=("--t5-dir", "t5"))
    found = folder.description()
    assert found.pieces[:-100] == tokenizer.pieces
    assert found.pieces[-100:] == [f"<extra_id_{i}>" for i in reversed(range(100))]
    assert folder.split().pieces == [[*tokenizer.cut(text), 1] for text in TEXTS]
    again = found.tokenizer("here")
    assert [again.cut(text) for text in TEXTS] == [tokenizer.cut(text) for text in TEXTS]
    assert folder.refused("classification", "--sampled-copies", "1", pieces=("--t5-dir", "t5"))


def test_wordpiece_of_a_bert(folder):
    folder.write(train="A\tThe cat sat\nB\tunhappy mats\n")
    checkpoints.bert(folder.path / "bert")
    bert = ("--bert-dir", "bert")
    folder.prepare("classification", pieces=bert)
    shutil.move("data", "old")
    folder.prepare("classification", pieces=("--subwords-of", "old"))
    shutil.move("data", "again")
    assert Path("again/enct5.json").read_bytes() == Path("old/enct5.json").read_bytes()
    message = folder.refused("classification", "--max-length", "0", pieces=("--subwords-of", "old"))
    assert message == "--max-length 0: give 3 or more"
    message = folder.refused("classification", pieces=("--subwords-of", "no"))
    assert message == "checkpoint no does not exist"
    folder.prepare("classification", pieces=bert)
    found = folder.description()
    assert found.max_length == checkpoints.PLACES
    symbols = [[found.pieces[one] for one in text] for text in folder.split().pieces]
    assert [" ".join(text) for text in symbols] == [
        "<s> the cat sat </s>",
        "<s> un ##happy mat ##s </s>",
    ]
    assert found.model is None and found.wordpiece is not None
    shutil.rmtree("data")
    for length in ("10", "2"):
        message = folder.refused("classification", "--max-length", length, pieces=bert)
        assert message.startswith(f"--max-length {length}: ")
    assert folder.refused("classification", "--sampled-copies", "1", pieces=bert)


def test_what_is_cut_off_is_told(folder):
    folder.write(train="A B C\taa bb cc\nA\tx\nB A\ttoolong y\nC C\tbbb c\n")
    said = folder.prepare("tagging", "--max-length", "7")
    assert folder.texts() == ["aa bb|", "x|", "toolon|", "bbb c|"]
    assert folder.split().spans == [[1, 1, 2, 2, 2, 0], [1, 0], [1] * 6 + [0], [1, 1, 1, 2, 2, 0]]
    assert folder.names()[0] == ["A", "B", "C"]  # also of the word that is gone
    assert "; 2 examples (number 1, 3) are longer than 7 and cut off, 2 words lost" in said
    assert folder.description().max_length == 7
