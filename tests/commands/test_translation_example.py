"""The scripts and configurations of examples/translation, and the further ways of post_editing."""

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from example_scripts import EXAMPLES, trained_with
from fairseq import options
from plain_files import put

import lev_plugins  # noqa: F401  (registers)

GRIDS = sorted((EXAMPLES / "translation" / "grid").glob("*.txt"))
TINY = [
    f"--{side}-{name}={size}"
    for side in ("encoder", "decoder")
    for name, size in (("embed-dim", 16), ("ffn-embed-dim", 16), ("attention-heads", 2))
]
SHALLOW = [*TINY, "--encoder-layers=1", "--decoder-layers=1"]


def configurations() -> list[tuple[str, list[str]]]:
    """Name and flags of every line of every grid."""
    lines = [line.split() for grid in GRIDS for line in grid.read_text("utf-8").splitlines()]
    return [(words[0], words[1:]) for words in lines if words and not words[0].startswith("#")]


@pytest.fixture(scope="module")
def work(commands, triples, tmp_path_factory):
    """A folder as prepare.sh leaves it, where the tiny triples are the data."""
    folder = tmp_path_factory.mktemp("work")
    for name in ("data", "distilled-data"):
        (folder / name).symlink_to(triples.data)
    return folder


def test_a_training_may_be_as_long_as_the_clock_says(work, tmp_path):
    words = trained_with(tmp_path, "translation/train.sh", work, "levt", *SHALLOW, MINUTES="3")
    assert words[words.index("--stop-time-hours") + 1] == "0.05" and "--max-update" not in words


@pytest.mark.parametrize(
    "flags", [pytest.param(flags, id=name) for name, flags in configurations()]
)
def test_every_configuration_of_a_grid_is_one_that_fairseq_train_reads(work, tmp_path, flags):
    words = trained_with(tmp_path, "translation/train.sh", work, "levt", *TINY, *flags)
    assert words[-len(flags) :] == flags
    args = options.parse_args_and_arch(options.get_training_parser(), words)
    assert (args.task, args.arch) == ("translation_edit", "levenshtein_editor")


def write_bitext(folder: Path, names: dict[str, int], sides: tuple[str, str]) -> None:
    """Sentences of made-up words; the target is the source in capitals."""
    draw = random.Random(3)
    words = ["".join(draw.choices("abcdefg", k=draw.randint(2, 6))) for _ in range(40)]
    folder.mkdir()
    for name, lines in names.items():
        text = "".join(
            " ".join(draw.choices(words, k=draw.randint(1, 7))) + "\n" for _ in range(lines)
        )
        (folder / f"{name}.{sides[0]}").write_text(text)
        (folder / f"{name}.{sides[1]}").write_text(text.upper())


def write_triples(folder: Path, names: dict[str, int]) -> None:
    """A bitext whose drafts lack the first word of their targets."""
    write_bitext(folder, names, ("src", "pe"))
    for part in names:
        lines = (folder / f"{part}.pe").read_text("utf-8").splitlines()
        put(folder / f"{part}.mt", [" ".join(line.split()[1:]) for line in lines])


#: what generate.sh prints last
SCORED = r"^{} sentences .*\nno-edit baseline .* 100.0%\npost-edited .*%$"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, succeed: Callable[..., str]) -> Path:
    """What prepare.sh makes of a bitext whose files are called as Multi30k's are."""
    folder = tmp_path_factory.mktemp("translation")
    write_bitext(folder / "data", {"train": 80, "val": 10, "test_2016_flickr": 11}, ("en", "de"))
    succeed("translation/prepare.sh", folder / "data", folder / "work", VOCABULARY="70")
    return folder / "work"


@pytest.mark.slow
def test_levt_is_trained_and_scored(prepared, succeed):
    succeed("translation/train.sh", prepared, "levt", *SHALLOW, UPDATES="2")
    said = succeed("translation/generate.sh", prepared, SYSTEMS="levt")
    assert "11 sentences" in said and re.search(r"^bleu ↑ +[\d.]+$", said, re.M), said


