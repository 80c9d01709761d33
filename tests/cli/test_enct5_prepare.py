"""Labelled text to EncT5's data: every line arrives, or one line says why none does."""

import csv
import itertools
import shutil
from pathlib import Path

import checkpoints
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal
from torch import Tensor

from lev_plugins.cli.enct5_prepare import main
from lev_plugins.systems.enct5.dataset import read_column
from lev_plugins.systems.enct5.metadata import Metadata
from lev_plugins.systems.enct5.problem_types import ProblemType, values_of
from lev_plugins.systems.enct5.reading import FileFormat, LabelledText
from lev_plugins.systems.enct5.writing import train_tokenizer
from lev_runtime.errors import UserError

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
WINDOWS = CONLLU.replace("\n", "\r\n")
UNIVERSAL = ["do n't go|", "10 000 #|"], ["AUX PART VERB", "NUM SYM"]
CONLL = """-DOCSTART- -X- -X- O

EU NNP B-NP B-ORG
rejects VBZ B-VP O

Peter NNP B-NP B-PER
"""
MULTICONER = """# id 5ac2 domain=en
# _ _ O
id _ _ B-X

# id 5ac3 domain=en
a _ _ O
b _ _ O
"""
PAIRS = "first\tsecond\tid\tlabel\na b\tc\t7\tyes\nd\te\t8\tno\n"
LONG_PAIRS = "a\tyes\tno no no\nb\tx\ty\n"
COLUMNS = "\n\nthe\tD\nold man\tN\n\n \n# S\ngo   V"
#: kind, flags, content → texts, ``</s>`` as ``|``, and labels
READ = [
    ("classification", "--header --label-column 4 --text-columns 2,1", PAIRS)
    + (["c|a b|", "e|d|"], ["yes", "no"]),
    ("classification", "--text-columns 2,3 --max-length 9", LONG_PAIRS)
    + (["yes|no n|", "x|y|"], ["a", "b"]),  # the longer one is cut
    ("multilabel", "", "joy,anger\ta\n\tb\n joy , joy,,\tc\n")
    + (["a|", "b|", "c|"], ["joy anger", "", "joy"]),
    ("tagging", "", "DET NOUN\tthe  cat \nVERB\tgo\n", ["the cat|", "go|"], ["DET NOUN", "VERB"]),
    ("tagging", "--format conllu", CONLLU, *UNIVERSAL),
    (
        "tagging",
        "--format conllu --label-column 6",
        CONLLU.replace("AUX\tVB\t_", "AUX\tVB\tA=B|C=D"),
    )
    + (UNIVERSAL[0], ["A=B|C=D _ _", "_ _"]),
    (
        "tagging",
        "--format columns --label-column 4",
        MULTICONER,
        ["# id|", "a b|"],
        ["O B-X", "O O"],
    ),
    ("tagging", "--format conllu", WINDOWS + "\r", *UNIVERSAL),
    ("tagging", "--format conllu", WINDOWS.removesuffix("\n"), *UNIVERSAL),
    ("tagging", "--format conllu --label-column 5", CONLLU, UNIVERSAL[0], ["VB RB VB", "CD NN"]),
    ("tagging", "--format columns", COLUMNS, ["the old man|", "# go|"], ["D N", "S V"]),
    ("tagging", "--format columns --label-column 4", CONLL)
    + (["EU rejects|", "Peter|"], ["B-ORG O", "B-PER"]),
]


