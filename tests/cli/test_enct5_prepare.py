"""Labelled text to EncT5's data: every line arrives, or one line says why none does."""

import base64
import io
import itertools
import os
import resource
import shutil
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import checkpoints
import numpy as np
import pytest
import sentencepiece
import torch
from fairseq.data import indexed_dataset
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lev_plugins.cli.enct5_prepare import main
from lev_plugins.errors import UserError
from lev_plugins.systems.enct5.metadata import Metadata
from lev_plugins.systems.enct5.preparation.reading import Labelled, Layout
from lev_plugins.systems.enct5.preparation.writing import PORTION, portions, trained_cutter
from lev_plugins.systems.enct5.problem_types import ProblemType, values_of

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
            if not Path(f"data/{name}.{kind}.idx").exists():
                return []
            index = indexed_dataset.MMapIndexedDataset.Index(f"data/{name}.{kind}.idx")
            assert index.dtype == np.int32
            if os.path.getsize(f"data/{name}.{kind}.bin") == 0:  # which cannot be mapped
                assert not index.sizes.any()
                return [torch.zeros(0, dtype=torch.long)] * len(index)
            stored = indexed_dataset.MMapIndexedDataset(f"data/{name}.{kind}")
            return [one.clone() for one in stored]

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


# formats ---------------------------------------------------------------------------------------


def test_a_text_and_its_class_a_line(folder):
    folder.write(train="good\tI like it .\nbad\tno\tnever\ngood\té</s>\n", valid="bad\tx\n")
    said = folder.prepare("classification", "--valid", "valid")
    assert folder.texts() == ["I like it .|", "no|", "é</s>|"]
    assert folder.names() == [["good"], ["bad"], ["good"]] and folder.names("valid") == [["bad"]]
    found = folder.description()
    assert (found.kind, found.labels, found.counts) == ("classification", ["bad", "good"], [1, 2])
    assert (found.texts, found.max_length, found.model) == (1, 512, None)
    assert Path("data/labels.txt").read_text() == "bad\ngood\n"
    assert said.splitlines() == [
        "pieces: 259",
        "train: 3 examples of train, 22 pieces",
        "labels: 2 (good 2, bad 1)",
        "valid: 1 examples of valid, 2 pieces",
        "train: columns not read: 3 (--text-columns 2; two are given as 2,3)",
        "prepared in data",
    ]


def test_columns_of_a_tsv_are_named_by_number(folder):
    folder.write(train="first\tsecond\tid\tlabel\na b\tc\t7\tyes\nd\te\t8\tno\n")
    folder.prepare("classification", "--header", "--label-column", "4", "--text-columns", "2,1")
    assert folder.texts() == ["c|a b|", "e|d|"]
    assert folder.names() == [["yes"], ["no"]]
    assert folder.description().texts == 2


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


def test_tags_and_words_of_a_tsv_stand_between_spaces(folder):
    folder.write(train="DET NOUN\tthe  cat \nVERB\tgo\n")
    folder.prepare("tagging")
    assert folder.names() == [["DET", "NOUN"], ["VERB"]]
    assert folder.texts() == ["the cat|", "go|"]
    assert folder.split().spans == [[1, 1, 1, 2, 2, 2, 2, 0], [1, 1, 0]]


@pytest.mark.parametrize(
    ("tags", "names"),
    [
        ("upos", [["AUX", "PART", "VERB"], ["NUM", "SYM"]]),
        ("xpos", [["VB", "RB", "VB"], ["CD", "NN"]]),
    ],
)
def test_conllu_without_ranges_empty_nodes_and_comments(folder, tags, names):
    folder.write(train=CONLLU)
    folder.prepare("tagging", "--format", "conllu", "--tags", tags)
    assert folder.names() == names
    assert folder.texts() == ["do n't go|", "10 000 #|"]
    assert max(folder.split().spans[1]) == 2  # a word may hold a space


