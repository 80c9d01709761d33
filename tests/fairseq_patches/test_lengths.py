"""What a checkpoint says of the words that its model learnt to read at once."""

from types import SimpleNamespace
from typing import Any

import fairseq.trainer
import pytest
import torch
from fairseq.data import Dictionary

from lev_plugins.fairseq_patches.lengths import WORDS_LEARNT, look_at_lengths, words_learnt

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


@pytest.mark.parametrize("kind", SPACED)
def test_words_are_counted_however_they_are_cut(kind):
    assert learnt(["abc de fgh", "ab cd efg"], kind) == 3
    assert learnt(["abc", "de", "fgh ab"], kind) == 1


@pytest.mark.parametrize("kind", ["words", "subword-nmt"])
def test_a_mark_that_a_text_had_somewhere_is_no_mark_of_words(kind):
    words = [f"w{number}" for number in range(60)]
    assert learnt([" ".join(words[i : i + 3]) for i in range(58)] + ["\u2581x b c"], kind) == 3


def test_ids_of_another_dictionary_are_left_to_what_refuses_them():
    dictionary = Dictionary()
    dictionary.add_symbol("a")
    assert words_learnt([torch.tensor([4, 900, 2])], dictionary) == 1


def test_segments_have_the_number_that_most_have():
    assert learnt(["a b c"] * 60 + ["a b c d e"] * 30 + ["a"] * 10) == 3


def test_of_lines_all_but_the_longest_hundredth_are_learnt():
    assert learnt(["a " * count for count in range(1, 102)]) == 100
    assert learnt(["a b", "a b", "a b c", "a"]) == 3, "half of them are not most"


def test_long_texts_are_looked_at_here_and_there():
    class Sources:
        read: list[int] = []

        def __len__(self):
            return 1_000_000

        def __getitem__(self, place):
            self.read.append(place)
            return torch.tensor([4, 4, 2])

    dictionary = Dictionary()
    dictionary.add_symbol("a")
    assert words_learnt(Sources(), dictionary) == 2
    assert len(Sources.read) == 2000 and (min(Sources.read), max(Sources.read)) == (0, 999_999)


def test_sources_without_words_tell_nothing():
    assert learnt(["", ""]) is None


@pytest.mark.parametrize(
    "data, told",
    [
        (None, {}),
        (SimpleNamespace(), {}),
        (SimpleNamespace(src=[], src_dict=Dictionary()), {}),
        (SimpleNamespace(src=[torch.tensor([4, 4, 2])], src_dict=Dictionary()), {WORDS_LEARNT: 2}),
    ],
)
def test_a_training_of_pairs_says_it_in_its_checkpoints(monkeypatch, data, told):
    disk: dict[str, Any] = {}

    class Trainer:
        cfg = SimpleNamespace(dataset=SimpleNamespace(train_subset="train"))
        task = SimpleNamespace(datasets={"train": data, "valid": SimpleNamespace()})

        def save_checkpoint(self, filename, extra_state):
            disk[filename] = extra_state

    if told:
        data.src_dict.add_symbol("a")
    monkeypatch.setattr(fairseq.trainer, "Trainer", Trainer)
    trainer = Trainer()
    look_at_lengths(trainer)
    once = Trainer.save_checkpoint
    look_at_lengths(trainer)
    assert Trainer.save_checkpoint is once
    trainer.save_checkpoint("last", {"epoch": 3})
    assert disk["last"] == {"epoch": 3, **told}
    Trainer().save_checkpoint("last", {"epoch": 4})
    assert disk["last"] == {"epoch": 4}, "what has not begun has learnt nothing"
