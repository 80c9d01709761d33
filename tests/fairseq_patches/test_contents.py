"""Checkpoints say how many words their model learnt to read at once."""

from types import SimpleNamespace
from typing import Any

import pytest
import tiny
import torch
from fairseq.data import Dictionary
from omegaconf import OmegaConf

from lev_plugins.fairseq_patches.line_lengths import WORDS_LEARNT, keep_lengths, words_learnt


@pytest.mark.parametrize(
    "lines, learnt",
    [
        (["a b c"] * 60 + ["a b c d e"] * 30 + ["a"] * 10, 3),
        (["a " * count for count in range(1, 102)], 100),
        (["a b", "a b", "a b c", "a"], 3),  # half of them are not most
        (["", ""], None),
        (["a b c \u2581 d e \u2581 f g h"], 3),  # however they are cut
        (["\u2581a bc \u2581d e \u2581f gh"], 3),
        (["a@@ bc d@@ e f@@ gh"], 3),
        (["a ##bc d ##e f ##gh"], 3),
    ],
)
def test_segments_have_the_number_that_most_have_and_lines_the_99th_percentile(lines, learnt):
    dictionary = Dictionary()
    assert words_learnt([*map(dictionary.encode_line, lines)], dictionary) == learnt


@pytest.mark.parametrize(
    "sources, kept",
    [(None, None), ([], None), ([torch.tensor([4, 4, 900, 2])], {WORDS_LEARNT: 3})],
)
def test_a_training_of_pairs_says_it_in_its_checkpoints(sources: Any, kept: Any):
    """fairseq asks a task so for what a checkpoint is to hold besides."""
    data = SimpleNamespace(src=sources, src_dict=tiny.dictionary("a"))
    task = SimpleNamespace(datasets={"train": data}, get_checkpoint_dict=lambda: None)
    cfg = OmegaConf.create({"dataset": {"train_subset": "train"}})
    keep_lengths(SimpleNamespace(cfg=cfg, task=task))
    assert task.get_checkpoint_dict() == kept, "900 is of another dictionary"