@pytest.mark.parametrize("end", ["", "\n", "\n\n\n"])
def test_a_word_and_its_tag_a_line(folder, end):
    folder.write(train=f"\n\nthe\tD\nold man\tN\n\n \n# S\ngo   V{end}")
    folder.prepare("tagging", "--format", "columns")
    assert folder.names() == [["D", "N"], ["S", "V"]]
    assert folder.texts() == ["the old man|", "# go|"]


@pytest.mark.parametrize(
    ("kind", "form", "content"),
    [
        ("classification", "tsv", TSV),
        ("tagging", "conllu", CONLLU),
        ("tagging", "columns", "a\tX\nb\tY\n\nc\tX\n"),
    ],
)
def test_windows_line_ends_change_nothing(folder, kind, form, content):
    folder.write(train=content)
    folder.prepare(kind, "--format", form)
    plain = folder.texts(), folder.names()
    shutil.rmtree("data")
    folder.write(train=content.replace("\n", "\r\n"))
    folder.prepare(kind, "--format", form)
    assert (folder.texts(), folder.names()) == plain


def test_several_validation_sets_are_numbered(folder):
    folder.write(train=TSV, a="odd\ta\n", b="even\tb\n")
    folder.prepare("classification", "--valid", "a,,b,a", "--test", "b,a")
    found = [folder.texts(name) for name in ("valid", "valid1", "valid2", "test", "test1")]
    assert found == [["a|"], ["b|"], ["a|"], ["b|"], ["a|"]]


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


# what is refused -------------------------------------------------------------------------------

BAD_LINES: list[tuple[str, str, str | bytes, str]] = [  # kind, format, content, what is said
    ("classification", "tsv", "a\tx\nb\n", "line 2: 1 column, and 2 are needed"),
    ("classification", "tsv", "a\tx\n\nb\ty\n", "line 2: is empty; remove it"),
    ("classification", "tsv", "a\tx\nb\t \n", "line 2: the text is empty"),
    ("classification", "tsv", "a\tx\n \ty\n", "line 2: the label is empty"),
    ("classification", "tsv", "a\tx\na\ty\n", "'a' is the only label"),
    ("classification", "tsv", "", "holds no examples"),
    ("classification", "tsv", "a\tx\nb\té\rz\n", "line 2, byte offset 8: a carriage return"),
    ("classification", "tsv", "\ufeffa\tx\n", "line 1 begins with a byte order mark"),
    ("regression", "tsv", "1\tx\n1,5\ty\n", "line 2: '1,5' is not a number"),
    ("regression", "tsv", "1\tx\nnan\ty\n", "line 2: 'nan' is no number from -1e+18 to 1e+18"),
    ("regression", "tsv", "1\tx\n1e19\ty\n", "line 2: '1e19' is no number from"),
    ("regression", "tsv", "1\tx\n\ty\n", "line 2: the label is empty"),
    ("multilabel", "tsv", "\tx\n\ty\n", "holds no labels"),
    ("tagging", "tsv", "A B\tx y\nA\tx y\n", "line 2: 2 words and 1 tags"),
    ("tagging", "tsv", "A B\tx y\n\t\ta\n", "line 2: no words"),
    ("tagging", "tsv", "A B\tx y\nA\t\n", "line 2: 0 words and 1 tags"),
    ("tagging", "columns", "a A\nb B\n\nc\n", "line 4: 1 column, and 2 are needed"),
    ("tagging", "columns", "a A\nb B O\n", "line 2: 3 columns, and 2 are needed"),
    ("tagging", "columns", "a\tA\n\tB\n", "line 2: the word is empty"),
    ("tagging", "columns", "a\tA\nb\t \n", "line 2: the tag is empty"),
    ("tagging", "columns", "a\tA\nb\tB C\n", "line 2: the tag 'B C' holds a space"),
    ("tagging", "columns", "\n\n", "holds no examples; is --format columns right?"),
    ("tagging", "conllu", "# x\n1\ta\ta\n", "line 2: 3 columns, and 4 are needed"),
    ("tagging", "conllu", "1 a a A\n", "line 1: 1 column, and 4 are needed"),
    ("tagging", "conllu", "1\ta\ta\tA\n3\tb\tb\tB\n", "line 2: word 2 is next, and this is '3'"),
    ("tagging", "conllu", "1\ta\ta\tA\n1\tb\tb\tB\n", "line 2: word 2 is next, and this is '1'"),
    ("tagging", "conllu", "a\tb\tc\td\n", "line 1: word 1 is next, and this is 'a'"),
    ("tagging", "conllu", "1\ta\ta\tA\n2\tb\tb\t_\n", "line 2: the word has no upos tag (_)"),
    ("tagging", "conllu", "1\t\ta\tA\n", "line 1: the word is empty"),
    ("tagging", "conllu", "# only a comment\n", "holds no examples"),
    ("classification", "tsv", b"a\tx\nb\t\xff\n", "line 2, byte offset 6: 0xff is not"),
    ("tagging", "columns", "a X\nb Y\n\nc Y\nd Z\ne X\n", "line 5: the label 'Z' is not"),
    ("tagging", "conllu", "\n# x\n1\ta\ta\tX\n\n1\ta\ta\tZ\n", "line 5: the label 'Z' is not"),
]


