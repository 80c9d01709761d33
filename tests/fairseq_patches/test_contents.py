"""Checkpoints say how many words their model learnt to read at once."""

from types import SimpleNamespace
from typing import Any

import pytest
import tiny
import torch
from fairseq.data import Dictionary

from lev_plugins.fairseq_patches.line_lengths import WORDS_LEARNT, keep_lengths, words_learnt

SPACED = {
    "characters": lambda line: " ".join(line.replace(" ", "\u2581")),
    "sentencepiece": lambda line: " ".join(f"\u2581{word[0]} {word[1:]}" for word in line.split()),
    "subword-nmt": lambda line: " ".join(f"{word[0]}@@ {word[1:]}" for word in line.split()),
    "BERT": lambda line: " ".join(f"{word[0]} ##{word[1:]}" for word in line.split()),
    "words": lambda line: line,
}


def learnt(lines: list[str], kind: str = "words") -> int | None:
    dictionary = Dictionary()
    sources = [dictionary.encode_line(SPACED[kind](line)) for line in lines]
    return words_learnt(sources, dictionary)


@pytest.mark.parametrize(
    ("lines", "learnt_words"),
    [
        (["a b c"] * 60 + ["a b c d e"] * 30 + ["a"] * 10, 3),
        (["a " * count for count in range(1, 102)], 100),
        (["a b", "a b", "a b c", "a"], 3),  # half of them are not most
        (["", ""], None),
    ],
)
def test_segments_have_the_number_that_most_have_and_lines_the_99th_percentile(lines, learnt_words):
    assert learnt(lines) == learnt_words


@pytest.mark.parametrize("kind", SPACED)
def test_words_are_counted_however_they_are_cut(kind):
    assert learnt(["abc de fgh", "ab cd efg"], kind) == 3
    assert learnt(["abc", "de", "fgh ab"], kind) == 1


@pytest.mark.parametrize(
    ("sources", "kept"),
    [(None, None), ([], None), ([torch.tensor([4, 4, 900, 2])], {WORDS_LEARNT: 3})],
)
def test_a_training_of_pairs_says_it_in_its_checkpoints(sources: Any, kept: Any):
    """fairseq asks a task so for what a checkpoint is to hold besides."""
    data = SimpleNamespace(src=sources, src_dict=tiny.dictionary("a"))
    task = SimpleNamespace(datasets={"train": data}, get_checkpoint_dict=lambda: None)
    cfg = SimpleNamespace(dataset=SimpleNamespace(train_subset="train"))
    keep_lengths(SimpleNamespace(cfg=cfg, task=task))
    assert task.get_checkpoint_dict() == kept, "900 is of another dictionary"