class Folder:
    """A folder with text, and what the command makes of it, in bytes unless told otherwise."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def write(self, **files: str | bytes) -> None:
        for name, content in files.items():
            Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())

    def prepare(self, kind: str, flags: str = "", pieces: str = "--bytes") -> str:
        """Runs the command over train, and what it said."""
        main(f"--kind {kind} --train train --destdir data {pieces} {flags}".split())
        return self.capsys.readouterr().err

    def refused(self, kind: str, flags: str = "", pieces: str = "--bytes") -> str:
        """The one line of a refusal, which leaves the folder as it was."""
        words = f"--kind {kind} --train train --destdir data {pieces} {flags}"
        return refusal(main, *words.split())

    def description(self) -> Metadata:
        return Metadata.from_folder("data")

    def column(self, name: str, split: str = "train") -> list[Tensor]:
        """``pieces``, ``labels`` or ``spans`` of a split; none where there are no such."""
        path = f"data/{split}.{name}"
        return [row.clone() for row in read_column(path)] if Path(f"{path}.idx").exists() else []

    def names(self, split: str = "train") -> list[str]:
        known = self.description().labels
        return [
            " ".join(known[i] for i in labels.tolist()) for labels in self.column("labels", split)
        ]

    def texts(self) -> list[str]:
        """The texts again, of bytes, ``</s>`` as ``|``."""
        rows = [row.tolist() for row in self.column("pieces")]
        return [bytes(i - 3 if i != 1 else ord("|") for i in row).decode() for row in rows]


@pytest.fixture
def folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Folder:
    monkeypatch.chdir(tmp_path)
    return Folder(capsys)


def test_a_text_and_its_class_a_line(folder):
    folder.write(train="good\tI like it .\nbad\tno\t\ngood\té</s>\n", valid="bad\tx\n")
    output = folder.prepare("classification", "--valid valid,train")
    assert folder.texts() == ["I like it .|", "no|", "é</s>|"]
    assert folder.names() == folder.names("valid1") == ["good", "bad", "good"]
    assert folder.names("valid") == ["bad"]
    description = folder.description()
    assert (description.kind, description.labels, description.counts) == (
        "classification",
        ["bad", "good"],
        [1, 2],
    )
    assert (description.texts_per_example, description.max_length, description.model) == (
        1,
        512,
        None,
    )
    assert Path("data/labels.txt").read_text() == "bad\ngood\n"
    for line in (
        "259",
        "train (train): 3 examples, 22 pieces",
        "(good 2, bad 1)",
        "valid1 (train)",
    ):
        assert line in output


@pytest.mark.parametrize(("kind", "flags", "content", "texts", "labels"), READ)
def test_every_format_is_read(folder, kind, flags, content, texts, labels):
    folder.write(train=content)
    folder.prepare(kind, flags)
    assert folder.texts() == texts and folder.names() == labels
    description = folder.description()
    assert description.texts_per_example == (2 if "," in flags else 1)
    assert description.counts == [
        " ".join(labels).split().count(name) for name in description.labels
    ]
    counts = [len(label.split()) for label in labels]
    assert [spans.max() for spans in folder.column("spans")] == (
        counts if kind == "tagging" else []
    )


def test_a_split_without_labels_is_one(folder):
    folder.write(train="joy\ta\n", test="\tx\n\ty\n")
    folder.prepare("multilabel", "--test test")
    assert folder.names("test") == ["", ""]


def test_values_are_kept_to_the_last_bit(folder):
    values = [0.1 + 0.2, -1e-300, 5.0, 1e18, 7.0]
    folder.write(train="".join(f" {value!r}\tx\n" for value in values), valid="-1e18\tx\n")
    assert "-1e-300 to 1e+18" in folder.prepare("regression", "--valid valid")
    assert [values_of(row).tolist() for row in folder.column("labels")] == [[v] for v in values]
    description = folder.description()
    assert (description.labels, description.counts) == ([], [])


def test_labels_of_a_file_have_its_order_and_may_be_new_to_training(folder):
    folder.write(train="b c\tx\na\ty\n", valid="z\tx\n", labels="z\nb c\n a \n")
    folder.prepare("classification", "--labels labels --valid valid")
    description = folder.description()
    assert (description.labels, description.counts) == (["z", "b c", "a"], [0, 1, 1])
    assert folder.names() == ["b c", "a"] and folder.names("valid") == ["z"]
    assert Path("data/labels.txt").read_text() == "z\nb c\na\n"


LINE = st.text(st.characters(exclude_characters="\t\n\r", exclude_categories=["Cs"]), max_size=8)
TEXT = st.text(st.sampled_from('a" '), min_size=1, max_size=8).filter(str.strip)


@given(texts=st.lists(TEXT, min_size=1, max_size=5), quoting=st.sampled_from([0, 1]))
def test_cells_that_csv_has_quoted_are_the_text(tmp_path_factory, texts, quoting):
    path = tmp_path_factory.mktemp("csv") / "train"
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n", quoting=quoting)
        writer.writerows(("joy", text) for text in texts)
    examples = list(FileFormat(ProblemType.CLASSIFICATION).read(str(path)))
    assert [example.texts for example in examples] == [[text] for text in texts]
    assert {label for example in examples for label in example.labels} == {"joy"}


def test_what_somebody_said_keeps_its_quotes(folder):
    folder.write(train='a\t"No."\nb\t"No," she said\na\t" and ""\n')
    examples = FileFormat(ProblemType.CLASSIFICATION).read("train")
    assert [text for example in examples for text in example.texts] == [
        '"No."',
        '"No," she said',
        '" and ""',
    ]


NO_QUOTES = LINE.map(lambda text: text.replace('"', "'"))


@given(
    lines=st.lists(st.tuples(NO_QUOTES, NO_QUOTES, NO_QUOTES), max_size=5),
    kind=st.sampled_from(list(ProblemType)),
)
def test_any_line_is_an_example_or_refused_by_its_number(tmp_path_factory, lines, kind):
    path = tmp_path_factory.mktemp("lines") / "train"
    path.write_text("".join(f"{a}\t{b}\t{c}\n" for a, b, c in lines), "utf-8", newline="\n")
    pair = kind is not ProblemType.TAGGING
    layout = FileFormat(kind, texts=(1, 2) if pair else (1,))
    examples: list[LabelledText] = []
    try:
        examples.extend(layout.read(str(path)))
    except UserError as error:
        place = f"{path}: line {len(examples) + 1}" if lines else f"{path} has no examples"
        assert str(error).startswith(place)
    else:
        assert len(examples) == len(lines)
    for (label, *texts), example in zip(lines, examples):
        assert example.texts == (texts if pair else texts[0].split())
        assert pair or len(example.texts) == len(example.labels) > 0
        assert (
            kind.is_multilabel
            or kind is ProblemType.TAGGING
            or example.labels == [label.strip()] != [""]
        )


#: kind, flags, training text, and what the line names
REFUSED: list[tuple[str, str, str | bytes, str]] = [
    ("classification", "", "a\tx\nb\n", "train: line 2"),
    ("classification", "", "a\tx\nb\t \n", "train: line 2"),
    ("classification", "", "a\tx\na\ty\n", "train: 1 labels"),
    ("classification", "", "a\tx\nb\ty\tlost\n", "train: line 2: 3 columns"),
    ("tagging", "", "A\tx\nA\ty\tlost\n", "train: line 2: 3 columns"),
    ("classification", "--text-columns 3", "a\t1\tx\nb\t2\ty\tz\n", "train: line 2: 4 columns"),
    ("classification", "--header", "label\ttext\tid\na\tx\nb\ty\n", "train: line 1: 3 columns"),
    ("classification", "", "label\ttext\na\tx y\nb\ty\n", "train: line 1: "),
    ("classification", "", "Kind\tWhat\na\tx\nb\ty\na\tx\nb\ty\n", "--header"),
    ("multilabel", "", "labels\tcontent\na,b\tx\nb\ty\n", "--header"),
    ("regression", "", "score\tsentence\n1\tx\n2\ty\n", "--header"),
    ("classification", "--header", TSV, "train: line 1: 'even'"),
    ("classification", "--header", '"a"\t"x"\n"a"\t"y"\n"b"\t"z"\n', "train: line 1: 'a'"),
    ("tagging", "--format columns", "a A\nb B\n\nc C\nNew York D\n", "train: line 5: 3 columns"),
    ("tagging", "--format conllu", CONLLU + "1" + "\ta" * 10, "train: line 12: 11 columns"),
    ("classification", "", "", "train has no examples"),
    ("classification", "", "a\tx\nb\té\rz\n", "train: line 2"),
    ("classification", "", b"a\tx\nb\t\xff\n", "train: line 2"),
    ("classification", "--valid valid", "odd\tx\neven\ty\n", "valid: line 3: the label 'odder'"),
    ("regression", "", "1\tx\n1,5\ty\n", "train: line 2: '1,5'"),
    ("regression", "", "1\tx\n1e19\ty\n", "train: line 2: '1e19'"),
    ("multilabel", "", "\tx\n\ty\n", "train: 0 labels"),
    ("tagging", "", "A B\tx y\nA\tx y\n", "train: line 2: 2 words and 1 tags"),
    ("tagging", "--format columns", "a A\nb B\n\nc\n", "train: line 4: 1 column, expected"),
    ("tagging", "--format columns", "a A\nb B O\n", "train: line 2: 3 columns"),
    ("tagging", "--format columns --label-column 5", CONLL, "train: line 3: 4 columns"),
    ("tagging", "--format columns", "a\tA\nb\tB C\n", "train: line 2: the word 'b'"),
    ("tagging", "--format conllu", "# x\n1\ta\ta\n", "train: line 2: 3 columns, expected"),
    ("tagging", "--format conllu", "1\ta\ta\tA\n2\tb\tb\t_\n", "train: line 2: the word 'b'"),
    ("tagging", "--format columns --labels labels", "o X\n\nc X\nd Z\n", "train: line 3: the"),
    ("regression", "--labels labels", TSV, "--labels"),
    ("classification", "--labels valid", TSV, "train: line 1"),
    ("classification", "--labels twice", TSV, "twice: line 3"),
    ("classification", "--labels gap", TSV, "gap: line 2"),
    ("classification", "--labels one", TSV, "one: 1 labels"),
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
    ("classification", "--text-columns 2,3 --max-length 2", LONG_PAIRS, "--max-length 2: give 3"),
    ("classification", "--sampled-copies 1", TSV, "--sampled-copies"),
    (
        "classification",
        "--labels no --valid nor,train",
        TSV,
        "nor does not exist, no does not exist",
    ),
    ("classification", "--destdir .", TSV, "--destdir ."),
]


@pytest.mark.parametrize(("kind", "flags", "content", "message"), REFUSED)
def test_a_line_or_an_option_that_cannot_be_is_named(folder, kind, flags, content, message):
    folder.write(train=content, valid="odd\tx\neven\ty\nodder\tz\n", labels="X\nY\n")
    folder.write(twice="a\nb\n a\n", gap="a\n\nb\n", one="odd\n")
    assert message in folder.refused(kind, flags)


def test_training_pieces_twice_gives_the_same_files(folder):
    folder.write(train=TSV)
    assert "--vocab-size" in folder.refused("classification", pieces="--vocab-size=-5")
    written = []
    for _ in range(2):
        folder.prepare("classification", "--valid train", "--vocab-size 20")
        description, pieces = (
            folder.description(),
            [row.tolist() for row in folder.column("pieces")],
        )
        written.append({path.name: path.read_bytes() for path in Path("data").iterdir()})
        shutil.rmtree("data")
    assert written[0] == written[1]
    assert description.pieces[:3] == ["<pad>", "</s>", "<unk>"] and len(description.pieces) == 20
    tokenizer = description.tokenizer("here")
    assert pieces == [[*tokenizer.encode(text), 1] for text in TEXTS]


def test_the_end_of_a_very_long_line_is_learnt_from_too():
    text = "word " * 2000 + "ß" + "x" * 20_000 + "é"  # of more bytes than the trainer takes
    tokenizer = train_tokenizer(iter([text, "short"]), 30)
    assert {"ß", "é"} <= set("".join(tokenizer.pieces))


def test_copies_spell_the_same_words_with_other_subwords(folder):
    words = ["under", "standing", "understanding", "stand", "standings", "undergo", "going", "go"]
    texts = list(itertools.permutations(words, 6))[::500]
    folder.write(train="".join(f"{'A B ' * 3}\t{' '.join(text)}\n" for text in texts))
    folder.prepare("tagging", "--valid train --sampled-copies 2", "--vocab-size 40")
    rows, count = [row.tolist() for row in folder.column("pieces")], len(texts)
    first, *copies = (rows[at : at + count] for at in range(0, 3 * count, count))
    assert first == [row.tolist() for row in folder.column("pieces", "valid")]
    assert first != copies[0] != copies[1] and len(rows) == 3 * count
    assert folder.description().counts == [3 * count] * 2, "of the text alone"
    known = folder.description().pieces
    for number, (subwords, spans) in enumerate(zip(rows, folder.column("spans"), strict=True)):
        spelt = [""] * 6
        for piece, word in zip(subwords[:-1], spans.tolist()[:-1], strict=True):
            spelt[word - 1] += known[piece].replace("▁", "")
        assert tuple(spelt) == texts[number % count]


def test_subwords_of_a_folder_of_data_and_of_none(folder):
    folder.write(train="A\tThe cat sat\nB\tunhappy mats\n")
    checkpoints.bert(Path("bert"))
    for pieces, flags, message in (
        ("--bert-dir bert", "--max-length 10", "--max-length 10"),
        ("--bert-dir bert", "--max-length 2", "--max-length 2"),
        ("--bert-dir bert", "--sampled-copies 1", "--sampled-copies"),
        ("--t5-dir bert", "", "--t5-dir"),
        ("--subwords-of no", "", "checkpoint no does not exist"),
    ):
        assert message in folder.refused("classification", flags, pieces)
    folder.prepare("classification", pieces="--bert-dir bert")
    description = folder.description()
    symbols = [[description.pieces[piece] for piece in text] for text in folder.column("pieces")]
    assert symbols == ["<s> the cat sat </s>".split(), "<s> un ##happy mat ##s </s>".split()]
    assert description.max_length == checkpoints.PLACES and description.model is None
    shutil.move("data", "old")
    for flags, message in (
        ("--max-length 0", "give 3"),
        ("--sampled-copies 1", "--sampled-copies"),
    ):
        assert message in folder.refused("classification", flags, "--subwords-of old")
    folder.prepare("classification", pieces="--subwords-of old")
    assert Path("data/enct5.json").read_bytes() == Path("old/enct5.json").read_bytes()


def test_what_is_cut_off_is_told(folder):
    folder.write(train="A B C\taa bb cc\nA\tx\nB A\ttoolong y\nC C\tbbb c\n")
    output = folder.prepare("tagging", "--max-length 7")
    assert folder.texts() == ["aa bb|", "x|", "toolon|", "bbb c|"]
    spans = [row.tolist() for row in folder.column("spans")]
    assert spans == [[1, 1, 2, 2, 2, 0], [1, 0], [1] * 6 + [0], [1, 1, 1, 2, 2, 0]]
    assert folder.names()[0] == "A B C"  # also of the word that is gone
    assert "2 examples (number 1, 3) are longer than 7 and cut off, 2 words lost" in output
    assert folder.description().max_length == 7


def test_sampled_copies_are_the_same_with_the_same_seed_and_others_with_another(folder):
    folder.write(train=TSV)
    written = []
    for flags in ("", "--seed 1", "--seed 2"):
        folder.prepare("classification", f"--sampled-copies 2 {flags}", "--vocab-size 40")
        written.append(Path("data/train.pieces.bin").read_bytes())
        shutil.rmtree("data")
    assert written[0] == written[1] != written[2]


@pytest.mark.parametrize(
    ("flags", "pieces", "fault"),
    [
        ("", "--vocab-size 9", "--vocab-size 9: this text needs at least 17 subwords"),
        ("", "--vocab-size 0", "--vocab-size 0"),
        ("", f"--vocab-size {2**31}", "--vocab-size"),
        ("--seed 2", "--vocab-size 40", "--sampled-copies"),
        ("--sampled-copies 1 --seed -1", "--vocab-size 40", "--seed -1"),
    ],
)
def test_subwords_that_cannot_be_learned_or_sampled_are_refused(folder, flags, pieces, fault):
    folder.write(train=TSV)
    message = folder.refused("classification", flags, pieces)
    assert fault in message and "INTERNAL" not in message