@pytest.mark.parametrize(("kind", "form", "content", "said"), BAD_LINES)
def test_a_line_that_is_no_example_is_named(folder, kind, form, content, said):
    folder.write(train=content, labels="X\nY\n")
    labels = ("--labels", "labels") if "label 'Z'" in said else ()
    message = folder.refused(kind, "--format", form, *labels)
    assert message.startswith("train: ") and said in message


@pytest.mark.parametrize(
    ("kind", "content", "said"),
    [
        (
            "classification",
            "odd\tx\neven\ty\nodder\tz\n",
            "valid: line 3: the label 'odder' is not",
        ),
        ("multilabel", "odd,odder\tx\n", "valid: line 1: the label 'odder' is not among the 2"),
        ("classification", "odd\tx\n\n", "valid: line 2: is empty"),
    ],
)
def test_a_label_that_training_lacks_is_named_before_any_work_is_done(
    folder, monkeypatch, kind, content, said
):
    folder.write(train=TSV, valid=content)
    monkeypatch.setattr(sentencepiece.SentencePieceTrainer, "train", None)
    message = folder.refused(kind, "--valid", "valid", pieces=("--vocab-size", "40"))
    assert message.startswith(said)


@pytest.mark.parametrize(
    ("content", "kind", "said"),
    [
        ("a\nb\na\n", "classification", "labels: line 3: the label 'a' is in line 1 already"),
        ("a\nb\n a\n", "classification", "labels: line 3: the label 'a' is in line 1 already"),
        ("a\n\nb\n", "classification", "labels: line 2: the label is empty"),
        ("a\tb\n", "classification", "labels: line 1: the label 'a\\tb' holds a tab"),
        ("odd\n", "classification", "labels: 'odd' is the only label"),
        ("", "multilabel", "labels: holds no labels"),
        ("odd,even\n", "multilabel", "labels: line 1: the label 'odd,even' holds ','"),
        ("odd\neven so\n", "tagging", "labels: line 2: the tag 'even so' holds a space"),
        ("odd\nodder\n", "classification", "train: line 1: the label 'even' is not among the 2"),
    ],
)
def test_a_list_of_labels_that_cannot_be_is_named(folder, content, kind, said):
    folder.write(train="even\tx\n", labels=content)
    assert folder.refused(kind, "--labels", "labels").startswith(said)


