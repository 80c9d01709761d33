"""The examples: each from its data to its table, and what scripts refuse."""

import itertools
import json
import random
import re
import shlex
import subprocess

import checkpoints
import numpy as np
import pytest
from conftest import conllu
from example_scripts import EXAMPLES, bash, module, programs, ran, refusal
from plain_files import put, read
from tables import table
from test_guides import smaller

from lev_plugins.packaged import ENGLISH_SPANISH

ENCODER = (
    "--encoder-embed-dim=16 --encoder-ffn-embed-dim=16 --encoder-attention-heads=2 "
    "--encoder-layers=1 --num-workers=0 --disable-validation --cpu"
)
BOTH = f"{ENCODER} {ENCODER.partition(' --num')[0].replace('encoder', 'decoder')}"
LONG = pytest.mark.long
WORDS = ("cat", "dog", "mat", "sat", "ran", "the", "a", "on")


def split(command: str) -> tuple[list[str], dict[str, str]]:
    """Splits ``NAME=VALUE … SCRIPT ARGUMENT …``; returns the script with its arguments first."""
    words = shlex.split(command)
    settings = list(itertools.takewhile(lambda word: "=" in word, words))
    return words[len(settings) :], dict(setting.split("=", 1) for setting in settings)


# ---------------------------------------------------------------- from the data to the table


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Returns all that examples begin with: text of made-up words in parts and sides, of which the
    training part is packed, text with labels, and a BERT.

    ``de`` and ``pe`` are in capitals, ``mt`` lacks the first word, ``noisy`` has a letter wrong.
    """
    folder, draw = tmp_path_factory.mktemp("examples"), random.Random(3)
    made_up = ["".join(draw.choices("abcdefg", k=draw.randint(3, 6))) for _ in range(40)]
    for part, count in {"train": 80, "dev": 9, "val": 10, "test": 11}.items():
        lines = [" ".join(draw.choices(made_up, k=draw.randint(1, 5))) for _ in range(count)]
        capitals = [line.upper() for line in lines]
        sides = {
            **dict.fromkeys(("en", "src", "clean"), lines),
            **dict.fromkeys(("de", "pe"), capitals),
            "mt": [line.partition(" ")[2] for line in capitals],
            "noisy": [line.replace("a", "x", 1) for line in lines],
        }
        for side, column in sides.items():
            is_bitext = part == "test" and side in ("en", "de")
            put(folder / f"{'test_2016_flickr' if is_bitext else part}.{side}", column)
        texts = [draw.choices(WORDS, k=draw.randint(1, 7)) for _ in range(count)]
        put(folder / f"tags/x.{part}.conllu", conllu(texts, {word: word[0] for word in WORDS}))
        labels = [",".join(str(n) for n in range(4) if WORDS[n] in words) for words in texts]
        joined = ['"the ""cat"" a"', *map(" ".join, texts[1:])]  # quoted as CSV has it
        put(folder / f"labels/x.{part}.tsv", map("\t".join, zip(labels, joined)))
    put(folder / "labels/x.labels.txt", WORDS[:4])
    put(folder / "other.txt", ["one two three", "four zebra six"])
    put(folder / "words.txt", ["zebra 3", "four"])
    checkpoints.bert(folder / "bert")
    packed = sorted(map(str, folder.glob("**/*train.*")))
    subprocess.run(["gzip", *packed], check=True)
    return folder


#: what is run | what it prints, a regular expression
RUNS = {
    "translation": r"""
VOCABULARY=70 translation/prepare.sh {data} {work}
UPDATES=2 translation/train.sh {work} levt {both}
SYSTEMS=levt LATENCY=3 translation/evaluate.sh {work} | 11 sentences.* levt$.*_last.pt: [\d.]+ ms
""",
    "translation, all": r"""
VOCABULARY=70 translation/prepare.sh {data} {work}
UPDATES=2 translation/train.sh {work} ar {both}
UPDATES=2 translation/train.sh {work} stock {both}
UPDATES=2 translation/train.sh {work} levt {both}
SHARDS=3 translation/distill.sh {work} --max-len-b 20
MINUTES=1 translation/train.sh {work} distilled {both} --max-update=2
translation/evaluate.sh {work} | ar-greedy +ar-beam-4 +stock +levt +distilled$
""",
    "post-editing": r"""
