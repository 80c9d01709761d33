"""Small tasks for EncT5, one of each kind, prepared as users do and trained by real commands."""

import random
import re
from pathlib import Path
from typing import NamedTuple

from conftest import TRAINING, Commands, Result

from lev_plugins.cli import enct5_prepare

LETTERS = "abcdefgh"
SIZES = (
    "--encoder-embed-dim 32 --encoder-ffn-embed-dim 64 --encoder-layers 1 "
    "--encoder-attention-heads 2 --attention-head-dim 16"
)
MODEL = f"--arch enct5 {SIZES} --dropout 0"
LENGTHS = {"train": 192, "valid": 21, "valid1": 11}


def labelled(kind: str, words: list[str]) -> str:
    """What is to be found out: a rule that a tiny model learns at once.

    Classes: whether there is an ``a``. Values: how many words there are, and half of how many are
    ``a``. Labels: which of a to d are there. Tags: the letter itself, in capitals.
    """
    if kind == "classification":
        return "yes" if "a" in words else "no"
    if kind == "regression":
        return str(len(words) + words.count("a") / 2)
    if kind == "tagging":
        return " ".join(word.upper() for word in words)
    return ",".join(letter for letter in "abcd" if letter in words)


def write_corpus(folder: Path, kind: str) -> None:
    """TSV files of :data:`LENGTHS`: what is to be found out, a tab, one to six letters."""
    draw = random.Random(7)
    for split, length in LENGTHS.items():
        texts = [draw.choices(LETTERS, k=draw.randint(1, 6)) for _ in range(length)]
        lines = [f"{labelled(kind, words)}\t{' '.join(words)}\n" for words in texts]
        (folder / f"{split}.tsv").write_text("".join(lines))


class Corpus(NamedTuple):
    """A folder with text and prepared data, and the commands of the task ``enct5`` on them."""

    commands: Commands
    folder: Path

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def train(self, more: str) -> str:
        flags = f"{MODEL} --criterion enct5 {TRAINING} --ignore-unused-valid-subsets"
        return f"fairseq-train {self.data} {flags} {more}"

    def done(self, command: str) -> Result:
        return self.commands.done(command, self.folder, task="enct5")


def prepared(commands: Commands, folder: Path, kind: str) -> Corpus:
    """Writes text and prepares it: train, valid and valid1."""
    write_corpus(folder, kind)
    train, valid, more = (f"{folder}/{split}.tsv" for split in LENGTHS)
    words = f"--kind {kind} --bytes --train {train}"
    enct5_prepare.main(f"{words} --valid {valid},{more} --destdir {folder}/data".split())
    return Corpus(commands, folder)


def scores(log: str, subset: str = "valid") -> list[dict[str, float]]:
    """Metric → value of every validation, in order, without speeds and the like."""
    rows = []
    for line in log.splitlines():
        _, there, figures = line.partition(f"valid on '{subset}' subset | ")
        if there:
            values = dict(figure.split(" ") for figure in figures.split(" | "))
            names = [name for name in values if not re.match("wps|wpb|bsz|num_|best_", name)]
            rows.append({name: float(values[name]) for name in names})
    return rows
