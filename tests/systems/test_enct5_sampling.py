"""Copies of the training text with subwords that are sampled."""

import random
from collections import Counter
from pathlib import Path

import pytest

from lev_plugins.cli.enct5_prepare import main
from lev_plugins.errors import UserError
from lev_plugins.systems.enct5.preparation.labels import Labels
from lev_plugins.systems.enct5.preparation.reading import Labelled
from lev_plugins.systems.enct5.preparation.writing import Sampling, trained_cutter, write_split
from lev_plugins.systems.enct5.problem_types import ProblemType
from lev_plugins.systems.enct5.tokenizer import Tokenizer

WORDS = ["under", "standing", "understanding", "stand", "standings", "undergo", "going", "go"]
SENTENCES = [random.Random(i).choices(WORDS, k=6) for i in range(40)]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return trained_cutter((" ".join(words) for words in SENTENCES), 40)


def spelt(tokenizer: Tokenizer, words: list[str]) -> tuple[list[int], list[str]]:
    """The subwords of a sentence, and what the subwords of each word spell."""
    found = tokenizer.words(words, 200)
    texts = [""] * len(words)
    for piece, word in zip(found.pieces[:-1], found.spans[:-1], strict=True):
        texts[word - 1] += tokenizer.pieces[piece].replace("▁", "")
    return found.pieces, texts


def test_sampled_subwords_spell_the_same_words_and_come_back_with_the_seed(tokenizer):
    before = [spelt(tokenizer, words)[0] for words in SENTENCES]
    sampled = []
    for seed in (1, 1, 2):
        with tokenizer.sampled(0.2, seed):
            found = [spelt(tokenizer, words) for words in SENTENCES]
        assert [texts for _, texts in found] == SENTENCES
        sampled.append([pieces for pieces, _ in found])
    assert sampled[0] == sampled[1] != sampled[2]
    assert sum(map(len, sampled[0])) > sum(map(len, before)), "the likeliest one has few subwords"
    assert [spelt(tokenizer, words)[0] for words in SENTENCES] == before


def test_copies_follow_the_examples_with_the_same_labels(tokenizer, tmp_path: Path):
    labels = Labels(ProblemType.TAGGING, ["A", "B"])
    examples = [Labelled("here", words, ["A", "B"] * 3) for words in SENTENCES]
    plain = write_split(str(tmp_path / "plain"), examples, tokenizer, labels, 200)
    copied = write_split(
        str(tmp_path / "copied"), iter(examples), tokenizer, labels, 200, Sampling(2)
    )
    assert (copied.examples, copied.words) == (3 * plain.examples, 3 * plain.words)
    assert copied.counts == Counter({label: 3 * n for label, n in plain.counts.items()})
    assert copied.pieces > 3 * plain.pieces
    first = (tmp_path / "plain.pieces.bin").read_bytes()
    both = (tmp_path / "copied.pieces.bin").read_bytes()
    assert both.startswith(first), "the examples as they are come first"


def test_bytes_cannot_be_sampled():
    with pytest.raises(UserError, match="there is one segmentation only"):
        with Tokenizer(None).sampled(0.2, 1):
            pass


@pytest.mark.parametrize(
    "flags, said",
    [
        ("--sampled-copies -1", "--sampled-copies -1: give 0 or more"),
        ("--sampled-copies 1 --bytes", "--sampled-copies is for subwords that can be sampled"),
    ],
)
def test_what_cannot_be_sampled_is_refused_before_anything_is_written(flags, said, tmp_path):
    (tmp_path / "train.tsv").write_text("A B\tone two\n")
    pieces = "" if "--bytes" in flags else "--vocab-size 20"
    needed = f"--kind tagging --train {tmp_path}/train.tsv --destdir {tmp_path}/data {pieces}"
    with pytest.raises(UserError, match=said):
        main([*needed.split(), *flags.split()])
    assert not (tmp_path / "data").exists()


def test_the_command_writes_the_copies(tmp_path):
    lines = "".join(f"{' '.join('AB' * 3)}\t{' '.join(words)}\n" for words in SENTENCES)
    (tmp_path / "train.tsv").write_text(lines)
    sizes = []
    for name, flags in (("plain", ""), ("copied", "--sampled-copies 2")):
        folder = tmp_path / name
        command = f"--kind tagging --train {tmp_path}/train.tsv --vocab-size 40 --destdir {folder}"
        main([*command.split(), *flags.split()])
        sizes.append((folder / "train.labels.bin").stat().st_size)
    assert sizes[1] == 3 * sizes[0]