VOCABULARY=90 post_editing/prepare.sh {data} {work}
UPDATES=2 post_editing/train.sh {work} scratch {both}
post_editing/evaluate.sh {work} scratch | 11 sentences.*no-edit baseline.* scratch$
""",
    "post-editing, all": r"""
VOCABULARY=90 post_editing/prepare.sh {data} {work}
UPDATES=2 post_editing/train.sh {work} translation {both}
UPDATES=2 post_editing/train.sh {work} finetuned {both}
UPDATES=2 post_editing/train.sh {work} concat {both}
post_editing/evaluate.sh {work} finetuned | finetuned$
post_editing/evaluate.sh {work} concat | concat$
UPDATES=2 post_editing/from_checkpoint.sh {work}/translation {data} {work}/b | zero-shot +finetuned$
""",
    "denoising": r"""
WORDS=2 TEST_LINES=3 ELSEWHERE={data}/other.txt denoising/prepare.sh {data} {work}
WIDTH=16 LAYERS=1 RUN=1 UPDATES=2 denoising/train.sh {work} mask,copy,generate {encoder}
BEAM=1 denoising/evaluate.sh {work} --lexicon {data}/words.txt | (12 sentences.*\+lexicon$.*){2}
""",
    "tagging": r"""
VOCAB=60 classification/prepare.sh tagging {data}/tags {work} --max-length 9
WIDTH=16 LAYERS=1 {short} classification/train.sh {work} --num-workers=0 --cpu
classification/evaluate.sh {work} | ## tagging: 11 test examples.*tagging-1
""",
    "labels, from a BERT": r"""
BERT={data}/bert classification/prepare.sh multilabel {data}/labels {work} --max-length 9
{short} classification/train.sh {work} --num-workers=0 --cpu
classification/evaluate.sh {work} | ## multilabel: 11 test examples.*multilabel-1
""",
    "ocr": r"""