@pytest.mark.long
def test_translation_goes_the_whole_way(prepared, tmp_path, succeed):
    for system in ("ar", "stock", "levt"):
        succeed("translation/train.sh", prepared, system, *SHALLOW, UPDATES="2")
    succeed("translation/distill.sh", prepared, "--max-len-b", "20")
    distilled = (prepared / "distilled-text" / "train.de").read_text("utf-8").splitlines()
    assert len(distilled) == 80
    succeed("translation/train.sh", prepared, "distilled", *SHALLOW, UPDATES="2")
    said = succeed("translation/generate.sh", prepared, LATENCY="3")
    head, bleu = re.search(r"^(.*ar-greedy .*)\n(?:.*\n)*?(bleu .*)\n", said, re.M).groups()
    assert head.split()[-5:] == ["ar-greedy", "ar-beam-4", "stock", "levt", "distilled"]
    assert len(bleu.split()) == 7
    assert "11 sentences" in said and "sentences:3|" in said
    grid = tmp_path / "mine.txt"
    grid.write_text("# one of my own\nquick --weight-sharing none --placeholder-weight 2\n")
    table = succeed("translation/grid.sh", prepared, grid, "distilled", *SHALLOW, UPDATES="1")
    assert re.search(r"^deletion loss in validation, bits: [0-9.]+$", table, re.M)
    assert "distilled-quick" in table


@pytest.mark.long
def test_a_weak_system_makes_triples_of_the_second_half(prepared, tmp_path, succeed):
    small = ["--encoder-embed-dim", 16, "--encoder-hidden-size", 16]
    small += ["--decoder-embed-dim", 16, "--decoder-hidden-size", 16, "--decoder-out-embed-dim", 16]
    out = tmp_path / "triples"
    succeed("post_editing/weak_system.sh", prepared, out, *small, UPDATES="1")
    for part, count in (("train", 40), ("dev", 10), ("test", 11)):
        for side in ("src", "mt", "pe"):
            assert len((out / f"{part}.{side}").read_text("utf-8").split("\n")) == count + 1
    sources = (prepared / "text" / "train.en").read_text("utf-8").splitlines()
    assert (out / "train.src").read_text("utf-8").splitlines() == sources[40:]


@pytest.mark.long
def test_synthetic_triples_serve_every_way(prepared, tmp_path, succeed):
    real = tmp_path / "real"
    write_triples(real, {"train": 30, "dev": 9, "test": 11})
    triples, work = tmp_path / "triples", tmp_path / "work"
    bitext = prepared / "text" / "train"
    succeed("post_editing/synthetic.sh", real, bitext, triples, TIMES="2")
    for side in ("src", "mt", "pe"):
        lines = (triples / f"train.{side}").read_text("utf-8").splitlines()
        assert len(lines) == 2 * 30 + 80 + 30
    succeed("post_editing/prepare.sh", triples, work, VOCABULARY="90")
    for way in ("translation", "finetuned", "concat"):
        succeed("post_editing/train.sh", work, way, *SHALLOW, UPDATES="2")
        said = succeed("post_editing/generate.sh", work, way, SUBSET="valid")
        assert re.search(SCORED.format(9), said, re.M), said


@pytest.mark.slow
def test_post_editing_goes_the_whole_way(tmp_path, succeed):
    data, work = tmp_path / "data", tmp_path / "work"
    write_triples(data, {"train": 60, "dev": 9, "test": 11})
    succeed("post_editing/prepare.sh", data, work, VOCABULARY="90")
    succeed("post_editing/train.sh", work, *SHALLOW, UPDATES="3")
    said = succeed("post_editing/generate.sh", work, "--iter-decode-max-iter", "2")
    assert re.search(r"^Generate test with beam=\d+: BLEU = [\d.]+", said, re.M)
    assert re.search(r"^Generate test with beam=\d+: TER = [\d.]+ nrefs:1", said, re.M)
    assert re.search(SCORED.format(11), said, re.M), said
    said = succeed("post_editing/generate.sh", work, CAREFUL="1")
    assert re.search(r"^careful +\S+ +\S+ +\S+%$", said, re.M)
    assert len((work / "careful.scratch.txt").read_text(encoding="utf-8").splitlines()) == 11
