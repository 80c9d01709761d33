"""What a checkpoint says of the words that its model learnt to read at once, and of its symbols."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import saved
import tiny
import torch
from fairseq import checkpoint_utils, tasks
from fairseq.data import Dictionary
from refusals import refuses

from lev_plugins.fairseq_patches.line_lengths import WORDS_LEARNT, keep_lengths, words_learnt

# lengths ------------------------------------------------------------------------------------------

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


def test_segments_have_the_number_that_most_have_and_lines_the_99th_percentile():
    assert learnt(["a b c"] * 60 + ["a b c d e"] * 30 + ["a"] * 10) == 3
    assert learnt(["a " * count for count in range(1, 102)]) == 100
    assert learnt(["a b", "a b", "a b c", "a"]) == 3, "half of them are not most"
    assert learnt(["", ""]) is None


@pytest.mark.parametrize("kind", SPACED)
def test_words_are_counted_however_they_are_cut(kind):
    assert learnt(["abc de fgh", "ab cd efg"], kind) == 3
    assert learnt(["abc", "de", "fgh ab"], kind) == 1


def test_a_training_of_pairs_says_it_in_its_checkpoints():
    """fairseq asks a task so for what a checkpoint is to hold besides."""
    symbols = tiny.dictionary("a")
    pairs = SimpleNamespace(src=[torch.tensor([4, 4, 900, 2])], src_dict=symbols)
    for data, num_words in (
        (None, None),
        (SimpleNamespace(src=[], src_dict=symbols), None),
        (pairs, 3),
    ):
        task = SimpleNamespace(datasets={"train": data, "valid": pairs})
        cfg = SimpleNamespace(dataset=SimpleNamespace(train_subset="train"))
        keep_lengths(SimpleNamespace(cfg=cfg, task=task))
        kept = getattr(task, "get_checkpoint_dict", lambda: None)()
        assert kept == (num_words and {WORDS_LEARNT: num_words}), "900 is of another dictionary"


# symbols ------------------------------------------------------------------------------------------


def decode(path: Path, kind: str) -> Any:
    task = tasks.setup_task(saved.parsed(path.parent / "bin", kind).task)
    return checkpoint_utils.load_model_ensemble([str(path)], task=task)


def resume(path: Path, kind: str) -> Any:
    """Reads a checkpoint as a training does that resumes from it."""
    cfg = saved.parsed(path.parent / "bin", kind)
    return saved.begin(cfg, tasks.setup_task(cfg.task), restore_file=str(path))


@pytest.mark.parametrize("kind", ["stock", "editor", "concat"])
def test_a_dictionary_in_another_order_is_refused(tmp_path, kind):
    data = tiny.dictionaries(tmp_path / "bin")
    path = saved.save(tmp_path / "model.pt", data, kind)
    for read in (resume, decode):
        read(path, kind)
    for side in ("tgt", *(["src"] if kind == "concat" else [])):
        lines = (data / f"dict.{side}.txt").read_text().splitlines()
        lines[2:4] = lines[3], lines[2]
        (data / f"dict.{side}.txt").write_text("".join(f"{line}\n" for line in lines))
    for read in (resume, decode):
        with refuses("dictionary", "symbol 6 is 'c' there and 'd' in ", data):
            read(path, kind)