WORDS=2 spelling_and_ocr/prepare_ocr.sh {data} {work}
LAYERS=1 UPDATES=2 spelling_and_ocr/train_ocr.sh {work} pbd --disable-validation {one}
BEAM=2 NBEST=3 DEV_LINES=5 spelling_and_ocr/evaluate_ocr.sh {work} | symspellpy +pbd +pbd-ranked$
""",
}
PLACES = {
    "both": BOTH,
    "encoder": ENCODER,
    "one": "--encoder-embed-dim=24 --encoder-ffn-embed-dim=16",
    "short": "TOKENS=400 PACK=32 UPDATES=3 RUN=1",
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=LONG if name.endswith("all") else ()) for name in RUNS]
)
def test_an_example_runs_from_its_data_to_its_table(name, data, tmp_path, succeed):
    for row in RUNS[name].strip().splitlines():
        command, _, expected = row.partition(" | ")
        words, environ = split(command.format(data=data, work=tmp_path / "work", **PLACES))
        output = succeed(*words, **environ)
        assert re.search(expected, output, re.M | re.S), output


def test_help_of_a_person_is_worth_something(commands, triples):
    script = EXAMPLES / "interactive_editing" / "simulate.py"
    files = "--sources valid.src --references valid.tgt --drafts valid.mt"
    output = commands.ok(f"python {script} {triples.checkpoint} {files}", triples.folder).out
    rows = {line[:44].strip(): line[44:].split() for line in output.splitlines()}
    locked = rows["… and right words locked"]
    assert rows["no-edit baseline"][3] == locked[3] == "100.0%"
    assert float(locked[0]) > float(rows["no-edit baseline"][0])


#: translations of the packaged model's four sentences
WANTED = (
    "Retorna el número de columna donde comienza el evento actual.",
    "Elimina el directorio *path*. Si *path* no existe, se lanza :exc:`FileNotFoundError`.",
    "Crea un nuevo socket y se conecta a la dirección dada.",
    "Estas funciones están obsoletas desde Python 3.8.",
)


def test_an_oracle_of_subwords_needs_no_checkpoint(commands, tmp_path):
    script, folder = EXAMPLES / "interactive_editing" / "simulate.py", ENGLISH_SPANISH
    columns = zip(*(line.split("\t") for line in read(folder / "demo.tsv")), strict=True)
    for name, column in zip(("source", "draft", "old"), columns, strict=True):
        put(tmp_path / name, column)
    put(tmp_path / "wanted", WANTED)
    files = "--sources source --old-sources old --drafts draft --references wanted"
    commands.ok(f"python {script} {folder} {files} --subwords --json numbers", tmp_path)
    numbers = json.loads((tmp_path / "numbers").read_text())["systems"]
    assert len(numbers) == 7
    drafted, *_, free = [system["bleu"] for system in numbers.values()]
    assert free > drafted


# ---------------------------------------------------------------- what is computed by hand


@pytest.mark.parametrize("draft, reference, marked, locked", table("commands/marked.tsv"))
def test_marks_end_where_punctuation_begins(draft, reference, marked, locked):
    simulate = module("interactive_editing", "simulate")
    assert simulate.marked(draft, reference) == marked
    assert simulate.marked(draft, reference, lock=True) == locked


def test_labels_and_classes_are_scored(tmp_path):
    evaluate = module("classification", "evaluate")
    file = put(tmp_path / "test.tsv", ["joy, anger\tx  y "])
    assert evaluate.read(file, "multilabel") == ([["x", "y"]], [["joy", "anger"]])
    known = np.array([], bool)
    predicted, labels = [["a"], ["b"], ["b"], []], [["a"], ["b", "a"], ["c"], []]
    figures = evaluate.scores("multilabel", predicted, labels, known)
    assert figures == {"micro-F1": 57.14, "macro-F1": 44.44, "texts right": 50}
    classes = [["a"], ["b"], ["c"]]
    figures = evaluate.scores("classification", classes, classes, known)
    assert figures == {"accuracy": 100, "Matthews": 100}


# ---------------------------------------------------------------- what scripts refuse


@pytest.mark.parametrize("command, message", table("commands/refused.tsv", "script"))
def test_a_script_refuses_in_one_line_and_leaves_nothing(command, message, tmp_path):
    folders = {name: tmp_path / name for name in ("tmp", "work", "mine", "made")}
    folders["tmp"].mkdir()
    for file in ("work/data/dict.clean.txt", "work/data/train.src-tgt.src.idx", "made/names.txt"):
        put(tmp_path / file, [])
    put(tmp_path / "work/kind", ["classification"])
    put(tmp_path / "mine/text/train.src", ["somebody's"])
    long = put(tmp_path / "mine/long.txt", ["eins zwei drei"] * 200)
    words, environ = split(command.format(**folders, long=long))
    before = sorted(tmp_path.rglob("*"))
    line = refusal(*words, **environ)
    assert re.match(message, line), line
    assert sorted(tmp_path.rglob("*")) == before


# ---------------------------------------------------------------- the campaign


def test_the_campaign_names_the_commands_of_a_row(succeed):
    assert "tagging\tmost frequent tag" in succeed("campaign.sh")
    system = "most frequent tag, new words by capitalisation"
    output = succeed("campaign.sh", "-n", "W", "tagging", system, DATA="my/ewt")
    assert output.splitlines()[0] == "bash examples/classification/prepare.sh tagging my/ewt W"


def test_a_campaign_goes_on_where_it_was_stopped(tmp_path):
    """What is finished is not run again; what fails keeps nothing else from running."""
    work, fails = tmp_path / "work", "test -f WORK/ready"
    listed = put(tmp_path / "list.txt", ["# mine", "echo 1 >> WORK/1", fails, "echo 2 >> WORK/2"])
    words = [str(EXAMPLES / "campaign.sh"), str(work), str(listed)]
    assert bash(words).returncode == 1
    left = [words[0], "-n", *words[1:]]
    assert ran(left) == f"test -f {work}/ready\n"
    put(work / "ready", [])
    ran(words)
    assert [read(work / name) for name in "12"] == [["1"], ["2"]]
    assert ran(left) == ""


# ---------------------------------------------------------------- the papers' sizes

LABELS = 4271  # of EURLEX
#: what a recipe's variables stand for: folders of ``shaped``, and processes on this machine
MINE = {
    **{name: name.lower() for name in ("WMT14", "OCRPP", "ICDAR", "BERT", "EURLEX", "UD", "COLA")},
    "T5FOLDER": "t5",
}


@pytest.fixture(scope="module")
def shaped(tmp_path_factory):
    """Returns data of the papers' labels, lengths and rows an update, and tiny models to start."""
    folder, draw = tmp_path_factory.mktemp("shaped"), random.Random(5)
    names = [f"l{number}" for number in range(LABELS)]
    put(folder / "eurlex/labels.txt", names)
    tags = {word: word[0] for word in WORDS}
    for part, count in {"train": 300, "dev": 3, "valid": 3, "test": 3}.items():
        rare = ["".join(draw.choices("abcdefg", k=4)) for _ in range(40)]
        # words of the training part are learnt as a piece, others cut into letters
        words_a_line = 160 if part == "train" else 45
        long = [" ".join(draw.choices(rare, k=words_a_line)) for _ in range(count)]
        if part == "train":
            long[7] = " ".join([long[7]] * 5)  # longer than the model reads
        common = [" ".join(draw.choices(WORDS, k=100)) for _ in range(2 * count)]
        chosen = [",".join(draw.sample(names, 5)) for _ in range(count)]
        sentences = [text.split() for text in common]
        put(folder / f"eurlex/{part}.tsv", map("\t".join, zip(chosen, common)))
        put(folder / f"cola/{part}.tsv", [f"{'ab'[n % 2]}\t{t}" for n, t in enumerate(common)])
        put(folder / f"ud/{part}.conllu", conllu(sentences, tags))
        for side in ("en", "de"):
            put(folder / f"wmt14/{part}.{side}", long)
        for name, lines in (
            ("ocrpp", rare * 20),
            ("icdar", [f"{t} {t} {t[:250]}" for t in common]),
        ):
            clean = lines[: 500 if part == "train" else 3]
            put(folder / f"{name}/{part}.clean", clean)
            put(folder / f"{name}/{part}.noisy", [text.replace("a", "e", 1) for text in clean])
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(checkpoints.BERT_CONFIG, "max_position_embeddings", 512)
        checkpoints.bert(folder / "bert")
    checkpoints.t5(folder / "t5")
    return folder


