"""What a checkpoint says of the words that its model learnt to read at once."""

from types import SimpleNamespace

import pytest
import torch
from fairseq.data import Dictionary

from lev_plugins.fairseq_patches.lengths import WORDS_LEARNT, keep_lengths, words_learnt

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
        (None, None),
        (SimpleNamespace(), None),
        (SimpleNamespace(src=[], src_dict=Dictionary()), None),
        (SimpleNamespace(src=[torch.tensor([4, 4, 2])], src_dict=Dictionary()), {WORDS_LEARNT: 2}),
    ],
)
def test_a_training_of_pairs_says_it_in_its_checkpoints(data, told):
    """fairseq asks a task so for what a checkpoint is to hold besides."""
    if told:
        data.src_dict.add_symbol("a")
    task = SimpleNamespace(datasets={"train": data, "valid": SimpleNamespace()})
    cfg = SimpleNamespace(dataset=SimpleNamespace(train_subset="train"))
    keep_lengths(SimpleNamespace(cfg=cfg, task=task))
    assert getattr(task, "get_checkpoint_dict", lambda: None)() == told