@pytest.mark.parametrize(
    ("kind", "flags", "said"),
    [
        ("regression", "--labels train", "--labels is for labels, not for values"),
        ("classification", "--label-separator ;", "--label-separator is for --kind multilabel"),
        ("classification", "--format conllu", "--format is for --kind tagging"),
        ("classification", "--tags xpos", "--tags is for --format conllu"),
        ("tagging", "--format conllu --header", "--header is for --format tsv"),
        ("tagging", "--format conllu --label-column 2", "--label-column is for --format tsv"),
        ("tagging", "--format columns --text-columns 2", "--text-columns is for --format tsv"),
        ("tagging", "--text-columns 2,3", "--text-columns 2,3: words are tagged of one text"),
        ("classification", "--text-columns 2,3,4", "--text-columns 2,3,4: give one or two"),
        ("classification", "--text-columns x", "--text-columns x: give one or two"),
        ("classification", "--text-columns=", "--text-columns : give one or two"),
        ("classification", "--text-columns 1", "--label-column 1 --text-columns 1: a column is"),
        ("classification", "--label-column 0", "--label-column 0: from 1"),
        ("classification", "--max-length 1", "--max-length 1: give 2 or more"),
        ("classification", "--text-columns 2,3 --max-length 2", "--max-length 2: give 3 or more"),
        ("classification", "--max-length 9999999999", "--max-length 9999999999: give 2"),
        ("multilabel", "--label-separator=", "--label-separator '': give a character"),
        ("classification", "--valid no", "no such file: no; check the path"),
        ("classification", "--labels no --valid nor,train", "no such file: nor, no; check"),
        ("classification", "--destdir train/data", "--destdir train/data: "),
    ],
)
def test_options_that_cannot_be_are_named(folder, kind, flags, said):
    folder.write(train=TSV)
    assert folder.refused(kind, *flags.split(" ")).startswith(said)


# whole or not at all ---------------------------------------------------------------------------


def test_a_folder_that_is_there_is_left_alone(folder):
    folder.write(train=TSV)
    Path("data").mkdir()
    assert folder.refused("classification").startswith("--destdir data: is there already")
    assert os.listdir("data") == []
    Path("data").rmdir()
    os.symlink("nowhere", "data")
    assert folder.refused("classification").startswith("--destdir data: is there already")


def test_folders_above_are_made_and_neighbours_kept(folder):
    folder.write(train=TSV)
    for name in ("data.part", ".data.part", "data"):
        Path("a/b", name).mkdir(parents=True)
    main("--kind classification --train train --bytes --destdir a/b/c/d/".split())
    assert Metadata.read("a/b/c/d").labels == ["even", "odd"]
    assert sorted(os.listdir("a/b")) == [".data.part", "c", "data", "data.part"]
    assert os.listdir("a/b/c") == ["d"]
    assert os.stat("a/b/c/d").st_mode == os.stat("a/b/c").st_mode