def shorter(words: list[str]) -> list[str]:
    """A call of a program with few updates and a narrow model, at its own lengths and batches."""
    if words[0] != "fairseq-train":
        return smaller(words)
    added = smaller(words)[len(words) :]
    sizes = added if "--backbone" not in words else added[4:]
    return [*words, *sizes, "--max-update", "2", "--log-interval", "1"]


@pytest.mark.long
@pytest.mark.parametrize("recipe, updates", table("commands/cases.tsv", "examples: updates"))
def test_a_recipe_of_a_paper_runs_with_its_flags_at_its_true_shape(
    recipe, updates, shaped, tmp_path, commands
):
    """What trains on several GPUs trains in two processes here, by gloo."""
    text = (EXAMPLES / f"recipes/{recipe}.txt").read_text("utf-8")
    text = text.replace("VOCABULARY=32000", "VOCABULARY=70")
    listed = put(tmp_path / "list.txt", text.splitlines())
    commands_of = " ".join(line for line in text.splitlines() if not line.startswith("#"))
    mine = {name: str(shaped / folder) for name, folder in MINE.items() if name in commands_of}
    sizes = BOTH.replace("--disable-validation", "")
    several = f"{sizes} --max-update 2 --log-interval 1 --log-format simple"
    small = {"GUIDE_TORCHRUN": f"{several} --distributed-backend gloo", "GPUS": "2"}
    (requests := tmp_path / "requests").mkdir()
    with programs(commands, requests, shorter):
        words = [str(EXAMPLES / "campaign.sh"), str(tmp_path / "work"), str(listed)]
        output = ran(words, requests, **mine, **small)
    seen = {
        key: [float(size) for size in re.findall(rf"\b{key}=([\d.]+)", output)]
        for key in ("bsz", "wpb")
    }
    first = [(b, w) for b, w in zip(seen["bsz"], seen["wpb"], strict=True)][::2]
    least = [tuple(map(int, pair.split())) for pair in updates.split(",")]
    assert len(first) == len(least), first
    for (rows_seen, tokens), (rows_least, tokens_least) in zip(first, least, strict=True):
        assert rows_seen >= rows_least and tokens >= tokens_least, first