@contextmanager
def small_disk(size: int) -> Iterator[None]:
    """Files cannot become larger than so many bytes: writing fails as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("size", [0, 300, 2000])
def test_a_full_disk_leaves_nothing_behind(folder, size):
    folder.write(train=TSV)  # its subwords take 2 kB, its index 600 bytes, its description 3 kB
    with small_disk(size):
        message = folder.refused("classification")
    assert "--destdir data" in message and "File too large" in message


def test_an_interruption_leaves_nothing_behind(folder, monkeypatch):
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    folder.write(train=TSV)
    monkeypatch.setattr(Metadata, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        folder.prepare("classification")
    assert os.listdir() == ["train"]


# subwords ----------------------------------------------------------------------------------------


def test_training_pieces_twice_gives_the_same_files(folder):
    folder.write(train=TSV)
    flags = ("--valid", "train")
    folder.prepare("classification", *flags, pieces=("--vocab-size", "20"))
    os.rename("data", "first")
    folder.prepare("classification", *flags, pieces=("--vocab-size", "20"))
    assert sorted(os.listdir("first")) == sorted(os.listdir("data"))
    for name in os.listdir("first"):
        assert Path("first", name).read_bytes() == Path("data", name).read_bytes(), name
    found = folder.description()
    assert found.pieces[:3] == ["<pad>", "</s>", "<unk>"] and len(found.pieces) == 20
    tokenizer = found.tokenizer()
    assert folder.split().pieces == [[*tokenizer.cut(text), 1] for text in TEXTS]


@given(text=st.text(st.sampled_from("ab  é"), max_size=40).map(lambda text: text * 100))
def test_portions_are_the_text_cut_at_spaces(text):
    found = list(portions(text))
    assert "".join(found) == text
    assert all(len(part) <= PORTION for part in found)
    for part, after in itertools.pairwise(found):
        assert after.startswith(" ") or " " not in part.lstrip(" ") or len(part) == PORTION
        assert after.startswith(" ") or " " not in part[1:]


def test_the_end_of_a_very_long_line_is_learnt_from_too():
    text = "word " * 2000 + "ß" + "x" * 20_000 + "é"  # of more bytes than the trainer takes
    tokenizer = trained_cutter(iter([text, "short"]), 30)
    assert {"ß", "é"} <= set("".join(tokenizer.pieces))


def test_pieces_of_a_sentence_are_learnt_from_its_words(folder):
    folder.write(train="A B\tabra cadabra\nB\tcadabra\n")
    folder.prepare("tagging", pieces=("--vocab-size", "20"))
    found = folder.split()
    assert [max(spans) for spans in found.spans] == [2, 1]
    assert found.pieces[0][-1] == 1 and 2 not in found.pieces[0]


def test_sizes_of_vocabularies_that_cannot_be_are_named(folder):
    folder.write(train=TSV)
    for size, said in (
        (3, "--vocab-size 3: give 4 or more"),
        (-5, "--vocab-size -5: give 4 or more"),
        (5, "--vocab-size 5: the characters of the text are 17 subwords already"),
        (2**31, "--vocab-size 2147483648: "),
    ):
        assert folder.refused("classification", pieces=(f"--vocab-size={size}",)).startswith(said)
    assert "pieces: 17\n" in folder.prepare("classification", pieces=("--vocab-size", "17"))


def test_little_text_gives_fewer_pieces_than_were_asked_for(folder):
    folder.write(train="a\thello world\nb\thello\n")
    said = folder.prepare("classification", pieces=("--vocab-size", "100"))
    count = len(folder.description().pieces)
    assert count < 30 and f"pieces: {count}, the text gives no 100\n" in said


def test_text_without_a_character_that_can_be_learnt_is_named(folder):
    folder.write(train="a\t\x07\nb\t\x07\n")
    message = folder.refused("classification", pieces=("--vocab-size", "100"))
    assert message.startswith("--vocab-size 100: ")


def learnt(texts: Sequence[str], **options: int) -> bytes:
    """A sentencepiece model."""
    stream = io.BytesIO()
    common = {"hard_vocab_limit": False, "minloglevel": 2}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=stream, **common, **options
    )
    return stream.getvalue()


TEXTS = [line.split("\t")[1] for line in TSV.splitlines()]


def test_pieces_of_a_given_model_in_t5s_order(folder):
    folder.write(train=TSV, labels="odd\neven\n", bad=b"no model", empty=b"")
    raw = learnt(TEXTS, vocab_size=40, unk_id=3, bos_id=0, eos_id=2, pad_id=-1)
    Path("own.model").write_bytes(raw)
    folder.prepare("classification", pieces=("--sentencepiece-model", "own.model"))
    model = sentencepiece.SentencePieceProcessor(model_file="own.model")
    found = folder.description()
    assert base64.b64decode(found.model or "") == raw
    first = [found.pieces[i] for i in folder.split().pieces[0]]
    assert first == [*model.encode("one two", out_type=str), "</s>"]
    shutil.rmtree("data")
    for name in ("bad", "empty"):
        message = folder.refused("classification", pieces=("--sentencepiece-model", name))
        assert message.startswith(f"{name}: not a sentencepiece model")
    message = folder.refused("classification", pieces=("--sentencepiece-model", "no"))
    assert message == "no such file: no; check the path"


def test_subwords_of_data_that_were_prepared(folder):
    folder.write(train=TSV, other="A\tnine two\nB\tunseen\n")
    folder.prepare("classification", pieces=("--vocab-size", "40"))
    before = folder.description()
    shutil.move("data", "old")
    folder.write(train="A\tnine two\nB\tunseen\n")
    folder.prepare("classification", pieces=("--subwords-of", "old"))
    found = folder.description()
    assert (found.pieces, found.model) == (before.pieces, before.model)
    assert found.labels != before.labels
    shutil.rmtree("data")
    message = folder.refused("classification", pieces=("--subwords-of", "no"))
    assert message == "checkpoint no does not exist"


def test_pieces_of_a_t5_with_its_extra_ids(folder):
    folder.write(train=TSV)
    tokenizer = trained_cutter(iter(TEXTS), 40)
    checkpoints.sized_t5(folder.path / "t5", rows=160)
    Path("t5/spiece.model").write_bytes(base64.b64decode(tokenizer.serialised or ""))
    folder.prepare("classification", pieces=("--t5-dir", "t5"))
    found = folder.description()
    assert found.pieces[:-100] == tokenizer.pieces
    assert found.pieces[-100:] == [f"<extra_id_{i}>" for i in reversed(range(100))]
    assert found.model == tokenizer.serialised
    assert folder.split().pieces[0] == [*tokenizer.cut("one two"), 1]


def test_bytes_of_a_byt5_with_its_extra_ids(folder):
    folder.write(train=TSV)
    checkpoints.sized_t5(folder.path / "t5", rows=400, extra_ids=125)
    folder.prepare("classification", pieces=("--t5-dir", "t5"))
    found = folder.description()
    assert len(found.pieces) == 3 + 256 + 125 and found.model is None
    assert folder.texts()[0] == "one two|"


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
    for flags, said in (
        (("--max-length", "10"), "--max-length 10: bert has 9 positions; give no more"),
        (("--max-length", "2"), "--max-length 2: give 3 or more"),
        (
            ("--sampled-copies", "1"),
            "--sampled-copies is for subwords that can be sampled; leave it out",
        ),
    ):
        assert folder.refused("classification", *flags, pieces=bert) == said


def test_a_t5_that_lacks_something_or_has_another_order_is_refused(folder):
    folder.write(train=TSV)
    checkpoints.sized_t5(folder.path / "t5", rows=160)
    for name, vocabulary, said in (
        ("no", None, "no: no such folder"),
        ("t5", None, "t5: no vocabulary in it"),
        ("t5", learnt(TEXTS, vocab_size=20)[:50], "t5: "),
        (
            "t5",
            learnt(WORDS, vocab_size=20, pad_id=3),
            "t5: the vocabulary begins with '<unk> <s> </s>'",
        ),
    ):
        if vocabulary is not None:
            Path("t5/spiece.model").write_bytes(vocabulary)
        assert folder.refused("classification", pieces=("--t5-dir", name)).startswith(said)


# what is too long ------------------------------------------------------------------------------


def test_what_is_cut_off_is_told(folder):
    folder.write(train="A B C\taa bb cc\nA\tx\nB A\ttoolong y\nC C\tbbb c\n")
    said = folder.prepare("tagging", "--max-length", "7")
    assert folder.texts() == ["aa bb|", "x|", "toolon|", "bbb c|"]
    assert folder.split().spans == [[1, 1, 2, 2, 2, 0], [1, 0], [1] * 6 + [0], [1, 1, 1, 2, 2, 0]]
    assert folder.names()[0] == ["A", "B", "C"]  # also of the word that is gone
    assert (
        "train: 2 examples are longer than 7 subwords and were cut off; 2 words lost, which count "
        "as errors (examples 1, 3)\n"
    ) in said
    assert folder.description().max_length == 7


def test_pairs_are_cut_at_the_longer_one(folder):
    folder.write(train="a\tyes\tno no no\nb\tx\ty\n")
    said = folder.prepare("classification", "--text-columns", "2,3", "--max-length", "9")
    assert folder.texts() == ["yes|no n|", "x|y|"]
    assert "1 examples are longer than 9 subwords and were cut off (examples 1)\n" in said


def test_unknown_pieces_are_counted(folder):
    folder.write(train=TSV, valid="odd\tone ☃ ☃\n")
    pieces = ("--vocab-size", "40")
    said = folder.prepare("classification", "--valid", "valid", pieces=pieces)
    assert "valid: 1 examples of valid, " in said and ", 2 of them unknown\n" in said


# real data -------------------------------------------------------------------------------------


def test_every_word_of_english_ewt_keeps_its_tag(folder, lev_data):
    source = lev_data / "ud_ewt"
    words, tags = (
        [line.split() for line in (source / f"dev.{name}").read_text("utf-8").splitlines()]
        for name in ("tok", "upos")
    )
    sentences = zip(words, tags, strict=True)
    lines = ["".join(f"{w}\t{t}\n" for w, t in zip(*one, strict=True)) for one in sentences]
    folder.write(train="\n".join(lines))
    said = folder.prepare("tagging", "--format", "columns", "--max-length", "64")
    assert folder.names() == tags
    spans = folder.split().spans
    lost = sum(len(one) - max(span) for one, span in zip(words, spans, strict=True))
    assert f"; {lost:,} words lost" in said
    for text, one, span in zip(folder.texts(), words, spans):
        kept = " ".join(one[: max(span)])
        assert text == kept[: 63 if max(span) == 1 else None] + "|"


# what looks odd -------------------------------------------------------------------------------

NOT_READ = "train: columns not read: 3 (--text-columns 2; two are given as 2,3)"


@pytest.mark.parametrize(
    ("change", "flags", "said"),
    [
        (lambda lines: lines, [], None),
        (lambda lines: [f"{line}\tmore" for line in lines], [], NOT_READ),
        (
            lambda lines: ["label\ttext", *lines],
            [],
            "train: the label of the first example, 'label', occurs there alone; if line 1 "
            "names the columns, give --header",
        ),
        (lambda lines: ["label\ttext", *lines], ["--header"], None),
        (
            lambda lines: ["\t".join(line.split("\t")[::-1]) for line in lines],
            [],
            "train: 42 labels for 42 examples; is column 1 the label (--label-column)?",
        ),
        (
            lambda lines: ["\t".join(line.split("\t")[::-1]) for line in lines],
            ["--label-column", "2", "--text-columns", "1"],
            None,
        ),
        (
            lambda lines: [*lines, 'odd\t"a, b"', 'odd\t"', 'odd\t" a , b "'],
            [],
            "train: 1 of 45 texts stand in quotes, which are read as text",
        ),
    ],
)
@pytest.mark.parametrize("kind", ["classification", "multilabel"])
def test_what_looks_odd_is_said(folder, kind, change, flags, said):
    folder.write(train="\n".join(change(TSV.splitlines())) + "\n")
    told = folder.prepare(kind, *flags).splitlines()
    odd = [
        line for line in told if line.startswith("train: ") and " examples of train, " not in line
    ]
    assert odd == ([] if said is None else [said])


def test_the_most_frequent_labels_are_shown(folder):
    counts = {"a": 1, "b": 7, "c": 3, "d": 2, "e": 4, "f": 5}
    folder.write(train="".join(f"{label}\tx\n" * count for label, count in counts.items()))
    told = folder.prepare("classification")
    assert "labels: 6 (b 7, f 5, e 4, c 3, d 2, …)\n" in told


# CoNLL-2003 -----------------------------------------------------------------------------------

CONLL = """-DOCSTART- -X- -X- O

EU NNP B-NP B-ORG
rejects VBZ B-VP O

Peter NNP B-NP B-PER
"""


def test_the_tag_of_several_columns_is_named(folder):
    folder.write(train=CONLL)
    folder.prepare("tagging", "--format", "columns", "--label-column", "4")
    assert folder.names() == [["B-ORG", "O"], ["B-PER"]]
    shutil.rmtree("data")
    folder.prepare("tagging", "--format", "columns", "--label-column", "2")
    assert folder.names() == [["NNP", "VBZ"], ["NNP"]]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (
            [],
            "train: line 3: 4 columns, and 2 are needed, a word and its tag; --label-column N "
            "says which is the tag",
        ),
        (
            ["--label-column", "5"],
            "train: line 3: 4 columns, and the tag is in column 5; see --label-column",
        ),
        (["--label-column", "1"], "--label-column 1: from 1, or 2 where the first holds the words"),
        (["--text-columns", "2"], "--text-columns is for --format tsv; leave it out"),
    ],
)
def test_columns_that_do_not_fit_are_refused(folder, flags, said):
    folder.write(train=CONLL)
    assert folder.refused("tagging", "--format", "columns", *flags) == said
